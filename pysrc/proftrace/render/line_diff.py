"""`lprof diff` as text: the functions that changed most, with the lines that did it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proftrace.render.line_calls import short_path
from proftrace.render.terminal import Terminal, display_width
from proftrace.units import count_of, format_count, format_time, printable
from proftrace.views.line_diff import (
    METRICS,
    TIMES,
    Change,
    FunctionDiff,
    LineDiff,
    ProfileDiff,
)

_TITLES = ("change", "%", "±", "self", "before", "after", "hits")
_LEFT_OUT_FIRST = ("before", "self", "after", "±", "hits", "%")
_LEAST_TEXT = 32  # columns for names and lines, before less important columns are left out
_MOST_LINES = 6  # of a function, unless all are wanted
_LEAST_SHARE = 0.002  # of the whole run: a function that changed by less is left out
_LEAST_PART = 0.05  # of the largest change in a function: a line with less is left out


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """`before` and `after` name the two sides; `top`: so many functions, None is all of them;
    `everything`: also what is within the noise."""

    before: str
    after: str
    top: int | None = None
    everything: bool = False


def changed_functions(diff: ProfileDiff, options: DiffOptions) -> tuple[list[FunctionDiff], int]:
    """Return the functions to show, and how many others there are."""
    least = {
        metric: _LEAST_SHARE * max(diff.total[metric].before, diff.total[metric].after)
        for metric in ("time", "hits")
    }
    shown = [one for one in diff.functions if options.everything or _has_changed(one, least)]
    shown = shown[: options.top]
    return shown, len(diff.functions) - len(shown)


def _has_changed(one: FunctionDiff, least: Mapping[str, float]) -> bool:
    """Tell whether time or hits of a function changed, by more than the noise and by `least`."""
    changes = [(one.changes[metric], amount) for metric, amount in least.items()]
    return any(
        change.amount and change.is_certain and abs(change.amount) >= amount
        for change, amount in changes
    )


def changed_lines(one: FunctionDiff, *, everything: bool) -> list[LineDiff]:
    """Return the lines to show of a function, the largest change first."""
    lines = sorted(one.lines, key=_line_order)
    if everything:
        return lines
    largest = max((abs(line.changes["time"].amount) for line in lines), default=0)
    return [
        line
        for line in lines
        if line.changes["hits"].amount or _matters(line.changes["time"], largest)
    ][:_MOST_LINES]


def _matters(time: Change, largest: int) -> bool:
    return time.is_certain and abs(time.amount) >= _LEAST_PART * max(largest, 1)


def _line_order(line: LineDiff) -> tuple[int, int, int]:
    number = line.pair.after or line.pair.before or 0
    return -abs(line.changes["time"].amount), -abs(line.changes["hits"].amount), number


def notes(diff: ProfileDiff) -> Iterator[str]:
    """Yield what has to be known about the numbers."""
    before, after = diff.runs
    if (before, after) == (1, 1):
        yield (
            "noise is what measuring leaves open, one standard deviation; what differs from run to"
            " run is not in it: lprof merge several runs for each side"
        )
    else:
        yield (
            f"means of {count_of(before, 'run')} before and {count_of(after, 'run')} after;"
            " noise is one standard deviation of their difference"
        )


def render_diff(diff: ProfileDiff, options: DiffOptions, terminal: Terminal) -> str:
    """Return the report: totals, then functions, then what was left out."""
    arrow = terminal.symbol("→", "->")
    sides = f"{printable(options.before)} {arrow} {printable(options.after)}"
    lines = [terminal.style(terminal.cut(f"lprof diff  {sides}", terminal.width), "bold"), ""]
    lines += _totals(diff, terminal)
    shown, n_others = changed_functions(diff, options)
    if shown:
        lines += ["", *_functions(shown, options, terminal)]
    lines.append("")
    if n_others:
        others = count_of(n_others, "more function" if shown else "function")
        lines.append(f"{others} left out, with small changes, within the noise or none (--all)")
    for note in notes(diff):
        wrapped = textwrap.wrap(note, terminal.width)
        lines += [terminal.style(line, "dim") for line in wrapped]
    return "\n".join(lines) + "\n"


def total_cells(diff: ProfileDiff) -> Iterator[list[str]]:
    """Yield metric, before, after, change, percent and noise of each total; self is the time."""
    for metric in METRICS:
        change = diff.total[metric]
        if metric != "self" and (change.before or change.after):
            value = format_metric(metric)
            yield [
                metric,
                value(change.before),
                value(change.after),
                signed(change, metric),
                percent(change),
                value(change.noise) if change.noise else "",
            ]


def _totals(diff: ProfileDiff, terminal: Terminal) -> Iterator[str]:
    titles = ["", "before", "after", "change", "%", terminal.symbol("±", "+-")]
    rows = [titles, *total_cells(diff)]
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        text = f"  {row[0].ljust(widths[0])}  {'  '.join(cells)}".rstrip()
        yield text if number else terminal.style(text, "dim")


def format_metric(metric: str) -> Callable[[int], str]:
    """Return how values of a metric are written."""
    return format_time if metric in TIMES else format_count


def signed(change: Change, metric: str) -> str:
    """Return a change with its sign, "" when there is none."""
    if not change.amount:
        return ""
    return f"{'+' if change.amount > 0 else ''}{format_metric(metric)(change.amount)}"


def percent(change: Change) -> str:
    """Return a change as a part of what was: "+12.5", "" when nothing was or changed."""
    if change.percent is None or not change.amount:
        return ""
    return f"{change.percent:+,.1f}"


def _functions(
    shown: Sequence[FunctionDiff], options: DiffOptions, terminal: Terminal
) -> Iterator[str]:
    titles = [terminal.symbol("±", "+-") if title == "±" else title for title in _TITLES]
    rows: list[tuple[list[str], str, str]] = []  # cells, text, style of the text
    nothing: tuple[list[str], str, str] = [""] * len(titles), "", ""
    for one in shown:
        rows += [nothing] if rows else []
        rows.append((_cells(one.changes), _function_name(one), "head"))
        for line in changed_lines(one, everything=options.everything):
            rows.append((_cells(line.changes), _line_name(line), ""))
    widths = _widths(titles, [cells for cells, _, _ in rows], terminal)

    def joined(cells: Sequence[str]) -> str:
        padded = zip(cells, widths, strict=True)
        return "  ".join(cell.rjust(width) for cell, width in padded if width)

    yield terminal.style(f"  {joined(titles)}", "dim")
    for cells, text, style in rows:
        left = joined(cells)
        room = max(terminal.width - display_width(left) - 4, 10)
        color = {"+": "red", "-": "green"}.get(cells[0][:1], "")
        right = terminal.style(terminal.cut(text, room), style)
        yield f"  {terminal.style(left, color)}  {right}".rstrip()


def _widths(titles: Sequence[str], rows: Sequence[Sequence[str]], terminal: Terminal) -> list[int]:
    """Return how wide each column is: 0 for one that is empty, or for which there is no room."""
    widths = []
    for column, title in enumerate(titles):
        widest = max(display_width(row[column]) for row in rows)
        widths.append(max(widest, len(title)) if widest else 0)
    for title in _LEFT_OUT_FIRST:
        if sum(width + 2 for width in widths if width) + 2 + _LEAST_TEXT <= terminal.width:
            break
        widths[_TITLES.index(title)] = 0
    return widths


def _cells(changes: Mapping[str, Change]) -> list[str]:
    time, own, hits = changes["time"], changes["self"], changes["hits"]
    mark = "" if time.is_certain or not time.amount else "~"
    return [
        mark + signed(time, "time"),
        percent(time),
        format_time(time.noise) if time.noise else "",
        signed(own, "self") if own.amount != time.amount else "",
        format_time(time.before) if time.before else "",
        format_time(time.after) if time.after else "",
        signed(hits, "hits"),
    ]


def _function_name(one: FunctionDiff) -> str:
    """Return name and place of a function, and whether it is on one side only."""
    file, first_line, name, _ = one.key
    text = f"{printable(name)}  {short_path(file)}:{first_line}"
    if one.status != "both":
        return f"{text}  ({one.status})"
    assert one.before is not None
    before = one.before[1]
    return f"{text}  (was line {before})" if before != first_line else text


def _line_name(line: LineDiff) -> str:
    """Return number and text of a line, with what became of it."""
    before, after = line.pair.before, line.pair.after
    text = printable(line.pair.text.expandtabs())
    if after is None:
        return f"  {before} (gone)  {text}"
    if before is None:
        return f"  {after} (new)  {text}"
    return f"  {after}{' (moved)' if line.pair.moved else ''}  {text}"
