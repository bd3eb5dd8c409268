"""The classic line table: what scripts parse, byte for byte as line_profiler 5.1 prints it.

Numbers, widths and the order of things are a contract here; for people there is
`render/line_terminal.py`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from proftrace.render.line_calls import callees_of, callers_of
from proftrace.render.line_columns import Numbers
from proftrace.render.terminal import UNLIMITED, Terminal
from proftrace.units import printable
from proftrace.views.line_filter import COLD_PERCENT, wanted_rows
from proftrace.views.line_table import FunctionLines, LineValues, Row

# Time is stored in nanoseconds. Multiplied in the same order as there, so that rounding is equal.
_NANOSECOND = 1e-09
_MICROSECOND = 1e-06
_HEADER = ("Line #", "Hits", "Time", "Per Hit", "% Time", "Line Contents")
# Least widths of the columns in front of the text; `Hits`, `Time` and `Per Hit` grow.
_WIDTHS = (6, 9, 12, 8, 8)
_MOST_BLANK = 100_000  # rows without text: no function has more, a file may say that one has
_NO_SOURCE = """
Could not find file {file}
Are you sure you are running this program from the same directory
that you ran the profiler from?
Continuing without the function's contents.
"""

type _Cells = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class TableOptions:
    """What to show and how: `unit` in seconds (None: a microsecond, or units that fit on a
    terminal), `all_lines` also those that cost next to nothing, `raw` numbers as they were
    recorded, `callers` who calls whom. `min_percent` and `context` as in `views/line_filter.py`.
    `whole` is the time that all functions took, also those that are not shown, in nanoseconds.
    `hint` is what may be done next.
    """

    unit: float | None = None
    skip_zero: bool = False
    sort: bool = False
    summarize: bool = False
    all_lines: bool = False
    raw: bool = False
    callers: bool = False
    min_percent: float | None = None
    context: int | None = None
    whole: int | None = None
    hint: str = ""

    @property
    def least_percent(self) -> float:
        """Part of its function's time that a line must have to be shown."""
        return COLD_PERCENT if self.min_percent is None else self.min_percent

    @property
    def drops_lines(self) -> bool:
        """Tell whether lines are left out that would be shown otherwise."""
        return self.min_percent is not None or self.context is not None


def render_classic(sections: Sequence[FunctionLines], options: TableOptions) -> str:
    """Return the table as line_profiler's `show_text` prints it; times are inclusive."""
    if options.sort:
        sections = sorted(sections, key=lambda section: section.total)
    unit = options.unit or (_NANOSECOND if options.raw else _MICROSECOND)
    parts = [f"Timer unit: {unit:g} s\n\n"]
    for section in sections:
        if section.hits or not options.skip_zero:
            parts += _section(section, options, unit)
    if options.summarize:
        parts += _summary(sections, options.skip_zero)
    return "".join(parts)


def render_summary(sections: Sequence[FunctionLines], options: TableOptions) -> str:
    """Return the lines that a table with `summarize` ends with."""
    return "".join(_summary(sections, options.skip_zero))


def _section(section: FunctionLines, options: TableOptions, unit: float) -> Iterator[str]:
    """Yield one function's part of the table, piece by piece."""
    yield f"Total time: {section.total * _NANOSECOND:g} s\n"
    if section.source is None:
        yield _NO_SOURCE.format(file=section.file)
    else:
        yield f"File: {section.file}\n"
        yield f"Function: {section.name} at line {section.first_line}\n"
    cells = {
        line: _cells(values, section.total, unit, options.raw)
        for line, values in section.lines.items()
    }
    template = _template(cells)
    header = template % _HEADER
    yield f"\n{header}\n{'=' * len(header)}\n"
    empty = ("", "", "", "")
    for row in shown_rows(section, options, waits=False):
        yield template % (str(row.line), *cells.get(row.line, empty), row.text) + "\n"
    yield "\n"
    if options.callers:
        yield from _calls(section, unit, options.raw)


def shown_rows(
    section: FunctionLines, options: TableOptions, *, waits: bool = True
) -> Sequence[Row]:
    """Return the rows to show: all, unless it was asked to leave out those that cost little (and,
    with `waits`, where nothing waited)."""
    n_blank = _lines_without_source(section)
    if section.source is None and n_blank <= _MOST_BLANK:
        lines = range(section.first_line, section.first_line + n_blank)
        rows = [Row(line, line, "") for line in lines]
    else:
        rows = list(section.rows())
    if not options.drops_lines:
        return rows
    wanted = wanted_rows(section, rows, options.least_percent, options.context or 0, waits=waits)
    return [row for row, is_wanted in zip(rows, wanted, strict=True) if is_wanted]


def dedented(rows: Sequence[Row]) -> list[Row]:
    """Return rows for people: printable, and without the indentation that all have."""
    text = textwrap.dedent("\n".join(printable(row.text.expandtabs()) for row in rows))
    return [Row(row.line, row.last, one) for row, one in zip(rows, text.split("\n"), strict=False)]


def _calls(section: FunctionLines, unit: float, raw: bool) -> Iterator[str]:
    """Yield who calls a function and whom it calls, behind its table."""
    numbers = Numbers(unit, raw)
    everything = Terminal(width=UNLIMITED)
    lines = [
        *callers_of(section, everything, numbers),
        *callees_of(section, everything, numbers),
    ]
    yield from (f"{line}\n" for line in [*lines, *([""] if lines else [])])


def _lines_without_source(section: FunctionLines) -> int:
    """Return how many rows a function takes whose text is not known."""
    if not section.lines:
        return 1
    return max(section.lines) - min(*section.lines, section.first_line) + 1


def _cells(values: LineValues, total: int, unit: float, raw: bool) -> _Cells:
    """Return hits, time, time per hit and share of one line."""
    scale = _NANOSECOND / unit
    time = values.inclusive * scale
    plain = "%.0f" if raw and unit == _NANOSECOND else "%5.1f"
    shorten = _as_it_is if raw else _fit
    hits = shorten("%d", "%g", values.hits, _WIDTHS[1]) if values.hits else ""
    per_hit = shorten("%5.1f", "%5.3g", time / values.hits, _WIDTHS[3]) if values.hits else ""
    share = "%5.1f" % (100 * values.inclusive / total) if total else ""
    return hits, shorten(plain, "%5.3g", time, _WIDTHS[2]), per_hit, share


def _fit(plain: str, short: str, value: float, width: int) -> str:
    """Format a number, in the shorter way when it is too wide for its column."""
    text = plain % value
    return text if len(text) <= width else short % value


def _as_it_is(plain: str, _short: str, value: float, _width: int) -> str:
    """Format a number, however wide it is."""
    return plain % value


def _template(cells: Mapping[int, _Cells]) -> str:
    """Return the template of a row: columns are as wide as their widest number asks for."""
    line, *growing, share = _WIDTHS
    widths = [
        max([least, *(len(row[column]) for row in cells.values())])
        for column, least in enumerate(growing)
    ]
    return " ".join(f"%{width}s" for width in (line, *widths, share)) + "  %s"


def _summary(sections: Sequence[FunctionLines], skip_zero: bool) -> Iterator[str]:
    """Yield one line for each function: its total time and where it is."""
    for section in sections:
        if section.total or not skip_zero:
            seconds = section.total * _NANOSECOND
            where = f"{section.file}:{section.first_line}"
            yield f"{seconds:6.2f} seconds - {where} - {section.name}\n"
