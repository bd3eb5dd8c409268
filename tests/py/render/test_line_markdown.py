"""Lines as Markdown: tables that a code host draws, whatever stands in the source."""

from __future__ import annotations

import dataclasses
import re

import pytest

from proftrace.render.line_markdown import render_markdown
from proftrace.render.line_table import TableOptions
from proftrace.views.line_table import Call, FunctionLines, LineValues


def section(source: list[str], lines: dict[int, LineValues], name: str = "f") -> FunctionLines:
    total = sum(values.inclusive for values in lines.values())
    return FunctionLines("a.py", name, 1, 2, total, source, lines)


SECTION = section(
    ["def f():", "    if a | b:", "        await c", "    pass"],
    {2: LineValues(1_000, 9_000_000, 9_000_000, 0), 3: LineValues(1, 1_000_000, 1_000_000, 7)},
)


def test_a_function_is_a_table_of_the_lines_that_ran() -> None:
    assert render_markdown([SECTION], TableOptions()).splitlines() == [
        "### `f`: 10.0 ms, 100.0 %, 2 calls",
        "",
        "`a.py:1`",
        "",
        "| Line | Hits | Time | Per hit | Await | % time | Source |",
        "| --: | --: | --: | --: | --: | --: | :-- |",
        r"| 2 | 1,000 | 9.00 ms | 9.00 us |  | **90.0** | `\xa0\xa0\xa0\xa0if a \| b:` |".replace(
            r"\xa0", "\xa0"
        ),
        f"| 3 | 1 | 1.00 ms | 1.00 ms | 7 ns | 10.0 | `{chr(0xA0) * 8}await c` |",
    ]


def test_the_hottest_function_comes_first_and_idle_ones_are_named() -> None:
    cold = section(["def cold(): pass"], {1: LineValues(1, 5, 5, 0)}, "cold")
    idle = section(["def idle(): pass"], {}, "idle")
    text = render_markdown([idle, cold, SECTION], TableOptions())
    assert re.findall(r"^### `(\w+)`", text, re.M) == ["f", "cold"]
    assert text.endswith("\nNever ran: `idle` (`a.py:1`)\n")
    assert "idle" not in render_markdown([idle, cold], TableOptions(skip_zero=True))
    assert render_markdown([], TableOptions()) == "Nothing was recorded.\n"


@pytest.mark.parametrize(
    ("source", "cell"),
    [
        ("x = `a`", "`` x = `a` ``"),
        ("x = ``a`` + 1", "```x = ``a`` + 1```"),
        ("a || b", r"`a \|\| b`"),
        ("x\ty\x1b[0m\x00", r"`x       y\x1b[0m\x00`"),
        ("<script>&amp;", "`<script>&amp;`"),
        ("", ""),
    ],
)
def test_no_text_ends_its_cell(source: str, cell: str) -> None:
    text = render_markdown([section([source], {1: LineValues(1, 9, 9, 0)})], TableOptions())
    (row,) = [line for line in text.splitlines() if line.startswith("| 1 |")]
    assert row == f"| 1 | 1 | 9 ns | 9 ns | **100.0** | {cell} |"


def test_a_share_is_of_all_that_was_measured() -> None:
    text = render_markdown([SECTION], TableOptions(whole=40_000_000))
    assert "10.0 ms, 25.0 %" in text


def test_callers_are_listed_when_asked_for() -> None:
    calls = [Call(("b.py", 1, "m", None), 9, 3, 1000, 9, "f(a|b)"), Call(None, 0, 0, 7, 7)]
    section = dataclasses.replace(SECTION, callers=calls)
    text = render_markdown([section], TableOptions(callers=True))
    assert text.splitlines()[-4:] == [
        "Called by:",
        "",
        r"* 3 times, 1.00 us: `m` (`b.py:9`): `f(a\|b)`",
        "* 7 ns: code that is not profiled",
    ]
    assert "Called by" not in render_markdown([section], TableOptions())
