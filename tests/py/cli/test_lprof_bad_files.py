"""Files that are no results of lprof: one line that says why, status 1, nothing written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from line_logs import code_of, write_line_log
from log_writer import LogWriter, file_header
from proftrace.cli import lprof, memtrace

TEXT = "def f():\n    pass\n"
MEMORY, LINES = 1, 2


def make_folder(path: Path) -> None:
    path.mkdir()
    os.mkfifo(path / "pipe")


def make_result(path: Path) -> bytes:
    write_line_log(path, "f.py", TEXT, {code_of(TEXT, "f.py", "f"): [(2, 1, 5)]})
    return path.read_bytes()


def make_flipped(path: Path) -> None:
    data = bytearray(make_result(path))
    data[60] ^= 1  # in the header, which has a checksum of its own
    path.write_bytes(data)


def make_damaged(path: Path) -> None:
    data = bytearray(make_result(path))
    data[200] ^= 1
    path.write_bytes(data)


def make_memory(path: Path) -> None:
    log = LogWriter(content=MEMORY)
    log.end()
    path.write_bytes(log.data())


# Name: how it is made, and what is said of it.
BAD = {
    "missing": (lambda path: None, "No such file or directory"),
    "empty": (lambda path: path.write_bytes(b""), "is empty, not a capture"),
    "folder": (make_folder, "is a directory, not a capture"),
    "pipe": (os.mkfifo, "is not a regular file, not a capture"),
    "text": (lambda path: path.write_text("Timer unit: 1e-06 s\n"), "is not a capture"),
    "header": (
        lambda path: path.write_bytes(make_result(path)[:100]),
        "is cut off inside its header",
    ),
    "flipped": (make_flipped, "the checksum of its header is wrong"),
    "cut": (lambda path: path.write_bytes(make_result(path)[:150]), "is cut off at byte 128, and"),
    "damaged": (make_damaged, "is damaged at byte 128, and nothing stands before"),
    "newer": (
        lambda path: path.write_bytes(file_header(LINES, version=9, min_reader=9)),
        "was written by a newer version (log format 9, ",
    ),
    "memory": (make_memory, "a memory capture: memtrace reports on it"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize(
    "options", [["show"], ["show", "--stats"], ["show", "-o", "out.json"], ["show", "-r"]]
)
def test_lprof_show(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    options: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    make, reason = BAD[name]
    make(tmp_path / name)
    before = sorted(os.listdir())
    assert lprof.main([*options, name]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith(f"lprof: {name}: ")
    assert reason in line
    assert sorted(os.listdir()) == before


def test_one_bad_file_among_good_ones_stops_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_result(tmp_path / "good")
    make_memory(tmp_path / "bad")
    assert lprof.main(["show", str(tmp_path / "good"), str(tmp_path / "bad")]) == 1
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)


@pytest.mark.parametrize("command", ["show", "html", "export", "merge"])
def test_a_result_is_not_replaced_by_what_is_made_of_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    data = make_result(tmp_path / "r.lprof")
    options = ["--to", "pstats"] if command == "export" else []
    assert lprof.main([command, *options, "-f", "-o", "./r.lprof", "r.lprof"]) == 1
    assert capsys.readouterr() == (
        "",
        "lprof: cannot write ./r.lprof: it is the file to read from\n",
    )
    assert (tmp_path / "r.lprof").read_bytes() == data


@pytest.mark.parametrize("command", ["show", "html"])
def test_the_name_of_a_file_that_is_not_there_moves_no_cursor(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert lprof.main([command, "-o", "-", "gone\x1b[2J.lprof"]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "gone\\x1b[2J.lprof: " in err


@pytest.mark.parametrize("command", [["stats"], ["summary"], ["flamegraph", "-o", "page.html"]])
def test_memtrace_says_that_a_result_of_lines_is_none_of_its_own(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    make_result(tmp_path / "r.lprof")
    assert memtrace.main([*command, "r.lprof"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "memtrace: r.lprof holds results of lines, not of memory: lprof show r.lprof\n"
    assert os.listdir() == ["r.lprof"]


@pytest.mark.timeout(20)
def test_a_pipe_in_a_folder_of_captures_is_not_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_folder(tmp_path / "folder")
    assert memtrace.main(["stats", str(tmp_path / "folder")]) == 1
    assert "there is no capture in this folder" in capsys.readouterr().err


@pytest.mark.parametrize("rest", [b"\0", b"garbage", None])
def test_what_stands_behind_a_result_and_cannot_be_read_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rest: bytes | None
) -> None:
    data = make_result(tmp_path / "r")
    other = bytearray(data)  # the recording of a child, whose first bytes are damaged
    other[3] ^= 1
    (tmp_path / "r").write_bytes(data + (bytes(other) if rest is None else rest))
    assert lprof.main(["show", str(tmp_path / "r")]) == 0
    out, err = capsys.readouterr()
    assert "Function: f" in out
    (line,) = err.splitlines()
    assert line.endswith("bytes behind the last recording cannot be read")


def test_a_damaged_end_does_not_hide_what_was_saved_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = make_result(tmp_path / "r")
    damaged = bytearray(data)
    damaged[200] ^= 1
    (tmp_path / "r").write_bytes(data + damaged)
    assert lprof.main(["show", str(tmp_path / "r")]) == 0
    assert "Function: f" in capsys.readouterr().out
