"""What a worker can be told to time. A task is a call without arguments; its size is fixed, so the
harness can turn nanoseconds of a task into nanoseconds of one event.
"""

from __future__ import annotations

import importlib.util
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

type Task = Callable[[], object]

STRAIGHT_LINES = 20
LOOPS = 1_000
# Per round of the loop: its header and the lines of its body.
LINE_EVENTS = LOOPS * (STRAIGHT_LINES + 1)
CALLS = 20_000
ALLOCATIONS = 4_000
# Above pymalloc's limit, so that every one of them is a call of the C library's allocator.
ALLOCATION_BYTES = 2_000
DEPTHS = 5, 30, 100
OBJECTS = 4_000
THREADS = 2, 8
THREAD_ALLOCATIONS = 16_000  # of all threads together


def load(name: str, source: str) -> ModuleType:
    """Import `source` from a file of its own, as any module of a program is."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        path = Path(folder, f"{name}.py")
        path.write_text(source)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def straight_lines(name: str, first_line: int) -> Task:
    """Return a loop over trivial lines whose line numbers begin at `first_line`. Above 256 CPython
    makes an integer object for each event."""
    body = "\n".join(f"        v{n % 4} = i" for n in range(STRAIGHT_LINES))
    head = "from benchmarks.instrument import profile"
    padding = "\n" * (first_line - 1)
    text = f"{head}{padding}\n@profile\ndef run(times):\n    for i in range(times):\n{body}\n"
    function = load(name, text).run
    return lambda: function(LOOPS)


def line_tasks() -> dict[str, Task]:
    """Return the tasks of a worker for line profilers."""
    from benchmarks.concurrent_programs import CONCURRENT
    from benchmarks.instrument import profile
    from benchmarks.line_programs import PROGRAMS

    def unprofiled(times: int) -> int:
        total = 0
        for i in range(times):
            if i & 3:
                total += i
            else:
                total ^= i
        return total

    @profile
    def profiled_around() -> object:
        return unprofiled(CALLS)

    @profile
    def empty() -> None:
        return None

    def calls() -> None:
        for _ in range(CALLS):
            empty()

    return {
        "lines below 256": straight_lines("bench_low", 10),
        "lines above 256": straight_lines("bench_high", 2_000),
        "unprofiled": profiled_around,
        "calls": calls,
        **PROGRAMS,
        **CONCURRENT,
    }


def at_depth(depth: int, task: Task) -> Task:
    """Return a task that runs `depth` Python calls further down."""
    if depth == 0:
        return task

    def down(left: int) -> object:
        return down(left - 1) if left > 1 else task()

    return lambda: down(depth)


def allocate() -> None:
    """Allocate and free, one block at a time."""
    size = ALLOCATION_BYTES
    for _ in range(ALLOCATIONS):
        bytes(size)


def make_objects() -> None:
    """Make and drop small objects, of a size that pymalloc serves, a few alive at a time."""
    kept: list[object] = [None] * 8
    for i in range(OBJECTS):
        kept[i & 7] = [i]


def in_threads(n: int) -> Task:
    """Return a task that allocates and frees in n threads."""

    def run() -> None:
        size = ALLOCATION_BYTES
        for _ in range(THREAD_ALLOCATIONS // n):
            bytes(size)

    def task() -> None:
        threads = [threading.Thread(target=run) for _ in range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return task


def memory_tasks() -> dict[str, Task]:
    """Return the tasks of a worker for memory profilers."""

    def identity(value: int) -> int:
        return value

    def calls() -> None:
        for i in range(CALLS):
            identity(i)

    return {
        "calls": calls,
        **{f"depth {depth}": at_depth(depth, allocate) for depth in DEPTHS},
        **{f"{n} threads": in_threads(n) for n in THREADS},
        "objects": at_depth(5, make_objects),
    }
