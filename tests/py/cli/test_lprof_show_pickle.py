"""`lprof show` of what line_profiler has written."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from line_profiler.line_profiler import LineStats

from line_logs import code_of, write_line_log
from proftrace.cli import lprof, memtrace

TEXT = "def f(a):\n    b = a\n    return b\n"


@pytest.fixture
def pickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.py").write_text(TEXT)
    LineStats({("f.py", 1, "f"): [(2, 4, 3_000), (3, 4, 1_000)]}, 1e-9).to_file(tmp_path / "r")
    return tmp_path / "r"


def show(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert lprof.main(["show", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_it_is_added_up_with_ours(pickled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours = pickled.with_name("ours")
    write_line_log(ours, "f.py", TEXT, {code_of(TEXT, "f.py", "f"): [(2, 1, 1_000)]})
    rows = [line.split() for line in show(capsys, str(pickled), str(ours)).splitlines()]
    assert ["2", "5", "4.0", "0.8", "80.0", "b", "=", "a"] in rows


@pytest.mark.parametrize("style", ["--rich", "--stats"])
def test_calls_that_nobody_counted_are_not_shown(
    pickled: Path, capsys: pytest.CaptureFixture[str], style: str
) -> None:
    out = show(capsys, style, str(pickled))
    assert "4.00 us" in out
    assert "call" not in out


def test_memtrace_says_whose_it_is(pickled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert memtrace.main(["stats", str(pickled)]) == 1
    assert "results of lines, not of memory: lprof show" in capsys.readouterr().err


def test_a_pickle_of_something_else_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.lprof"
    path.write_bytes(pickle.dumps(print))
    assert lprof.main(["show", str(path)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        f"lprof: {path}: a pickle, but not a result of line_profiler: it asks for builtins.print\n"
    )


def test_it_cannot_be_merged_into_a_file_of_ours(
    pickled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lprof.main(["merge", "-o", "out", str(pickled)]) == 1
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert "written by line_profiler, it cannot be merged" in err
    assert not pickled.with_name("out").exists()
