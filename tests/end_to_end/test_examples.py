"""The example programs: short, and the same with and without a tool around them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BIN = Path(sys.executable).parent
LONGEST = 40


def run(command: list[str | Path], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short(example: Path) -> None:
    assert len(example.read_text().splitlines()) < LONGEST


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_tools_do_not_change_what_an_example_prints(example: Path, tmp_path: Path) -> None:
    plain = run([sys.executable, example], tmp_path)
    assert plain
    assert run([BIN / "lprof", "-o", tmp_path / "lines", example], tmp_path) == plain
    assert run([BIN / "memtrace", "run", "-o", tmp_path / "memory", example], tmp_path) == plain


def test_hits_of_an_example_are_those_of_its_input(tmp_path: Path) -> None:
    run([BIN / "lprof", "-q", "-o", tmp_path / "lines", ROOT / "examples/access_log.py"], tmp_path)
    table = run([BIN / "lprof", "show", tmp_path / "lines"], tmp_path)
    hits = {
        row.split(None, 5)[-1]: int(row.split()[1])
        for row in table.splitlines()
        if len(row.split()) > 5 and row.split()[1].isdigit()
    }
    assert hits['path = request.split()[1].partition("?")[0]'] == 40_000
    assert hits["for line in lines:"] == 40_001
    assert hits["return failures.most_common(3), slowest"] == 1
