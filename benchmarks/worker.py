"""A process that times tasks when told to: python -m benchmarks.worker (line|memory).

It reads task names from stdin, one a line, and answers with the nanoseconds of the loop before, of
the task, and of the loop after.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping
from time import perf_counter_ns

from benchmarks.tasks import Task, line_tasks, memory_tasks

SPIN = 6_000


def spin() -> int:
    """Return the nanoseconds of a fixed loop that nobody profiles: the machine's pace just now."""
    start = perf_counter_ns()
    for _ in range(SPIN):
        pass
    return perf_counter_ns() - start


def measure(task: Task) -> tuple[int, int, int]:
    """Return the paces around a task and its own time."""
    before = spin()
    start = perf_counter_ns()
    task()
    elapsed = perf_counter_ns() - start
    return before, elapsed, spin()


def serve(tasks: Mapping[str, Task]) -> None:
    """Time tasks until stdin ends."""
    gc.disable()
    print("ready", flush=True)
    for line in sys.stdin:
        print(*measure(tasks[line.strip()]), flush=True)


def main() -> None:
    """Serve until stdin ends."""
    serve(line_tasks() if sys.argv[1] == "line" else memory_tasks())


if __name__ == "__main__":
    main()
