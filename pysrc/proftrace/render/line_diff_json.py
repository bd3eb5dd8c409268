"""`lprof diff --format json`: every change, for programs. docs/lprof.md has the keys."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from proftrace._version import __version__
from proftrace.render.line_diff import DiffOptions
from proftrace.views.conditions import Condition, Met
from proftrace.views.line_diff import Change, FunctionDiff, LineDiff, ProfileDiff

SCHEMA_VERSION = 1


def render_diff_json(
    diff: ProfileDiff, options: DiffOptions, conditions: Sequence[Condition], met: Sequence[Met]
) -> str:
    """Return one JSON object and a newline; times are in nanoseconds, per run."""
    return (
        json.dumps(
            {
                "schema_version": SCHEMA_VERSION,
                "generator": f"proftrace {__version__}",
                "before": {"path": options.before, "runs": diff.runs[0]},
                "after": {"path": options.after, "runs": diff.runs[1]},
                "total": _changes(diff.total),
                "functions": [_function(one) for one in diff.functions[: options.top]],
                "fail_if": [_condition(one, met) for one in conditions],
            },
            indent=1,
        )
        + "\n"
    )


def _changes(changes: Mapping[str, Change]) -> dict[str, object]:
    return {metric: _change(change) for metric, change in changes.items()}


def _change(change: Change) -> dict[str, object]:
    return {
        "before": change.before,
        "after": change.after,
        "change": change.amount,
        "percent": None if change.percent is None else round(change.percent, 3),
        "noise": change.noise,
        "within_noise": not change.is_certain,
    }


def _function(one: FunctionDiff) -> dict[str, object]:
    file, _, name, _ = one.key
    return {
        "name": name,
        "file": file,
        "status": one.status,
        "first_line_before": one.before[1] if one.before else None,
        "first_line_after": one.after[1] if one.after else None,
        **_changes(one.changes),
        "lines": [_line(line) for line in one.lines],
    }


def _line(line: LineDiff) -> dict[str, object]:
    return {
        "text": line.pair.text,
        "line_before": line.pair.before,
        "line_after": line.pair.after,
        "moved": line.pair.moved,
        **_changes(line.changes),
    }


def _condition(condition: Condition, met: Sequence[Met]) -> dict[str, object]:
    by = [one for one in met if one.condition == condition]
    return {
        "condition": condition.text,
        "met": bool(by),
        "by": [
            {
                "function": one.function.key[2] if one.function else None,
                "file": one.function.key[0] if one.function else None,
                **_change(one.change),
            }
            for one in by
        ],
    }
