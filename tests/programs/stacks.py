"""Allocate in every kind of frame, and write down which stack each block has to have.

Usage: stacks.py TRUTH_FILE. Each block has a size of its own; the file is JSON: size -> stack,
outermost frame first, as (qualified name, line).
"""

import asyncio
import ctypes
import itertools
import json
import sys
import threading

from proftrace import _capture

releasing = ctypes.CDLL(None).malloc  # without the GIL
holding = ctypes.PyDLL(None).malloc
for function in (releasing, holding):
    function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
turns = itertools.cycle([releasing, holding])
sizes = itertools.count(200_001)
truth = {}


def malloc():
    """Return (function, size): the caller allocates, so that its line is the block's."""
    return next(turns), next(sizes)


def note(size, block):
    assert block
    stack, frame = [], sys._getframe(1)
    while frame is not None:
        stack.append((frame.f_code.co_qualname, frame.f_lineno))
        frame = frame.f_back
    truth[size] = stack[::-1]
    assert _capture.verify_stacks()


def recurse(n):
    f, s = malloc(); note(s, f(s))
    if n:
        recurse(n - 1)
        f, s = malloc(); note(s, f(s))


class Thing:
    def __init__(self, n):
        f, s = malloc(); note(s, f(s))
        self.inner = Thing(n - 1) if n else None
        f, s = malloc(); note(s, f(s))

    def __del__(self):
        f, s = malloc(); note(s, f(s))

    @property
    def value(self):
        f, s = malloc(); note(s, f(s))
        return 1

    def __lt__(self, other):
        f, s = malloc(); note(s, f(s))
        return True


def things():
    for _ in range(40):  # long enough for the interpreter to specialise the calls
        thing = Thing(2)
        thing.value
        sorted([thing, thing], key=lambda t: (f := malloc(), note(f[1], f[0](f[1])), 0)[2])
        sorted([thing, thing])
        max(thing, thing)


def numbers(n):
    try:
        for i in range(n):
            f, s = malloc(); note(s, f(s))
            yield i
    except ValueError:
        f, s = malloc(); note(s, f(s))
        yield -1
    finally:
        f, s = malloc(); note(s, f(s))


def delegate(n):
    yield from numbers(n)
    return (yield from numbers(n))


def generators():
    list(numbers(5))
    sum(x for x in delegate(4) if (f := malloc(), note(f[1], f[0](f[1]))))
    gen = numbers(9)
    next(gen)
    gen.throw(ValueError)
    gen.close()
    [(f := malloc(), note(f[1], f[0](f[1]))) for _ in range(3)]
    never_started = numbers(3)
    try:
        never_started.throw(KeyError)
    except KeyError:
        f, s = malloc(); note(s, f(s))


def fail(n):
    if n == 0:
        f, s = malloc(); note(s, f(s))
        raise LookupError
    try:
        fail(n - 1)
    finally:
        f, s = malloc(); note(s, f(s))


def exceptions():
    for n in (1, 5, 30):
        try:
            fail(n)
        except LookupError:
            f, s = malloc(); note(s, f(s))


async def task(n):
    f, s = malloc(); note(s, f(s))
    await asyncio.sleep(0)
    f, s = malloc(); note(s, f(s))
    if n:
        await task(n - 1)
    async with asyncio.Lock():
        f, s = malloc(); note(s, f(s))


async def main_task():
    await asyncio.gather(*(task(n) for n in range(6)))


def made_again():
    """Code objects that die and whose memory is used again by others."""
    for i in range(300):
        names = {"malloc": malloc, "note": note}
        text = f"def made_{i}():\n" + "\n" * (i % 7) + "    f, s = malloc(); note(s, f(s))\n"
        exec(compile(text, f"<made {i}>", "exec"), names)
        names[f"made_{i}"]()
        exec("f, s = malloc(); note(s, f(s))", names)


def in_threads():
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4) for work in (recurse, fail_safely)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def fail_safely(n):
    try:
        fail(n)
    except LookupError:
        pass


def greenlets():
    import greenlet

    def ping(n):
        f, s = malloc(); note(s, f(s))
        if n:
            other.switch()
            ping(n - 1)
        f, s = malloc(); note(s, f(s))

    def pong():
        while True:
            f, s = malloc(); note(s, f(s))
            first.switch()

    first, other = greenlet.greenlet(ping), greenlet.greenlet(pong)
    first.switch(5)


class Body:
    f, s = malloc(); note(s, f(s))


recurse(200)
things()
generators()
exceptions()
asyncio.run(main_task())
made_again()
in_threads()
greenlets()
with open(sys.argv[1], "w") as out:
    json.dump(truth, out)
