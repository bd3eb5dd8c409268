"""`lprof diff --format md`: tables for a pull request or the summary of a build."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proftrace.render.line_calls import short_path
from proftrace.render.line_diff import (
    DiffOptions,
    changed_functions,
    changed_lines,
    format_metric,
    notes,
    percent,
    signed,
    total_cells,
)
from proftrace.render.line_markdown import code
from proftrace.units import count_of, format_time
from proftrace.views.conditions import Met
from proftrace.views.line_diff import FunctionDiff, LineDiff, ProfileDiff


def render_diff_markdown(diff: ProfileDiff, options: DiffOptions, met: Sequence[Met]) -> str:
    """Return the totals, the conditions that are met, and the functions that changed."""
    lines = [f"### lprof: {code(options.before)} → {code(options.after)}", ""]
    lines += [f"- **{code(text)}**" for text in map(met_text, met)]
    if met:
        lines.append("")
    lines += _totals(diff)
    shown, n_others = changed_functions(diff, options)
    if shown:
        lines += ["", "| Change | % | ± | Before | After | Hits | |", f"|{' --: |' * 6} :-- |"]
        for one in shown:
            lines.append(_row(one, _function_name(one)))
            lines += [
                _row(line, _line_name(line))
                for line in changed_lines(one, everything=options.everything)
            ]
    lines.append("")
    if n_others:
        lines += [
            f"{count_of(n_others, 'more function')}: small changes, within the noise or none.",
            "",
        ]
    lines += [f"<sub>{note}</sub>" for note in notes(diff)]
    return "\n".join(lines) + "\n"


def met_text(met: Met) -> str:
    """Return which condition is met by what, in one line."""
    condition, change = met.condition, met.change
    value = format_metric("time" if condition.metric == "per-hit" else condition.metric)
    where = "the whole run" if met.function is None else met.function.key[2]
    part = f" ({percent(change)} %)" if percent(change) else ""
    return (
        f"{condition.text}: {where} {value(change.before)} to {value(change.after)}{part},"
        f" noise {value(change.noise)}"
    )


def _totals(diff: ProfileDiff) -> Iterator[str]:
    yield "| | Before | After | Change | % | ± |"
    yield f"| :-- |{' --: |' * 5}"
    yield from (f"| {' | '.join(cells)} |" for cells in total_cells(diff))


def _row(one: FunctionDiff | LineDiff, name: str) -> str:
    time, hits = one.changes["time"], one.changes["hits"]
    cells = [
        signed(time, "time"),
        percent(time),
        format_time(time.noise) if time.noise else "",
        format_time(time.before) if time.before else "",
        format_time(time.after) if time.after else "",
        signed(hits, "hits"),
        name,
    ]
    return f"| {' | '.join(cells)} |"


def _function_name(one: FunctionDiff) -> str:
    file, first_line, name, _ = one.key
    status = f" ({one.status})" if one.status != "both" else ""
    return f"**{code(name)}** {code(f'{short_path(file)}:{first_line}')}{status}"


def _line_name(line: LineDiff) -> str:
    before, after = line.pair.before, line.pair.after
    if after is None:
        what = f"{before} (gone)"
    elif before is None:
        what = f"{after} (new)"
    else:
        what = f"{after} (moved)" if line.pair.moved else str(after)
    return f"{what} {code(line.pair.text)}" if line.pair.text else what
