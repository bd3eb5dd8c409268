"""Which functions are one section, and which text a section shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from line_logs import Timings, code_of, functions_of, write_line_log
from proftrace.model.load import load_profile
from proftrace.views.line_stats import function_stats
from proftrace.views.line_table import (
    FunctionLines,
    combine_errors,
    line_table,
    sections_by_key,
)

LOGS = Path(__file__).parents[2] / "logs" / "v1"


def sections(*paths: Path) -> list[FunctionLines]:
    return line_table([load_profile(str(path)) for path in paths])


def write(path: Path, text: str | None, name: str, timings: Timings, source: str = "") -> Path:
    code = code_of(source or text or "", "f.py", name)
    return write_line_log(path, "f.py", text, {code: timings})


def test_the_same_function_in_two_files_is_added_up(tmp_path: Path) -> None:
    text = "def f(a):\n    return a\n"
    one = write(tmp_path / "1", text, "f", [(2, 3, 300)])
    two = write(tmp_path / "2", text, "f", [(1, 1, 10), (2, 4, 500)])
    (section,) = sections(one, two)
    assert [(n, v.hits, v.inclusive) for n, v in section.lines.items()] == [(1, 1, 10), (2, 7, 800)]
    assert (section.calls, section.hits, section.total) == (7, 8, 810)
    assert section.source == ["def f(a):", "    return a"]


def test_equal_names_with_unequal_texts_stay_apart(tmp_path: Path) -> None:
    one = write(tmp_path / "1", "def f():\n    old()\n", "f", [(2, 1, 1)])
    two = write(tmp_path / "2", "def f():\n    new()\n", "f", [(2, 2, 1)])
    assert [(s.source, s.hits) for s in sections(one, two)] == [
        (["def f():", "    old()"], 1),
        (["def f():", "    new()"], 2),
    ]


def test_two_codes_of_one_place_without_text_are_one(tmp_path: Path) -> None:
    source = "def f():\n    g()\n"
    one = write(tmp_path / "1", None, "f", [(2, 1, 5)], source)
    two = write(tmp_path / "2", None, "f", [(2, 2, 5)], source)
    (section,) = sections(one, two)
    assert (section.hits, section.source) == (3, None)


def test_equal_names_at_other_lines_are_functions_of_their_own(tmp_path: Path) -> None:
    text = "class A:\n    def run(self): pass\nclass B:\n    def run(self): pass\n"
    timings: dict = {
        code: [(code.co_firstlineno, 1, 1)]
        for code in functions_of(text, "f.py")
        if code.co_name == "run"
    }
    found = sections(write_line_log(tmp_path / "r", "f.py", text, timings))
    assert [(s.name, s.first_line) for s in found] == [("A.run", 2), ("B.run", 4)]


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [("f.<locals>.<genexpr>", 2, 3), ("f.<locals>.<lambda>", 4, 4), ("f", 1, 4)],
)
def test_the_text_ends_with_the_block(tmp_path: Path, name: str, first: int, last: int) -> None:
    text = "def f(a):\n    b = sum(x\n      for x in a)\n    return lambda: b\n\nend = 1\n"
    (section,) = sections(write(tmp_path / "r", text, name, [(last, 1, 1)]))
    assert section.source == text.splitlines()[first - 1 : last]


def test_a_line_that_ran_is_shown_even_behind_the_end_of_the_block(tmp_path: Path) -> None:
    text = "def f():\n    pass\n\nx = 1\ny = 2\n"
    (section,) = sections(write(tmp_path / "r", text, "f", [(4, 1, 1)]))
    assert section.source == ["def f():", "    pass", "", "x = 1"]


def test_text_that_does_not_parse_is_shown_as_far_as_it_ran(tmp_path: Path) -> None:
    source = "def f():\n    pass\n    pass\n"
    (section,) = sections(
        write(tmp_path / "r", "def f(:\n    '''\n  )\n", "f", [(2, 1, 1)], source)
    )
    assert section.source is not None
    assert section.source[:2] == ["def f(:", "    '''"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_what_ends_a_line_for_python_ends_one(tmp_path: Path, end: str) -> None:
    text = end.join(["def f():", "    a = '\x0c\u2028\x1c'", "    return a", ""])
    source = "def f():\n    a = ''\n    return a\n"
    (section,) = sections(write(tmp_path / "r", text, "f", [(3, 1, 1)], source))
    assert section.source == ["def f():", "    a = '\x0c\u2028\x1c'", "    return a"]


def test_negative_times_are_shown_as_nothing(tmp_path: Path) -> None:
    text = "def f():\n    pass\n"
    (section,) = sections(write(tmp_path / "r", text, "f", [(2, 5, -30)]))
    assert section.lines[2].inclusive == 0
    assert section.total == 0


def test_the_error_of_a_function_is_the_one_that_was_recorded() -> None:
    profiles = [load_profile(str(LOGS / "lines-2.bin"))]
    stats = function_stats(profiles)
    assert {key: one.lines.error for key, one in stats.items()} == {
        key: one.inclusive_error for key, one in stats.items()
    }
    assert any(one.inclusive_error > 0 for one in stats.values())
    twice = sections_by_key(profiles * 2)
    for key, one in stats.items():
        assert twice[key].error == combine_errors(one.inclusive_error, one.inclusive_error)
