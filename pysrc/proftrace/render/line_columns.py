"""The columns of the line table for terminals: what they say, and for which there is room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from proftrace.render.terminal import Terminal
from proftrace.units import format_count, format_time
from proftrace.views.line_filter import COLD_PERCENT
from proftrace.views.line_table import FunctionLines, LineValues

AWAIT = "await"
_LEAST_SOURCE = 30  # columns for the text, before less important columns are left out
_LEFT_OUT_FIRST = ("per hit", "bar", "self", AWAIT)
_BAR_WIDTHS = (9, 5)  # where there is room, and where there is less
LOOP_MARK = "*"


@dataclass(frozen=True, slots=True)
class Numbers:
    """How numbers are written: with a unit that fits, in the unit that was asked for (in seconds),
    or `raw`, as they were recorded."""

    unit: float | None = None
    raw: bool = False

    def time(self, nanoseconds: int) -> str:
        """Return a time as text."""
        if self.raw:
            return str(nanoseconds)
        if self.unit is None:
            return format_time(nanoseconds)
        number = nanoseconds * 1e-09 / self.unit
        return f"{number:,.1f}" if abs(number) >= 0.05 or not number else f"{number:.3g}"

    def count(self, value: int) -> str:
        """Return a count as text."""
        return str(value) if self.raw else format_count(value)


@dataclass(frozen=True, slots=True)
class Column:
    """A column between line number and text; `cell` gets the values and their share in percent."""

    title: str
    width: int
    cell: Callable[[LineValues, float], str]
    heat: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """How the rows of a function are laid out."""

    number_width: int
    columns: Sequence[Column]

    def left_width(self) -> int:
        """Return the columns in front of the source text."""
        return 2 + self.number_width + sum(2 + column.width for column in self.columns) + 2

    def row(self, terminal: Terminal, number: str, cells: Sequence[str], heat: str) -> str:
        """Return everything in front of the source text; cells are padded to their columns."""
        parts = [f"  {number:>{self.number_width}}"]
        for column, cell in zip(self.columns, cells, strict=True):
            parts.append(terminal.style(f"{cell:>{column.width}}", heat if column.heat else ""))
        return "  ".join(parts) + "  "

    def head(self) -> str:
        """Return the row of titles, but for that of the source text."""
        titles = ["" if column.title == "bar" else column.title for column in self.columns]
        return self.row(Terminal(), "line", titles, "")


@dataclass(frozen=True, slots=True)
class Widths:
    """Widths that all functions of a table share, so that their columns stand below each other."""

    number: int
    hits: int
    time: int


def common_widths(sections: Sequence[FunctionLines], numbers: Numbers) -> Widths:
    """Return the widths that the widest line number, count and time ask for."""
    lines = [section.first_line + len(section.source or ()) - 1 for section in sections]
    lines += [max(section.lines, default=0) for section in sections]
    values = [one for section in sections for one in section.lines.values()]
    times = [numbers.time(time) for one in values for time in (one.inclusive, one.suspended)]
    mark = any(section.loops for section in sections)
    return Widths(
        number=max([4, *(len(str(line)) for line in lines)]),
        hits=max([4, *(len(numbers.count(one.hits)) + mark for one in values)]),
        time=max([7, *map(len, times)]),
    )


def fit_layout(
    section: FunctionLines, widths: Widths, numbers: Numbers, terminal: Terminal, longest: int
) -> Layout:
    """Choose the columns for a function whose longest line of text is given: what the width has no
    room for is left out, least important first."""
    needed = min(longest, _LEAST_SOURCE)
    for bar_width in _BAR_WIDTHS:
        columns = _columns(section, widths, numbers, _Bar(terminal, bar_width))
        layout = Layout(widths.number, columns)
        if terminal.width - layout.left_width() >= (longest if bar_width > 5 else needed):
            return layout
    for title in _LEFT_OUT_FIRST:
        columns = [column for column in columns if column.title != title]
        layout = Layout(widths.number, columns)
        if terminal.width - layout.left_width() >= needed:
            break
    return layout


@dataclass(frozen=True, slots=True)
class _Bar:
    """Bars of a width for a terminal."""

    terminal: Terminal
    width: int

    def cell(self, _: LineValues, share: float) -> str:
        """Return a bar; nothing for what is nothing, so that the others are seen."""
        return self.terminal.bar(share / 100 if share >= COLD_PERCENT else 0.0, self.width)


def _columns(section: FunctionLines, widths: Widths, numbers: Numbers, bar: _Bar) -> list[Column]:
    """Return the columns that say something about a function."""
    values = section.lines.values()

    def per_hit(one: LineValues, _share: float) -> str:
        return numbers.time(round(one.inclusive / one.hits)) if one.hits else ""

    def awaited(one: LineValues, _share: float) -> str:
        return numbers.time(one.suspended) if one.suspended else ""

    columns = [
        Column("hits", widths.hits, lambda v, _: numbers.count(v.hits) if v.hits else ""),
        Column("time", widths.time, lambda v, _: numbers.time(v.inclusive)),
    ]
    if any(_calls_profiled_code(one) for one in values):
        columns.append(Column("self", widths.time, lambda v, _: numbers.time(v.exclusive)))
    columns.append(Column("per hit", widths.time, per_hit))
    if any(one.suspended for one in values):
        columns.append(Column(AWAIT, widths.time, awaited))
    columns += [
        Column("bar", bar.width, bar.cell, heat=True),
        Column("%", 5, lambda _, share: f"{share:.1f}", heat=True),
    ]
    return columns


def _calls_profiled_code(values: LineValues) -> bool:
    """Tell whether a line spends a visible part of its time in other profiled functions."""
    return values.inclusive - values.exclusive > 0.01 * values.inclusive + 1000
