"""Pass messages between coroutines through queues."""

import asyncio


async def read(box: asyncio.Queue[bytes], out: asyncio.Queue[int]) -> None:
    while data := await box.get():
        await asyncio.sleep(0)
        await out.put(len(data.split(b",")))


async def main() -> int:
    box: asyncio.Queue[bytes] = asyncio.Queue(20)
    out: asyncio.Queue[int] = asyncio.Queue()
    readers = [asyncio.create_task(read(box, out)) for _ in range(10)]
    for n in range(72_000):
        await box.put(b",".join([b"%d" % n] * (n % 60 + 1)))
    for _ in readers:
        await box.put(b"")
    await asyncio.gather(*readers)
    return sum(out.get_nowait() for _ in range(out.qsize()))


print(asyncio.run(main()))
