"""The line that says how far long work has come."""

from __future__ import annotations

import os
import pty
import select
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from proftrace.cli import progress as module
from proftrace.cli.progress import progress


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Let stderr be a terminal; give the end from which it is read."""
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr("sys.stderr", stream)
        yield reader
    os.close(reader)


def is_written(reader: int, seconds: float) -> bool:
    return bool(select.select([reader], [], [], seconds)[0])


def read_until(reader: int, end: str) -> str:
    """Return what was written, up to what comes last: a terminal hands writes on bit by bit."""
    text = ""
    while not text.endswith(end) and is_written(reader, 30):
        text += os.read(reader, 1000).decode()
    return text


def test_it_is_shown_after_a_while_and_goes_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0.01)
    with terminal(monkeypatch) as reader:
        with progress("lprof", "merging") as say:
            say("file 211 of 300")
            assert is_written(reader, 30)
        text = "lprof: merging file 211 of 300"
        shown = read_until(reader, f"{' ' * len(text)}\r")
    assert shown.startswith(f"\r{text}")
    assert shown.endswith(f"\r{' ' * len(text)}\r")


def test_it_is_shown_while_one_piece_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0.01)
    with terminal(monkeypatch) as reader, progress("lprof", "exporting to pstats"):
        assert is_written(reader, 30)


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as reader:
        with progress("lprof", "merging") as say:
            say("file 1 of 2")
        assert not is_written(reader, 0)


def test_it_says_nothing_into_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0.0)
    with progress("lprof", "merging") as say:
        say("file 1 of 2")
    assert capsys.readouterr() == ("", "")


def test_it_goes_away_when_the_work_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0.01)
    with terminal(monkeypatch) as reader:
        with pytest.raises(ValueError, match="broken"), progress("lprof", "merging"):
            assert is_written(reader, 30)
            raise ValueError("broken")
        assert read_until(reader, " \r").endswith(" \r")
