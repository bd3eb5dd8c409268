"""Everything that is known of the profiled functions: how they were measured, who called whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from proftrace.model.profile import NO_FUNCTION, Profile
from proftrace.views.call_counts import with_all_calls
from proftrace.views.line_table import (
    Call,
    FunctionKey,
    FunctionLines,
    Reading,
    combine_errors,
    function_keys,
    sections_by_key,
)

# Why a busy function was timed by the clock all the same; the numbers are the log format's.
_COLD_REASONS = {
    1: "asked for with --clock",
    2: "no samples can be taken here",
    3: "the memory layout of this interpreter is not known",
    4: "this interpreter runs threads without a GIL",
    5: "another tool listens to its events",
    6: "a trace function was set",
    7: "its bytecode was not understood",
    8: "memory was out",
    9: "this interpreter compiles to machine code",
    10: "the program has greenlets",
    11: "its lines take long, which the clock sees best",
}
COLD_BY_CHOICE = frozenset({_COLD_REASONS[1], _COLD_REASONS[11]})


@dataclass(frozen=True, slots=True)
class FunctionStats:
    """A function: its lines, and how they were measured.

    `reasons` says why it stayed with the clock although it was busy. `samples` found it running,
    `discarded` found our own instrumentation. `yields` counts suspensions that the clock saw. An
    error is one standard deviation, in nanoseconds.
    """

    lines: FunctionLines
    reasons: tuple[str, ...] = ()
    yields: int = 0
    exclusive: int = 0
    samples: int = 0
    discarded: int = 0
    exclusive_error: int = 0
    inclusive_error: int = 0


@dataclass(slots=True)
class _Edges:
    """The calls of all profiles, by caller, line and callee."""

    calls: dict[tuple[FunctionKey | None, int, FunctionKey], Call] = field(default_factory=dict)

    def add(self, profile: Profile, keys: Mapping[int, FunctionKey]) -> None:
        """Add the calls of one profile."""
        table = profile.edges
        for row, callee in enumerate(table.callee):
            number = table.caller[row]
            caller = None if number == NO_FUNCTION else keys[number]
            place = (caller, table.line[row], keys[callee])
            known = self.calls.get(place, Call(caller, table.line[row], 0, 0, 0))
            self.calls[place] = replace(
                known,
                calls=known.calls + table.calls[row],
                inclusive=known.inclusive + max(0, table.inclusive[row]),
                exclusive=known.exclusive + max(0, table.exclusive[row]),
            )

    def sorted(
        self, sections: Mapping[FunctionKey, FunctionLines]
    ) -> tuple[Mapping[FunctionKey, Sequence[Call]], Mapping[FunctionKey, Sequence[Call]]]:
        """Return who calls each function and whom each calls, the dearest first."""
        callers: dict[FunctionKey, list[Call]] = {key: [] for key in sections}
        callees: dict[FunctionKey, list[Call]] = {key: [] for key in sections}
        for (caller, line, callee), call in sorted(self.calls.items(), key=_weight):
            text = sections[caller].text_of(line) if caller else ""
            callers[callee].append(replace(call, text=text))
            if caller:
                callees[caller].append(replace(call, other=callee, text=text))
        return callers, callees


def _weight(item: tuple[object, Call]) -> tuple[int, int]:
    call = item[1]
    return -call.inclusive, -call.calls


def function_stats(
    profiles: Sequence[Profile], reading: Reading | None = None
) -> dict[FunctionKey, FunctionStats]:
    """Return the functions of all profiles, in the order in which they were registered. The same
    functions are one as in `line_table`; the calls of a function's callers add up to its calls."""
    sections = sections_by_key(profiles, reading)
    stats = {key: FunctionStats(lines) for key, lines in sections.items()}
    edges = _Edges()
    for profile in profiles:
        keys = function_keys(profile)
        for row, function in enumerate(profile.calls.function):
            key = keys[function]
            stats[key] = _with_row(stats[key], profile, row)
        edges.add(profile, keys)
    callers, callees = edges.sorted(sections)
    lines = with_all_calls(
        {
            key: replace(one, callers=callers[key], callees=callees[key])
            for key, one in sections.items()
        }
    )
    return {key: replace(one, lines=lines[key]) for key, one in stats.items()}


def _with_row(stats: FunctionStats, profile: Profile, row: int) -> FunctionStats:
    """Add one function of one profile."""
    table = profile.calls
    reasons = dict.fromkeys(stats.reasons)
    if table.reason[row]:
        reasons[cold_reason(table.reason[row])] = None
    return replace(
        stats,
        reasons=tuple(reasons),
        yields=stats.yields + table.yields[row],
        exclusive=stats.exclusive + max(0, table.exclusive[row]),
        samples=stats.samples + table.samples[row],
        discarded=stats.discarded + table.discarded[row],
        exclusive_error=combine_errors(stats.exclusive_error, table.exclusive_error[row]),
        inclusive_error=combine_errors(stats.inclusive_error, table.inclusive_error[row]),
    )


def cold_reason(number: int) -> str:
    """Return why a busy function was timed by the clock, as text."""
    return _COLD_REASONS.get(number, f"a reason of a newer version (number {number})")


def fallbacks(stats: Mapping[FunctionKey, FunctionStats]) -> dict[str, int]:
    """Return for how many functions the clock had to do although samples were wanted, by reason."""
    found: dict[str, int] = {}
    for one in stats.values():
        for reason in one.reasons:
            if reason not in COLD_BY_CHOICE:
                found[reason] = found.get(reason, 0) + 1
    return found
