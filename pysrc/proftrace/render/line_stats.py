"""`lprof show --stats`: everything that is known of each function and line, as text.

For people; scripts read `render/line_json.py`.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proftrace.model.profile import Profile
from proftrace.render.line_calls import callees_of, callers_of, short_path
from proftrace.render.line_columns import Numbers
from proftrace.render.line_table import dedented
from proftrace.render.terminal import Terminal, display_width
from proftrace.units import count_of, format_count, format_time, printable
from proftrace.views.line_stats import FunctionStats, fallbacks
from proftrace.views.line_table import FunctionKey, LineValues

_LEVELS = "▁▂▃▄▅▆▇█"
_ASCII_LEVELS = ".:-=+*#%"
_TITLES = ("line", "hits", "time", "self", "±", "await", "shortest", "longest", "samples")
_LEAST_SOURCE = 20  # columns of the source; where there is less room it has a table of its own
_NAMES = {"clock": "by the clock", "samples": "by samples"}


def render_stats(
    stats: Mapping[FunctionKey, FunctionStats],
    profiles: Sequence[Profile],
    terminal: Terminal,
    title: str,
) -> str:
    """Return the report; functions that never ran are named at the end."""
    lines = [terminal.style(terminal.cut(title, terminal.width), "bold")]
    for text in measured(stats, profiles):
        lines += _wrapped(text, terminal, "")
    lines.append("")
    ran = sorted((s for s in stats.values() if s.lines.hits), key=lambda one: one.lines.total)
    for one in ran:
        lines += _function(one, terminal)
    for one in stats.values():
        if not one.lines.hits:
            place = f"{short_path(one.lines.file)}:{one.lines.first_line}"
            lines.append(f"never ran: {printable(one.lines.name)}  {place}")
    return "\n".join(lines).rstrip("\n") + "\n"


def measured(
    stats: Mapping[FunctionKey, FunctionStats], profiles: Sequence[Profile]
) -> Iterator[str]:
    """Yield how the run was measured: the regime, the sampling, the cost of a probe."""
    reasons = fallbacks(stats)
    for profile in profiles:
        if regime := profile.meta.get("regime") or _unsaid_regime(profile, stats):
            yield f"measured by: {printable(regime)}"
        if sampling := ", ".join(_sampling(_object(profile.meta.get("sampling")))):
            yield f"sampling: {printable(sampling)}"
        if costs := ", ".join(_calibration(_object(profile.meta.get("calibration")))):
            yield f"cost of an event: {printable(costs)}"
        if function := profile.meta.get("interference"):
            yield (
                f"the program used sys.monitoring.{printable(function)} to switch lprof's events "
                "off: they stayed on"
            )
    for reason, n_functions in reasons.items():
        functions = "one busy function" if n_functions == 1 else f"{n_functions} busy functions"
        yield f"the clock had to do for {functions}: {reason}"


def _unsaid_regime(profile: Profile, stats: Mapping[FunctionKey, FunctionStats]) -> str:
    """Return the regime of a run in which no function came to be counted by blocks."""
    if profile.meta.get("tool") != "lprof":
        return ""
    reasons = dict.fromkeys(reason for one in stats.values() for reason in one.reasons)
    return f"clock: {', '.join(reasons) or 'no function was busy'}"


def _object(text: str | None) -> Mapping[str, Any]:
    """Return a META value that is JSON; nothing when it is none, or was damaged."""
    try:
        values = json.loads(text or "")
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _sampling(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the samples of a run were, or why there are none."""
    for key, value in values.items():
        if key == "mechanism":
            yield str(value)
        elif not isinstance(value, int) or key == "signal":
            yield f"{key} {value}"
        elif key == "handler_ns":
            yield f"{format_time(value)} for each"
        else:
            yield f"{format_count(value)} {key}"


