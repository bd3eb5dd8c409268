"""A program of what is hard to count: exceptions, generators, coroutines, calls that fail."""

from __future__ import annotations

LANGUAGE = """
import asyncio, contextlib, sys

class Bad(Exception):
    pass

class Operand:
    # Raises at the operation whose turn it is.
    left = 0
    def _turn(self, *args):
        Operand.left -= 1
        if Operand.left == 0:
            raise Bad
        return self
    __add__ = __radd__ = __iadd__ = __sub__ = __neg__ = __getitem__ = __call__ = __enter__ = _turn
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._turn()
    def __setitem__(self, key, value):
        self._turn()
    def __bool__(self):
        self._turn()
        return True
    def __lt__(self, other):
        self._turn()
        return True
    def __exit__(self, *error):
        self._turn()
        return False
    def __iter__(self):
        self._turn()
        yield self
        self._turn()
        yield 2
    def __contains__(self, other):
        self._turn()
        return True
    def __format__(self, spec):
        self._turn()
        return spec
    def __hash__(self):
        self._turn()
        return 1
    def __len__(self):
        self._turn()
        return 2
    def __index__(self):
        self._turn()
        return 0

def every_operand(a, b):
    c = a + b - a
    d = [a[b], -a, a(b, c), a.x.y]
    a[0] = b.z
    if a and b < c:
        d += [a + 1]
    with a as e, b:
        f = f"{a:x}{b:y}"
    for g in a:
        c = g in a if a else b
    h = {a: b, 1: c}
    i, *j = b
    a += b
    k = [x + y for x in a for y in (a + b, 1) if x]
    return a + (b - (c + (a - b))), len(a), (1, 2)[b]

def try_every_operand():
    done = False
    turn = 0
    while not done:
        turn += 1
        Operand.left = turn
        try:
            every_operand(Operand(), Operand())
            done = True
        except Bad:
            pass
    return turn

class Countdown:
    # Ends its iteration by an exception out of Python.
    def __init__(self, n):
        self.n = n
    def __iter__(self):
        return self
    def __next__(self):
        if self.n == 0:
            raise StopIteration(5)
        self.n -= 1
        return self.n
    def send(self, value):
        return self.__next__()
    def throw(self, *error):
        if self.n == 1:
            raise StopIteration(6)
        raise error[0]

def iterate(n):
    total = 0
    for i in Countdown(n):
        for j in Countdown(i):
            if j == 2:
                continue
            total += j
        else:
            total += 1
    return total, [k for k in Countdown(n)], {k: k for k in Countdown(n) if k}

def delegate(n):
    first = yield from Countdown(n)
    second = yield from plain(n)
    try:
        third = yield from plain(n)
    except Bad:
        third = yield 9
    finally:
        yield 10
    return first, second, third

def plain(n):
    i = 0
    while i < n:
        i += 1
        try:
            got = yield i
        except KeyError:
            got = yield -i
        if got:
            i += 1
    return i

def forever():
    while True:
        try:
            yield
        except Bad:
            break
        finally:
            pass

def use_generators():
    list(delegate(3)), list(plain(4))
    g = delegate(2)
    next(g), g.send(None), next(g), next(g)
    with contextlib.suppress(Bad):
        g.throw(Bad), next(g)
    g.close()
    g = plain(5)
    next(g), g.throw(KeyError()), g.send(3), g.close()
    with contextlib.suppress(Bad):
        plain(3).throw(Bad())
    plain(3).close()
    g = plain(3)
    next(g)
    with contextlib.suppress(Bad):
        g.throw(Bad())
    for _ in range(3):
        g = forever()
        next(g), next(g)
    with contextlib.suppress(StopIteration):
        g.throw(Bad())
    del g
    x, y, *z = plain(5)
    any(i > 2 for i in plain(6)), sum(i * i for i in plain(6)), max(plain(3), default=0)
    g = (i for i in plain(5) if i % 2)
    next(g), next(g), g.close()

async def sleepy(n):
    for i in range(n):
        await asyncio.sleep(0)
    if n == 2:
        raise Bad
    return n

async def items(n):
    try:
        for i in range(n):
            await asyncio.sleep(0)
            got = yield i
            if got:
                yield got
    finally:
        await asyncio.sleep(0)

class Manager:
    async def __aenter__(self):
        await asyncio.sleep(0)
        return self
    async def __aexit__(self, *error):
        await asyncio.sleep(0)
        return error[0] is Bad

async def use_coroutines():
    out = [i async for i in items(4)]
    async for i in items(5):
        if i == 3:
            break
        elif i == 1:
            continue
    else:
        out.append(0)
    agen = items(3)
    await agen.asend(None), await agen.asend(7), await agen.aclose()
    agen = items(3)
    await agen.asend(None)
    try:
        await agen.athrow(Bad)
    except Bad:
        pass
    async with Manager() as m, Manager():
        raise Bad
    async with Manager():
        await sleepy(1)
    for result in await asyncio.gather(*(sleepy(n) for n in range(4)), return_exceptions=True):
        out.append(result)
    try:
        await sleepy(2)
    except Bad:
        out += [x for x in [await sleepy(1), 2] if x]
    task = asyncio.ensure_future(sleepy(50))
    await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return out

def handlers(n):
    try:
        try:
            if n == 0:
                raise Bad(n)
            elif n == 1:
                return [n / 0]
            elif n == 2:
                raise ExceptionGroup("g", [Bad(1), KeyError(2)])
            for i in range(n):
                try:
                    if i == 3:
                        break
                    if i == 1:
                        continue
                    {}[i]
                except KeyError:
                    n += 0
                finally:
                    n += 0
        except Bad as error:
            raise KeyError(error) from error
        except ZeroDivisionError:
            raise
        finally:
            n += 1
    except* Bad:
        n += 2
    except* (KeyError, ZeroDivisionError):
        n += 3
    return n

def nested(n):
    with contextlib.suppress(Bad):
        with contextlib.ExitStack() as stack:
            stack.callback(lambda: None)
            if n % 2:
                raise Bad
            return n
    return -n

def deep(n):
    if n == 0:
        raise Bad
    try:
        return deep(n - 1) + 1
    finally:
        n = 0

def limits(n):
    def endless():
        return endless() + 1
    try:
        endless()
    except RecursionError:
        n += 1
    return n

def matching(x):
    match x:
        case 0 | 1:
            return "small"
        case [a, *rest] if a:
            return rest
        case {"k": v, **others}:
            return v, others
        case str() as s:
            return s
        case complex(real=r):
            return r
        case _:
            return None

def loops(n):
    out, i = "", 0
    while True:
        i += 1
        if i % 3 == 0:
            continue
        if i > n:
            break
        out += str(i)
    while i:
        i -= 1
    else:
        out += "."
    for a in range(n):
        for b in range(a):
            if b > 2:
                break
        else:
            continue
        break
    while n > 0 and (i := i + 1) < 9 or i == 40: n -= 1
    return out, [a for a in range(n) for b in range(a) if a != b if b], i if n else -i

def closures(n):
    total = 0
    def add(k):
        nonlocal total
        total += k
        return lambda: (total, k, n)
    class Local:
        x = [n for _ in range(2)]
        def method(self):
            return __class__, super().__init__()
    return [add(k)() for k in range(n)], Local().method()

def arguments(a, *args, b=2, **kwargs):
    return a, args, b, kwargs

def fail_at_once():
    nothing_of_this_name(1)

def call_badly():
    for _ in range(3):
        with contextlib.suppress(NameError):
            fail_at_once()
    for args, kwargs in (((), {}), ((1,), {"a": 2}), ((1,), {"b": 3, "c": 4})):
        with contextlib.suppress(TypeError):
            arguments(*args, **kwargs)
    with contextlib.suppress(TypeError):
        len(1, 2)
    with contextlib.suppress(AttributeError, NameError):
        none.attribute
    for n in (0, 1):
        with contextlib.suppress(NameError):
            if n:
                nothing_of_this_name
            n = 2
    with contextlib.suppress(UnboundLocalError):
        del missing
        missing = 1
    with contextlib.suppress(ImportError):
        from contextlib import nothing_of_this_name
    with contextlib.suppress(ValueError):
        a, b = (1, 2, 3)
    assert a if False else True, "no"

async def unawaited():
    return 1

def main():
    for _ in range(3):
        try_every_operand(), iterate(5), use_generators(), loops(20), closures(4), call_badly()
        asyncio.run(use_coroutines())
        for n in range(6):
            handlers(n)
            nested(n)
        for x in (0, 1, [1, 2], [], {"k": 1, "j": 2}, "s", 1j, None):
            matching(x)
        with contextlib.suppress(Bad):
            deep(30)
        limits(1)
        unawaited().close()
        sum(len(str(i)) for i in range(500) if i % 3)

main()
"""
