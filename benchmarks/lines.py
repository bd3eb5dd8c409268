"""The figures of lprof, beside line_profiler and CPython's own cost of LINE events."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.concurrent_programs import CONCURRENT
from benchmarks.figures import Figure
from benchmarks.interleave import Best, Worker, best_of_processes
from benchmarks.line_programs import PROGRAMS
from benchmarks.tasks import CALLS, LINE_EVENTS

GROUP = "lprof"
# What CPython takes for the events alone.
REFERENCES = "no callback", "empty callback"
# Ours in both ways: as it is by default, and with everything timed by the clock.
OURS: dict[str, list[str]] = {"lprof": [], "lprof --clock": ["--clock"]}
PLACES = "lines below 256", "lines above 256"
TENTH = 0.1
FLOORS = 2.0
UNPROFILED_RATIO = 1.02
CALL_NS = 60.0
SLOWDOWN = 1.9
MEAN_SLOWDOWNS = {"lprof": 1.35, "lprof --clock": 2.4}


def command(mode: str, folder: Path) -> list[str]:
    """Return how the worker of a mode is started: ours as a user starts a program."""
    script = ["-m", "benchmarks.worker", "line"]
    if mode not in OURS:
        return [sys.executable, *script]
    return [*lprof_command(folder / "out.lprof"), *OURS[mode], *script]


def lprof_command(file: Path) -> list[str]:
    """Return the start of a command line that records into a file, as a user types it."""
    return [str(Path(sys.executable).parent / "lprof"), "-o", str(file)]


def environment_of(mode: str) -> dict[str, str]:
    """Return the environment of a process that is measured in a mode (see instrument.py)."""
    return os.environ | {"BENCH_MODE": mode}


def workers(folder: Path, modes: tuple[str, ...]) -> dict[str, Worker]:
    """Return a worker for each mode, not started."""
    return {
        mode: Worker(
            mode, command(mode, folder), folder, {"BENCH_MODE": "lprof" if mode in OURS else mode}
        )
        for mode in modes
    }


def per_event(of: Best, mode: str, task: str, events: int) -> float:
    """Return the nanoseconds that a mode adds to one event of a task."""
    return (of[mode][task] - of["plain"][task]) / events


def ratio(of: Best, mode: str, task: str) -> float:
    """Return how many times as long as plain a task takes."""
    return of[mode][task] / of["plain"][task]


def line_figures(of: Best) -> Iterator[Figure]:
    """Yield what one LINE event costs, or what takes its place in hot code."""
    for task in PLACES:
        tools = *OURS, "line_profiler", *REFERENCES
        added = {tool: per_event(of, tool, task, LINE_EVENTS) for tool in tools}
        for tool, value in added.items():
            yield Figure(GROUP, f"added per line that runs, {task}", tool, value, "ns")
        for other, limit in ("line_profiler", TENTH), ("no callback", FLOORS):
            name = f"the same as a share of {other}, {task}"
            for mode in OURS:
                goal = limit if mode == "lprof" else None
                yield Figure(GROUP, name, mode, added[mode] / added[other], "x", goal)


def call_figures(of: Best) -> Iterator[Figure]:
    """Yield what code beside the profiled lines pays."""
    for mode in *OURS, "line_profiler":
        ours = mode == "lprof"
        name = "an unprofiled function while another is profiled"
        goal = UNPROFILED_RATIO if ours else None
        yield Figure(GROUP, name, mode, ratio(of, mode, "unprofiled"), "x", goal)
        added = per_event(of, mode, "calls", CALLS)
        yield Figure(
            GROUP, "added per decorated call", mode, added, "ns", CALL_NS if ours else None
        )


def program_figures(of: Best) -> Iterator[Figure]:
    """Yield the slowdown of programs in which everything is profiled."""
    for mode, goal in *MEAN_SLOWDOWNS.items(), ("line_profiler", None):
        ratios = {name: ratio(of, mode, name) for name in PROGRAMS}
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        name = "slowdown, geometric mean of seven programs"
        yield Figure(GROUP, name, mode, mean, "x", goal)
        for program, value in ratios.items():
            limit = SLOWDOWN if mode == "lprof" else None
            yield Figure(GROUP, f"slowdown of {program}", mode, value, "x", limit)
        for program in CONCURRENT:
            yield Figure(GROUP, f"slowdown of {program}", mode, ratio(of, mode, program), "x")


def figures(folder: Path, *, quick: bool) -> Iterator[Figure]:
    """Yield the figures of lprof."""
    samples = 8 if quick else 25
    tools = "plain", *OURS, "line_profiler"
    rounds = [
        ((*tools, *REFERENCES), PLACES),
        (tools, ["unprofiled", "calls", *PROGRAMS, *CONCURRENT]),
    ]
    of = best_of_processes(lambda: workers(folder, (*tools, *REFERENCES)), rounds, samples)
    yield from line_figures(of)
    yield from call_figures(of)
    yield from program_figures(of)
