"""The classic line table: what scripts parse, byte for byte as line_profiler 5.1 prints it.

Numbers, widths and the order of things are a contract here; for people there is
`render/line_terminal.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from proftrace.views.line_table import FunctionLines, LineValues

# Time is stored in nanoseconds. Multiplied in the same order as there, so that rounding is equal.
_NANOSECOND = 1e-09
_HEADER = ("Line #", "Hits", "Time", "Per Hit", "% Time", "Line Contents")
# Least widths of the columns in front of the text; `Hits`, `Time` and `Per Hit` grow.
_WIDTHS = (6, 9, 12, 8, 8)
_NO_SOURCE = """
Could not find file {file}
Are you sure you are running this program from the same directory
that you ran the profiler from?
Continuing without the function's contents.
"""

type _Cells = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class TableOptions:
    """What to show and how: `unit` in seconds, `all_lines` also those that cost next to nothing."""

    unit: float = 1e-06
    skip_zero: bool = False
    sort: bool = False
    summarize: bool = False
    all_lines: bool = False


def render_classic(sections: Sequence[FunctionLines], options: TableOptions) -> str:
    """Return the table as line_profiler's `show_text` prints it; times are inclusive."""
    if options.sort:
        sections = sorted(sections, key=lambda section: section.total)
    parts = [f"Timer unit: {options.unit:g} s\n\n"]
    for section in sections:
        if section.hits or not options.skip_zero:
            parts += _section(section, options.unit)
    if options.summarize:
        parts += _summary(sections, options.skip_zero)
    return "".join(parts)


def _section(section: FunctionLines, unit: float) -> Iterator[str]:
    """Yield one function's part of the table, piece by piece."""
    yield f"Total time: {section.total * _NANOSECOND:g} s\n"
    if section.source is None:
        yield _NO_SOURCE.format(file=section.file)
        source: Sequence[str] = [""] * _lines_without_source(section)
    else:
        yield f"File: {section.file}\n"
        yield f"Function: {section.name} at line {section.first_line}\n"
        source = section.source
    cells = {line: _cells(values, section.total, unit) for line, values in section.lines.items()}
    template = _template(cells)
    header = template % _HEADER
    yield f"\n{header}\n{'=' * len(header)}\n"
    empty = ("", "", "", "")
    for line, text in enumerate(source, section.first_line):
        yield template % (str(line), *cells.get(line, empty), text) + "\n"
    yield "\n"


def _lines_without_source(section: FunctionLines) -> int:
    """Return how many rows a function takes whose text is not known."""
    if not section.lines:
        return 1
    return max(section.lines) - min(*section.lines, section.first_line) + 1


def _cells(values: LineValues, total: int, unit: float) -> _Cells:
    """Return hits, time, time per hit and share of one line."""
    scale = _NANOSECOND / unit
    time = values.inclusive
    hits = _fit("%d", "%g", values.hits, _WIDTHS[1]) if values.hits else ""
    per_hit = _fit("%5.1f", "%5.3g", time * scale / values.hits, _WIDTHS[3]) if values.hits else ""
    share = "%5.1f" % (100 * time / total) if total else ""
    return hits, _fit("%5.1f", "%5.3g", time * scale, _WIDTHS[2]), per_hit, share


def _fit(plain: str, short: str, value: float, width: int) -> str:
    """Format a number, in the shorter way when it is too wide for its column."""
    text = plain % value
    return text if len(text) <= width else short % value


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
