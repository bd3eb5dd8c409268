"""Programs that do several things at once; what they do in all is the same for any number."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Thread

from benchmarks.instrument import profile

STEPS = 12_000
WAITS = 20


@profile
def crunch(steps: int) -> int:
    total = 0
    for i in range(steps):
        if i & 3:
            total += i
        else:
            total ^= i
    return total


@profile
async def waiting(steps: int) -> int:
    total = 0
    for i in range(steps):
        total += i
        if i % WAITS == 0:
            await asyncio.sleep(0)
    return total


def in_threads(n_threads: int) -> None:
    """Share the work among threads."""
    threads = [Thread(target=crunch, args=(STEPS // n_threads,)) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


async def in_tasks(n_tasks: int) -> None:
    """Share the work among coroutines."""
    await asyncio.gather(*(waiting(STEPS // n_tasks) for _ in range(n_tasks)))


LOOP = asyncio.new_event_loop()
CONCURRENT: dict[str, Callable[[], object]] = {
    "two threads": lambda: in_threads(2),
    "eight threads": lambda: in_threads(8),
    "asyncio, 50 tasks": lambda: LOOP.run_until_complete(in_tasks(50)),
}
