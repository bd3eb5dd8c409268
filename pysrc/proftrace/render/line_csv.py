"""`lprof show --format csv`: a row a line that ran, times in nanoseconds, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from proftrace.render.line_table import TableOptions, shown_rows
from proftrace.views.line_table import FunctionLines, LineValues, Row

HEADER = (
    *("file", "function", "first_line", "calls", "line", "last_line", "hits"),
    *("time_ns", "self_ns", "await_ns", "per_hit_ns", "percent", "time_error_ns", "self_error_ns"),
    *("samples", "min_ns", "max_ns", "source"),
)


def render_line_csv(sections: Sequence[FunctionLines], options: TableOptions) -> str:
    """Return the table, a header first; functions and lines stand in the order of the text table.

    `percent` is of the function's time; what was not measured is empty.
    """
    if options.sort:
        sections = sorted(sections, key=lambda section: section.total)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for section in sections:
        place = section.file, section.name, section.first_line, section.calls
        for row in shown_rows(section, options):
            if (values := section.lines.get(row.line)) is not None:
                share = f"{section.share(row.line):.4f}"
                writer.writerow((*place, *_cells(row, values, share), row.text))
    return out.getvalue()


def _cells(row: Row, values: LineValues, share: str) -> Sequence[object]:
    timed = bool(values.histogram)
    return (
        row.line,
        row.last,
        values.hits,
        values.inclusive,
        values.exclusive,
        values.suspended,
        round(values.inclusive / values.hits, 1) if values.hits else "",
        share,
        values.inclusive_error,
        values.exclusive_error,
        values.samples,
        values.shortest if timed else "",
        values.longest if timed else "",
    )
