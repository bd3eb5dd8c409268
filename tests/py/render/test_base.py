"""Writing reports: whole or not at all, and never over something by accident."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from proftrace.errors import OutputError
from proftrace.render.base import check_output, write_output, write_pieces


def test_a_report_gets_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_output(str(path), "x\udcffé", False)
    assert path.read_bytes() == b"x\\udcff\xc3\xa9"
    plain = tmp_path / "plain"
    plain.write_text("")
    assert path.stat().st_mode == plain.stat().st_mode
    assert sorted(os.listdir(tmp_path)) == ["plain", "report.html"]


def test_an_existing_file_is_refused_without_force(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    for write in (check_output, lambda path, force: write_output(path, "new", force)):
        with pytest.raises(OutputError) as caught:
            write(str(path), False)
        assert str(path) in str(caught.value)
        assert "-f" in str(caught.value)
    assert path.read_text() == "old"
    write_output(str(path), "new", True)
    assert path.read_text() == "new"


def test_force_replaces_what_a_link_points_to(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_output(str(tmp_path / "link"), b"new", True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_what_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    for name, reason in {"none/report": "there is no folder", ".": "it is a folder"}.items():
        with pytest.raises(OutputError, match=reason) as caught:
            write_output(str(tmp_path / name), "x", True)
        assert "\n" not in str(caught.value)
    with pytest.raises(OutputError, match="File name too long"):
        write_output(str(tmp_path / ("x" * 300)), "x", False)
    assert os.listdir(tmp_path) == []


def test_a_device_is_not_a_file_that_could_be_lost(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    write_output("/dev/null", "x", False)
    write_output("-", "on stdout\n", False)
    assert capfdbinary.readouterr().out == b"on stdout\n"


def test_pieces_are_written_as_the_whole_is(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    pieces = ["a\udcff", "", "é" * 3_000_000]
    write_output(str(tmp_path / "whole"), "".join(pieces), False)
    write_pieces(str(tmp_path / "pieces"), iter(pieces), False)
    write_pieces("-", iter(pieces), False)
    whole = (tmp_path / "whole").read_bytes()
    assert whole == (tmp_path / "pieces").read_bytes() == capsysbinary.readouterr().out
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "pieces").stat().st_mode


def test_pieces_that_fail_leave_nothing_behind(tmp_path: Path) -> None:
    def fail() -> Iterator[str]:
        yield "x" * 3_000_000
        raise KeyError

    with pytest.raises(KeyError):
        write_pieces(str(tmp_path / "new"), fail(), False)
    with pytest.raises(OutputError, match="cannot write /dev/full: No space left"):
        write_pieces("/dev/full", ["x"], False)
    assert os.listdir(tmp_path) == []
