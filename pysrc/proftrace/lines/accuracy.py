"""The accuracy programs A1 to A5: what they really take, for comparison with what lprof says.

`lprof --clock -o FILE -m proftrace.lines.accuracy` runs each program in turn with and without the
profiler, and prints the true times, as one line of JSON. `figures` compares them with what FILE
has.

A1: two loops of equal work, one of them through a helper; several true splits must be seen.
A2: a function that is not profiled must not run slower because another one is.
A3: lines of 1, 2, 4 and 8 times the same work in C.
A4: scaling the work of one line must leave the ratio of the other lines.
A5: a line that sleeps, one that works in C without the GIL, a loop in Python.

A program runs often, and the shortest time counts: other processes only ever make it longer. For
that each run has code of its own, unless `--one-code` asks for the opposite, which code needs that
has to turn hot.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from proftrace.lines.decorator import profile

SPLITS = (10, 30, 50, 70, 90)
SCALES = (1, 2, 4, 8)
A1_NS = 300_000
PLAIN_ROUNDS = 500  # are enough for a shortest time

BIAS = """\
def helper(i):
    return i * i % 7

def through(n):
    total = 0
    for i in range(n):
        total += helper(i)
    return total

def direct(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total
"""

LINES = """\
def lines(one, two, four, eight, n):
    for i in range(n):
        sum(one)
        sum(two)
        sum(four)
        sum(eight)

def part(work, n):
    for i in range(n):
        sum(work)
"""

CAUSE = """\
def cause(first, scaled, last, n):
    for i in range(n):
        sum(first)
        sum(scaled)
        sum(last)
"""

KINDS = """\
import time
import zlib

def kinds(seconds, data, n):
    time.sleep(seconds)
    zlib.crc32(data)
    total = 0
    for i in range(n):
        total += i * i % 7

def asleep(seconds, data, n):
    time.sleep(seconds)

def in_c(seconds, data, n):
    zlib.crc32(data)

def in_python(seconds, data, n):
    total = 0
    for i in range(n):
        total += i * i % 7
"""

UNPROFILED = """\
def busy(n):
    total = 0
    for i in range(n):
        total += i
    return total

def other(n):
    total = 0
    for i in range(n):
        total += i * i % 7
        total = total & 1023
    return total
"""

type Functions = Mapping[str, Callable[..., object]]
type Call = tuple[str, tuple[object, ...]]


@dataclass
class Part:
    """A function (`lines` is empty: its time with callees) or lines (their time without), and what
    one run of it really takes."""

    function: str
    lines: Sequence[int]
    ns: int


@dataclass
class Case:
    """A program with certain numbers: its code is in `files`, each of which ran `runs` times."""

    program: str
    name: str
    files: list[str]
    runs: int
    parts: list[Part]


@dataclass
class Truth:
    """What the programs really take."""

    cases: list[Case]
    unprofiled: float
    """How many times as long a function takes while another one is profiled."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Truth:
        raw = json.loads(text)
        cases = [
            Case(**{**case, "parts": [Part(**part) for part in case["parts"]]})
            for case in raw["cases"]
        ]
        return Truth(cases, raw["unprofiled"])


@dataclass(frozen=True)
class Measured:
    """What a profile says: times in nanoseconds, by file and function or line number."""

    inclusive: Mapping[tuple[str, str], int]
    exclusive: Mapping[tuple[str, int], int]


# ---- running ------------------------------------------------------------------------------------


@dataclass
class Program:
    """The text of a program, the calls that make a run of it, and what is measured in it.

    `probes` are the calls whose plain times are the truth of the parts: without a profiler nobody
    can look into the run itself.
    """

    name: str
    text: str
    calls: Sequence[Call]
    parts: Sequence[tuple[str, Sequence[int]]]
    probes: Sequence[Call]
    files: list[str] = field(default_factory=list)


def load(text: str, file: str, *, profiled: bool) -> Functions:
    """Return the functions of a program, in code of their own."""
    names: dict[str, object] = {}
    exec(compile(text, file, "exec"), names)
    functions = {name: thing for name, thing in names.items() if hasattr(thing, "__code__")}
    if profiled:
        for function in functions.values():
            profile(function)
    return functions  # type: ignore[return-value]  # what has code is callable


def took(functions: Functions, call: Call) -> int:
    """Return how many nanoseconds a call takes."""
    function = functions[call[0]]
    start = time.perf_counter_ns()
    function(*call[1])
    return time.perf_counter_ns() - start


def run_case(kind: str, program: Program, rounds: int, *, one_code: bool) -> Case:
    """Run a program with and without the profiler, in turn; return what it really takes."""
    plain = load(program.text, f"<plain {kind} {program.name}>", profiled=False)
    best = [sys.maxsize] * len(program.probes)
    files: list[str] = []
    functions: Functions = {}
    rounds_per_plain = max(1, rounds // PLAIN_ROUNDS)
    for number in range(rounds):
        if not (one_code and files):
            files.append(f"<accuracy {kind} {program.name} {number}>")
            functions = load(program.text, files[-1], profiled=True)
        for call in program.calls:
            took(functions, call)
        if number % rounds_per_plain != 0:
            continue
        for row, probe in enumerate(program.probes):
            best[row] = min(best[row], took(plain, probe))
    runs = rounds if one_code else 1
    parts = [Part(name, lines, ns) for (name, lines), ns in zip(program.parts, best, strict=True)]
    return Case(kind, program.name, files, runs, parts)


def bias_programs() -> Iterator[Program]:
    """Yield A1, for each split."""
    plain = load(BIAS, "<plain A1>", profiled=False)
    n = 2000
    per_call = {
        name: min(took(plain, (name, (n,))) for _ in range(20)) / n
        for name in ("direct", "through")
    }
    for split in SPLITS:
        direct = round(A1_NS * split / 100 / per_call["direct"])
        through = round(A1_NS * (100 - split) / 100 / per_call["through"])
        calls: list[Call] = [("direct", (direct,)), ("through", (through,))]
        yield Program(str(split), BIAS, calls, [("direct", ()), ("through", ())], calls)


def line_programs() -> Iterator[Program]:
    """Yield A3."""
    works = [range(500 * scale) for scale in SCALES]  # work that uses no memory to speak of
    n = 5
    parts = [("lines", (row,)) for row in (3, 4, 5, 6)]
    probes: list[Call] = [("part", (work, n)) for work in works]
    yield Program("lines", LINES, [("lines", (*works, n))], parts, probes)


def cause_programs() -> Iterator[Program]:
    """Yield A4, for each scale. Only the two lines that stay the same are compared."""
    first, last = range(2000), range(3000)
    n = 5
    for scale in SCALES:
        call: Call = ("cause", (first, range(1000 * scale), last, n))
        parts = [("cause", (3,)), ("cause", (5,))]
        yield Program(str(scale), CAUSE, [call], parts, [call, call])


def kind_programs() -> Iterator[Program]:
    """Yield A5: about the same time in each of the three."""
    work = (0.001, bytes(1 << 20), 15_000)
    parts = [("kinds", (5,)), ("kinds", (6,)), ("kinds", (7, 8, 9))]
    probes: list[Call] = [(name, work) for name in ("asleep", "in_c", "in_python")]
    yield Program("kinds", KINDS, [("kinds", work)], parts, probes)


def unprofiled_ratio(rounds: int) -> float:
    """Run A2: return how many times as long a function takes while another is profiled."""
    rounds = min(rounds, PLAIN_ROUNDS)
    functions = load(UNPROFILED, "<accuracy A2>", profiled=False)
    call: Call = ("other", (20_000,))
    before = min(took(functions, call) for _ in range(2 * rounds))
    profile(functions["busy"])
    after = sys.maxsize
    for _ in range(2 * rounds):
        took(functions, ("busy", (1000,)))
        after = min(after, took(functions, call))
    return after / before


def run(rounds: int, *, one_code: bool = False) -> Truth:
    """Run all programs; must be called in a process that lprof runs."""
    unprofiled = unprofiled_ratio(rounds)  # first: nothing may be profiled before
    programs = {
        "A1": bias_programs,
        "A3": line_programs,
        "A4": cause_programs,
        "A5": kind_programs,
    }
    cases = [
        run_case(kind, program, rounds, one_code=one_code)
        for kind, make in programs.items()
        for program in make()
    ]
    return Truth(cases, unprofiled)


# ---- comparing ----------------------------------------------------------------------------------


def measured_part(case: Case, part: Part, measured: Measured) -> float:
    """Return what a profile says that a part takes in one run, in nanoseconds."""
    if part.lines:
        times = [sum(measured.exclusive.get((f, n), 0) for n in part.lines) for f in case.files]
    else:
        times = [measured.inclusive.get((file, part.function), 0) for file in case.files]
    return min(times) / case.runs


def shares(values: Sequence[float]) -> list[float]:
    """Return parts of a whole, which is 1."""
    total = sum(values)
    return [value / total if total else 0.0 for value in values]


def figures(truth: Truth, measured: Measured) -> dict[str, float]:
    """Return how far a profile is off, by the name of a figure:

    "A1 10" ... "A1 90": error of each split, in points; "A1": their mean. "A2": the ratio of times.
    "A3": mean error of a line's share, in % of it. "A4": the largest change of the other lines'
    ratio, in %. "A5": share of the time that is shown at the wrong part, in %.
    """
    result: dict[str, float] = {}
    ratios: list[float] = []
    for case in truth.cases:
        seen = [measured_part(case, part, measured) for part in case.parts]
        true = shares([part.ns for part in case.parts])
        wrong = [abs(a - b) for a, b in zip(shares(seen), true, strict=True)]
        if case.program == "A1":
            result[f"A1 {case.name}"] = 100 * wrong[0]
        elif case.program == "A3":
            relative = [error / share for error, share in zip(wrong, true, strict=True)]
            result["A3"] = 100 * sum(relative) / len(relative)
        elif case.program == "A4":
            ratios.append(seen[0] / seen[1] if seen[1] else 0.0)
        else:
            result[case.program] = 100 * sum(wrong) / 2
    splits = [error for name, error in result.items() if name.startswith("A1 ")]
    result["A1"] = sum(splits) / len(splits) if splits else 0.0
    result["A2"] = truth.unprofiled
    if ratios:
        result["A4"] = 100 * (max(ratios) / max(min(ratios), 1e-9) - 1)
    return result


def main() -> None:
    """Run the programs and print what they really take."""
    parser = argparse.ArgumentParser(prog="python -m proftrace.lines.accuracy")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--one-code", action="store_true")
    options = parser.parse_args()
    print(run(options.rounds, one_code=options.one_code).to_json())


if __name__ == "__main__":
    main()
