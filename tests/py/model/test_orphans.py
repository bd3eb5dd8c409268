"""Rows that name a function of which a file says nothing are left out, and that is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from log_writer import LogWriter, call_record, function_record, line_record
from proftrace.cli import lprof
from proftrace.model.load import load_profile


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A result with one line and one call of a function, and four rows of others."""
    log = LogWriter(content=2)
    f, g = log.code("f", "f.py", 1), log.code("g", "f.py", 9)
    log.lines(
        function_record(f, 0, 1, 10, 10),
        line_record(f, 2, 1, 10, 10),
        line_record(g, 10, 1, 10, 10),
        line_record(77, 10, 1, 10, 10),
        call_record(0, 0, f, 1, 10),
        call_record(f, 2, g, 1, 5),
        call_record(g, 10, f, 1, 5),
    )
    log.end()
    (tmp_path / "r.lprof").write_bytes(log.data())
    return tmp_path / "r.lprof"


def test_only_their_rows_are_left_out(damaged: Path) -> None:
    profile = load_profile(str(damaged))
    assert list(profile.lines.line) == [2]
    assert len(profile.edges) == 1
    assert [text.partition(": ")[2] for text in profile.warnings] == [
        "damaged: 4 rows of no known function left out"
    ]


@pytest.mark.parametrize("options", [[], ["-r"], ["--stats"], ["--callers"], ["--format=json"]])
def test_every_report_shows_the_rest(
    damaged: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    assert lprof.main(["show", *options, str(damaged)]) == 0
    out, err = capsys.readouterr()
    assert "f.py" in out
    assert len(err.splitlines()) == 1
