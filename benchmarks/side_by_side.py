"""python -m benchmarks.side_by_side [--page FILE]: writes docs/side-by-side.md.

Ten programs run plainly, under line_profiler and under lprof: what each prints, and which lines are
counted as often as they ran, which is written behind them.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "side-by-side.md"
PROGRAMS = ROOT / "tests" / "programs" / "side_by_side"
WHAT = {
    "generators": "generators with return values, `send`, `yield from`",
    "throw": "`throw` into a generator",
    "athrow": "`athrow` and `aclose` of an async generator",
    "recursion": "recursion",
    "threads": "threads of an executor",
    "closures": "a closure decorated 3,000 times",
    "classes": "a class, with class and static methods and a class in it",
    "properties": "properties, a cached property, a partial method",
    "calls": "calls and literals of several lines",
    "exceptions": "exceptions raised, caught and passed on, `finally`",
}
MARK = re.compile(r"\s*# HITS: (\d+)$")
LINE_PROFILER_HITS = """
import collections, json, line_profiler, sys
hits = collections.Counter()
for rows in line_profiler.load_stats(sys.argv[1]).timings.values():
    hits.update({line: count for line, count, _ in rows})
print(json.dumps(hits))
"""
INTRODUCTION = """# Side by side: ten programs, plainly, under line_profiler and under lprof

Written by `python -m benchmarks.side_by_side` in the environment of `make bench`, with CPython
{python} and line_profiler {line_profiler}. The programs are in `tests/programs/side_by_side`;
behind each of their lines stands how often it ran. Times are in [performance.md](performance.md).
"""
BESIDE = """
## In one process

`lprof` can run beside coverage.py (all its cores), cProfile, pdb, functions set by `sys.settrace`
and `sys.setprofile`, and line_profiler: both see everything. While one of them listens, functions
are timed by the clock, not by samples, and the report says so. What else to know:

* Events of `lprof` stay on when the program switches them off or frees all tool ids of
  `sys.monitoring`; `lprof show --stats` says that it tried.
* A profiled function that gets other code (`f.__code__ = ...`) is still profiled.
* Since CPython 3.13, `breakpoint()` in a function that any tool has LINE events in stops at the
  next line, not at its own.
* kernprof puts its own `profile` in the place of ours: below it, decorated functions are
  line_profiler's.
* `lprof` takes tool id 4, or else 3 or 2. With all three in use it ends with one line before the
  program starts.
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, and how often it says that each line ran."""

    status: int
    output: str
    problem: str
    hits: Mapping[int, int]


def wanted_hits(program: Path) -> dict[int, int]:
    """Return what is written behind the lines of a program."""
    marks = enumerate(map(MARK.search, program.read_text().splitlines()), 1)
    return {line: int(mark[1]) for line, mark in marks if mark is not None}


def _run(words: Sequence[object], hits: Sequence[object] = ()) -> Outcome:
    """Run a program, then the command that prints its hits as JSON."""
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, timeout=300
    )
    problem = (done.stderr.strip().splitlines() or [""])[-1]
    counted: dict[int, int] = {}
    if hits:
        shown = subprocess.run([str(word) for word in hits], capture_output=True, check=False)
        found = json.loads(shown.stdout) if shown.returncode == 0 else {}
        counted = {int(line): int(count) for line, count in found.items()}
    return Outcome(done.returncode, done.stdout, problem, counted)


def run_plainly(program: Path) -> Outcome:
    return _run([sys.executable, program])


def run_lprof(program: Path, folder: Path, *options: str) -> Outcome:
    """Run a program under our command."""
    result = folder / f"{program.stem}.ours"
    lprof = [sys.executable, "-m", "proftrace.cli.lprof"]
    done = _run([*lprof, *options, "-q", "-o", result, program])
    shown = subprocess.run(
        [*lprof, "show", "--format", "json", str(result)], capture_output=True, check=True
    )
    hits: dict[int, int] = {}
    for function in json.loads(shown.stdout)["functions"]:
        for line in function["lines"]:
            hits[line["line"]] = hits.get(line["line"], 0) + line["hits"]
    return Outcome(done.status, done.output, done.problem, hits)


def run_line_profiler(program: Path, folder: Path) -> Outcome:
    """Run a program under line_profiler's command."""
    result = folder / f"{program.stem}.theirs"
    kernprof = [sys.executable, "-m", "kernprof", "-q", "-l", "-o", result, program]
    return _run(kernprof, [sys.executable, "-c", LINE_PROFILER_HITS, result])


def wrong_lines(outcome: Outcome, wanted: Mapping[int, int]) -> list[int]:
    return [line for line, count in wanted.items() if outcome.hits.get(line, 0) != count]


def printed(outcome: Outcome, plain: Outcome) -> str:
    """Return what the table says of a run's output."""
    if (outcome.status, outcome.output) == (plain.status, plain.output):
        return "the same"
    if outcome.status != plain.status:
        return f"ends with status {outcome.status}: `{outcome.problem}`"
    ours, theirs = plain.output.splitlines(), outcome.output.splitlines()
    pairs = zip([*ours, ""], [*theirs, ""], strict=False)
    right, wrong = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
    return f"`{wrong}` for `{right}`"


def summary(name: str, plain: Outcome, theirs: Outcome, ours: Outcome) -> str:
    """Return the row of a program."""
    wanted = wanted_hits(PROGRAMS / f"{name}.py")
    cells = [f"`{name}.py`: {WHAT[name]}"]
    for outcome in (theirs, ours):
        right = len(wanted) - len(wrong_lines(outcome, wanted))
        cells += [printed(outcome, plain), f"{right} of {len(wanted)}"]
    return "| " + " | ".join(cells) + " |"


def details(name: str, theirs: Outcome, ours: Outcome) -> list[str]:
    """Return the rows of the lines that one of the two counts wrong."""
    program = PROGRAMS / f"{name}.py"
    wanted, text = wanted_hits(program), program.read_text().splitlines()
    wrong = sorted({*wrong_lines(theirs, wanted), *wrong_lines(ours, wanted)})
    return [
        f"| `{name}.py:{line}` | `{MARK.sub('', text[line - 1]).strip()}` | {wanted[line]:,} "
        f"| {theirs.hits.get(line, 0):,} | {ours.hits.get(line, 0):,} |"
        for line in wrong
    ]


def page(folder: Path) -> str:
    """Run everything and return the page."""
    rows, lines = [], []
    for name in WHAT:
        program = PROGRAMS / f"{name}.py"
        plain = run_plainly(program)
        theirs, ours = run_line_profiler(program, folder), run_lprof(program, folder)
        rows.append(summary(name, plain, theirs, ours))
        lines += details(name, theirs, ours)
    python = sys.version.split()[0]
    head = INTRODUCTION.format(python=python, line_profiler=version("line_profiler"))
    parts = [
        head,
        "| program | line_profiler prints | lines right | lprof prints | lines right |",
        "|---|---|---|---|---|",
        *rows,
        "\n## Lines that are not counted as often as they began\n",
        "| line | text | began | line_profiler | lprof |",
        "|---|---|---|---|---|",
        *lines,
    ]
    return "\n".join(parts) + "\n" + BESIDE


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.side_by_side")
    parser.add_argument("--page", type=Path, default=PAGE, help="where to write the page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="proftrace-side-") as folder:
        options.page.write_text(page(Path(folder)))


if __name__ == "__main__":
    main()
