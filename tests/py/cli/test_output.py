"""What a run writes, and what it must not write over."""

from __future__ import annotations

import os
import subprocess
import sys
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


@pytest.mark.parametrize("closed", [(1, 2), (2, 3), (0, 3)])
def test_closed_standard_streams_are_the_programs_business(
    tmp_path: Path, closed: tuple[int, int]
) -> None:
    look = "import os; print([fd for fd in range(3) if os.path.exists(f'/proc/self/fd/{fd}')]"
    program = f"{look}, file=open('seen', 'w'))"
    for words in (
        ["proftrace.cli.memtrace", "run", "-f", "-o", "capture"],
        ["proftrace.cli.lprof", "-o", "lines"],
    ):
        run = subprocess.run(
            [sys.executable, "-m", *words, "-c", program],
            cwd=tmp_path,
            preexec_fn=lambda: os.closerange(*closed),
            check=False,
            capture_output=True,
        )
        assert (run.returncode, run.stdout) == (0, b"")
        seen = (tmp_path / "seen").read_text()
        plain = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            preexec_fn=lambda: os.closerange(*closed),
            check=False,
        )
        assert plain.returncode == 0
        assert (tmp_path / "seen").read_text() == seen
