"""The figures of memtrace, beside memray in the same mode: with and without Python's allocators."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from benchmarks.figures import Figure
from benchmarks.interleave import PROCESSES, Worker, best_of_processes
from benchmarks.tasks import ALLOCATIONS, DEPTHS, OBJECTS, THREAD_ALLOCATIONS, THREADS
from proftrace import _reader

GROUP = "memtrace"
WHOLE = Path(__file__).parent / "whole"
PROGRAMS = "documents", "trees", "strings", "imports", "arrays", "coroutines"
TOOLS = "memtrace", "memray"
PYTHON = "--trace-python-allocators"
NATIVE = "--native"
# A mode is how a worker or program is run: its tool, and the options of that tool.
MODES: Mapping[str, tuple[str, ...]] = {
    "plain": (),
    "memtrace": ("memtrace",),
    "memray": ("memray",),
    "memtrace objects": ("memtrace", PYTHON),
    "memray objects": ("memray", PYTHON),
    "memtrace native": ("memtrace", NATIVE),
    "memray native": ("memray", NATIVE),
}
PROGRAM_MODES = tuple(mode for mode, words in MODES.items() if NATIVE not in words)
# Whether glibc takes a large block from the heap or maps it anew depends on what happens to be free
# at the end of the heap: one more block at the start of `documents` (or `python -s`) makes 24,000
# page faults, 4 % of its time, with and without a tool. Each whole program, under each tool, has
# the thresholds at which glibc's own adjustment ends (mallopt(3), M_MMAP_THRESHOLD).
STEADY_MALLOC: Mapping[str, str] = {
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
}
NOTHING: Mapping[str, str] = MappingProxyType({})
CALLS_RATIO = 1.02
# Of 30 processes without a tool, the fastest call loop took 5 % less than the median: a ratio of
# minima that is to tell 2 % needs many processes of either side.
CALLS_PROCESSES = 16
QUARTER = 0.25
FIFTH = 0.2
HALF = 0.5
WHOLE_RATIO = 1.05
WHOLE_OBJECTS_RATIO = 1.35


def command(mode: str, capture: Path, script: Sequence[str]) -> list[str]:
    """Return the command that runs a script in a mode, as its user would type it."""
    if mode == "plain":
        return [sys.executable, *script]
    tool, *options = MODES[mode]
    program = Path(sys.executable).parent / tool
    return [str(program), "run", "-q", "-f", *options, "-o", str(capture), *script]


def flamegraph(tool: str, capture: Path, page: Path) -> list[str]:
    """Return the command that turns a capture into a page."""
    return [
        *(str(Path(sys.executable).parent / tool), "flamegraph", "-f", "-o", str(page)),
        str(capture),
    ]


@dataclass(frozen=True, slots=True)
class Added:
    """What a task's rows are called, and how many times it does what is counted."""

    task: str
    name: str
    times: int
    kind: str = ""  # of the mode: "", "objects" or "native"
    share: float = QUARTER

    def mode(self, tool: str) -> str:
        return f"{tool} {self.kind}".strip()


ADDED = (
    *(
        Added(f"depth {n}", f"per block allocated and freed, {n} calls deep", ALLOCATIONS)
        for n in DEPTHS
    ),
    *(
        Added(f"{n} threads", f"per block allocated and freed, {n} threads", THREAD_ALLOCATIONS)
        for n in THREADS
    ),
    Added("objects", "per small object, Python's allocators traced", OBJECTS, "objects", FIFTH),
    *(
        Added(
            f"depth {n}", f"per block, native stacks, {n} calls deep", ALLOCATIONS, "native", HALF
        )
        for n in DEPTHS
    ),
)


def event_figures(folder: Path, samples: int) -> Iterator[Figure]:
    """Yield what calls and single allocations pay."""
    script = ["-m", "benchmarks.worker", "memory"]

    def start(modes: Iterable[str] = MODES) -> dict[str, Worker]:
        return {
            mode: Worker(mode, command(mode, folder / f"{mode}-worker.bin", script), folder)
            for mode in modes
        }

    ways = "plain", *TOOLS
    calls = best_of_processes(
        lambda: start(ways),
        [(ways, ["calls"])],
        samples * CALLS_PROCESSES // PROCESSES,
        CALLS_PROCESSES,
    )
    for mode, goal in ("memtrace", CALLS_RATIO), ("memray", None):
        value = calls[mode]["calls"] / calls["plain"]["calls"]
        yield Figure(GROUP, "loop of calls, nothing allocated", mode, value, "x", goal)
    tasks: dict[str, list[str]] = {"": [], "objects": [], "native": []}
    for row in ADDED:
        tasks[row.kind].append(row.task)
    rounds = [
        (("plain", *(f"{tool} {kind}".strip() for tool in TOOLS)), names)
        for kind, names in tasks.items()
    ]
    best = best_of_processes(start, rounds, samples)
    for row in ADDED:
        plain = best["plain"][row.task]
        added = {}
        for tool in TOOLS:
            added[tool] = (best[row.mode(tool)][row.task] - plain) / row.times
            yield Figure(GROUP, f"added {row.name}", tool, added[tool], "ns")
        share = added["memtrace"] / added["memray"]
        yield Figure(GROUP, f"the same as a share, {row.name}", "memtrace", share, "x", row.share)


