"""The line table of a terminal: it fits, it hides nothing that counts, it needs no colours."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from line_logs import Timings, code_of, write_line_log
from proftrace.model.load import load_profile
from proftrace.render.line_table import TableOptions
from proftrace.render.line_terminal import render_terminal
from proftrace.render.terminal import Terminal, display_width
from proftrace.views.line_table import Call, FunctionLines, LineValues, line_table

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
    assert [line.split("⋮")[1].strip() for line in folded] == [
        "5 lines, 0.0 %",
        "cold lines, folded: lprof show --all shows them",
    ]
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


NESTED = """\
def f(rows):
    total = sum(
        row
        for row in rows)
    for row in rows: total += row
    return sorted(rows, key=lambda row: -row)
"""


def nested_sections(tmp_path: Path) -> list[FunctionLines]:
    functions: dict = {
        code_of(NESTED, "n.py", "f"): [(2, 1, 80_000), (5, 1, 9_000), (6, 1, 11_000)],
        code_of(NESTED, "n.py", "f.<locals>.<genexpr>"): [(3, 500, 30_000), (4, 501, 10_000)],
        code_of(NESTED, "n.py", "f.<locals>.<lambda>"): [(6, 500, 4_000)],
    }
    return line_table(
        [load_profile(str(write_line_log(tmp_path / "r", "n.py", NESTED, functions)))]
    )


def test_unnamed_functions_are_rows_below_their_lines(tmp_path: Path) -> None:
    lines = render(nested_sections(tmp_path), Terminal(120))
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines]
    assert [row for row in rows if "<" in row[-1]] == [
        ["500", "30.0 us", "60 ns", "└ <genexpr>"],
        ["501", "10.0 us", "20 ns", "└ <genexpr>"],
        ["500", "4.00 us", "8 ns", "└ <lambda>"],
    ]
    assert len([line for line in lines if "n.py:" in line]) == 1
    below = next(index for index, line in enumerate(lines) if "<lambda>" in line)
    assert "return sorted" in lines[below - 1]
    source_at = lines[below - 1].index("return")
    assert lines[below].index("└") == source_at + 2


def test_an_unnamed_function_whose_surroundings_were_not_profiled_is_one_for_itself(
    tmp_path: Path,
) -> None:
    lines = render(nested_sections(tmp_path)[1:], Terminal(120))
    assert any(line.startswith("f.<locals>.<genexpr>  n.py:2-4") for line in lines)


def test_a_loop_on_one_line_says_that_it_is_one_hit(tmp_path: Path) -> None:
    lines = render(nested_sections(tmp_path), Terminal(120))
    (marked,) = [line for line in lines if " 1* " in line]
    assert marked.endswith("for row in rows: total += row")
    assert "* a loop on one line is one hit; its rounds are not counted" in lines
    assert not any("*" in line for line in render([plain_section()], Terminal(120)))


def plain_section() -> FunctionLines:
    text = ["def f():", "    a()", "    b()", "    c()"]
    values = {line: LineValues(1, time, time, 0) for line, time in ((2, 900), (3, 99), (4, 1))}
    return FunctionLines("a.py", "f", 1, 3, 1000, text, values)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (TableOptions(), ["1", "2", "3", "4"]),
        (TableOptions(min_percent=50), ["1", "2", "⋮"]),
        (TableOptions(min_percent=50, context=1), ["1", "2", "3", "⋮"]),
        (TableOptions(min_percent=50, all_lines=True), ["1", "2", "3", "4"]),
        (TableOptions(min_percent=50, raw=True), ["1", "2", "3", "4"]),
    ],
)
def test_what_is_cold_can_be_chosen(options: TableOptions, shown: list[str]) -> None:
    lines = render_terminal([plain_section()], options, Terminal(100), "").splitlines()
    table = lines[4 : lines.index("", 3)]
    assert [line.split()[0] for line in table] == shown


@pytest.mark.parametrize(
    ("options", "time", "per_hit"),
    [
        (TableOptions(unit=1e-6), "1,500.0", "0.02"),
        (TableOptions(unit=1.0), "0.0015", "2.0e-08"),
        (TableOptions(raw=True), "1500000", "20"),
    ],
)
def test_a_unit_can_be_asked_for(options: TableOptions, time: str, per_hit: str) -> None:
    values = {1: LineValues(75_000, 1_500_000, 1_500_000, 0)}
    section = FunctionLines("a.py", "f", 1, 1, 1_500_000, ["def f(): g()"], values)
    text = render_terminal([section], options, Terminal(100), "")
    (row,) = [line.split() for line in text.splitlines() if line.endswith("def f(): g()")]
    assert row[2:3] == [time]
    assert float(row[3]) == float(per_hit)
    assert ("times in units of" in text) == (options.unit is not None)


def test_a_summary_has_a_line_a_function() -> None:
    options = TableOptions(summarize=True)
    text = render_terminal([plain_section()], options, Terminal(100), "")
    assert text.splitlines()[-1] == "  1.00 us  100.0 %  f  a.py:1"


def test_callers_are_listed_and_callees_stand_below_their_line() -> None:
    caller, callee = ("b.py", 1, "main", None), ("c.py", 5, "C.g", None)
    section = dataclasses.replace(
        plain_section(),
        callers=[Call(caller, 9, 3, 1000, 100, "f()"), Call(None, 0, 0, 7, 7)],
        callees=[Call(callee, 2, 1, 800, 800, "a()")],
    )
    text = render_terminal([section], TableOptions(callers=True), Terminal(100), "")
    lines = text.splitlines()
    assert lines[lines.index("  called by") + 1 :][:3] == [
        "    3 x  1.00 us  main  b.py:9  f()",
        "    - x     7 ns  code that is not profiled",
        "",
    ]
    below = next(index for index, line in enumerate(lines) if line.endswith("a()")) + 1
    assert lines[below].strip() == "→ C.g  1 x, 800 ns"
    assert "C.g" not in render_terminal([section], TableOptions(), Terminal(100), "")


def test_the_mark_of_a_profiled_function_is_no_row_of_its_own() -> None:
    source = ["    @other", "    @lprof.profile", "    def f():", "        hot()"]
    section = FunctionLines("a.py", "f", 5, 1, 9, source, {8: LineValues(1, 9, 9, 0)})
    text = "\n".join(render([section], Terminal(100)))
    assert "@other" in text
    assert "@lprof.profile" not in text
    assert "@lprof.profile" in "\n".join(render([section], Terminal(100), all_lines=True))


def test_an_unnamed_function_that_is_hot_is_not_folded_with_its_line() -> None:
    source = ["def f():", "    k = lambda: 1", "    a = 1", "    b = 1", "    hot(k)"]
    values = {line: LineValues(1, time, time, 0) for line, time in ((2, 1), (3, 1), (5, 998))}
    outer = FunctionLines("a.py", "f", 1, 1, 1000, source, values)
    inner = FunctionLines(
        "a.py", "f.<locals>.<lambda>", 2, 9, 900, source[1:2], {2: LineValues(9, 900, 900, 0)}
    )
    lines = render([outer, inner], Terminal(100))
    assert any(line.endswith("└ <lambda>") for line in lines)
    assert not any("k =" in line for line in render([outer], Terminal(100)))


def test_a_bar_gets_narrow_before_columns_go(sections: list[FunctionLines]) -> None:
    def head(width: int) -> list[str]:
        lines = render(sections, Terminal(width, unicode=False))
        return next(line.split() for line in lines if line.lstrip().startswith("line "))

    def longest_bar(width: int) -> int:
        text = "\n".join(render(sections, Terminal(width, unicode=False)))
        return max(map(len, re.findall("#+", text)), default=0)

    assert [longest_bar(width) for width in (200, 80, 60)] == [7, 4, 0]
    assert "per" in head(90)
    assert "per" not in head(60)


@pytest.mark.parametrize(
    ("error", "total"), [(0, "1.00 us"), (9, "1.00 us"), (10, "1.00 us ± 10 ns")]
)
def test_an_error_that_tells_is_in_the_heading(error: int, total: str) -> None:
    # The function's own: lines whose samples went to the wrong neighbour have errors that cancel.
    values = {1: LineValues(1, 1000, 1000, 0, inclusive_error=500)}
    section = FunctionLines("a.py", "f", 1, 2, 1000, ["def f(): pass"], values, error=error)
    heading = render([section], Terminal(100))[2]
    assert heading.startswith("f  a.py:1-1  ")
    assert heading.endswith(f"  {total}  100.0 %  2 calls")


def test_many_functions_that_never_ran_do_not_hide_the_table() -> None:
    idle = [FunctionLines("a.py", f"f{n}", n, 0, 0, ["def f(): pass"], {}) for n in range(1, 40)]
    lines = render([*idle, plain_section()], Terminal(100))
    named = [line for line in lines if line.startswith("never ran: ")]
    assert named[0] == "never ran: f1  a.py:1"
    assert named[5:] == ["never ran: 34 more functions"]
    everything = render([*idle, plain_section()], Terminal(100), all_lines=True)
    assert len([line for line in everything if line.startswith("never ran: f")]) == 39


def test_unnamed_functions_that_never_ran_go_with_their_surroundings(tmp_path: Path) -> None:
    outer, *inner = nested_sections(tmp_path)
    never = [dataclasses.replace(one, lines={}) for one in inner]
    text = "\n".join(render([outer, *never], Terminal(100)))
    assert "never ran" not in text
    assert "<lambda>" not in text


def test_the_await_column_is_for_the_functions_own_lines(tmp_path: Path) -> None:
    outer, genexpr, _ = nested_sections(tmp_path)
    suspended = {line: dataclasses.replace(v, suspended=9) for line, v in genexpr.lines.items()}
    lines = render([outer, dataclasses.replace(genexpr, lines=suspended)], Terminal(100))
    assert not any("await" in line for line in lines)


def test_the_last_line_says_what_to_do_next_where_there_is_room() -> None:
    options = TableOptions(hint="lprof html r.lprof")
    text = render_terminal([plain_section()], options, Terminal(60), "")
    assert text.endswith("\nΣ  f 1.00 us    lprof html r.lprof\n")
    narrow = render_terminal([plain_section()], options, Terminal(30), "")
    assert narrow.endswith("\nΣ  f 1.00 us\n")


def test_an_unnamed_callee_has_no_second_row(tmp_path: Path) -> None:
    outer, genexpr, _ = nested_sections(tmp_path)
    key = (genexpr.file, genexpr.first_line, genexpr.name, None)
    outer = dataclasses.replace(outer, callees=[Call(key, 2, 1, 9, 9, "total = sum(")])
    text = render_terminal([outer, genexpr], TableOptions(callers=True), Terminal(120), "")
    assert "└ <genexpr>" in text
    assert "→" not in text


@pytest.mark.parametrize(
    ("name", "shown"),
    [("<module>", ["⋮", "5"]), ("C", ["1", "⋮", "5"]), ("C.g", ["⋮", "3", "⋮", "5"])],
)
def test_only_the_line_with_the_functions_own_name_is_kept(name: str, shown: list[str]) -> None:
    source = ["class C:", "    a = 1", "def g(): pass", "    b = 1", "    hot()"]
    section = FunctionLines("a.py", name, 1, 1, 9, source, {5: LineValues(1, 9, 9, 0)})
    options = TableOptions(min_percent=50)
    lines = render_terminal([section], options, Terminal(100), "").splitlines()
    assert [line.split()[0] for line in lines[4 : lines.index("", 3)]] == shown


def heading(width: int) -> str:
    section = FunctionLines(
        "a/long/path/to/the/application.py",
        "Inventory.total",
        1_500,
        24_003,
        55_000_000,
        ["def total(self):"] * 900,
        {1_500: LineValues(24_003, 55_000_000, 55_000_000, 0)},
        regimes=("clock", "samples"),
        error=3_600_000,
    )
    return next(line for line in render([section], Terminal(width)) if "55.0 ms" in line)


@pytest.mark.parametrize(
    ("width", "facts"),
    [
        (100, "55.0 ms ± 3.60 ms  100.0 %  24,003 calls  sampled"),
        (70, "55.0 ms ± 3.60 ms  100.0 %  24,003 calls"),
        (60, "55.0 ms  100.0 %  24,003 calls"),
        (40, "55.0 ms  100.0 %"),
    ],
)
def test_a_heading_has_the_facts_that_there_is_room_for(width: int, facts: str) -> None:
    assert heading(width).endswith(f"  {facts}")
    assert heading(width).startswith("Inventory.total ")
    assert len(heading(width)) <= width
