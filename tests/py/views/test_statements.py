"""Lines that make one statement are one row, with all that they took and nothing twice."""

from __future__ import annotations

from pathlib import Path

from line_logs import code_of
from log_writer import LogWriter, function_record, line_details, line_record
from proftrace.model.load import load_profile
from proftrace.views.line_table import FunctionLines, Reading, Row, sections_by_key

TEXT = """\
def f(a):
    x = g(
        a,
        b)
    y = [
        1]
    return x, y
"""


def section(tmp_path: Path, *, statements: bool = True, text: str = TEXT) -> FunctionLines:
    log = LogWriter(content=2)
    log.source(1, "f.py", text)
    number = log.code("f", "f.py", code_of(TEXT, "f.py", "f").co_firstlineno)
    log.lines(
        function_record(number, 1, 5, 1_000, 1_000),
        line_record(number, 2, 5, 500, 400, details=line_details(50, 200, [0, 5], 3, 30)),
        line_record(number, 3, 0, 100, 90, details=line_details(0, 0, [], 1, 40)),
        line_record(number, 4, 5, 50, 50),
        line_record(number, 6, 4, 150, 150, details=line_details(7, 9, [4], 2, 1)),
        line_record(number, 7, 5, 200, 200, details=line_details(1, 2, [5])),
    )
    log.end()
    path = tmp_path / "r.lprof"
    path.write_bytes(log.data())
    (found,) = sections_by_key([load_profile(str(path))], Reading(statements=statements)).values()
    return found


def test_times_samples_and_errors_are_added_up_and_hits_are_the_first_lines(
    tmp_path: Path,
) -> None:
    found = section(tmp_path)
    first = found.lines[2]
    assert (first.hits, first.inclusive, first.exclusive, first.samples) == (5, 650, 540, 4)
    assert first.exclusive_error == 50
    assert list(found.lines) == [2, 5, 7]
    assert found.total == section(tmp_path, statements=False).total


def test_a_first_line_without_code_takes_the_hits_of_the_others(tmp_path: Path) -> None:
    assert (section(tmp_path).lines[5].hits, section(tmp_path).lines[5].inclusive) == (4, 150)


def test_extremes_are_of_statements_or_not_there(tmp_path: Path) -> None:
    lines = section(tmp_path).lines
    assert (lines[2].shortest, lines[2].longest, lines[2].histogram) == (0, 0, ())
    assert (lines[5].shortest, lines[5].longest, lines[5].histogram) == (7, 9, (4,))
    assert (lines[7].shortest, lines[7].longest) == (1, 2)


def test_rows_are_statements(tmp_path: Path) -> None:
    assert list(section(tmp_path).rows()) == [
        Row(1, 1, "def f(a):"),
        Row(2, 4, "    x = g(a, b)"),
        Row(5, 6, "    y = [1]"),
        Row(7, 7, "    return x, y"),
    ]
    assert len(list(section(tmp_path, statements=False).rows())) == 7


def test_a_text_that_is_no_python_keeps_its_lines(tmp_path: Path) -> None:
    found = section(tmp_path, text="def f((a):\n" + TEXT.partition("\n")[2])
    assert list(found.lines) == [2, 3, 4, 6, 7]


def test_the_text_of_a_line_is_its_whole_statement(tmp_path: Path) -> None:
    assert [section(tmp_path).text_of(line) for line in (2, 3, 7, 99)] == [
        *("x = g(a, b)", "x = g(a, b)", "return x, y", "")
    ]
    assert section(tmp_path, statements=False).text_of(3) == "a,"
