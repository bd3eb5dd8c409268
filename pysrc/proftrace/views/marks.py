"""The program's own marks: what was live at each, and what grew since the one before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from proftrace.model.profile import Profile
from proftrace.views.growth import live_at_marks
from proftrace.views.hotspots import NO_FRAME


@dataclass(frozen=True, slots=True)
class Growth:
    """Bytes that are live at a place beyond those of the mark before."""

    name: str
    n_bytes: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark; `grown` are the places with more live memory than at the mark before, largest first.

    Before the first mark nothing was live.
    """

    label: str
    live_bytes: int
    grown: Sequence[Growth]


def marks_of(profile: Profile) -> Sequence[Mark]:
    """Return the marks in their order."""
    series = live_at_marks(profile)
    names = {sample: _place(profile, profile.samples.stack[sample]) for sample in series}
    marks: list[Mark] = []
    before: Counter[str] = Counter()
    for number, label in enumerate(profile.marks.labels):
        live: Counter[str] = Counter()
        for sample, values in series.items():
            live[names[sample]] += values[number]
        grown = [
            Growth(name, size - before[name]) for name, size in live.items() if size > before[name]
        ]
        grown.sort(key=lambda growth: (-growth.n_bytes, growth.name))
        marks.append(Mark(profile.strings[label], sum(live.values()), grown))
        before = live
    return marks


def _place(profile: Profile, stack: int) -> str:
    """Return function:file:line of the innermost frame."""
    if not stack:
        return NO_FRAME
    frames, functions, strings = profile.frames, profile.functions, profile.strings
    frame = profile.stacks.frame[stack]
    function = frames.function[frame]
    name, file = profile.function_name(function), strings[functions.file[function]]
    return f"{name}:{file}:{frames.line[frame]}"
