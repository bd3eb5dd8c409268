"""What a notebook shows of a profile: the table as text, and as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from types import CodeType

from proftrace.api.stats import LineStats
from proftrace.render.line_table import TableOptions, render_classic
from proftrace.units import format_time
from proftrace.views.line_table import FunctionLines

# Colours that notebooks in light and in dark let be read: only the bars have one of their own.
_STYLE = (
    "<style>.proftrace td,.proftrace th{font-family:monospace;text-align:right!important;"
    "padding:0 .6em;white-space:pre;border:0}.proftrace td.source,.proftrace th.source"
    "{text-align:left!important}.proftrace{border-collapse:collapse}"
    ".proftrace caption{caption-side:top;text-align:left;font-family:monospace;padding:.3em .6em}"
    "</style>"
)
_BAR = "linear-gradient(90deg,rgba(230,120,20,.45) {0:.1f}%,transparent {0:.1f}%)"


class Report:
    """A profile as IPython displays it."""

    def __init__(
        self,
        stats: LineStats,
        *,
        unit: float | None = None,
        skip_zero: bool = False,
        only_lines_of: Sequence[CodeType] | None = None,
    ) -> None:
        """`unit` of times in seconds; `only_lines_of` some code objects, without what is nested."""
        self._options = TableOptions(unit=unit, skip_zero=skip_zero)
        self._sections = [
            section
            for section in stats.functions
            if (section.hits or not skip_zero)
            and (
                only_lines_of is None
                or (section.file, section.first_line, section.name)
                in {(c.co_filename, c.co_firstlineno, c.co_qualname) for c in only_lines_of}
            )
        ]

    def __repr__(self) -> str:
        return render_classic(self._sections, self._options)

    def write_text(self, path: str) -> None:
        """Write the table as text."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(repr(self))

    def _repr_html_(self) -> str:
        return _STYLE + "".join(self._section(section) for section in self._sections)

    def _section(self, section: FunctionLines) -> str:
        title = (
            f"{section.name}, {section.file}:{section.first_line}, "
            f"{self._time(section.total)} in {section.calls} call"
            f"{'' if section.calls == 1 else 's'}"
        )
        columns = ("Line", "Hits", "Time", "Per Hit", "% Time")
        head = "".join(f"<th>{column}</th>" for column in columns)
        rows = "".join(self._row(section, line) for line in _numbers(section))
        return (
            f'<table class="proftrace"><caption>{html.escape(title)}</caption>'
            f'<thead><tr>{head}<th class="source">Line Contents</th></tr></thead>'
            f"<tbody>{rows}</tbody></table>"
        )

    def _row(self, section: FunctionLines, line: int) -> str:
        values = section.lines.get(line)
        cells = [str(line), "", "", "", ""]
        bar = ""
        if values is not None:
            share = 100 * values.inclusive / section.total if section.total else 0.0
            per_hit = self._time(round(values.inclusive / values.hits)) if values.hits else ""
            cells[1:] = [
                f"{values.hits:,}",
                self._time(values.inclusive),
                per_hit,
                f"{share:.1f}",
            ]
            bar = f' style="background:{_BAR.format(min(share, 100))}"'
        source = section.source
        text = source[line - section.first_line] if source is not None else ""
        numbers = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        return f'<tr>{numbers}<td class="source"{bar}>{html.escape(text)}</td></tr>'

    def _time(self, ns: int) -> str:
        unit = self._options.unit
        return format_time(ns) if unit is None else f"{ns * 1e-9 / unit:,.1f}"


def _numbers(section: FunctionLines) -> Sequence[int]:
    """Return the lines to show: all of the text, or those that ran."""
    if section.source is None:
        return list(section.lines)
    first = section.first_line
    return range(first, first + len(section.source))
