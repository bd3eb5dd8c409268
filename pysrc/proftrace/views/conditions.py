"""Conditions on a comparison: `time > +10%`, `app.*: calls > +0`, `parse: time > 2s`.

    [FUNCTION:] METRIC COMPARISON AMOUNT

FUNCTION is a pattern (`*`, `?`, `[a-z]`) for names of functions, or for `file.py:name`; without one
the whole run is meant. METRIC is time, self, hits, calls, await or per-hit. COMPARISON is one of
`>`, `>=`, `<`, `<=`. AMOUNT with a sign or a percent sign is a change (`+10%`, `-5ms`, `+1000`),
without them the value itself (`2s`).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath

from proftrace.errors import UsageError
from proftrace.views.line_diff import METRICS, TIMES, Change, FunctionDiff, ProfileDiff

_METRICS = (*METRICS, "per-hit")
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_CONDITION = re.compile(
    r"(?:(?P<function>.*\S)\s*:\s*)?(?P<metric>[a-z-]+)\s*(?P<comparison>>=|<=|>|<)\s*"
    r"(?P<sign>[+-]?)\s*(?P<number>\d[\d_]*(?:\.\d+)?)\s*(?P<unit>%|[a-zµ]*)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition: `function` is a pattern, None for the whole run. `amount` is in percent, in
    nanoseconds, or a count; `kind` is "percent", "change" or "value"."""

    text: str
    function: str | None
    metric: str
    comparison: str
    amount: float
    kind: str


@dataclass(frozen=True, slots=True)
class Met:
    """That a condition is met, and by what; `function` is None for the whole run."""

    condition: Condition
    function: FunctionDiff | None
    change: Change


def parse_condition(text: str) -> Condition:
    """Return the condition; raise `UsageError` with one line that says what is wrong with it."""
    found = _CONDITION.fullmatch(text.strip())
    if found is None:
        raise UsageError(
            f"not a condition: {text!r} (it is [FUNCTION:] METRIC COMPARISON AMOUNT, such as"
            " 'time > +10%' or 'parse*: hits > +1000')"
        )
    metric, unit, sign = found["metric"], found["unit"], found["sign"]
    if metric not in _METRICS:
        raise UsageError(f"{text!r}: there is no metric {metric}: {', '.join(_METRICS)}")
    number = float(found["number"].replace("_", "")) * (-1 if sign == "-" else 1)
    if unit == "%":
        kind = "percent"
    else:
        kind = "change" if sign else "value"
        number *= _scale(text, metric, unit, number)
    return Condition(text.strip(), found["function"], metric, found["comparison"], number, kind)


def _scale(text: str, metric: str, unit: str, number: float) -> int:
    """Return what an amount is multiplied by: times need a unit, counts have none."""
    if metric not in (*TIMES, "per-hit"):
        if unit:
            raise UsageError(f"{text!r}: {metric} is a count and has no unit")
        return 1
    if not unit and number:
        raise UsageError(f"{text!r}: a time needs a unit: ns, us, ms or s, or % for a part")
    if unit and unit not in _UNITS:
        raise UsageError(f"{text!r}: there is no unit {unit}: ns, us, ms, s or %")
    return _UNITS.get(unit, 1)


def judge(diff: ProfileDiff, conditions: Sequence[Condition]) -> list[Met]:
    """Return what meets a condition, condition by condition.

    Raise `UsageError` when there is no function by a pattern: a misspelt name must not pass.
    """
    return [met for condition in conditions for met in _judge(diff, condition)]


def _judge(diff: ProfileDiff, condition: Condition) -> Iterator[Met]:
    if condition.function is None:
        if _holds(condition, change := _change(condition.metric, diff.total)):
            yield Met(condition, None, change)
        return
    matching = [one for one in diff.functions if _is_meant(condition.function, one)]
    if not matching:
        raise UsageError(f"{condition.text!r}: no function matches {condition.function}")
    for one in matching:
        if _holds(condition, change := _change(condition.metric, one.changes)):
            yield Met(condition, one, change)


def _is_meant(pattern: str, one: FunctionDiff) -> bool:
    keys = [key for key in (one.before, one.after) if key is not None]
    return any(
        fnmatchcase(name, pattern)
        for file, _, function, _ in keys
        for name in (function, f"{PurePath(file).name}:{function}", f"{file}:{function}")
    )


def _change(metric: str, changes: Mapping[str, Change]) -> Change:
    if metric != "per-hit":
        return changes[metric]
    time, hits = changes["time"], changes["hits"]
    before = round(time.before / hits.before) if hits.before else 0
    after = round(time.after / hits.after) if hits.after else 0
    return Change(before, after, round(time.noise / max(hits.after, 1)))


def _holds(condition: Condition, change: Change) -> bool:
    """Tell whether a condition is met, by more than the noise: one standard deviation to spare."""
    compare = _COMPARISONS[condition.comparison]
    if condition.kind == "value":
        return compare(change.after, condition.amount)
    spared = change.amount - change.noise * (1 if ">" in condition.comparison else -1)
    if condition.kind == "change":
        return compare(spared, condition.amount)
    return change.before > 0 and compare(100 * spared / change.before, condition.amount)
