"""Conditions of `lprof diff --fail-if`: how they are read, and what meets them."""

from __future__ import annotations

import pytest

from proftrace.errors import UsageError
from proftrace.views.conditions import Condition, judge, parse_condition
from proftrace.views.line_diff import METRICS, Change, FunctionDiff, ProfileDiff


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("time > +10%", (None, "time", ">", 10, "percent")),
        ("time>10%", (None, "time", ">", 10, "percent")),
        ("time < -2.5 %", (None, "time", "<", -2.5, "percent")),
        ("hits > +1_000", (None, "hits", ">", 1000, "change")),
        ("calls >= 5", (None, "calls", ">=", 5, "value")),
        ("self <= -5ms", (None, "self", "<=", -5_000_000, "change")),
        ("await > 1.5s", (None, "await", ">", 1_500_000_000, "value")),
        ("per-hit > +20 us", (None, "per-hit", ">", 20_000, "change")),
        ("time > +0", (None, "time", ">", 0, "change")),
        ("parse*: time > +10%", ("parse*", "time", ">", 10, "percent")),
        ("app.py:Store.add : hits > +1", ("app.py:Store.add", "hits", ">", 1, "change")),
        ("  *:time>+10%  ", ("*", "time", ">", 10, "percent")),
        ("f.<locals>.<lambda>: time > +1%", ("f.<locals>.<lambda>", "time", ">", 1, "percent")),
    ],
)
def test_conditions_are_read(text: str, wanted: tuple[object, ...]) -> None:
    assert parse_condition(text) == Condition(text.strip(), *wanted)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a condition"),
        ("time", "not a condition"),
        ("time > ", "not a condition"),
        ("time = 10%", "not a condition"),
        ("time > +10% or more", "not a condition"),
        ("time > +-10%", "not a condition"),
        ("speed > +10%", "there is no metric speed"),
        ("time > +10", "a time needs a unit"),
        ("time > 10 minutes", "there is no unit minutes"),
        ("hits > +10ms", "hits is a count and has no unit"),
        (": time > +10%", "not a condition"),
    ],
)
def test_what_is_no_condition_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_condition(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def function(name: str, file: str = "/src/app.py", **changes: Change) -> FunctionDiff:
    key = (file, 1, name, None)
    every = {metric: changes.get(metric, Change(0, 0)) for metric in METRICS}
    return FunctionDiff(key, key, every, [])


DIFF = ProfileDiff(
    (1, 1),
    {**dict.fromkeys(METRICS, Change(0, 0)), "time": Change(1000, 1150, 20)},
    [
        function("parse", time=Change(100, 150, 1), hits=Change(10, 10)),
        function("load", time=Change(500, 510, 40), hits=Change(10, 11), calls=Change(3, 3)),
        function("Store.add", "/src/store.py", time=Change(0, 70), hits=Change(0, 7)),
    ],
)


def met(text: str) -> list[str]:
    found = judge(DIFF, [parse_condition(text)])
    return [one.function.key[2] if one.function else "run" for one in found]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("time > +10%", ["run"]),
        ("time > +14%", []),  # 15 %, but with 2 % of noise
        ("time > +20%", []),
        ("time > -5%", ["run"]),  # it is not 5 % faster
        ("time < +10%", []),
        ("time < +30%", ["run"]),
        ("time > +100ns", ["run"]),
        ("time > 1us", ["run"]),
        ("time > 2us", []),
        ("time <= 1150ns", ["run"]),
        ("*: time > +10%", ["parse"]),
        ("*: time > +60ns", ["Store.add"]),
        ("*: hits > +0", ["load", "Store.add"]),
        ("*: hits >= +0", ["parse", "load", "Store.add"]),
        ("load: time > +1%", []),  # within the noise
        ("parse: per-hit > +30%", ["parse"]),
        ("store.py:*: hits > +5", ["Store.add"]),
        ("/src/*:parse: time > +10%", ["parse"]),
        ("Store.*: calls > +0", []),
        ("[pl]*: hits < +2", ["parse", "load"]),
    ],
)
def test_a_condition_is_met_by_more_than_the_noise(text: str, wanted: list[str]) -> None:
    assert met(text) == wanted


def test_a_pattern_without_a_function_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="no function matches pars"):
        met("pars: time > +10%")
