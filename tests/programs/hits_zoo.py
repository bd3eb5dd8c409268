"""A zoo of statements, laid out over lines in every way that has confused line profilers.

tests/py/lines/test_hits.py counts how often each statement begins in a copy of this program that
does its own counting, and compares that with what lprof says.
"""

import asyncio
import contextlib


@profile
def straight(n):
    a = n
    b = a + (
        n
    )
    c = [
        a,
        b,
    ]
    d = {
        "a": max(
            a,
            b),
        "b": len(
            c),
    }
    pass
    assert d[
        "b"], "not reached"
    del a
    return (
        c
    )


@profile
def conditional(n):
    x = (n if n > 1
         else -n)
    y = (1
         if x == 2 else
         3)
    z = (x or
         y)
    w = (x and y and
         n)
    v = (n is None or
         n == 50 or
         n > 60 or
         w)
    v = (v is not None and
         v != 7
         and n > 2)
    if (x and
            y):
        z += 1
    elif n > 100:
        z += 2
    else:
        z += 3
    if v and w:
        return (n != 0 and
                n != 1 and
                n != 2)
    return (x + y
            if z else
            w)


@profile
def chain(n):
    text = ("abc"
            .upper()
            .lower()
            .replace("a",
                     "b"))
    return (0 <
            n <
            10), text


@profile
def loops(n):
    total = 0
    for i in range(n):
        if i == 1:
            continue
        if i == 3:
            break
        total += i
    else:
        total += 100
    k = 0
    while k < n:
        k += 1
        if k == 2:
            continue
        total += k
    while True:
        k -= 1
        if k < 0:
            break
    for a in range(
            n):
        for b in (a,
                  n):
            total += b
    return total


@profile
def nested_loops_and_returns(rows):
    for row in rows:
        for value in row:
            if value > 2:
                return value
    return None


@profile
def with_blocks(n):
    out = []
    with contextlib.nullcontext(n) as a:
        out.append(a)
    with contextlib.nullcontext(n) as a, \
            contextlib.nullcontext(1) as b:
        out.append(a + b)
    with (contextlib.nullcontext(n) as a,
          contextlib.nullcontext(2) as b):
        out.append(a + b)
    for i in range(n):
        with contextlib.nullcontext(i):
            if i == 0:
                continue
            if i == 2:
                break
            out.append(
                i)
    with contextlib.suppress(KeyError):
        {}[n]
        out.append("not reached")
    return out


@profile
def with_returns(n):
    with contextlib.nullcontext():
        if n == 0:
            return 5
        if n == 1:
            return max(
                n, 2)
        with contextlib.nullcontext():
            return n + len(
                "x")


@profile
def tries(n):
    out = []
    try:
        if n == 1:
            raise ValueError(
                n)
        if n == 2:
            raise KeyError
        out.append(1)
    except ValueError as e:
        out.append(str(e))
    except (KeyError,
            TypeError):
        out.append("key")
    else:
        out.append("else")
    finally:
        out.append("finally")
    return out


@profile
def try_returns(n):
    for i in range(3):
        try:
            if n == 0:
                return 1
            if n == 1:
                break
            if n == 2:
                continue
            if n == 3:
                raise OSError
            n += 10
        except OSError:
            return max(
                n, i)
        finally:
            n = n + 0
            if n > 5:
                n -= 1
    return n


@profile
def reraises(n):
    try:
        try:
            n / 0
        except ZeroDivisionError:
            n += 1
            raise
        finally:
            n += 1
    except ArithmeticError as error:
        n += len(
            str(error))
        try:
            raise RuntimeError from error
        except:
            pass
    return n


@profile
def comprehensions(n):
    a = [i for i in range(n)]
    b = [
        i * 2
        for i in range(n)
        if i
    ]
    c = {
        i: j
        for i in range(n)
        for j in range(2)
    }
    d = {x
         for x in a}
    e = sum(
        x
        for x in b)
    f = [
        max(
            i, 1)
        for i in a]
    return a, b, c, d, e, f


