"""`lprof export` as people type it, and what other tools make of it."""

from __future__ import annotations

import json
import pstats
from pathlib import Path

import pytest

from case_runs import assert_refused_in_one_line, lprof

PROGRAM = """\
from proftrace import profile


@profile
def inner(n):
    total = 0
    for i in range(n):
        total += i
    return total


@profile
def outer():
    for _ in range(50):
        inner(100)


outer()
"""
NAMES = {
    "callgrind": "callgrind.out.app.py",
    "collapsed": "app.py.ns.collapsed",
    "pstats": "app.py.pstats",
    "speedscope": "app.py.speedscope.json",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(PROGRAM)
    assert lprof(["-q", "app.py"], tmp_path).status == 0
    return tmp_path


@pytest.mark.parametrize(("name", "output"), NAMES.items())
def test_each_format_has_a_name_of_its_own(folder: Path, name: str, output: str) -> None:
    result = lprof(["export", "app.py.lprof", "--to", name], folder)
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout == f"Wrote {output}\n"
    assert (folder / output).stat().st_size > 0
    refused = lprof(["export", "app.py.lprof", "--to", name], folder)
    assert refused.status == 1
    assert refused.stderr == (
        f"lprof: {output} exists already: -f replaces it, -o names another file\n"
    )
    assert lprof(["export", "app.py.lprof", "--to", name, "-f"], folder).status == 0


@pytest.mark.parametrize(
    ("output", "start"),
    [
        ("callgrind.out.x", b"# callgrind format\n"),
        ("x.callgrind", b"# callgrind format\n"),
        ("x.folded", b"outer ("),
        ("x.speedscope.json", b'{"$schema":'),
    ],
)
def test_the_format_follows_the_name_of_the_output(folder: Path, output: str, start: bytes) -> None:
    assert lprof(["export", "app.py.lprof", "-o", output], folder).status == 0
    assert start in (folder / output).read_bytes()[:20]


def test_pstats_of_a_run_has_its_calls(folder: Path) -> None:
    assert lprof(["export", "app.py.lprof", "--to", "pstats"], folder).status == 0
    read = pstats.Stats(str(folder / "app.py.pstats")).stats  # type: ignore[attr-defined]
    calls = {label[2]: numbers[1] for label, numbers in read.items()}
    assert calls == {"inner": 50, "outer": 1}
    (inner,) = (numbers for label, numbers in read.items() if label[2] == "inner")
    assert [(caller[2], values[0]) for caller, values in inner[4].items()] == [("outer", 50)]


def test_several_results_are_added_up_and_go_to_a_pipe(folder: Path) -> None:
    assert lprof(["-q", "-o", "two.lprof", "app.py"], folder).status == 0
    words = ["export", "--to", "callgrind", "-o", "-"]
    both = lprof([*words, "app.py.lprof", "two.lprof"], folder)
    assert (both.status, both.stderr) == (0, "")
    hits = [int(row.split()[2]) for row in both.stdout.splitlines() if row.startswith("7 ")]
    assert hits == [2 * 50 * 101]


def test_frames_of_speedscope_are_lines_or_functions(folder: Path) -> None:
    names = {}
    for by in ("line", "function"):
        words = ["export", "--to", "speedscope", "--by", by, "-o", "-", "app.py.lprof"]
        read = json.loads(lprof(words, folder).stdout)
        names[by] = {frame["name"] for frame in read["shared"]["frames"]}
    assert names["function"] == {"inner", "outer"}
    assert {"outer:15", "inner:8"} <= names["line"]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["app.py.lprof"], 2, "--to is needed: one of callgrind, collapsed, pstats, speedscope"),
        (["--to", "xml", "app.py.lprof"], 2, "argument --to: invalid choice: 'xml'"),
        (["-o", "x.txt", "app.py.lprof"], 2, "--to is needed"),
        (["--to", "pstats"], 2, "the following arguments are required: FILE"),
        (["--to", "pstats", "--by", "line", "app.py.lprof"], 2, "--by is for collapsed and"),
        (["--to", "pstats", "missing"], 1, "missing: cannot be read: no such file"),
        (["--to", "pstats", "app.py"], 1, "app.py: "),
        (["--to", "pstats", "."], 1, ".: "),
        (["--to", "pstats", "empty"], 1, "empty: "),
        (["--to", "pstats", "newer"], 1, "newer: "),
        (["--to", "pstats", "-o", "no/x", "app.py.lprof"], 1, "cannot write no/x: there is no"),
        (["--to", "pstats", "-fo", "app.py.lprof", "app.py.lprof"], 1, "the file to read from"),
    ],
)
def test_what_cannot_be_exported_is_said_in_one_line(
    folder: Path, words: list[str], status: int, message: str
) -> None:
    assert_refused_in_one_line(["export", *words], folder, "app.py.lprof", status, message)
