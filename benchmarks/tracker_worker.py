"""A worker inside a tracker: python -m benchmarks.tracker_worker FOLDER MODE.

MODE is the tool ("plain", "proftrace", "memray"), and then what it records: "" or "objects"; or
"stopped": nothing, until the tracker is started and stopped by a task. The task "start and stop"
times the tool's tracker around nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path

from benchmarks import worker
from benchmarks.tasks import Task, memory_tasks

STARTS = 20

type Start = Callable[[bool], AbstractContextManager[object]]


def tracker_of(tool: str, folder: Path) -> Start:
    """Return what makes a new tracker of a tool, each with a file of its own."""
    count = 0

    def path() -> Path:
        nonlocal count
        count += 1
        return folder / f"{tool}-{count}.bin"

    if tool == "plain":
        return lambda _: nullcontext()
    name = "proftrace" if tool == "proftrace" else "memray"
    tracker = import_module(name).Tracker
    return lambda objects: tracker(path(), trace_python_allocators=objects)


def start_and_stop(start: Start, *, objects: bool) -> Task:
    """Return a task that records nothing, many times."""

    def run() -> None:
        for _ in range(STARTS):
            with start(objects):
                pass

    return run


def main() -> None:
    """Serve inside the tracker until stdin ends."""
    folder, tool = Path(sys.argv[1]), sys.argv[2]
    kind = sys.argv[3] if len(sys.argv) > 3 else ""
    start = tracker_of(tool, folder)
    tasks = {
        **memory_tasks(),
        "start and stop": start_and_stop(start, objects=False),
        "start and stop, objects": start_and_stop(start, objects=True),
    }
    if kind == "stopped":
        worker.serve(tasks)
        return
    with start(kind == "objects"):
        worker.serve(tasks)


if __name__ == "__main__":
    main()