def passthrough(*args, **kwargs):
    return lambda f: f


@profile
def definitions(n):
    def inner(x, y=1):
        return x + y

    @passthrough(n)
    def decorated(
        x,
        y=2,
    ):
        return x

    class Local:
        a = 1

        def m(self):
            return 1

    @passthrough(
        n,
    )
    @passthrough()
    class Decorated(
            Local):
        pass
    f = lambda: 5
    return inner(1) + decorated(2) + Decorated().m() + f()


@profile
def generator(n):
    got = yield 1
    for i in range(n):
        x = yield (
            i)
        y = max(
            (yield i),
            1) if x else 0
    try:
        yield from range(n)
        yield 7
    finally:
        got = 3
    return got


@profile
def throws():
    while True:
        try:
            yield 1
        except ValueError:
            yield 2
        except TypeError:
            break


@profile
async def coroutine(n):
    await asyncio.sleep(
        0)
    async with Context() as a, Context(
            ) as b:
        await asyncio.sleep(0)
    out = []
    async for i in items(n):
        out.append(i)
    async for i in items(
            n):
        if i:
            continue
        await asyncio.gather(
            sleepy(),
            sleepy())
    v = [x async for x in items(n)]
    try:
        await failing(
            n)
    except ValueError:
        out.append(0)
    return await value(
        n)


class Context:
    async def __aenter__(self):
        await asyncio.sleep(0)

    async def __aexit__(self, *exc):
        await asyncio.sleep(0)


@profile
async def items(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


async def sleepy():
    await asyncio.sleep(0)


async def failing(n):
    await asyncio.sleep(0)
    raise ValueError


async def value(n):
    return n


@profile
def recursive(n):
    if n < 2:
        return n
    return (recursive(n - 1) +
            recursive(n - 2))


@profile
def assignments(n):
    a, b = (n,
            n)
    c = d = (
        n)
    e = {}
    e[
        a] = max(
            b, c)
    e["x"] = (
        d)
    a += (
        1)
    e["x"] += max(
        1,
        2)
    text = f"""
    {a} {max(
        a, b)}
    """
    if (found := len(
            text)) > 2:
        d += found
    print(text, end="") if d < 0 else max(
        a, b)
    x: int = (
        5)
    (a, b), c = (1,
                 2), 3
    return {**e,
            "z": x}, [*text,
                      a]


@profile
def many_arms(n):
    if n == 0:
        r = "a"
    elif (n == 1 or
          n == 2):
        r = "b"
    elif not (n == 3
              and n > 2):
        r = "c"
    else:
        r = "d"
    while (n > 0 and
           n < 100):
        n -= 1
    for r in (x for x in range(2)):
        pass
    return r


@profile
def unpacking_loop(pairs):
    out = 0
    for a, b in pairs:
        out += a * b
    for a, b in zip(
            pairs,
            pairs):
        out += 1
    try:
        import nothing_like_this
    except ImportError:
        out = -out
    return out


def main():
    for n in range(4):
        straight(n), conditional(n), chain(n), loops(n), with_blocks(n), with_returns(n)
        tries(n), try_returns(n), reraises(n), comprehensions(n), definitions(n), many_arms(n)
        assignments(n)
    try_returns(9)
    conditional(200)
    nested_loops_and_returns([[1], [2, 3, 4]])
    nested_loops_and_returns([[1], []])
    list(generator(3))
    g = generator(2)
    next(g), g.send(4), g.send(5), g.send(6), g.close()
    g = throws()
    next(g), g.throw(ValueError), next(g), next(g)
    with contextlib.suppress(StopIteration):
        g.throw(TypeError)
    asyncio.run(coroutine(3))
    recursive(6)
    unpacking_loop([(1, 2), (3, 4)])


main()
