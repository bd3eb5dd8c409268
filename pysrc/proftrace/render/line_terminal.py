"""The line table for people: times with units, bars, what is cold folded away, hottest last."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from proftrace.render.line_table import TableOptions
from proftrace.render.terminal import Terminal, display_width
from proftrace.units import format_count, format_time, printable
from proftrace.views.line_table import FunctionLines, LineValues

_COLD_PERCENT = 0.5  # of its function: lines below it are folded,
_FOLDED_RUN = 3  # when so many of them stand together.
_LEAST_SOURCE = 34  # columns for the text, before less important columns are left out
_LEFT_OUT_FIRST = ("bar", "per hit", "self", "await")
_WIDEST_HEADING = 100
_MOST_NAMED = 4  # functions in the last line
# Share of the whole above which a line stands out, and how; the steps other profilers have too.
_HEAT = ((60.0, "red"), (20.0, "yellow"), (5.0, "green"))


@dataclass(frozen=True, slots=True)
class _Column:
    """A column between line number and text; `cell` gets the values and their share in percent."""

    title: str
    width: int
    cell: Callable[[LineValues, float], str]
    heat: bool = False


@dataclass(frozen=True, slots=True)
class _Layout:
    """How one function's rows are laid out."""

    number_width: int
    columns: Sequence[_Column]

    def left_width(self) -> int:
        """Return the columns in front of the source text."""
        return 2 + self.number_width + sum(2 + column.width for column in self.columns) + 2

    def row(self, terminal: Terminal, number: str, cells: Sequence[str], heat: str) -> str:
        """Return everything in front of the source text; cells are padded to their columns."""
        parts = [f"  {number:>{self.number_width}}"]
        for column, cell in zip(self.columns, cells, strict=True):
            parts.append(terminal.style(f"{cell:>{column.width}}", heat if column.heat else ""))
        return "  ".join(parts) + "  "


def render_terminal(
    sections: Sequence[FunctionLines], options: TableOptions, terminal: Terminal, title: str
) -> str:
    """Return the table for a terminal; `title` says what was profiled."""
    ran = sorted((s for s in sections if s.hits), key=lambda section: section.total)
    idle = [section for section in sections if not section.hits]
    # Functions that call each other have the callee's time twice in their totals, so the whole is
    # the sum of what each spent itself.
    whole = sum(values.exclusive for section in ran for values in section.lines.values())
    lines = [terminal.style(terminal.cut(title, terminal.width), "bold"), ""]
    for section in ran:
        lines += _section(section, options, terminal, whole)
    if idle and not options.skip_zero:
        lines += _idle(idle, terminal)
    if ran:
        lines.append(_sum(ran, terminal))
    return "\n".join(lines) + "\n"


def _section(
    section: FunctionLines, options: TableOptions, terminal: Terminal, whole: int
) -> Iterator[str]:
    """Yield the heading and the rows of one function."""
    source = _texts(section)
    layout = _fit_layout(section, terminal, source)
    room = max(terminal.width - layout.left_width(), 10)
    yield _heading(section, terminal, whole, len(source))
    titles = ["" if column.title == "bar" else column.title for column in layout.columns]
    yield terminal.style((layout.row(Terminal(), "line", titles, "") + "source").rstrip(), "dim")
    for line, folded in _fold(section, source, options.all_lines):
        if folded:
            yield _folded_row(section, range(line, line + folded), layout, terminal)
        else:
            yield _row(section, line, terminal.cut(source[line], room), layout, terminal)
    if section.source is None:
        yield terminal.style("  its text was not recorded", "dim")
    yield ""


def _texts(section: FunctionLines) -> dict[int, str]:
    """Return the text of each line to show, without the indentation that all have."""
    if section.source is None:
        return dict.fromkeys(section.lines, "")
    text = textwrap.dedent("\n".join(printable(line.expandtabs()) for line in section.source))
    return dict(enumerate(text.split("\n"), section.first_line))


def _heading(section: FunctionLines, terminal: Terminal, whole: int, length: int) -> str:
    """Return name and place on the left, time, share and calls on the right."""
    right = format_time(section.total)
    if whole > 0:
        right += f"  {min(100.0, 100 * section.total / whole):.1f} %"
    if section.calls:  # line_profiler counts none
        right += f"  {format_count(section.calls)} call{'' if section.calls == 1 else 's'}"
    if "samples" in section.regimes:
        right += "  sampled"
    room = min(terminal.width, _WIDEST_HEADING) - len(right) - 2
    name = terminal.cut(printable(section.name), max(room - 20, 20))
    last = section.first_line + max(length, 1) - 1
    place = f"{_short_path(section.file)}:{section.first_line}-{last}"
    place = terminal.cut_left(place, max(room - display_width(name) - 2, 10))
    gap = room - display_width(name) - 2 - display_width(place)
    return f"{terminal.style(name, 'head')}  {place}{' ' * max(gap, 0)}  {right}"


def _short_path(path: str) -> str:
    """Return the path, relative to the current folder if it is below."""
    try:
        folder = os.getcwd() + os.sep
    except FileNotFoundError:
        return printable(path)
    return printable(path.removeprefix(folder))


