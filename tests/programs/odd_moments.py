"""Runs the interpreter's loop at odd moments, in four threads, and checks the stacks there."""

import asyncio
import contextlib
import functools
import gc
import threading
import weakref

from proftrace import _capture

kept = []
wrong = []


def make(size):
    """Allocate, and compare what the caches say with whole walks."""
    block = bytearray(size)
    if not _capture.verify_stacks():
        wrong.append(size)
    return block


class Node:
    def __init__(self):
        self.me = self
        self.block = make(5000)

    def __del__(self):
        make(700)


class Key:
    block = make(1200)

    def __eq__(self, other):
        return bool(make(640))

    def __hash__(self):
        return len(make(641))


def dies(reference):
    make(800)


async def wait(n):
    await asyncio.sleep(0)
    return make(900 + n)


async def gather():
    await asyncio.gather(*(wait(n) for n in range(50)))


def generate(n):
    for i in range(n):
        yield make(600 + i)


@contextlib.contextmanager
def managed():
    yield make(1000)


@functools.lru_cache(None)
def fibonacci(n):
    make(650)
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def run():
    for i in range(100):
        node = Node()
        kept.append(weakref.ref(node, dies))
        if i % 50 == 0:
            gc.collect()
        with managed():
            list(map(lambda block: make(len(block)), generate(3)))
        sorted(range(5), key=lambda value: len(make(620 + value)))
        try:
            raise ValueError(make(630))
        except ValueError:
            pass
    asyncio.run(gather())
    fibonacci(30)
    exec("{Key(): 1, Key(): 2}\n[Key()].index(Key())")


threads = [threading.Thread(target=run) for _ in range(3)]
for thread in threads:
    thread.start()
run()
for thread in threads:
    thread.join()
print("wrong:", wrong)
