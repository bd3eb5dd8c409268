"""`lprof show --format json`: everything that a result file knows, for programs.

The schema is docs/lprof-show.schema.json; `schema_version` rises when a key changes its meaning or
goes away, not when one is added.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from proftrace._version import __version__
from proftrace.model.profile import Profile
from proftrace.render.line_table import TableOptions, shown_rows
from proftrace.views.line_stats import FunctionStats
from proftrace.views.line_table import Call, FunctionKey, FunctionLines, Row

SCHEMA_VERSION = 1


def render_json(
    stats: Mapping[FunctionKey, FunctionStats],
    profiles: Sequence[Profile],
    options: TableOptions | None = None,
) -> str:
    """Return one JSON object and a newline; times are in nanoseconds. Of the options those count
    that leave something out."""
    options = options or TableOptions()
    if options.skip_zero:
        stats = {key: one for key, one in stats.items() if one.lines.hits}
    numbers = {key: number for number, key in enumerate(stats)}
    return (
        json.dumps(
            {
                "schema_version": SCHEMA_VERSION,
                "generator": f"proftrace {__version__}",
                "runs": [_run(profile) for profile in profiles],
                "functions": [_function(one, numbers, options) for one in stats.values()],
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


def _function(
    one: FunctionStats, numbers: Mapping[FunctionKey, int], options: TableOptions
) -> dict[str, object]:
    section = one.lines
    rows = [row for row in _rows(section, options) if row.line in section.lines]
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
        "lines": [_line(section, row) for row in rows],
        "callers": [_call(call, numbers) for call in one.lines.callers],
        "callees": [_call(call, numbers) for call in one.lines.callees],
    }


def _rows(section: FunctionLines, options: TableOptions) -> Sequence[Row]:
    """Return the lines to show; those of a function whose text has other lines than ran are not
    lost."""
    known = {row.line: row for row in shown_rows(section, options)}
    if options.drops_lines:
        return list(known.values())
    return [known.get(line, Row(line, line, "")) for line in section.lines]


def _line(section: FunctionLines, row: Row) -> dict[str, object]:
    values = section.lines[row.line]
    timed = bool(values.histogram)
    return {
        "line": row.line,
        "last_line": row.last,
        "one_line_loop": row.line in section.loops,
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
    file, _, name, _ = call.other or (None, 0, None, None)
    return {
        "function": None if call.other is None else numbers.get(call.other),
        "name": name,
        "file": file,
        "line": call.line,
        "calls": call.calls or None,
        "calls_estimated": call.estimated,
        "inclusive_ns": call.inclusive,
        "exclusive_ns": call.exclusive,
    }
