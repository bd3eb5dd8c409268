"""A line profile for https://www.speedscope.app: its JSON format, one sampled profile of the time.

The stacks are those of `views/call_paths.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from proftrace._version import __version__
from proftrace.units import printable
from proftrace.views.call_paths import Place, Stats, call_paths

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


@dataclass(frozen=True, slots=True)
class SpeedscopeOptions:
    """`name` is the title; `by_function`: frames are functions, not their lines."""

    name: str = ""
    by_function: bool = False


def render_speedscope(stats: Stats, options: SpeedscopeOptions) -> str:
    """Return the file's text: stacks by their frames, weights in nanoseconds."""
    frames: dict[tuple[object, ...], int] = {}
    weights: dict[tuple[int, ...], int] = {}
    for path in call_paths(stats):
        places = path.frames
        stack = tuple(_frame(place, frames, options.by_function) for place in places)
        weights[stack] = weights.get(stack, 0) + path.self_ns
    samples = sorted(weights)
    return (
        json.dumps(
            {
                "$schema": _SCHEMA,
                "exporter": f"proftrace@{__version__}",
                "name": printable(options.name),
                "activeProfileIndex": 0,
                "shared": {"frames": [_described(frame) for frame in frames]},
                "profiles": [_profile(options.name, samples, [weights[s] for s in samples])],
            },
            separators=(",", ":"),
        )
        + "\n"
    )


def _frame(place: Place, frames: dict[tuple[object, ...], int], by_function: bool) -> int:
    """Return the number of a frame. The viewer shows names alone: of a line it is `name:line`."""
    file, first_line, name, _ = place.function
    if by_function:
        return frames.setdefault((name, file, first_line), len(frames))
    return frames.setdefault((f"{name}:{place.line}", file, place.line), len(frames))


def _described(frame: tuple[object, ...]) -> dict[str, object]:
    name, file, line = frame
    described: dict[str, object] = {"name": printable(str(name)), "file": printable(str(file))}
    if line:
        described["line"] = line
    return described


def _profile(
    name: str, samples: Sequence[Sequence[int]], weights: Sequence[int]
) -> dict[str, object]:
    return {
        "type": "sampled",
        "name": printable(name),
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }
