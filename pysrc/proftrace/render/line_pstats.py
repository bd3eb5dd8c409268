"""A line profile as cProfile writes its own: for the pstats module, snakeviz, tuna, gprof2dot.

Functions only: the format has no lines. Times are in seconds.
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping, Sequence

from proftrace.views.line_stats import FunctionStats
from proftrace.views.line_table import Call, FunctionKey

type _Label = tuple[str, int, str]
type _Numbers = tuple[int, int, float, float]

_SECOND = 1e9  # nanoseconds


def render_pstats(stats: Mapping[FunctionKey, FunctionStats]) -> bytes:
    """Return the file's bytes: by function the calls, those that were not inside another call of
    it, self and inclusive time, and the same by caller. Functions that never ran are absent."""
    table: dict[_Label, tuple[int, int, float, float, dict[_Label, _Numbers]]] = {}
    for key, one in stats.items():
        section = one.lines
        if not (section.calls or section.hits):
            continue
        inner = sum(call.calls for call in section.callers if call.other == key)
        numbers = (
            max(section.calls - inner, 0),
            section.calls,
            one.exclusive / _SECOND,
            section.total / _SECOND,
        )
        callers = _callers(section.callers, key)
        label = _label(key)
        if label in table:  # the same place with another text
            *known, known_callers = table[label]
            numbers = _sum(known, numbers)
            for caller, values in callers.items():
                known_callers[caller] = _sum(known_callers.get(caller, (0, 0, 0.0, 0.0)), values)
            callers = known_callers
        table[label] = (*numbers, callers)
    return marshal.dumps(table)


def _label(key: FunctionKey) -> _Label:
    file, first_line, name, _ = key
    return file, first_line, name


def _callers(calls: Sequence[Call], key: FunctionKey) -> dict[_Label, _Numbers]:
    """Return calls by their caller: all of them first, unlike in a function's own row."""
    callers: dict[_Label, _Numbers] = {}
    for call in calls:
        if call.other is not None:
            outer = 0 if call.other == key else call.calls
            values = (call.calls, outer, call.exclusive / _SECOND, call.inclusive / _SECOND)
            label = _label(call.other)
            callers[label] = _sum(callers.get(label, (0, 0, 0.0, 0.0)), values)
    return callers


def _sum(one: Sequence[float], other: Sequence[float]) -> _Numbers:
    calls, others, own, inclusive = (a + b for a, b in zip(one, other, strict=True))
    return int(calls), int(others), own, inclusive
