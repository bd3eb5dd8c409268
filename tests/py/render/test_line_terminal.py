"""The line table of a terminal: it fits, it hides nothing that counts, it needs no colours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from line_logs import Timings, code_of, write_line_log
from proftrace.model.load import load_profile
from proftrace.render.line_table import TableOptions
from proftrace.render.line_terminal import render_terminal
from proftrace.render.terminal import Terminal, display_width
from proftrace.views.line_table import FunctionLines, LineValues, line_table

TEXT = '''\
def parse(fh):
    """Read everything.

    Some words.
    """
    out = []
    for line in fh:
        out.append(line)  # a comment that is so long that it fits on no terminal of eighty columns
    assert out, "日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語"
    return out


def idle():
    pass
'''
TIMINGS: Timings = [
    (6, 1, 500),
    (7, 1_000_001, 300_000_000),
    (8, 1_000_000, 1_700_000_000),
    (9, 1, 100_000_000),
    (10, 1, 200),
]


@pytest.fixture
def sections(tmp_path: Path) -> list[FunctionLines]:
    functions: dict = {
        code_of(TEXT, "app.py", "idle"): [],
        code_of(TEXT, "app.py", "parse"): TIMINGS,
    }
    path = write_line_log(tmp_path / "r", "app.py", TEXT, functions)
    return line_table([load_profile(str(path))])


def render(
    sections: list[FunctionLines], terminal: Terminal, *, all_lines: bool = False
) -> list[str]:
    options = TableOptions(all_lines=all_lines)
    return render_terminal(sections, options, terminal, "a title").splitlines()


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(
    sections: list[FunctionLines], width: int, unicode: bool
) -> None:
    lines = render(sections, Terminal(width, unicode=unicode), all_lines=True)
    assert max(map(display_width, lines)) <= width
    assert width > 100 or max(map(display_width, lines)) == width


def test_rows(sections: list[FunctionLines]) -> None:
    lines = render(sections, Terminal(200, unicode=False))
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines]
    assert ["7", "1,000,001", "300 ms", "300 ns", "#", "14.3", "for line in fh:"] in rows
    assert ["line", "hits", "time", "per hit", "%", "source"] in rows
    assert rows[-1][1].startswith("parse 2.10 s")


def test_cold_lines_are_folded_and_counted(sections: list[FunctionLines]) -> None:
    lines = render(sections, Terminal(200))
    folded = [line for line in lines if "⋮" in line]
    assert [line.split("⋮")[1].strip() for line in folded] == ["5 lines, 0.0 %"]
    everything = "\n".join(render(sections, Terminal(200), all_lines=True))
    assert "⋮" not in everything
    for line in TEXT.split("\n\n\n")[0].splitlines():
        assert line.strip() in everything


def test_colours_add_nothing_but_colours(sections: list[FunctionLines]) -> None:
    plain = render(sections, Terminal(80))
    coloured = render(sections, Terminal(80, color=True))
    assert any("\x1b[1;31m" in line for line in coloured)
    assert [re.sub(r"\x1b\[[\d;]*m", "", line) for line in coloured] == plain


def test_without_unicode_it_is_ascii_but_for_the_source(sections: list[FunctionLines]) -> None:
    lines = render(sections, Terminal(80, unicode=False))
    assert all(line.isascii() for line in lines if "日" not in line)


def test_functions_that_never_ran_are_named_once(sections: list[FunctionLines]) -> None:
    assert [line for line in render(sections, Terminal(80)) if "idle" in line] == [
        "never ran: idle  app.py:13"
    ]


def test_the_hottest_function_is_last() -> None:
    def section(name: str, time: int, own: int) -> FunctionLines:
        return FunctionLines(
            "a.py", name, 1, 1, time, ["def x():"], {1: LineValues(1, time, own, 0)}
        )

    functions = [section("hot", 900, 100), section("cold", 5, 5), section("warm", 800, 800)]
    text = "\n".join(render(functions, Terminal(100)))
    assert re.findall(r"^(\w+)  a\.py", text, re.M) == ["cold", "warm", "hot"]
    assert "99.4 %" in text  # 900 of 905 ns: a callee's time is there once


@pytest.mark.parametrize(
    ("values", "titles"),
    [
        (LineValues(1, 10, 10, 0), ["line", "hits", "time", "per hit", "%", "source"]),
        (
            LineValues(2, 90_000, 10_000, 0),
            ["line", "hits", "time", "self", "per hit", "%", "source"],
        ),
        (LineValues(2, 9, 9, 5), ["line", "hits", "time", "per hit", "await", "%", "source"]),
    ],
)
def test_columns_that_say_nothing_are_left_out(values: LineValues, titles: list[str]) -> None:
    section = FunctionLines("a.py", "f", 1, 1, 10**12, ["def f(): pass"], {1: values})
    header = render([section], Terminal(100))[3]
    assert re.split(r"\s{2,}", header.strip()) == titles


def test_code_without_text_shows_the_lines_that_ran() -> None:
    section = FunctionLines("<string>", "f", 2, 1, 30, None, {4: LineValues(3, 30, 30, 0)})
    lines = render([section], Terminal(100, unicode=False))
    assert re.split(r"\s{2,}", lines[4].strip()) == [
        "4",
        "3",
        "30 ns",
        "10 ns",
        "#########",
        "100.0",
    ]
    assert lines[5].strip() == "its text was not recorded"


def test_names_and_texts_cannot_move_the_cursor() -> None:
    section = FunctionLines(
        "a\x1b[2J\n.py",
        "f\x1b]0;x\x07",
        1,
        1,
        1,
        ["\x1b[31mdef\tf():\x00"],
        {1: LineValues(1, 1, 1, 0)},
    )
    text = "\n".join(render([section], Terminal(200)))
    assert text.replace("\n", "").isprintable()
    assert "\\x1b[31mdef" in text


def test_the_line_with_the_name_stays_decorators_are_folded() -> None:
    source = ["@one", "@two", "@three", "async def f():", "    pass", "    hot()"]
    section = FunctionLines("a.py", "f", 5, 1, 9, source, {10: LineValues(1, 9, 9, 0)})
    lines = render([section], Terminal(100))
    shown = [line.strip().partition(" ")[0] for line in lines[4:8]]
    assert shown == ["⋮", "8", "9", "10"]
