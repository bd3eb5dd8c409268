"""Two line profiles compared: what became slower or faster, function by function and line by line.

Where a side has several runs, everything is per run, and what differs from run to run is part of
the noise.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from proftrace.model.profile import Profile
from proftrace.views.line_matching import LinePair, match_functions, match_lines
from proftrace.views.line_stats import FunctionStats, function_stats
from proftrace.views.line_table import FunctionKey, FunctionLines, LineValues, function_keys
from proftrace.views.runs import runs_of

METRICS = ("time", "self", "hits", "calls", "await")
LINE_METRICS = ("time", "self", "hits", "await")
TIMES = ("time", "self", "await")  # in nanoseconds; the others are counts
_CERTAIN = 2  # standard deviations: what is within them is called noise


@dataclass(frozen=True, slots=True)
class Change:
    """A value before and after, and one standard deviation of the change."""

    before: int
    after: int
    noise: int = 0

    @property
    def amount(self) -> int:
        return self.after - self.before

    @property
    def percent(self) -> float | None:
        """The change as a part of what was; None when nothing was before."""
        return 100 * self.amount / self.before if self.before else None

    @property
    def is_certain(self) -> bool:
        """Whether it is more than noise."""
        return abs(self.amount) > _CERTAIN * self.noise


@dataclass(frozen=True, slots=True)
class LineDiff:
    """A line that ran before or after, and each of LINE_METRICS."""

    pair: LinePair
    changes: Mapping[str, Change]


@dataclass(frozen=True, slots=True)
class FunctionDiff:
    """A function and each of METRICS; `before` and `after` are None where it is not there."""

    before: FunctionKey | None
    after: FunctionKey | None
    changes: Mapping[str, Change]
    lines: Sequence[LineDiff]

    @property
    def key(self) -> FunctionKey:
        """Where it is now, or was."""
        key = self.after or self.before
        assert key is not None
        return key

    @property
    def status(self) -> str:
        if self.before is None:
            return "new"
        return "gone" if self.after is None else "both"


@dataclass(frozen=True, slots=True)
class ProfileDiff:
    """Everything: `total` has each of METRICS over all functions (time and self are the same: what
    profiled functions spent), `functions` the largest change of time first, `runs` how many there
    were before and after."""

    runs: tuple[int, int]
    total: Mapping[str, Change]
    functions: Sequence[FunctionDiff]


def diff_profiles(before: Sequence[Profile], after: Sequence[Profile]) -> ProfileDiff:
    """Return what changed from the one to the other."""
    sides = _Side(before), _Side(after)
    pairs = match_functions(*(list(side.stats) for side in sides))
    functions = [_function(sides, keys) for keys in pairs]
    functions.sort(key=_by_change)
    return ProfileDiff((sides[0].n_runs, sides[1].n_runs), _total(sides), functions)


def _by_change(one: FunctionDiff) -> tuple[int, int, str, str, int]:
    time, own = one.changes["time"].amount, one.changes["self"].amount
    file, first_line, name, _ = one.key
    return -abs(time), -abs(own), name, file, first_line


class _Side:
    """One of the two: its functions, and how their values differ from run to run."""

    def __init__(self, profiles: Sequence[Profile]) -> None:
        runs = runs_of(profiles)
        self.n_runs = max(len(runs), 1)
        self.stats = function_stats(profiles)
        self._by_run = [_values_of_run(run) for run in runs] if len(runs) > 1 else []

    def per_run(self, value: int) -> int:
        return round(value / self.n_runs)

    def noise(self, error: int, places: Iterable[tuple[object, str]]) -> float:
        """Return the standard deviation of a value per run: out of the errors of measuring, or out
        of the values of the runs if they differ more."""
        measured = error / self.n_runs
        if not self._by_run:
            return measured
        places = list(places)
        values = [sum(run.get(place, 0) for place in places) for run in self._by_run]
        mean = sum(values) / len(values)
        variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
        return max(measured, math.sqrt(variance / len(values)))


def _values_of_run(profiles: Sequence[Profile]) -> Mapping[tuple[object, str], int]:
    """Return the times of one run: functions by (key, metric), lines by ((key, line), metric)."""
    values: dict[tuple[object, str], int] = defaultdict(int)
    for profile in profiles:
        keys = function_keys(profile)
        calls, lines = profile.calls, profile.lines
        for row, function in enumerate(calls.function):
            key = keys[function]
            values[key, "time"] += max(0, calls.inclusive[row])
            values[key, "self"] += max(0, calls.exclusive[row])
        for metric, column in (("time", "inclusive"), ("self", "exclusive"), ("await", "await")):
            for row, function in enumerate(lines.function):
                place = keys[function], lines.line[row]
                values[place, metric] += max(0, lines.values[column][row])
    return values


type _Sides = tuple[_Side, _Side]


def _change(sides: _Sides, values: Sequence[int], noises: Sequence[float]) -> Change:
    """Return the change of a value, of which there is one a side, not yet per run."""
    before, after = (side.per_run(value) for side, value in zip(sides, values, strict=True))
    return Change(before, after, round(math.hypot(*noises)))


def _total(sides: _Sides) -> Mapping[str, Change]:
    changes = {}
    for metric in METRICS:
        values, noises = [], []
        for side in sides:
            own = "self" if metric == "time" else metric
            of_functions = [_values(one)[own] for one in side.stats.values()]
            errors = [one.exclusive_error for one in side.stats.values()]
            places = [(key, "self") for key in side.stats]
            values.append(sum(of_functions))
            noises.append(side.noise(round(math.hypot(*errors)), places) if own == "self" else 0)
        changes[metric] = _change(sides, values, noises)
    return changes


def _values(one: FunctionStats) -> Mapping[str, int]:
    section = one.lines
    return {
        "time": section.total,
        "self": one.exclusive,
        "hits": section.hits,
        "calls": section.calls,
        "await": sum(values.suspended for values in section.lines.values()),
    }


def _errors(one: FunctionStats) -> Mapping[str, int]:
    return {"time": one.inclusive_error, "self": one.exclusive_error}


def _function(sides: _Sides, keys: tuple[FunctionKey | None, FunctionKey | None]) -> FunctionDiff:
    pairs = list(zip(sides, keys, strict=True))
    both = [side.stats[key] if key else None for side, key in pairs]
    values = [_values(one) if one else dict.fromkeys(METRICS, 0) for one in both]
    changes = {}
    for metric in METRICS:
        noises = [
            side.noise(_errors(one).get(metric, 0), [(key, metric)]) if one else 0.0
            for (side, key), one in zip(pairs, both, strict=True)
        ]
        changes[metric] = _change(sides, [side[metric] for side in values], noises)
    sections = [one.lines if one else None for one in both]
    lines = [_line(sides, keys, sections, pair) for pair in match_lines(*sections)]
    return FunctionDiff(*keys, changes, [line for line in lines if _has_run(line)])


def _has_run(line: LineDiff) -> bool:
    return any(change.before or change.after for change in line.changes.values())


_NOTHING = LineValues(0, 0, 0, 0)


def _line(
    sides: _Sides,
    keys: Sequence[FunctionKey | None],
    sections: Sequence[FunctionLines | None],
    pair: LinePair,
) -> LineDiff:
    numbers = pair.before, pair.after
    values = [
        section.lines.get(number, _NOTHING) if section and number is not None else _NOTHING
        for section, number in zip(sections, numbers, strict=True)
    ]
    changes = {}
    for metric in LINE_METRICS:
        noises = [
            side.noise(_line_error(one, metric), [((key, number), metric)])
            for side, key, number, one in zip(sides, keys, numbers, values, strict=True)
        ]
        changes[metric] = _change(sides, [_line_value(one, metric) for one in values], noises)
    return LineDiff(pair, changes)


def _line_value(values: LineValues, metric: str) -> int:
    return {
        "time": values.inclusive,
        "self": values.exclusive,
        "hits": values.hits,
        "await": values.suspended,
    }[metric]


def _line_error(values: LineValues, metric: str) -> int:
    return {"time": values.inclusive_error, "self": values.exclusive_error}.get(metric, 0)
