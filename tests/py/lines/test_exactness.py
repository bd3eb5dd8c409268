"""Counts of instructions that follow from block counters, against counting each instruction."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from proftrace.lines.exactness import codes_of, compare, compare_all


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """Run the self-check as a user does."""
    command = [sys.executable, "-m", "proftrace.lines.exactness"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.stderr == ""
    result: dict[str, Any] = json.loads(run.stdout)
    assert run.returncode == bool(result["differences"])
    return result


def test_derived_counts_are_the_true_ones(found: dict[str, Any]) -> None:
    assert found["differences"] == []


def test_the_check_is_large_enough_to_mean_something(found: dict[str, Any]) -> None:
    assert found["skipped"] == []
    assert found["codes"] >= 1500
    assert found["executions"] >= 500_000
    assert found["raises"] >= 100


def test_most_events_are_saved(found: dict[str, Any]) -> None:
    assert found["events"] * 8 < found["executions"]


def test_code_that_runs_differently_each_time_is_told() -> None:
    source = "done.append(1)\nfor i in range(len(done)): pass"
    code = compile(source, "differs", "exec")
    done: list[int] = []
    result = compare("x", list(codes_of(code)), lambda: exec(code, {"done": done}))
    assert result.differences
    assert all(text.startswith("x: <module>: instruction ") for text in result.differences)


def test_names_select_workloads() -> None:
    result = compare_all(["bisect"])
    assert 5 < result.codes < 50
    assert result.differences == []


def test_an_error_of_the_program_comes_through_and_leaves_nothing_behind() -> None:
    code = compile("1 / 0", "fails", "exec")
    before = [sys.monitoring.get_tool(tool) for tool in range(6)]
    with pytest.raises(ZeroDivisionError):
        compare("x", [code], lambda: exec(code))
    assert [sys.monitoring.get_tool(tool) for tool in range(6)] == before