def _calibration(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the cost of each kind of event."""
    kinds = values.get("ns")
    if isinstance(kinds, dict):
        yield from (f"{kind.replace(', ', ' ')} {cost} ns" for kind, cost in kinds.items())
    if "spread" in values:
        yield f"each give or take {values['spread']} ns"
    if "light" in values:
        yield f"{values['light']} ns more before a line that does little"
    match values.get("slowness"):
        case [least, most] if [least, most] != [1.0, 1.0]:
            yield f"the machine {least} to {most} times as slow as at the start"


def _function(one: FunctionStats, terminal: Terminal) -> Iterator[str]:
    """Yield one function's part."""
    section = one.lines
    name = terminal.style(printable(section.name), "head")
    yield f"{name}  {short_path(section.file)}:{section.first_line}"
    yield from _wrapped(_totals(one, terminal), terminal, "  ")
    yield from _wrapped(_regime(one), terminal, "  ")
    yield from _rows(one, terminal)
    yield from callers_of(section, terminal, Numbers())
    yield from callees_of(section, terminal, Numbers())
    yield ""


def _wrapped(text: str, terminal: Terminal, indent: str) -> list[str]:
    return textwrap.wrap(
        text, terminal.width, initial_indent=indent, subsequent_indent=f"{indent}  "
    )


def _totals(one: FunctionStats, terminal: Terminal) -> str:
    calls = one.lines.calls  # 0: not counted; line_profiler does not
    parts = [
        *([count_of(calls, "call")] if calls else []),
        f"total {_with_error(one.lines.total, one.inclusive_error, terminal)}",
        f"self {_with_error(one.exclusive, one.exclusive_error, terminal)}",
    ]
    if one.yields:
        parts.append(count_of(one.yields, "suspension"))
    return ", ".join(parts)


def _with_error(time: int, error: int, terminal: Terminal) -> str:
    if not error:
        return format_time(time)
    return f"{format_time(time)} {terminal.symbol('±', '+-')} {format_time(error)}"


def _regime(one: FunctionStats) -> str:
    names = " and ".join(_NAMES[regime] for regime in one.lines.regimes)
    text = f"timed {names}" if names else "not timed"
    if one.samples:
        text += f": {format_count(one.samples)} samples"
    if one.discarded:
        text += f", {format_count(one.discarded)} more of the measuring itself left out"
    if one.reasons:
        text += f" ({', '.join(one.reasons)})"
    return text


def _rows(one: FunctionStats, terminal: Terminal) -> Iterator[str]:
    """Yield the lines that ran: one table, or several where one would be too wide."""
    section = one.lines
    titles = [terminal.symbol("±", "+-") if title == "±" else title for title in _TITLES]
    cells = [titles, *(_cells(line, values) for line, values in section.lines.items())]
    used = [column for column in range(len(titles)) if any(row[column] for row in cells[1:])]
    numbers = [[row[column] for column in used] for row in cells]
    sources = {row.line: row.text for row in dedented(list(section.rows()))}
    texts = [
        ["hits by duration", "source"],
        *([_histogram(v, terminal), sources.get(line, "")] for line, v in section.lines.items()),
    ]
    if not any(spread for spread, _ in texts[1:]):
        texts = [text[1:] for text in texts]
    whole = [row + text for row, text in zip(numbers, texts, strict=True)]
    lines = [row[:1] + text for row, text in zip(numbers, texts, strict=True)]
    if sum(_widths(whole)[:-1]) + _LEAST_SOURCE <= terminal.width:
        yield from _block(whole, len(used), terminal)
    else:
        for part in _parts(numbers, terminal.width):
            yield from _block(part, len(part[0]), terminal)
        yield from _block(lines, 1, terminal)


def _parts(table: Sequence[Sequence[str]], width: int) -> Iterator[list[list[str]]]:
    """Yield a table in parts that are not wider; each has the first column, that of the lines."""
    widths = _widths(table)
    columns = [0]
    for column in range(1, len(widths)):
        if len(columns) > 1 and sum(widths[one] for one in (*columns, column)) > width:
            yield [[row[one] for one in columns] for row in table]
            columns = [0]
        columns.append(column)
    yield [[row[one] for one in columns] for row in table]


def _widths(table: Sequence[Sequence[str]]) -> list[int]:
    """Return how wide the columns of a table are, with what is between them."""
    return [2 + max(map(display_width, column)) for column in zip(*table, strict=True)]


def _block(table: Sequence[Sequence[str]], n_right: int, terminal: Terminal) -> Iterator[str]:
    """Yield the rows of a table, whose first row has the titles: `n_right` columns that are aligned
    on the right, then texts, of which the last is cut where the terminal ends."""
    widths = _widths(table)
    for number, row in enumerate(table):
        line = ""
        for column, (text, width) in enumerate(zip(row, widths, strict=True)):
            padding = " " * (width - display_width(text))
            if column < n_right:
                line += padding + text
            elif column + 1 < len(row):
                line += f"  {text}{padding[2:]}"
            else:
                line += "  " + terminal.cut(text, max(terminal.width - display_width(line) - 2, 10))
        line = line.rstrip()
        yield line if number else terminal.style(line, "dim")


def _cells(line: int, values: LineValues) -> list[str]:
    timed = bool(values.histogram)
    return [
        str(line),
        format_count(values.hits) if values.hits else "",
        format_time(values.inclusive),
        format_time(values.exclusive),
        format_time(values.exclusive_error) if values.exclusive_error else "",
        format_time(values.suspended) if values.suspended else "",
        format_time(values.shortest) if timed else "",
        format_time(values.longest) if timed else "",
        format_count(values.samples) if values.samples else "",
    ]


def _histogram(values: LineValues, terminal: Terminal) -> str:
    """Return the log2 histogram of a line as one character a bucket, between its two ends."""
    filled = [k for k, count in enumerate(values.histogram) if count]
    if not filled:
        return ""
    low, high = filled[0], filled[-1]
    levels = _LEVELS if terminal.unicode else _ASCII_LEVELS
    most = max(values.histogram)
    marks = "".join(
        levels[min(len(levels) - 1, count * len(levels) // most)] if count else " "
        for count in values.histogram[low : high + 1]
    )
    start = 0 if low == 0 else 1 << low
    return f"{format_time(start)} {marks} {format_time(1 << (high + 1))}"
