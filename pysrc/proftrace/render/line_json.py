"""`lprof show --format json`: everything that a result file knows, for programs.

The keys are documented in docs/lprof.md; `schema_version` rises when one of them changes its
meaning or goes away, not when one is added.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from proftrace._version import __version__
from proftrace.model.profile import Profile
from proftrace.views.line_stats import Call, FunctionStats
from proftrace.views.line_table import FunctionKey, LineValues

SCHEMA_VERSION = 1


def render_json(stats: Mapping[FunctionKey, FunctionStats], profiles: Sequence[Profile]) -> str:
    """Return one JSON object and a newline; times are in nanoseconds."""
    numbers = {key: number for number, key in enumerate(stats)}
    return (
        json.dumps(
            {
                "schema_version": SCHEMA_VERSION,
                "generator": f"proftrace {__version__}",
                "runs": [_run(profile) for profile in profiles],
                "functions": [_function(one, numbers) for one in stats.values()],
            },
            indent=1,
        )
        + "\n"
    )


def _run(profile: Profile) -> dict[str, object]:
    header = profile.header
    return {
        "path": profile.path,
        "pid": header["pid"],
        "start_wall_ns": header["start_wall_ns"],
        "wall_ns": max(0, header["last_mono_ns"] - header["start_mono_ns"]),
        "meta": {key: _value(text) for key, text in profile.meta.items()},
    }


def _value(text: str) -> object:
    """Return what a META value says: JSON where the writer wrote JSON."""
    if text[:1] in ("{", "["):
        try:
            value: object = json.loads(text)
        except ValueError:
            return text
        return value
    return text


def _function(one: FunctionStats, numbers: Mapping[FunctionKey, int]) -> dict[str, object]:
    section = one.lines
    return {
        "name": section.name,
        "file": section.file,
        "first_line": section.first_line,
        "calls": section.calls,
        "suspensions": one.yields,
        "regimes": list(section.regimes),
        "cold_reasons": list(one.reasons),
        "inclusive_ns": section.total,
        "inclusive_error_ns": one.inclusive_error,
        "exclusive_ns": one.exclusive,
        "exclusive_error_ns": one.exclusive_error,
        "samples": one.samples,
        "discarded_samples": one.discarded,
        "source": None if section.source is None else list(section.source),
        "lines": [_line(line, values) for line, values in section.lines.items()],
        "callers": [_call(call, numbers) for call in one.callers],
        "callees": [_call(call, numbers) for call in one.callees],
    }


def _line(line: int, values: LineValues) -> dict[str, object]:
    timed = bool(values.histogram)
    return {
        "line": line,
        "hits": values.hits,
        "inclusive_ns": values.inclusive,
        "inclusive_error_ns": values.inclusive_error,
        "exclusive_ns": values.exclusive,
        "exclusive_error_ns": values.exclusive_error,
        "await_ns": values.suspended,
        "samples": values.samples,
        "min_ns": values.shortest if timed else None,
        "max_ns": values.longest if timed else None,
        "histogram_log2_ns": list(values.histogram),
    }


def _call(call: Call, numbers: Mapping[FunctionKey, int]) -> dict[str, object]:
    """Return a call; `function` is the other one's index in "functions"."""
    return {
        "function": None if call.other is None else numbers[call.other],
        "line": call.line,
        "calls": call.calls or None,
        "inclusive_ns": call.inclusive,
        "exclusive_ns": call.exclusive,
    }
