"""Who calls a profiled function and whom it calls, as a list for people."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from proftrace.render.line_columns import Numbers
from proftrace.render.terminal import Terminal
from proftrace.units import printable
from proftrace.views.line_table import Call, FunctionLines


def callers_of(section: FunctionLines, terminal: Terminal, numbers: Numbers) -> Iterator[str]:
    """Yield who calls a function: how often, for how long, from which line, and what it says."""
    places = []
    for call in section.callers:
        if call.other is None:
            places.append("code that is not profiled")
        else:
            file, _, name, _ = call.other
            place = f"{printable(name)}  {short_path(file)}:{call.line}"
            places.append(f"{place}  {printable(call.text)}".rstrip())
    yield from _calls("called by", section.callers, places, terminal, numbers)


def callees_of(section: FunctionLines, terminal: Terminal, numbers: Numbers) -> Iterator[str]:
    """Yield whom a function calls: how often, for how long, and from which of its lines."""
    places = []
    for call in section.callees:
        file, first_line, name, _ = call.other or ("", 0, "", None)
        place = f"{printable(name)}  {short_path(file)}:{first_line}"
        places.append(f"{place}  from line {call.line}")
    yield from _calls("calls", section.callees, places, terminal, numbers)


def _calls(
    title: str, calls: Sequence[Call], places: Sequence[str], terminal: Terminal, numbers: Numbers
) -> Iterator[str]:
    """Yield a title and a line for each call; nothing when there are none."""
    if not calls:
        return
    yield terminal.style(f"  {title}", "dim")
    counts = [call_count(call, numbers, terminal) or "-" for call in calls]
    times = [numbers.time(call.inclusive) for call in calls]
    count_width, time_width = max(map(len, counts)), max(map(len, times))
    for place, count, time in zip(places, counts, times, strict=True):
        text = f"    {count:>{count_width}} x  {time:>{time_width}}  {place}"
        yield terminal.cut(text, terminal.width)


def call_count(call: Call, numbers: Numbers, terminal: Terminal) -> str:
    """Return how often a call was made, marked if that is not all counted; "" if nobody knows."""
    if not call.calls:
        return ""
    return (terminal.symbol("≈", "~") if call.estimated else "") + numbers.count(call.calls)


def short_path(path: str) -> str:
    """Return the path, relative to the current folder if it is below."""
    try:
        folder = os.getcwd() + os.sep
    except FileNotFoundError:
        return printable(path)
    return printable(path.removeprefix(folder))
