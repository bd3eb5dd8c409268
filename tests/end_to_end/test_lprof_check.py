"""`lprof check` measures what it promises, and fails when a count is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from proftrace.cli import lprof_check

LPROF = [sys.executable, "-m", "proftrace.cli.lprof"]


def test_every_check_is_made(tmp_path: Path) -> None:
    command = [*LPROF, "check", "--quick", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    checks = {row["key"]: row for row in answer["checks"]}
    assert checks["exactness"]["value"] == 0
    regimes = [f"{key} {regime}" for regime in ("clock", "samples") for key in ("A1", "A3", "A4")]
    assert {*regimes, "A2 clock", "A2 samples", "A5 clock", "A5 samples"} <= checks.keys()
    # Not how large the errors are, which is the machine's: that something was compared at all.
    assert all(0 <= checks[key]["value"] < 1e6 for key in regimes)
    assert "executions" in answer["facts"]["exactness"]
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_count_breaks_the_promise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {"codes": 2, "executions": 10, "raises": 1, "differences": ["f: instruction 3"]}
    monkeypatch.setattr(lprof_check, "_output", lambda *_, **__: json.dumps(found))
    monkeypatch.setattr(lprof_check, "known_costs", lambda *_: iter(()))
    monkeypatch.setattr(lprof_check, "_shares", lambda *_: iter(()))
    assert lprof_check.check([]) == 1
    out = capsys.readouterr().out
    assert "BROKEN" in out
    assert "hits are NOT exact here" in out
