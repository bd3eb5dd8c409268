"""How often each line called each function, also where not every call was counted.

A call of hot code is not counted at its place, while the calls of the function are. What is missing
is divided among the places that call the function in proportion to the time of these calls; with
one place it is all there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from proftrace.views.line_table import Call, FunctionKey, FunctionLines

type Place = tuple[FunctionKey | None, int, FunctionKey]  # caller, its line, callee


def with_all_calls(
    sections: Mapping[FunctionKey, FunctionLines],
) -> dict[FunctionKey, FunctionLines]:
    """Return the functions with the calls of each place completed, so that they add up to the calls
    of the function; `estimated` says which counts are not all counted."""
    complete: dict[Place, Call] = {}
    for key, one in sections.items():
        for call in _completed(one.callers, one.calls):
            complete[call.other, call.line, key] = call
    return {
        key: replace(
            one,
            callers=[complete[call.other, call.line, key] for call in one.callers],
            callees=[
                replace(complete[key, call.line, call.other], other=call.other)
                if call.other
                else call
                for call in one.callees
            ],
        )
        for key, one in sections.items()
    }


def _completed(callers: Sequence[Call], calls: int) -> Sequence[Call]:
    """Return the calls of a function with all that is missing of their counts."""
    missing = calls - sum(call.calls for call in callers)
    if missing <= 0 or not callers:
        return callers
    whole = sum(call.inclusive for call in callers)
    # What a place lacks of its part, by its part of the time.
    lacking = [
        max(0.0, calls * call.inclusive / whole - call.calls) if whole else 1.0 for call in callers
    ]
    whole_lacking = sum(lacking) or 1.0
    completed: list[Call] = []
    upto, given = 0.0, 0
    for call, part in zip(callers, lacking, strict=True):
        upto += part
        share = missing if call is callers[-1] else round(missing * upto / whole_lacking)
        more = share - given
        given = share
        completed.append(
            replace(call, calls=call.calls + more, estimated=more > 0 and len(callers) > 1)
        )
    return completed
