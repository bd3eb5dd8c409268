"""How true the times are: shares, errors and totals against samples of the same code, unmeasured.

The truth is `truth.c`, an instrument of its own; the tools take turns with it, so that a slow phase
of the machine falls on all of them. Per line and in ns a round:

* share error: half the sum of |share - true share|, the total variation distance, in per cent;
* error per hit: the sum of |time - true time| over all lines, divided by all hits;
* within the error: of the lines that take time, how many are no further from the truth than the
  error that lprof gives them, one standard deviation, and the noise of the truth, in each run;
* total: the sum of all lines' times of a round against the time of one of plain code, each the
  least of several runs.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import accuracy_programs
from benchmarks.figures import Figure
from benchmarks.lines import environment_of, lprof_command
from benchmarks.pictures import bars, write
from proftrace.cli.lprof_check import CLOCK, SAMPLES, known_costs
from proftrace.lines.shares import share_error

GROUP = "accuracy"
PROGRAMS = "mixed", "tokenize", "words", "matmul", "nbody"
SHARE_GOALS = {"mixed": 3.0}
SHARE_GOAL = 5.0
TOTAL_GOAL = 10.0
SECONDS = 1.5
LEAST_SHARE = 0.002  # of a line that is drawn
ROOT = Path(__file__).resolve().parents[1]

type Lines = Mapping[int, float]


@dataclass(slots=True)
class Measured:
    """What one tool said of one program, added up over its runs."""

    rounds: int = 0
    best: int = sys.maxsize
    time: Counter[int] = field(default_factory=Counter)
    hits: Counter[int] = field(default_factory=Counter)
    means: list[float] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)
    runs: list[tuple[Lines, Lines]] = field(default_factory=list)  # times and errors of lprof

    def add(self, answer: Mapping[str, object], time: Lines, hits: Lines) -> None:
        """Add one run: what its worker said, the times of its lines in any unit, their hits."""
        rounds = int(str(answer["rounds"]))
        self.rounds += rounds
        self.best = min(self.best, int(str(answer["ns"])))
        self.means.append(float(str(answer["mean"])))
        for line, value in time.items():
            self.time[line] += round(value)
        for line, value in hits.items():
            self.hits[line] += round(value)
        self.totals.append(sum(time.values()) / rounds)


def build_truth(folder: Path) -> Path:
    """Compile truth.c for this interpreter and return the library."""
    library = folder / f"truth{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = sysconfig.get_path("include")
    flags = ["-O2", "-shared", "-fPIC", f"-I{include}", f"-I{include}/internal"]
    source = ROOT / "benchmarks" / "truth.c"
    subprocess.run(["cc", *flags, str(source), "-o", str(library)], check=True)
    return library


def run(mode: str, command: list[str]) -> dict[str, object]:
    """Run a worker and return what it printed."""
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment_of(mode)
    )
    answer = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(answer, dict)
    return answer


def numbers(answer: Mapping[str, object], key: str) -> dict[int, float]:
    """Return one of an answer's tables by line."""
    table = answer[key]
    assert isinstance(table, dict)
    return {int(line): float(value) for line, value in table.items()}


def lprof_lines(file: Path, program: str) -> tuple[Lines, Lines, Lines]:
    """Return exclusive ns, hits and errors in ns by line out of a result file."""
    from proftrace.model.load import load_profile

    profile = load_profile(str(file))
    time: dict[int, float] = {}
    hits: dict[int, float] = {}
    errors: dict[int, float] = {}
    table = profile.lines
    for row, function in enumerate(table.function):
        if profile.strings[profile.functions.name[function]] == program:
            time[table.line[row]] = float(max(0, table.values["exclusive"][row]))
            hits[table.line[row]] = float(table.values["hits"][row])
            errors[table.line[row]] = float(table.values["exclusive_error"][row])
    return time, hits, errors


def measure(program: str, folder: Path, library: Path, rounds: int) -> dict[str, Measured]:
    """Let the tools take turns at one program."""
    of = {tool: Measured() for tool in ("truth", "plain", "lprof", "lprof --clock")}
    of["line_profiler"] = Measured()
    worker = ["-m", "benchmarks.accuracy_worker", program, str(SECONDS)]
    for _ in range(rounds):
        for tool, measured in of.items():
            if tool.startswith("lprof"):
                file = folder / "accuracy.lprof"
                answer = run("lprof", [*lprof_command(file), *tool.split()[1:], *worker])
                time, hits, errors = lprof_lines(file, program)
                measured.runs.append((time, errors))
            else:
                extra = [str(library)] if tool == "truth" else []
                mode = tool if tool == "line_profiler" else "plain"
                answer = run(mode, [sys.executable, *worker, *extra])
                key = {"truth": "samples", "line_profiler": "time"}.get(tool)
                time = numbers(answer, key) if key else {}
                hits = numbers(answer, "hits") if tool == "line_profiler" else {}
            measured.add(answer, time, hits)
    return of


