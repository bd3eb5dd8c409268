"""The classic table is line_profiler's, byte for byte."""

from __future__ import annotations

import io
import random
from pathlib import Path
from types import CodeType

import pytest
from line_profiler.line_profiler import show_text

from line_logs import Timings, code_of, functions_of, write_line_log
from proftrace.model.load import load_profile
from proftrace.render.line_table import TableOptions, render_classic
from proftrace.views.line_table import line_table

PROGRAM = (
    '''\
import functools


def plain(a, b):
    """Text."""

    total = a
    for item in b:
        total += item
    return total


@functools.lru_cache(
    maxsize=None,
)
def decorated(n):
    if n < 2:
        return n
    return decorated(n - 1) + decorated(n - 2)  # a comment


class Thing:
    size = 1

    def method(self):
        return [
\t    self.size,
\t\t'a tab\tinside',
\t]
        # a comment at the end of the block

    @property
    def value(self):
        text = """
not indented
    """
        return text

    async def wait(self): return 1


def outer():
    x = 1
    def inner(y):
        return x + y

    return inner(2)

LONG = lambda a: a if a else "'''
    + "x" * 220
    + """"
def last(): pass"""
)
UNITS = [1e-06, 1e-03, 1.0, 1e-09, 3e-07]


def random_timings(code: CodeType, rng: random.Random) -> Timings:
    lines = sorted({line for _, _, line in code.co_lines() if line and line > code.co_firstlineno})
    largest = rng.choice([10, 10**5, 10**9, 10**12])
    return [(line, rng.randint(1, largest), rng.randint(0, 10**3 * largest)) for line in lines]


def expected(
    file: str, timings: dict[CodeType, Timings], options: TableOptions, name: str = ""
) -> str:
    """Return what line_profiler prints for these numbers."""
    stats = {
        (name or file, code.co_firstlineno, code.co_qualname): rows
        for code, rows in timings.items()
    }
    stream = io.StringIO()
    show_text(
        stats,
        1e-09,
        output_unit=options.unit,
        stream=stream,
        stripzeros=options.skip_zero,
        summarize=options.summarize,
        sort=options.sort,
        config=False,
    )
    return stream.getvalue()


def rendered(path: Path, options: TableOptions) -> str:
    return render_classic(line_table([load_profile(str(path))]), options)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("seed", range(6))
def test_is_what_line_profiler_prints(tmp_path: Path, seed: int, unit: float) -> None:
    source = tmp_path / "program.py"
    source.write_text(PROGRAM)
    rng = random.Random(seed)
    timings = {
        code: random_timings(code, rng) if rng.random() < 0.9 else []
        for code in functions_of(PROGRAM, str(source))
    }
    result = write_line_log(tmp_path / "r.lprof", str(source), PROGRAM, timings)
    options = TableOptions(
        unit=unit, skip_zero=seed % 2 == 0, sort=seed % 3 == 0, summarize=seed % 4 < 2
    )
    assert rendered(result, options) == expected(str(source), timings, options)


def test_code_without_text_is_listed_as_line_profiler_lists_it(tmp_path: Path) -> None:
    text = "\n\n\ndef step(x):\n    return x + 1\n"
    timings: dict[CodeType, Timings] = {
        code_of(text, "<string>", "step"): [(5, 3, 1234)],
    }
    result = write_line_log(tmp_path / "r.lprof", "<string>", None, timings)
    options = TableOptions(unit=1e-06)
    assert rendered(result, options) == expected("<string>", timings, options)
    assert "     5         3          1.2      0.4    100.0" in rendered(result, options)


def test_a_line_that_no_statement_starts_has_blanks_for_hits(tmp_path: Path) -> None:
    text = "def f():\n    x = [\n    1]\n"
    result = write_line_log(
        tmp_path / "r.lprof", "f.py", text, {code_of(text, "f.py", "f"): [(2, 2, 900), (3, 0, 100)]}
    )
    rows = rendered(result, TableOptions()).splitlines()
    assert rows[-3].split() == ["2", "2", "0.9", "0.5", "90.0", "x", "=", "["]
    assert rows[-2].split() == ["3", "0.1", "10.0", "1]"]


def test_nothing_recorded_prints_the_unit_only(tmp_path: Path) -> None:
    result = write_line_log(tmp_path / "r.lprof", "f.py", None, {})
    assert rendered(result, TableOptions()) == "Timer unit: 1e-06 s\n\n"


def test_a_microsecond_is_the_unit_unless_another_is_named(tmp_path: Path) -> None:
    result = write_line_log(tmp_path / "r.lprof", "f.py", None, {})
    assert rendered(result, TableOptions()) == rendered(result, TableOptions(unit=1e-06))


BUSY = "def f(x):\n    a = g(\n        x)\n    # words\n    b = 1\n    return a, b\n"


@pytest.fixture
def busy(tmp_path: Path) -> Path:
    timings: Timings = [(2, 7, 1_234_567_891_234), (5, 7, 3), (6, 7, 40_000_000_000)]
    code = code_of(BUSY, "f.py", "f")
    return write_line_log(tmp_path / "r.lprof", "f.py", BUSY, {code: timings})


def rows_of(text: str) -> dict[int, list[str]]:
    """Return hits, time, time per hit and share by line."""
    lines = [line.split() for line in text.splitlines() if line[:6].strip().isdigit()]
    return {int(line[0]): line[1:5] for line in lines}


def test_raw_numbers_are_nanoseconds_and_whole(busy: Path) -> None:
    text = rendered(busy, TableOptions(raw=True))
    assert text.startswith("Timer unit: 1e-09 s\n")
    assert rows_of(text)[2] == ["7", "1234567891234", "176366841604.9", "96.9"]
    assert rows_of(rendered(busy, TableOptions(unit=1e-9)))[2][1] == "1.23e+12"


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (TableOptions(), [1, 2, 3, 4, 5, 6]),
        (TableOptions(min_percent=50), [2]),
        (TableOptions(min_percent=50, context=1), [1, 2, 3]),
        (TableOptions(context=0), [2, 6]),
        (TableOptions(context=2), [1, 2, 3, 4, 5, 6]),
        (TableOptions(min_percent=0), [2, 5, 6]),
        (TableOptions(min_percent=100), []),
    ],
)
def test_lines_that_cost_little_are_left_out_when_asked_for(
    busy: Path, options: TableOptions, lines: list[int]
) -> None:
    text = rendered(busy, options)
    assert list(rows_of(text)) == lines
    assert "Total time: 1274.57 s" in text


def test_a_file_that_claims_endless_lines_is_shown_at_once(tmp_path: Path) -> None:
    code = code_of("def f(): pass\n", "f.py", "f")
    path = tmp_path / "r.lprof"
    write_line_log(path, "f.py", None, {code: [(2, 1, 5), (4_000_000_000, 1, 5)]})
    assert list(rows_of(rendered(path, TableOptions()).replace("4000000000", "     9"))) == [2, 9]
