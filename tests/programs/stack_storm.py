"""Allocates below every kind of frame, again and again: python stack_storm.py ROUNDS.

A round makes some 3,000 blocks in each of three threads. What is printed depends on nothing else.
"""

import asyncio
import functools
import gc
import sys
import threading

try:
    import greenlet
except ImportError:
    greenlet = None

SIZE = 700  # bytes: more than pymalloc's


class Made:
    """__init__ is entered through a trampoline once it is specialised; __del__ from anywhere."""

    def __init__(self, n):
        self.load = bytearray(SIZE + n)

    def __del__(self):
        bytearray(SIZE)

    @property
    def value(self):
        return len(bytearray(SIZE))

    def __lt__(self, other):
        return len(bytearray(SIZE)) < 0

    def __getattr__(self, name):
        return bytearray(SIZE)

    def __hash__(self):
        return len(bytearray(SIZE))

    def __enter__(self):
        return bytearray(SIZE)

    def __exit__(self, *error):
        return bool(bytearray(SIZE))


class Child(Made):
    def __init__(self, n):
        super().__init__(n)
        self.more = [bytearray(SIZE) for _ in range(2)]


def generate(n):
    try:
        for i in range(n):
            got = yield bytearray(SIZE + i)
            if got:
                bytearray(SIZE)
    finally:
        bytearray(SIZE)


def delegate(n):
    yield from generate(n)
    return bytearray(SIZE)


def recurse(n):
    block = bytearray(SIZE)
    if n:
        recurse(n - 1)
        block = bytearray(SIZE)
    return block


def closure(n):
    block = bytearray(SIZE)

    def inner(x):
        return bytearray(len(block) + x + n)

    return inner


def raises(n):
    try:
        if n == 0:
            raise ValueError(bytearray(SIZE))
        raises(n - 1)
    finally:
        bytearray(SIZE)


@functools.lru_cache(maxsize=8)
def cached(n):
    return bytearray(SIZE + n)


def many_arguments(*args, a=bytearray(SIZE), **kwargs):
    return [bytearray(SIZE) for _ in args]


async def wait(n):
    block = [bytearray(SIZE)]
    await asyncio.sleep(0)
    async for more in agenerate(3):
        block.append(more)
    return len(block)


async def agenerate(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield bytearray(SIZE + i)


async def gathered():
    return sum(await asyncio.gather(*(wait(i) for i in range(20))))


class Iterated:
    """Is asked for its iterator by the code of a generator expression, from 3.15 on."""

    def __iter__(self):
        bytearray(SIZE)
        return iter([bytearray(SIZE), bytearray(SIZE)])


def expressions(n):
    source = Iterated()
    made = (len(x) + len(bytearray(SIZE + n)) for x in source)
    bytearray(SIZE)
    recurse(n % 3)
    first = next(made)
    return first + sum(made) + sum(len(x) for x in Iterated())


def passing_code(round_number):
    """Code that is gone soon, so that its addresses come again for other code."""
    for i in range(20):
        names = {}
        padding = "x = 1\n" * (i % 7)
        text = f"{padding}def f{i}(n):\n    def g(): return bytearray(n)\n    return g()\n"
        exec(compile(text, f"<{round_number % 10}>", "exec"), names)
        names[f"f{i}"](SIZE + i)
        eval("[bytearray(n) for n in sizes]", {"sizes": [SIZE, SIZE + 1]})


def switching():
    def run(n):
        for _ in range(5):
            recurse(n)
            other.switch()

    if greenlet is None:
        return
    main = greenlet.getcurrent()
    first = greenlet.greenlet(lambda: run(3))
    second = greenlet.greenlet(lambda: (run(11), main.switch()))
    other = main
    for turn in range(10):
        other = main
        (first if turn % 2 else second).switch()
        bytearray(SIZE)


def one_round(number):
    for i in range(60):
        Made(i).value
        Child(i).missing
        with Made(i):
            pass
    sorted([Made(i) for i in range(20)])
    {Made(i): bytearray(SIZE) for i in range(10)}
    list(generate(30)), list(delegate(30))
    half = generate(5)
    next(half), half.send(True)
    del half
    for depth in (0, 3, 40, 120, 41, 4):
        recurse(depth)
    for i in range(30):
        closure(i)(i)
        cached(i % 12)
        expressions(i)
        many_arguments(1, 2, 3, x=bytearray(SIZE))
        list(map(lambda n: bytearray(SIZE + n), range(5)))
        max(range(10), key=lambda n: len(bytearray(SIZE)))
    for i in range(10):
        try:
            raises(i)
        except ValueError:
            bytearray(SIZE)
    passing_code(number)
    switching()
    asyncio.run(gathered())
    if number % 7 == 0:
        gc.collect()


def all_rounds(rounds):
    for number in range(rounds):
        one_round(number)


def main():
    rounds = int(sys.argv[1])
    threads = [threading.Thread(target=all_rounds, args=(rounds,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    all_rounds(rounds)
    for thread in threads:
        thread.join()
    print("rounds", rounds)


main()
