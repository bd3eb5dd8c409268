"""Whole stacks out of what is known: which line calls which function, and how long that took.

A result has calls, not stacks. A function's time is divided among the ways that lead to it in
proportion to the time of each call, as gprof does it; with one caller, or callees that cost the
same whoever calls, that is exact. The times of functions and lines stay what they are.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from proftrace.views.line_stats import FunctionStats
from proftrace.views.line_table import FunctionKey

# Ways that are followed: of those that are left out the time goes to the others.
MOST_WAYS = 20_000
_LEAST_PART = 1e-6  # of all time: a way with less is left out

type Stats = Mapping[FunctionKey, FunctionStats]


@dataclass(frozen=True, slots=True)
class Place:
    """A frame: a function and the line that was running in it."""

    function: FunctionKey
    line: int


@dataclass(frozen=True, slots=True)
class CallPath:
    """A stack, the outermost frame first, and the time that its last line had itself, in ns."""

    frames: tuple[Place, ...]
    self_ns: int


@dataclass(frozen=True, slots=True)
class _Way:
    """How a function was reached, and its part of all the time in that function (0 to 1)."""

    callers: tuple[Place, ...]
    function: FunctionKey
    part: float


def call_paths(stats: Stats) -> list[CallPath]:
    """Return the stacks of a line profile. The times of a line in all of them add up to its self
    time; a function that calls itself, directly or through others, is on a stack once."""
    by_function: dict[FunctionKey, list[_Way]] = {}
    for way in _ways(stats):
        by_function.setdefault(way.function, []).append(way)
    paths: list[CallPath] = []
    for key, ways in by_function.items():
        for line, values in stats[key].lines.lines.items():
            for way, time in zip(ways, _divide(values.exclusive, ways), strict=True):
                if time:
                    paths.append(CallPath((*way.callers, Place(key, line)), time))
    return paths


def _divide(time: int, ways: Sequence[_Way]) -> Iterator[int]:
    """Yield the time of each way; rounded so that their sum is all of it."""
    whole = sum(way.part for way in ways)
    sum_of_parts, given = 0.0, 0
    for way in ways:
        sum_of_parts += way.part
        upto = time if way is ways[-1] else min(time, round(time * sum_of_parts / whole))
        yield upto - given
        given = upto


def _ways(stats: Stats) -> Iterator[_Way]:
    """Yield ways to all functions that had time: from code that is not profiled first, then to
    those that only lead in circles, the dearest first."""
    arrivals = {key: _arrivals(key, one) for key, one in stats.items()}
    found: dict[FunctionKey, None] = {}
    ways = _Ways(stats, arrivals)
    for way in ways.follow(
        [_Way((), key, _from_outside(stats[key], arrivals[key])) for key in stats]
    ):
        found[way.function] = None
        yield way
    for key in sorted(stats, key=lambda key: -stats[key].lines.total):
        if key not in found and any(row.exclusive for row in stats[key].lines.lines.values()):
            for way in ways.follow([_Way((), key, 1.0)], known=found):
                found[way.function] = None
                yield way


def _arrivals(key: FunctionKey, one: FunctionStats) -> float:
    """Return what all calls of a function weigh together, those by itself apart."""
    return sum(call.inclusive for call in one.lines.callers if call.other != key)


def _from_outside(one: FunctionStats, arrivals: float) -> float:
    """Return which part of a function's time came from code that is not profiled."""
    outside = [call for call in one.lines.callers if call.other is None]
    if not arrivals:  # nobody called it, as far as is known, or for no time at all
        return 1.0 if outside or not one.lines.callers else 0.0
    return sum(call.inclusive for call in outside) / arrivals


class _Ways:
    """Follows calls, what is dearest first."""

    def __init__(self, stats: Stats, arrivals: Mapping[FunctionKey, float]) -> None:
        self._stats = stats
        self._arrivals = arrivals
        self._least = _LEAST_PART * sum(one.exclusive for one in stats.values())
        self._left = MOST_WAYS

    def follow(
        self, starts: Sequence[_Way], known: Mapping[FunctionKey, None] | None = None
    ) -> Iterator[_Way]:
        """Yield these ways and all that lead on from them; not to `known` functions."""
        order = count()
        heap: list[tuple[float, int, _Way]] = []
        known = dict(known or {})

        def add(way: _Way) -> None:
            cost = way.part * self._stats[way.function].lines.total
            if way.part > 0 and way.function not in known:
                heapq.heappush(heap, (-cost, next(order), way))

        for start in starts:
            add(start)
        while heap:
            _, _, way = heapq.heappop(heap)
            yield way
            self._left -= 1
            if self._left > 0:
                for further in self._onward(way):
                    add(further)

    def _onward(self, way: _Way) -> Iterator[_Way]:
        on_the_way = {place.function for place in way.callers} | {way.function}
        for call in self._stats[way.function].lines.callees:
            callee = call.other
            if callee is None or callee in on_the_way or not self._arrivals[callee]:
                continue
            part = way.part * call.inclusive / self._arrivals[callee]
            if part * self._stats[callee].lines.total >= self._least:
                yield _Way((*way.callers, Place(way.function, call.line)), callee, part)
