"""`lprof show --stats`: everything that is known of each function and line, as text.

For people; scripts read `render/line_json.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from proftrace.model.profile import Profile
from proftrace.render.terminal import Terminal, display_width
from proftrace.units import format_count, format_time, printable
from proftrace.views.line_stats import Call, FunctionStats, fallbacks
from proftrace.views.line_table import FunctionKey, LineValues

_LEVELS = "▁▂▃▄▅▆▇█"
_ASCII_LEVELS = ".:-=+*#%"
_TITLES = ("line", "hits", "time", "self", "±", "await", "shortest", "longest", "samples")
_META = (("regime", "measured by"), ("sampling", "sampling"), ("calibration", "cost of probes"))
_NAMES = {"clock": "timed by the clock", "samples": "timed by samples"}


def render_stats(
    stats: Mapping[FunctionKey, FunctionStats],
    profiles: Sequence[Profile],
    terminal: Terminal,
    title: str,
) -> str:
    """Return the report; functions that never ran are named at the end."""
    lines = [terminal.style(title, "bold"), *_measured(stats, profiles), ""]
    ran = sorted((s for s in stats.values() if s.lines.hits), key=lambda one: one.lines.total)
    for one in ran:
        lines += _function(one, terminal)
    for one in stats.values():
        if not one.lines.hits:
            place = f"{printable(one.lines.file)}:{one.lines.first_line}"
            lines.append(f"never ran: {printable(one.lines.name)}  {place}")
    return "\n".join(lines).rstrip("\n") + "\n"


def _measured(
    stats: Mapping[FunctionKey, FunctionStats], profiles: Sequence[Profile]
) -> Iterator[str]:
    """Yield how the run was measured: the regime, the sampling, the cost of a probe."""
    for profile in profiles:
        for key, name in _META:
            if text := profile.meta.get(key):
                yield f"{name}: {_plain(text)}"
    for reason, n_functions in fallbacks(stats).items():
        functions = "one busy function" if n_functions == 1 else f"{n_functions} busy functions"
        yield f"the clock had to do for {functions}: {reason}"


def _plain(text: str) -> str:
    """Return JSON of one level as `key value, key value`, other text as it is."""
    try:
        values = json.loads(text)
    except ValueError:
        return printable(text)
    if not isinstance(values, dict):
        return printable(text)
    return ", ".join(f"{key} {_item(value)}" for key, value in values.items())


def _item(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return format_count(value)
    return printable(f"{value:g}" if isinstance(value, float) else str(value))


def _function(one: FunctionStats, terminal: Terminal) -> Iterator[str]:
    """Yield one function's part."""
    section = one.lines
    name = terminal.style(printable(section.name), "head")
    yield f"{name}  {printable(section.file)}:{section.first_line}"
    yield f"  {_totals(one, terminal)}"
    yield f"  {_regime(one)}"
    yield from _rows(one, terminal)
    yield from _calls("called by", one.callers, terminal)
    yield from _calls("calls", one.callees, terminal)
    yield ""


def _totals(one: FunctionStats, terminal: Terminal) -> str:
    parts = [
        f"{format_count(one.lines.calls)} call{'' if one.lines.calls == 1 else 's'}",
        f"total {_with_error(one.lines.total, one.inclusive_error, terminal)}",
        f"self {_with_error(one.exclusive, one.exclusive_error, terminal)}",
    ]
    if one.yields:
        parts.append(f"{format_count(one.yields)} suspensions")
    return ", ".join(parts)


def _with_error(time: int, error: int, terminal: Terminal) -> str:
    if not error:
        return format_time(time)
    return f"{format_time(time)} {terminal.symbol('±', '+-')} {format_time(error)}"


def _regime(one: FunctionStats) -> str:
    text = " and ".join(_NAMES[regime] for regime in one.lines.regimes) or "not timed"
    if one.samples:
        text += f": {format_count(one.samples)} samples"
    if one.discarded:
        text += f", {format_count(one.discarded)} more of the measuring itself left out"
    if one.reasons:
        text += f" ({', '.join(one.reasons)})"
    return text


def _rows(one: FunctionStats, terminal: Terminal) -> Iterator[str]:
    """Yield the lines that ran, in columns as wide as they need to be."""
    section = one.lines
    titles = [terminal.symbol("±", "+-") if title == "±" else title for title in _TITLES]
    table = [titles, *(_cells(line, values) for line, values in section.lines.items())]
    used = [
        column
        for column in range(len(titles))
        if column == 0 or any(row[column] for row in table[1:])
    ]
    widths = [max(display_width(row[column]) for row in table) for column in used]
    spread = {line: _histogram(values, terminal) for line, values in section.lines.items()}
    spread_width = max(map(display_width, spread.values()), default=0)
    head = [f"{table[0][c]:>{w}}" for c, w in zip(used, widths, strict=True)]
    if spread_width:
        head.append("hits by duration".ljust(spread_width))
        spread_width = max(spread_width, len(head[-1]))
    yield terminal.style("  " + "  ".join([*head, "source"]), "dim")
    for (line, _), row in zip(section.lines.items(), table[1:], strict=True):
        cells = [f"{row[column]:>{width}}" for column, width in zip(used, widths, strict=True)]
        if spread_width:
            cells.append(spread[line] + " " * (spread_width - display_width(spread[line])))
        left = "  " + "  ".join(cells) + "  "
        text = _source(one, line)
        room = max(terminal.width - display_width(left), 10)
        yield (left + terminal.cut(text, room)).rstrip()


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


def _source(one: FunctionStats, line: int) -> str:
    source = one.lines.source
    index = line - one.lines.first_line
    if source is None or not 0 <= index < len(source):
        return ""
    return printable(source[index].expandtabs())


def _calls(title: str, calls: Sequence[Call], terminal: Terminal) -> Iterator[str]:
    """Yield the callers or callees of a function."""
    if not calls:
        return
    yield terminal.style(f"  {title}", "dim")
    counts = [format_count(call.calls) if call.calls else "-" for call in calls]
    times = [format_time(call.inclusive) for call in calls]
    count_width, time_width = max(map(len, counts)), max(map(len, times))
    for call, count, time in zip(calls, counts, times, strict=True):
        if call.other is None:
            where = "code that is not profiled"
        else:
            file, first_line, name, _ = call.other
            where = f"{printable(name)}  {printable(file)}:{first_line}"
        line = f", line {call.line}" if call.line else ""
        yield f"    {count:>{count_width}} x  {time:>{time_width}}  {where}{line}"
