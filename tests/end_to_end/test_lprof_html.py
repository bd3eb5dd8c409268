"""`lprof html` as people type it."""

from __future__ import annotations

from pathlib import Path

import pytest

from case_runs import assert_refused_in_one_line, lprof

PROGRAM = """\
from proftrace import profile


@profile
def work(n):
    return sum(range(n))


work(10)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(PROGRAM)
    assert lprof(["-q", "app.py"], tmp_path).status == 0
    return tmp_path


def test_the_page_stands_beside_the_result(folder: Path) -> None:
    result = lprof(["html", "app.py.lprof"], folder)
    assert (result.status, result.stdout, result.stderr) == (0, "Wrote app.py.html\n", "")
    page = (folder / "app.py.html").read_text()
    assert "<title>Time by line - app.py</title>" in page
    assert "<bdi>work</bdi>" in page


def test_a_page_that_is_there_is_kept_unless_forced(folder: Path) -> None:
    (folder / "app.py.html").write_text("mine")
    refused = lprof(["html", "app.py.lprof"], folder)
    assert refused.status == 1
    assert refused.stderr == (
        "lprof: app.py.html exists already: -f replaces it, -o names another file\n"
    )
    assert (folder / "app.py.html").read_text() == "mine"
    assert lprof(["html", "-f", "app.py.lprof"], folder).status == 0
    assert (folder / "app.py.html").read_text() != "mine"


def test_the_page_goes_to_standard_output(folder: Path) -> None:
    result = lprof(["html", "-o", "-", "app.py.lprof", "app.py.lprof"], folder)
    assert result.status == 0
    assert result.stdout.startswith("<!DOCTYPE html>")
    assert result.stderr.count("\n") == 1
    assert "added twice" in result.stderr


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ([], 2, "the following arguments are required: FILE"),
        (["missing.lprof"], 1, "missing.lprof: cannot be read: no such file"),
        (["app.py"], 1, "app.py: "),
        (["."], 1, ".: "),
        (["empty"], 1, "empty: "),
        (["newer"], 1, "newer: "),
        (["-o", "no/x.html", "app.py.lprof"], 1, "cannot write no/x.html: there is no folder no"),
        (["-f", "-o", "app.py.lprof", "app.py.lprof"], 1, "it is the file to read from"),
        (["--unknown", "app.py.lprof"], 2, "unrecognized arguments: --unknown"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    folder: Path, words: list[str], status: int, message: str
) -> None:
    assert_refused_in_one_line(["html", *words], folder, "app.py.lprof", status, message)


def test_a_damaged_file_gives_a_page_that_says_so(folder: Path) -> None:
    data = (folder / "app.py.lprof").read_bytes()
    (folder / "cut").write_bytes(data[: len(data) - 30])
    result = lprof(["html", "cut"], folder)
    assert result.status == 0
    assert result.stderr.startswith("lprof: warning: cut: ends early")
    assert "ends early" in (folder / "cut.html").read_text()
