"""Which functions and lines are left out, and that nothing else is."""

from __future__ import annotations

import dataclasses

import pytest

from proftrace.views.line_filter import (
    FunctionFilter,
    measured_time,
    select_functions,
    wanted_rows,
)
from proftrace.views.line_table import FunctionKey, FunctionLines, LineValues


def function(name: str, *times: int) -> FunctionLines:
    lines = {line: LineValues(1, time, time, 0) for line, time in enumerate(times, 2)}
    return FunctionLines("a.py", name, 1, 1, sum(times), ["x"] * (len(times) + 1), lines)


SECTIONS: dict[FunctionKey, FunctionLines] = {
    ("a.py", 1, one.name, None): one
    for one in (
        function("cold", 1),
        function("hot", 60, 10),
        function("idle"),
        function("warm", 20, 9),
    )
}


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (FunctionFilter(), "cold hot idle warm"),
        (FunctionFilter(top=2), "hot warm"),
        (FunctionFilter(top=0), ""),
        (FunctionFilter(top=9), "cold hot warm"),
        (FunctionFilter(min_percent=0), "cold hot warm"),
        (FunctionFilter(min_percent=29), "hot warm"),
        (FunctionFilter(min_percent=29.1), "hot"),
        (FunctionFilter(min_percent=1, top=1), "hot"),
    ],
)
def test_functions(wanted: FunctionFilter, names: str) -> None:
    assert measured_time(list(SECTIONS.values())) == 100
    assert [key[2] for key in select_functions(SECTIONS, wanted)] == names.split()


@pytest.mark.parametrize(
    ("least", "context", "wanted"),
    [
        (0, 0, "-++++"),
        (1, 0, "-+--+"),
        (1, 1, "+++++"),
        (50, 0, "-+---"),
        (50, 1, "+++--"),
        (50, 99, "+++++"),
        (100, 9, "-----"),
    ],
)
def test_rows(least: float, context: int, wanted: str) -> None:
    section = function("f", 900, 0, 1, 99)
    rows = wanted_rows(section, list(section.rows()), least, context)
    assert "".join("+" if row else "-" for row in rows) == wanted


def test_a_function_that_took_no_time_keeps_its_rows() -> None:
    section = function("f", 0, 0)
    assert wanted_rows(section, list(section.rows()), 5, 0) == [True] * 3


def test_where_a_function_waited_counts_too() -> None:
    section = function("f", 990, 10, 0)
    section = dataclasses.replace(
        section, lines={**section.lines, 3: LineValues(1, 10, 10, 500), 4: LineValues(1, 0, 0, 1)}
    )
    rows = list(section.rows())
    assert wanted_rows(section, rows, 50, 0) == [False, True, True, False]
    assert wanted_rows(section, rows, 50, 0, waits=False) == [False, True, False, False]


def test_unnamed_functions_go_with_the_one_they_stand_in() -> None:
    inner = function("hot.<locals>.<lambda>", 1)
    sections = {**SECTIONS, ("a.py", 1, inner.name, None): inner}
    chosen = select_functions(sections, FunctionFilter(top=1))
    assert [key[2] for key in chosen] == ["hot", "hot.<locals>.<lambda>"]
