"""Hits that follow from instruction counts are the hits that follow from LINE events."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from case_runs import CASES, run
from stdlib_programs import WORKLOADS, stdlib_program

HERE = Path(__file__)
COUNTER = HERE.parents[2] / "instruction_counts.py"
ZOO = HERE.parents[2] / "programs" / "hits_zoo.py"
LAYOUTS = HERE.parents[2] / "programs" / "hits_layouts.txt"

# Cases that end the process or bring another tool, for which CPython then loses INSTRUCTION events.
UNFIT = {"LP-17", "LP-20", "LP-21"}
# How many threads still run when the counting stops: each may be between two events.
RUNNING = {"LP-30": 4}
PROGRAMS = [ZOO, *(case for case in sorted(CASES.glob("LP-*.py")) if case.stem not in UNFIT)]


def compared(script: Path, folder: Path) -> dict[str, Any]:
    done = run([sys.executable, str(COUNTER), str(script)], folder)
    assert done.status == 0, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.startswith('{"codes"'))
    result: dict[str, Any] = json.loads(line)
    slack = RUNNING.get(script.stem, 0)
    different = [row for row in result["different"] if abs(row[2] - row[3]) > slack]
    assert (result["without_terms"], different) == ([], [])
    assert result["hits"] > 0
    return result


@pytest.mark.parametrize("script", PROGRAMS, ids=lambda script: script.stem)
def test_terms_give_the_hits_of_programs(script: Path, tmp_path: Path) -> None:
    assert compared(script, tmp_path)["executions"] > 30


def test_terms_give_the_hits_of_every_layout(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("\n".join(row[5:] for row in LAYOUTS.read_text().splitlines()))
    assert compared(script, tmp_path)["raises"] > 10


@pytest.mark.parametrize("name", WORKLOADS)
def test_terms_give_the_hits_of_the_standard_library(name: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(stdlib_program(name), encoding="utf-8")
    result = compared(script, tmp_path)
    assert result["executions"] > 2000
    assert result["codes"] > 5
