"""The figures of `proftrace.Tracker`, in the program's own process, beside memray's Tracker."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.interleave import Worker, best_of_processes, interleave
from benchmarks.memory import ADDED, Added
from benchmarks.tracker_worker import STARTS

GROUP = "tracker"
TOOLS = "proftrace", "memray"
MODES = ("plain", *(f"{tool}{kind}" for tool in TOOLS for kind in ("", " objects", " stopped")))
STOPPED_NS = 1.0
STOPPED_TASK = "depth 5"
STOPPED_PROCESSES = 9
NANOSECONDS_A_MS = 1e6


def _rows() -> list[Added]:
    return [row for row in ADDED if row.kind in ("", "objects")]


def figures(folder: Path, *, quick: bool) -> Iterator[Figure]:
    """Yield what an allocation pays inside a tracker and after it, and what a tracker costs."""

    def start() -> dict[str, Worker]:
        script = [sys.executable, "-m", "benchmarks.tracker_worker"]
        return {
            mode: Worker(f"tracker {mode}", [*script, str(_new(folder)), *mode.split()], folder)
            for mode in MODES
        }

    plain_tasks = [row.task for row in _rows() if not row.kind]
    rounds = [
        (("plain", *TOOLS), plain_tasks),
        (("plain", *(f"{tool} objects" for tool in TOOLS)), ["objects"]),
        ([f"{tool} stopped" for tool in TOOLS], ["start and stop"]),
    ]
    best = {
        name.removeprefix("tracker "): times
        for name, times in best_of_processes(start, rounds, 8 if quick else 25).items()
    }
    yield from _added(best)
    yield from _stopped(folder, 8 if quick else 25)
    for tool in TOOLS:
        value = best[f"{tool} stopped"]["start and stop"] / STARTS / NANOSECONDS_A_MS
        yield Figure(GROUP, "a start and a stop, nothing between", tool, value, "ms")


def _new(folder: Path) -> Path:
    """Return an empty folder: memray does not replace what an earlier process has left."""
    number = sum(1 for _ in folder.glob("tracker-*")) + 1
    made = folder / f"tracker-{number}"
    made.mkdir()
    return made


def _added(best: dict[str, dict[str, int]]) -> Iterator[Figure]:
    for row in _rows():
        added = {}
        for tool in TOOLS:
            own = best[f"{tool} {row.kind}".strip()][row.task]
            added[tool] = (own - best["plain"][row.task]) / row.times
            yield Figure(GROUP, f"added {row.name}", tool, added[tool], "ns")
        share = added["proftrace"] / added["memray"]
        name = f"the same as a share, {row.name}"
        yield Figure(GROUP, name, "proftrace", share, "x", row.share)


def _stopped(folder: Path, samples: int) -> Iterator[Figure]:
    """Yield what an allocation pays when a tracker has been there.

    Each process is compared with itself: where its code and data lie makes more of a difference
    than what is looked for.
    """
    for row in _rows():
        if row.task not in (STOPPED_TASK, "objects"):
            continue
        for tool in TOOLS:
            found = [_paid_after(folder, tool, row, samples) for _ in range(STOPPED_PROCESSES)]
            goal = STOPPED_NS if tool == "proftrace" else None
            name = f"added {row.name.partition(',')[0]}, tracker stopped"
            yield Figure(GROUP, name, tool, statistics.median(found), "ns", goal)


def _paid_after(folder: Path, tool: str, row: Added, samples: int) -> float:
    """Return how much longer one takes in a process after its first trackers, in ns."""
    script = [sys.executable, "-m", "benchmarks.tracker_worker", str(_new(folder)), tool, "stopped"]
    with Worker(f"tracker {tool} stopped", script, folder) as worker:
        interleave([worker], [row.task], samples)
        before = worker.best[row.task]
        worker.sample("start and stop")
        worker.sample("start and stop, objects")
        worker.samples.clear()
        interleave([worker], [row.task], samples)
        return (worker.best[row.task] - before) / row.times
