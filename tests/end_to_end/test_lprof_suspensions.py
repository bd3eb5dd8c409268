"""Generators that are so busy that their lines are counted by blocks: how often and how long they
were suspended is known all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from case_runs import LineResult, load_lines, lprof
from proftrace.model.profile import REGIME_HOT

MICROSECOND = 1_000


def record(source: str, folder: Path, *options: str) -> tuple[LineResult, str]:
    """Run a program; return its result and what it printed."""
    (folder / "program.py").write_text(source)
    run = lprof([*options, "-q", "-o", "r.lprof", "program.py"], folder)
    assert (run.status, run.stderr) == (0, "")
    return load_lines(folder / "r.lprof"), run.stdout


def awaited(result: LineResult, line: int) -> int:
    lines = result.profile.lines
    return sum(lines.values["await"][row] for row, n in enumerate(lines.line) if n == line)


DRIVEN = """\
@profile
def items(n):
    for i in range(n):
        try:
            yield i
        except ValueError:
            yield -i
            continue
        back = yield from pair(i)

def pair(i):
    yield i
    if i % 50 == 0:
        yield i
    return i

def count(values):
    global seen
    for value in values:
        seen += 1
        yield value

seen = 0
kept = []
for value in count(items(5000)):
    pass
for n in range(400):
    generator = items(40)
    for _ in range(n % 7):
        next(generator); seen += 1
    if n % 3 == 0:
        next(generator); seen += 1
        try:
            generator.throw(ValueError)
            seen += 1
        except ValueError:  # in pair, or where it had not begun
            pass
    if n % 5 == 0:
        generator.close()
    elif n % 5 == 1:
        kept.append(generator)
print(seen)
"""


@pytest.mark.hot
def test_suspensions_of_busy_generators_are_counted(tmp_path: Path) -> None:
    by_clock, seen = record(DRIVEN, tmp_path, "--clock")
    by_blocks, seen_again = record(DRIVEN, tmp_path)
    assert seen == seen_again
    assert list(by_blocks.profile.calls.regime) == [REGIME_HOT]
    for result in (by_clock, by_blocks):
        assert list(result.profile.calls.yields) == [int(seen)]
    assert by_blocks.hits("program.py") == by_clock.hits("program.py")


LONG = """\
import time

@profile
def rows(n):
    yield -1
    for i in range(n):
        yield i

for row in rows(3000):
    time.sleep(0.2 if row < 0 else 0.0002)
"""


@pytest.mark.hot
def test_long_suspensions_are_timed_in_busy_code_too(tmp_path: Path) -> None:
    result, _ = record(LONG, tmp_path)
    assert list(result.profile.calls.regime) == [REGIME_HOT]
    assert awaited(result, 5) >= 200_000 * MICROSECOND
    assert awaited(result, 7) >= 3000 * 200 * MICROSECOND
    assert list(result.profile.calls.yields) == [3001]


SHORT = """\
from time import perf_counter_ns

@profile
def numbers(n):
    for i in range(n):
        yield i

for i in numbers(100_000):
    start = perf_counter_ns()
    while perf_counter_ns() - start < 600:
        pass
"""


@pytest.mark.parametrize("option", [(), ("--clock",)])
def test_short_suspensions_are_taken_to_be_as_long_as_the_first_ones(
    option: tuple[str, ...], tmp_path: Path
) -> None:
    result, _ = record(SHORT, tmp_path, *option)
    assert list(result.profile.calls.yields) == [100_000]
    assert result.hits("program.py") == {5: 100_001, 6: 100_000}
    # Most of each is that loop; what the events cost is known to some ns.
    assert awaited(result, 6) >= 100_000 * 500