def _fit_layout(section: FunctionLines, terminal: Terminal, source: dict[int, str]) -> _Layout:
    """Choose the columns: what the width has no room for is left out, least important first."""
    number_width = max([4, *(len(str(line)) for line in source)])
    columns = _columns(section, terminal)
    longest = max(map(display_width, source.values()), default=0)
    layout = _Layout(number_width, columns)
    for title in _LEFT_OUT_FIRST:
        if terminal.width - layout.left_width() >= min(longest, _LEAST_SOURCE):
            break
        columns = [column for column in columns if column.title != title]
        layout = _Layout(number_width, columns)
    return layout


def _columns(section: FunctionLines, terminal: Terminal) -> list[_Column]:
    """Return the columns that say something about this function."""
    values = section.lines.values()
    hits_width = max([4, *(len(format_count(value.hits)) for value in values)])
    columns = [
        _Column("hits", hits_width, lambda v, _: format_count(v.hits) if v.hits else ""),
        _Column("time", 7, lambda v, _: format_time(v.inclusive)),
    ]
    if any(_calls_profiled_code(value) for value in values):
        columns.append(_Column("self", 7, lambda v, _: format_time(v.exclusive)))
    columns.append(_Column("per hit", 7, _per_hit))
    if any(value.suspended for value in values):
        columns.append(
            _Column("await", 7, lambda v, _: format_time(v.suspended) if v.suspended else "")
        )
    columns += [
        _Column("bar", 9, lambda _, share: terminal.bar(share / 100, 9), heat=True),
        _Column("%", 5, lambda _, share: f"{share:.1f}", heat=True),
    ]
    return columns


def _per_hit(values: LineValues, _share: float) -> str:
    return format_time(round(values.inclusive / values.hits)) if values.hits else ""


def _calls_profiled_code(values: LineValues) -> bool:
    """Tell whether a line spends a visible part of its time in other profiled functions."""
    return values.inclusive - values.exclusive > 0.01 * values.inclusive + 1000


def _fold(
    section: FunctionLines, source: dict[int, str], all_lines: bool
) -> Iterator[tuple[int, int]]:
    """Yield (line, 0) for a row to show and (first line, count) for a run to fold."""
    cold: list[int] = []
    name_line = _name_line(source)
    for line in source:
        hot = _share(section, line) >= _COLD_PERCENT or not section.total
        if hot or all_lines or section.source is None or line == name_line:
            yield from _flush(cold)
            cold = []
            yield line, 0
        else:
            cold.append(line)
    yield from _flush(cold)


def _name_line(source: dict[int, str]) -> int:
    """Return the line with the function's name, which is behind its decorators."""
    return next((line for line, text in source.items() if _is_name(text)), min(source, default=0))


def _is_name(text: str) -> bool:
    return text.startswith(("def ", "async def "))


def _flush(cold: Sequence[int]) -> Iterator[tuple[int, int]]:
    if len(cold) >= _FOLDED_RUN:
        yield cold[0], len(cold)
    else:
        yield from ((line, 0) for line in cold)


def _share(section: FunctionLines, line: int) -> float:
    """Return a line's part of its function's time, in percent."""
    values = section.lines.get(line)
    return 100 * values.inclusive / section.total if values and section.total else 0.0


def _row(section: FunctionLines, line: int, text: str, layout: _Layout, terminal: Terminal) -> str:
    values = section.lines.get(line)
    if values is None:
        row = layout.row(terminal, str(line), [""] * len(layout.columns), "")
        return (row + terminal.style(text, "" if _is_name(text) else "dim")).rstrip()
    share = _share(section, line)
    heat = next((style for limit, style in _HEAT if share > limit), "dim")
    cells = [column.cell(values, share) for column in layout.columns]
    return (layout.row(terminal, str(line), cells, heat) + text).rstrip()


def _folded_row(section: FunctionLines, lines: range, layout: _Layout, terminal: Terminal) -> str:
    """Return the row that stands for a run of cold lines."""
    share = sum(_share(section, line) for line in lines)
    what = f"{len(lines)} lines, {share:.1f} %"
    mark = terminal.symbol("⋮", ":")
    return terminal.style(f"  {mark:>{layout.number_width}}  {what}", "dim")


def _idle(sections: Sequence[FunctionLines], terminal: Terminal) -> Iterator[str]:
    """Yield a line for each function that was registered but never ran."""
    for section in sections:
        place = f"{_short_path(section.file)}:{section.first_line}"
        text = f"never ran: {printable(section.name)}  {place}"
        yield terminal.style(terminal.cut(text, terminal.width), "dim")
    yield ""


def _sum(ran: Sequence[FunctionLines], terminal: Terminal) -> str:
    """Return the last line: the functions that took most, hottest first."""
    named = [
        f"{printable(section.name)} {format_time(section.total)}"
        for section in reversed(ran[-_MOST_NAMED:])
    ]
    if len(ran) > _MOST_NAMED:
        named.append(f"{format_count(len(ran) - _MOST_NAMED)} more")
    dot = terminal.symbol(" · ", " | ")
    return terminal.cut(f"{terminal.symbol('Σ', 'sum')}  {dot.join(named)}", terminal.width)
