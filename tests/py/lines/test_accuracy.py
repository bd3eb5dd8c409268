"""The comparison of the accuracy programs, and that lprof can run them."""

from __future__ import annotations

from pathlib import Path

import pytest

from case_runs import lprof
from proftrace.lines.accuracy import Case, Measured, Part, Truth, figures
from proftrace.model.load import load_profile

FILES = ["a", "b"]


def bias(name: str, direct: int, through: int) -> Case:
    return Case("A1", name, FILES, 1, [Part("direct", [], direct), Part("through", [], through)])


def line_case(program: str, name: str, times: dict[int, int]) -> Case:
    return Case(program, name, ["f"], 2, [Part("f", [line], ns) for line, ns in times.items()])


def test_what_is_true_has_no_error() -> None:
    truth = Truth([bias("10", 10, 90), line_case("A3", "lines", {3: 10, 4: 20})], 1.0)
    inclusive = {
        (file, name): ns for file in FILES for name, ns in (("direct", 30), ("through", 270))
    }
    found = figures(truth, Measured(inclusive, {("f", 3): 200, ("f", 4): 400}))
    assert found == pytest.approx({"A1 10": 0, "A1": 0, "A2": 1, "A3": 0})


def test_the_shortest_of_the_runs_counts() -> None:
    truth = Truth([bias("50", 100, 100)], 1.0)
    inclusive = {
        ("a", "direct"): 100,
        ("a", "through"): 900,
        ("b", "direct"): 700,
        ("b", "through"): 300,
    }
    assert figures(truth, Measured(inclusive, {}))["A1 50"] == pytest.approx(25)


def test_errors_are_shares_of_what_they_are_errors_of() -> None:
    truth = Truth(
        [
            line_case("A3", "lines", {3: 100, 4: 300}),
            line_case("A4", "1", {3: 100, 5: 100}),
            line_case("A4", "8", {3: 100, 5: 100}),
            Case("A5", "kinds", ["g"], 1, [Part("g", [5], 50), Part("g", [7, 8], 50)]),
        ],
        1.25,
    )
    exclusive = {
        ("f", 3): 500, ("f", 4): 500, ("f", 5): 400, ("g", 5): 60, ("g", 7): 30, ("g", 8): 10,
    }  # fmt: skip
    found = figures(truth, Measured({}, exclusive))
    assert found["A2"] == 1.25
    assert found["A3"] == pytest.approx((100 + 100 / 3) / 2)
    assert found["A4"] == pytest.approx(0)
    assert found["A5"] == pytest.approx(10)


def test_a_truth_survives_json() -> None:
    truth = Truth([bias("10", 10, 90)], 1.5)
    assert Truth.from_json(truth.to_json()) == truth


@pytest.mark.parametrize("option", ["--rounds=2", "--one-code"])
def test_the_programs_run_under_lprof(tmp_path: Path, option: str) -> None:
    run = lprof(
        ["-q", "-o", "out", "-m", "proftrace.lines.accuracy", "--rounds=2", option], tmp_path
    )
    assert run.status == 0, run.stderr
    truth = Truth.from_json(run.stdout)
    assert sorted({case.program for case in truth.cases}) == ["A1", "A3", "A4", "A5"]
    assert truth.unprofiled > 0
    profile = load_profile(str(tmp_path / "out"))
    functions, strings = profile.functions, profile.strings
    names = {
        (strings[functions.file[function]], strings[functions.name[function]])
        for function in profile.calls.function
    }
    for case in truth.cases:
        for part in case.parts:
            assert part.ns > 0
            assert {(file, part.function) for file in case.files} <= names
