import asyncio, sys  # HITS: 1
async def agen(n):  # HITS: 1
    i = 0  # HITS: 13
    try:  # HITS: 13
        while i < n:  # HITS: 43
            try:  # HITS: 33
                yield i  # HITS: 33
            except ValueError:  # HITS: 6
                i += 10  # HITS: 3
            else:
                i += 1  # HITS: 27
    finally:
        await asyncio.sleep(0)  # HITS: 13
        i += 0  # HITS: 13
async def consume():  # HITS: 1
    out = []  # HITS: 3
    async for x in agen(4):  # HITS: 15
        if x == 2:  # HITS: 12
            continue  # HITS: 3
        out.append(x)  # HITS: 9
    else:
        out.append("else")  # HITS: 3
    g = agen(5)  # HITS: 3
    out.append(await g.asend(None))  # HITS: 3
    out.append(await g.__anext__())  # HITS: 3
    try:  # HITS: 3
        out.append(await g.athrow(ValueError("v")))  # HITS: 3
    except StopAsyncIteration:  # HITS: 3
        out.append("stop")  # HITS: 3
    await g.aclose()  # HITS: 3
    h = agen(3)  # HITS: 3
    await h.__anext__()  # HITS: 3
    await h.aclose()  # HITS: 3
    return out  # HITS: 3
class CM:
    async def __aenter__(self):  # HITS: 1
        await asyncio.sleep(0)  # HITS: 16
        return self  # HITS: 16
    async def __aexit__(self, *a):  # HITS: 1
        await asyncio.sleep(0)  # HITS: 16
        return a[0] is KeyError  # HITS: 16
async def withs():  # HITS: 1
    async with CM() as a, CM() as b:  # HITS: 4
        await asyncio.sleep(0)  # HITS: 4
    async with (
        CM() as a,
        CM() as b,
    ):
        x = [i async for i in agen(3)]  # HITS: 4
        raise KeyError(1)  # HITS: 4
    return x  # HITS: 4
async def main():  # HITS: 1
    r = await asyncio.gather(*[consume() for _ in range(3)], return_exceptions=True)  # HITS: 1
    print(r)  # HITS: 1
    print(await withs())  # HITS: 1
    try:  # HITS: 1
        async with asyncio.timeout(0.01):  # HITS: 1
            await asyncio.sleep(  # HITS: 1
                5
            )
    except TimeoutError:  # HITS: 1
        print("timeout")  # HITS: 1
    async with asyncio.TaskGroup() as tg:  # HITS: 1
        ts = [tg.create_task(withs()) for _ in range(3)]  # HITS: 1
    print([t.result() for t in ts])  # HITS: 1
    try:  # HITS: 1
        async with asyncio.TaskGroup() as tg:  # HITS: 1
            tg.create_task(fail())  # HITS: 1
            tg.create_task(asyncio.sleep(3))  # HITS: 1
    except* ZeroDivisionError as eg:  # HITS: 1
        print(len(eg.exceptions))  # HITS: 1
    t = asyncio.create_task(forever())  # HITS: 1
    await asyncio.sleep(0)  # HITS: 1
    t.cancel()  # HITS: 1
    try:  # HITS: 1
        await t  # HITS: 1
    except asyncio.CancelledError:  # HITS: 1
        print("cancelled")  # HITS: 1
async def forever():  # HITS: 1
    try:  # HITS: 1
        while True:  # HITS: 1
            await asyncio.sleep(0.001)  # HITS: 1
    except asyncio.CancelledError:  # HITS: 1
        print("c")  # HITS: 1
        raise  # HITS: 1
    finally:
        print("f")  # HITS: 1
async def fail():  # HITS: 1
    await asyncio.sleep(0)  # HITS: 1
    1 / 0  # HITS: 1
asyncio.run(main())  # HITS: 1
