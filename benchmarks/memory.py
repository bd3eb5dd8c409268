"""The figures of memtrace, beside memray in its default mode."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.interleave import Worker, best_of_processes
from benchmarks.tasks import ALLOCATIONS, DEPTHS

GROUP = "memtrace"
WHOLE = Path(__file__).parent / "whole"
PROGRAMS = "documents", "trees", "strings", "imports"
MODES = "plain", "memtrace", "memray"
CALLS_RATIO = 1.02
QUARTER = 0.25


def command(mode: str, capture: Path, script: Sequence[str]) -> list[str]:
    """Return the command that runs a script under a tool, as its user would type it."""
    if mode == "plain":
        return [sys.executable, *script]
    tool = Path(sys.executable).parent / mode
    return [str(tool), "run", "-q", "-f", "-o", str(capture), *script]


def flamegraph(mode: str, capture: Path, page: Path) -> list[str]:
    """Return the command that turns a capture into a page."""
    return [
        *(str(Path(sys.executable).parent / mode), "flamegraph", "-f", "-o", str(page)),
        str(capture),
    ]


def event_figures(folder: Path, samples: int) -> Iterator[Figure]:
    """Yield what calls and single allocations pay."""
    script = ["-m", "benchmarks.worker", "memory"]

    def start() -> dict[str, Worker]:
        return {
            mode: Worker(mode, command(mode, folder / f"{mode}-worker.bin", script), folder)
            for mode in MODES
        }

    tasks = ["calls", *(f"depth {depth}" for depth in DEPTHS)]
    best = best_of_processes(start, [(MODES, tasks)], samples)
    for mode, goal in ("memtrace", CALLS_RATIO), ("memray", None):
        value = best[mode]["calls"] / best["plain"]["calls"]
        yield Figure(GROUP, "loop of calls, nothing allocated", mode, value, "x", goal)
    for depth in DEPTHS:
        task = f"depth {depth}"
        added = {
            mode: (best[mode][task] - best["plain"][task]) / ALLOCATIONS
            for mode in ("memtrace", "memray")
        }
        name = f"added per block allocated and freed, {depth} calls deep"
        for mode, value in added.items():
            yield Figure(GROUP, name, mode, value, "ns")
        share = added["memtrace"] / added["memray"]
        name = f"the same as a share of memray, {depth} calls deep"
        yield Figure(GROUP, name, "memtrace", share, "x", QUARTER)


@dataclass(frozen=True, slots=True)
class Run:
    """What a process took."""

    cpu_s: float
    wall_s: float


def run(words: list[str], log: Path) -> Run:
    """Run a command to its end; it must succeed."""
    start = time.perf_counter()
    with log.open("w") as output:
        process = subprocess.Popen(words, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)} failed:\n{log.read_text()}")
    return Run(usage.ru_utime + usage.ru_stime, time.perf_counter() - start)


def program_figures(folder: Path, program: str, rounds: int) -> Iterator[Figure]:
    """Yield what a whole program pays, and what its capture and page are like."""
    runs: dict[str, list[float]] = {mode: [] for mode in MODES}
    pages: dict[str, list[float]] = {mode: [] for mode in MODES[1:]}
    captures = {mode: folder / f"{program}-{mode}.bin" for mode in MODES}
    page_of = {mode: folder / f"{program}-{mode}.html" for mode in MODES}
    log = folder / f"{program}.log"
    for _ in range(rounds):
        for mode in MODES:
            words = command(mode, captures[mode], [str(WHOLE / f"{program}.py")])
            runs[mode].append(run(words, log).cpu_s)
    for _ in range(max(2, rounds // 2)):
        for mode, seconds in pages.items():
            seconds.append(run(flamegraph(mode, captures[mode], page_of[mode]), log).wall_s)
    for mode in MODES[1:]:
        value = min(runs[mode]) / min(runs["plain"])
        yield Figure(GROUP, f"{program}: CPU time", mode, value, "x")
        yield Figure(GROUP, f"{program}: capture", mode, captures[mode].stat().st_size, "bytes")
        yield Figure(GROUP, f"{program}: file to flame graph", mode, min(pages[mode]), "s")
        yield Figure(GROUP, f"{program}: page", mode, page_of[mode].stat().st_size, "bytes")


def figures(folder: Path, *, quick: bool) -> Iterator[Figure]:
    """Yield the figures of memtrace."""
    yield from event_figures(folder, 8 if quick else 25)
    for program in PROGRAMS:
        yield from program_figures(folder, program, 2 if quick else 7)
