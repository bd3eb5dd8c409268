"""docs/performance.md: the figures of one run, and on what they were measured."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Figure, show

ROOT = Path(__file__).resolve().parents[1]
HEAD = """# What it costs

Written by `make bench`; do not edit. Each figure is the minimum of interleaved samples (the tools
take turns, samples from slow phases of the machine do not count), and only ratios and differences
inside this one run are shown: compare columns, not pages. `benchmarks/` has the method and the
programs.

"Added" is what a tool adds to the same code without it. "x" is a ratio: to the same code without a
tool, unless the row says otherwise. "No callback" and "empty callback" are what CPython itself
takes to deliver a LINE event to nobody, and to a function in C that does nothing. A goal is the
most that our column may be.
"""
ACCURACY = """The truth is the same code without any profiler, sampled by an instrument of its own
(`benchmarks/truth.c`). Share error: how much of the time is shown at the wrong line (total
variation distance). Error per hit: by how much the time of a hit is off, on average over all hits.
Total off by: how far the sum of all lines is from the time of the plain code. A1 to A5 are the
programs of `lprof check`.
[How lprof measures](how-lprof-measures.md) has pictures.
"""


MEMORY = """Whole programs (`benchmarks/whole/`) run with fixed thresholds of glibc's malloc, under
each tool and without one: its own adjustment gives or takes some 4 % by where blocks happen to lie.
"""


BOUNDED = """`benchmarks/bounded.py`: four places that keep 20,000 blocks each, of sizes of their
own, with a distance of 64 KiB between samples and a ring of 16 MB. An error is of the place that is
off the most, against the capture of every event.
[Bounded captures](memtrace.md#bounded-captures) says what they are.
"""


def cpu_model() -> str:
    """Return the processor's name as the kernel tells it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions() -> str:
    """Return the versions of what was compared."""
    names = "proftrace", "line_profiler", "memray"
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)


def machine_rows() -> list[str]:
    """Return the table of what it was measured on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    libc = " ".join(platform.libc_ver())
    rows = {
        "date": datetime.date.today().isoformat(),
        "processor": f"{cpu_model()}, {os.cpu_count()} cores",
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}, {libc}",
        "interpreter": f"CPython {platform.python_version()}, {platform.python_compiler()}",
        "clock": f"{clock_read_ns()} ns for one read of the cycle counter",
        "compared": versions(),
    }
    return ["| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in rows.items()), ""]


def clock_read_ns() -> str:
    """Return what one read of the cycle counter takes: no clock at every line can cost less."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "clock")
        sources = [ROOT / "benchmarks" / "clock.c", ROOT / "csrc" / "base" / "ticks.c"]
        flags = ["-O2", "-D_GNU_SOURCE", f"-I{ROOT / 'csrc'}"]
        subprocess.run(["cc", *flags, *sources, "-o", program], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout.strip()


def goal_cells(figure: Figure) -> list[str]:
    """Return the cells for the goal and whether it is met."""
    if figure.goal is None:
        return ["", ""]
    return [f"≤ {show(figure.goal, figure.unit)}", "yes" if figure.met else "**no**"]


def table(figures: Sequence[Figure], ours: str, others: Sequence[str]) -> list[str]:
    """Return a table with a row a figure and a column a tool."""
    values = {(figure.name, figure.tool): figure for figure in figures}
    tools = [ours, *others]
    lines = [
        f"| figure | unit | {' | '.join(tools)} | goal | met |",
        "|---|---|" + "--:|" * len(tools) + "---|---|",
    ]
    for name in dict.fromkeys(figure.name for figure in figures):
        row = [values.get((name, tool)) for tool in tools]
        cells = ["" if figure is None else show(figure.value, figure.unit) for figure in row]
        mine = values[name, ours]
        lines.append(f"| {' | '.join([name, mine.unit, *cells, *goal_cells(mine)])} |")
    return [*lines, ""]


def page(figures: Sequence[Figure]) -> str:
    """Return the whole page."""
    lines = [figure for figure in figures if figure.group == "lprof"]
    accuracy = [figure for figure in figures if figure.group == "accuracy"]
    bounded = [figure for figure in figures if figure.group == "bounded"]
    memory = [figure for figure in figures if figure.group == "memtrace"]
    tracker = [figure for figure in figures if figure.group == "tracker"]
    tests = [figure for figure in figures if figure.group == "pytest"]
    return "\n".join(
        [
            HEAD,
            *machine_rows(),
            "## lprof\n",
            *table(
                lines, "lprof", ["lprof --clock", "line_profiler", "no callback", "empty callback"]
            ),
            "## How true the times of lprof are\n",
            ACCURACY,
            *table(accuracy, "lprof", ["lprof --clock", "line_profiler"]),
            "## memtrace\n",
            MEMORY,
            *table(memory, "memtrace", ["memray"]),
            "## Tracker, in the program's own process\n",
            *table(tracker, "proftrace", ["memray"]),
            "## The pytest plugin\n",
            *table(tests, "--memtrace", ["pytest-memray"]),
            "## Bounded captures\n",
            BOUNDED,
            *table(bounded, "every event", ["--sample", "--aggregate", "--ring"]),
        ]
    )