def shares(time: Lines) -> dict[int, float]:
    """Return each line's part of the sum."""
    total = sum(time.values()) or 1.0
    return {line: value / total for line, value in time.items()}


def error_per_hit(tool: Measured, truth: Measured, round_ns: float) -> float:
    """Return by how many ns a hit of a line is off, on average over all hits."""
    true = {line: share * round_ns for line, share in shares(truth.time).items()}
    wrong = sum(
        abs(tool.time[line] / tool.rounds - true.get(line, 0.0)) for line in tool.time | true
    )
    return wrong / (sum(tool.hits.values()) / tool.rounds)


def within_error(tool: Measured, truth: Measured) -> float:
    """Return how many of a hundred lines, of all runs, are true within one standard deviation."""
    true = shares(truth.time)
    n_samples = sum(truth.time.values())
    found: list[bool] = []
    for time, errors in tool.runs:
        total = sum(time.values())
        for line, share in true.items():
            if share < LEAST_SHARE:
                continue
            noise = total * (share / n_samples) ** 0.5
            off = abs(time.get(line, 0.0) - share * total)
            found.append(off <= (errors.get(line, 0.0) ** 2 + noise**2) ** 0.5)
    return 100 * sum(found) / len(found)


def program_figures(program: str, of: Mapping[str, Measured]) -> Iterator[Figure]:
    """Yield the figures of one program."""
    truth, round_ns = of["truth"], float(of["plain"].best)
    for tool in ("lprof", "lprof --clock", "line_profiler"):
        measured = of[tool]
        ours = tool == "lprof"
        goal = SHARE_GOALS.get(program, SHARE_GOAL) if ours else None
        error = share_error(measured.time, truth.time)
        yield Figure(GROUP, f"{program}: share error", tool, error, "%", goal)
        error = error_per_hit(measured, truth, round_ns)
        yield Figure(GROUP, f"{program}: error per hit", tool, error, "ns")
        off = 100 * abs(min(measured.totals) / min(of["plain"].means) - 1)
        yield Figure(
            GROUP, f"{program}: total off by", tool, off, "%", TOTAL_GOAL if ours else None
        )
        if measured.runs:
            good = within_error(measured, truth)
            yield Figure(GROUP, f"{program}: lines within the error", tool, good, "%")
        slow = measured.best / round_ns
        yield Figure(GROUP, f"{program}: slowdown", tool, slow, "x")


def draw(program: str, of: Mapping[str, Measured]) -> str:
    """Return the picture of a program: each line's true share and what the tools say."""
    code = accuracy_programs.PROGRAMS[program][1]
    source = inspect.getsource(code).splitlines()
    tools = {name: shares(of[name].time) for name in ("truth", "lprof", "line_profiler")}
    rows = {
        source[line - code.co_firstlineno].strip(): [
            100 * found.get(line, 0.0) for found in tools.values()
        ]
        for line in sorted(tools["truth"])
        if tools["truth"][line] > LEAST_SHARE
    }
    return bars(f"Share of time by line: {program}", rows, list(tools), "%")


def known_cost_figures(folder: Path, less: int) -> Iterator[Figure]:
    """Yield A1 to A5, programs whose true costs are known because each part runs alone as well."""
    for mode, regime in ("lprof", SAMPLES), ("lprof --clock", CLOCK):
        for one in known_costs(folder, regime, less):
            goal = one.limit if mode == "lprof" else None
            yield Figure(GROUP, one.title, mode, one.value, one.unit, goal)


def figures(folder: Path, *, quick: bool) -> Iterator[Figure]:
    """Yield the figures of accuracy, and draw them when they are measured at full length."""
    library = build_truth(folder)
    for program in PROGRAMS:
        of = measure(program, folder, library, 1 if quick else 5)
        yield from program_figures(program, of)
        if not quick:
            write(f"shares-{program}", draw(program, of))
    yield from known_cost_figures(folder, 4 if quick else 1)
