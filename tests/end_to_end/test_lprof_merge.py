"""`lprof merge` as people type it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from case_runs import COMMANDS, assert_refused_in_one_line, lprof, read_table

PROGRAM = """\
import sys
from proftrace import profile


@profile
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total


work(int(sys.argv[1]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(PROGRAM)
    for n in (10, 3000):
        assert lprof(["-q", "-o", f"{n}.lprof", "app.py", str(n)], tmp_path).status == 0
    return tmp_path


def hits_of(folder: Path, *files: str) -> dict[int, int | None]:
    (section,) = read_table(lprof(["show", *files], folder).stdout)
    return {line: hits for line, hits, _ in section.rows}


def test_hits_add_up_over_cold_and_hot_runs(folder: Path) -> None:
    result = lprof(["merge", "10.lprof", "3000.lprof", "-o", "all.lprof"], folder)
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout == "Wrote all.lprof (2 recordings)\n"
    assert hits_of(folder, "all.lprof") == hits_of(folder, "10.lprof", "3000.lprof")
    assert hits_of(folder, "all.lprof")[8] == 3012
    table = lprof(["show", "--stats", "all.lprof"], folder).stdout
    assert table == lprof(["show", "--stats", "10.lprof", "3000.lprof"], folder).stdout


def test_a_file_that_is_there_is_kept_unless_forced(folder: Path) -> None:
    (folder / "all.lprof").write_text("mine")
    words = ["merge", "10.lprof", "3000.lprof", "-o", "all.lprof"]
    refused = lprof(words, folder)
    assert refused.status == 1
    assert refused.stderr == (
        "lprof: all.lprof exists already: -f replaces it, -o names another file\n"
    )
    assert (folder / "all.lprof").read_text() == "mine"
    assert lprof([*words, "-f"], folder).status == 0
    assert hits_of(folder, "all.lprof")[8] == 3012


def test_a_merged_file_goes_to_a_pipe(folder: Path) -> None:
    command = f"{COMMANDS}/lprof merge -o - 10.lprof 3000.lprof > piped"
    assert os.system(f"cd '{folder}' && {command}") == 0
    assert hits_of(folder, "piped")[8] == 3012


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["10.lprof"], 2, "the following arguments are required: -o/--output"),
        (["-o", "x"], 2, "the following arguments are required: FILE"),
        (["-o", "x", "10.lprof", "missing"], 1, "missing: cannot be read: no such file"),
        (["-o", "x", "10.lprof", "empty"], 1, "empty: "),
        (["-o", "x", "10.lprof", "app.py"], 1, "app.py: "),
        (["-o", "x", "10.lprof", "."], 1, ".: "),
        (["-o", "no/x", "10.lprof"], 1, "cannot write no/x: there is no folder no"),
        (["-f", "-o", "10.lprof", "10.lprof"], 1, "it is the file to read from"),
        (["-o", "x", "10.lprof", "newer"], 1, "newer: "),
    ],
)
def test_what_cannot_be_merged_is_said_in_one_line(
    folder: Path, words: list[str], status: int, message: str
) -> None:
    assert_refused_in_one_line(["merge", *words], folder, "10.lprof", status, message)


def test_a_cut_file_is_merged_as_far_as_it_goes(folder: Path) -> None:
    data = (folder / "3000.lprof").read_bytes()
    (folder / "cut").write_bytes(data[: len(data) - 30])
    result = lprof(["merge", "10.lprof", "cut", "-o", "all"], folder)
    assert result.status == 0
    assert result.stderr.startswith("lprof: warning: cut: ends early")
    assert hits_of(folder, "all") == hits_of(folder, "10.lprof", "cut")
