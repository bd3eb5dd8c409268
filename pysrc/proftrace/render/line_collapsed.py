"""Collapsed stacks of a line profile: `outer;inner;leaf 1234`, a line a stack, in nanoseconds.

For flamegraph.pl, inferno, speedscope and whatever else reads them. A frame is
`function (file:line)`, with a `;` or `%` in it as in a URL (`%3B`, `%25`); the stacks are those of
`views/call_paths.py`.
"""

from __future__ import annotations

from proftrace.units import separable
from proftrace.views.call_paths import Place, Stats, call_paths

_SEPARATOR = ";"


def render_collapsed(stats: Stats, *, by_function: bool = False) -> str:
    """Return the stacks, sorted; empty when nothing had time. `by_function`: a frame is a function
    at its first line, whatever line of it was running."""
    names: dict[Place, str] = {}
    sums: dict[str, int] = {}
    for path in call_paths(stats):
        stack = _SEPARATOR.join(_name(place, names, by_function) for place in path.frames)
        sums[stack] = sums.get(stack, 0) + path.self_ns
    return "".join(f"{stack} {time}\n" for stack, time in sorted(sums.items()))


def _name(place: Place, names: dict[Place, str], by_function: bool) -> str:
    """Return a frame as text, without what separates frames and lines."""
    if place not in names:
        file, first_line, function, _ = place.function
        text = f"{function} ({file}:{first_line if by_function else place.line})"
        names[place] = separable(text, _SEPARATOR)
    return names[place]
