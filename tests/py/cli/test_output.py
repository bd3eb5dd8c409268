"""A run refuses to write over the program that it is about to run."""

from __future__ import annotations

from pathlib import Path

import pytest

from proftrace.cli import lprof, memtrace


@pytest.mark.parametrize("name", ["app.py", "link.py", "./app.py"])
def test_the_script_is_never_replaced(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text("x = 1\n")
    (tmp_path / "link.py").hardlink_to(tmp_path / "app.py")
    assert lprof.main(["-o", name, "app.py"]) == 1
    assert memtrace.main(["run", "-f", "-o", name, "app.py"]) == 1
    for line in capsys.readouterr().err.splitlines():
        assert line.endswith(": it is the file to read from")
    assert (tmp_path / "app.py").read_text() == "x = 1\n"
