"""Lines as comma-separated values: a row a line, every number in its own cell."""

from __future__ import annotations

import csv
import io

from proftrace.render.line_csv import HEADER, render_line_csv
from proftrace.render.line_table import TableOptions
from proftrace.views.line_table import FunctionLines, LineValues

SECTION = FunctionLines(
    'a "b",c.py',
    "f",
    1,
    3,
    1000,
    ["def f():", "    a(1,", "      2)", '    b("x")'],
    {
        2: LineValues(3, 900, 700, 5, 10, 400, 2, 20, 30, (1, 2)),
        4: LineValues(0, 100, 100, 0),
    },
    statements={2: (3, "    a(1, 2)")},
)


def rows(*sections: FunctionLines, options: TableOptions | None = None) -> list[dict[str, str]]:
    text = render_line_csv(sections, options or TableOptions())
    return list(csv.DictReader(io.StringIO(text)))


def test_every_number_has_its_cell() -> None:
    first, second = rows(SECTION)
    assert tuple(first) == HEADER
    assert ",".join(first.values()) == (
        'a "b",c.py,f,1,3,2,3,3,900,700,5,300.0,90.0000,30,20,2,10,400,    a(1, 2)'
    )
    assert [second[key] for key in ("line", "last_line", "hits", "per_hit_ns", "min_ns")] == [
        *("4", "4", "0", "", "")
    ]
    assert second["source"] == '    b("x")'


def test_lines_that_cost_little_are_left_out_when_asked_for() -> None:
    assert [row["line"] for row in rows(SECTION, options=TableOptions(min_percent=50))] == ["2"]


def test_sorting_is_that_of_the_text_table() -> None:
    small = FunctionLines("a.py", "small", 1, 1, 1, None, {1: LineValues(1, 1, 1, 0)})
    assert [row["function"] for row in rows(SECTION, small)] == ["f", "f", "small"]
    assert [row["function"] for row in rows(SECTION, small, options=TableOptions(sort=True))] == [
        *("small", "f", "f")
    ]


def test_functions_that_never_ran_and_no_functions_have_no_rows() -> None:
    idle = FunctionLines("a.py", "idle", 1, 0, 0, ["def idle(): pass"], {})
    assert rows(idle) == rows() == []