@dataclass(frozen=True, slots=True)
class Run:
    """What a process took."""

    cpu_s: float
    wall_s: float
    peak_kib: int


def run(words: list[str], log: Path, variables: Mapping[str, str] = NOTHING) -> Run:
    """Run a command to its end; it must succeed."""
    start = time.perf_counter()
    with log.open("w") as output:
        process = subprocess.Popen(words, stdout=output, stderr=output, env=os.environ | variables)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)} failed:\n{log.read_text()}")
    wall = time.perf_counter() - start
    return Run(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss)


def events_in(tool: str, capture: Path) -> int:
    """Return how many events a capture holds, frees among them."""
    if tool == "memtrace":
        return int(_reader.read_log(str(capture))["ending"]["n_events"])  # type: ignore[index]
    reader = import_module("memray").FileReader(capture)
    return int(reader.metadata.total_allocations)


def size_figures(program: str, captures: Mapping[str, Path], what: str) -> Iterator[Figure]:
    """Yield what an event takes in the captures; memray's figure is the goal."""
    each = {tool: captures[tool].stat().st_size / events_in(tool, captures[tool]) for tool in TOOLS}
    for tool, value in each.items():
        goal = each["memray"] if tool == "memtrace" else None
        yield Figure(GROUP, f"{program}: capture, an event{what}", tool, value, "B", goal)


def program_figures(folder: Path, program: str, rounds: int) -> Iterator[Figure]:
    """Yield what a whole program pays, and what its captures and page are like."""
    runs: dict[str, list[Run]] = {mode: [] for mode in PROGRAM_MODES}
    pages: dict[str, list[float]] = {tool: [] for tool in TOOLS}
    captures = {mode: folder / f"{program}-{mode.replace(' ', '-')}.bin" for mode in PROGRAM_MODES}
    page_of = {tool: folder / f"{program}-{tool}.html" for tool in TOOLS}
    log = folder / f"{program}.log"
    for _ in range(rounds):
        for mode in PROGRAM_MODES:
            words = command(mode, captures[mode], [str(WHOLE / f"{program}.py")])
            runs[mode].append(run(words, log, STEADY_MALLOC))
    for _ in range(max(2, rounds // 2)):
        for tool, seconds in pages.items():
            seconds.append(run(flamegraph(tool, captures[tool], page_of[tool]), log).wall_s)
    plain_s = min(each.cpu_s for each in runs["plain"])
    plain_kib = min(each.peak_kib for each in runs["plain"])
    goals = ("", WHOLE_RATIO), (" objects", WHOLE_OBJECTS_RATIO)
    for suffix, most in goals:
        what = ", Python's allocators" if suffix else ""
        for tool in TOOLS:
            mode = f"{tool}{suffix}"
            goal = most if tool == "memtrace" else None
            value = min(each.cpu_s for each in runs[mode]) / plain_s
            yield Figure(GROUP, f"{program}: CPU time{what}", tool, value, "x", goal)
        for tool in TOOLS:
            kib = min(each.peak_kib for each in runs[f"{tool}{suffix}"]) - plain_kib
            yield Figure(GROUP, f"{program}: peak memory added{what}", tool, kib / 1024, "MiB")
        of = {tool: captures[f"{tool}{suffix}"] for tool in TOOLS}
        yield from size_figures(program, of, what)
    for tool in TOOLS:
        yield Figure(GROUP, f"{program}: file to flame graph", tool, min(pages[tool]), "s")
        yield Figure(GROUP, f"{program}: page", tool, page_of[tool].stat().st_size, "bytes")


def start_figures(folder: Path, rounds: int) -> Iterator[Figure]:
    """Yield what a program that does nothing pays: the command's own work, start and end."""
    times: dict[str, list[float]] = {mode: [] for mode in ("plain", *TOOLS)}
    for _ in range(rounds):
        for mode, seconds in times.items():
            words = command(mode, folder / "nothing.bin", ["-c", "pass"])
            seconds.append(run(words, folder / "nothing.log").cpu_s)
    for tool in TOOLS:
        value = (min(times[tool]) - min(times["plain"])) * 1e3
        yield Figure(GROUP, "an empty program: CPU time added", tool, value, "ms")


def figures(folder: Path, *, quick: bool) -> Iterator[Figure]:
    """Yield the figures of memtrace."""
    yield from event_figures(folder, 8 if quick else 25)
    yield from start_figures(folder, 4 if quick else 15)
    for program in PROGRAMS:
        yield from program_figures(folder, program, 2 if quick else 7)
