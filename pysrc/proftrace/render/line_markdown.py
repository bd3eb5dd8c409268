"""`lprof show --format md`: the lines that ran, as tables for an issue or a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proftrace.render.line_calls import short_path
from proftrace.render.line_columns import Numbers
from proftrace.render.line_table import TableOptions, dedented, shown_rows
from proftrace.units import format_share, printable
from proftrace.views.line_filter import measured_time
from proftrace.views.line_table import Call, FunctionLines, LineValues, Row

_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"  # code hosts drop other spaces at the start of a cell


def render_markdown(sections: Sequence[FunctionLines], options: TableOptions) -> str:
    """Return a table a function that ran, the one with the most time first."""
    numbers = Numbers(options.unit, options.raw)
    ran = sorted((s for s in sections if s.hits), key=lambda section: -section.total)
    whole = measured_time(ran) if options.whole is None else options.whole
    lines: list[str] = []
    for section in ran:
        lines += _section(section, options, numbers, whole)
    idle = [f"{code(s.name)} ({code(_place(s))})" for s in sections if not s.hits]
    if idle and not options.skip_zero:
        lines += [f"Never ran: {', '.join(idle)}", ""]
    return "\n".join(lines[:-1] or ["Nothing was recorded."]) + "\n"


def _place(section: FunctionLines) -> str:
    return f"{short_path(section.file)}:{section.first_line}"


def _section(
    section: FunctionLines, options: TableOptions, numbers: Numbers, whole: int
) -> Iterator[str]:
    facts = [numbers.time(section.total)]
    if whole > 0:
        facts.append(f"{format_share(min(section.total, whole), whole)} %")
    if section.calls:
        facts.append(f"{numbers.count(section.calls)} call{'' if section.calls == 1 else 's'}")
    yield f"### {code(section.name)}: {', '.join(facts)}"
    yield ""
    yield code(_place(section))
    yield ""
    awaits = any(values.suspended for values in section.lines.values())
    titles = ["Line", "Hits", "Time", "Per hit", *(["Await"] if awaits else []), "% time"]
    yield f"| {' | '.join(titles)} | Source |"
    yield f"|{' --: |' * len(titles)} :-- |"
    for row in dedented(shown_rows(section, options)):
        if (values := section.lines.get(row.line)) is not None:
            cells = _cells(section, row, values, numbers, awaits)
            yield f"| {' | '.join(cells)} | {code(_indented(row))} |"
    yield ""
    if options.callers and section.callers:
        yield "Called by:"
        yield ""
        yield from (f"* {_caller(call, numbers)}" for call in section.callers)
        yield ""


def _caller(call: Call, numbers: Numbers) -> str:
    """Return how often and for how long a function was called from a line, and what it says."""
    about = "about " if call.estimated else ""
    count = f"{about}{numbers.count(call.calls)} times, " if call.calls else ""
    if call.other is None:
        return f"{count}{numbers.time(call.inclusive)}: code that is not profiled"
    place = code(f"{short_path(call.other[0])}:{call.line}")
    text = f": {code(printable(call.text))}" if call.text else ""
    return f"{count}{numbers.time(call.inclusive)}: {code(call.other[2])} ({place}){text}"


def _cells(
    section: FunctionLines, row: Row, values: LineValues, numbers: Numbers, awaits: bool
) -> Sequence[str]:
    line = str(row.line) if row.line == row.last else f"{row.line}-{row.last}"
    per_hit = numbers.time(round(values.inclusive / values.hits)) if values.hits else ""
    share = f"{section.share(row.line):.1f}"
    return (
        line,
        numbers.count(values.hits) if values.hits else "",
        numbers.time(values.inclusive),
        per_hit,
        *([numbers.time(values.suspended) if values.suspended else ""] if awaits else []),
        f"**{share}**" if section.share(row.line) >= 20 else share,
    )


def _indented(row: Row) -> str:
    """Return the text of a row with an indentation that stays."""
    code = row.text.lstrip(" ")
    return _NO_BREAK_SPACE * (len(row.text) - len(code)) + code


def code(text: str) -> str:
    """Return text as code that nothing in it ends: not a fence, not a border of the table."""
    text = _printable(text)
    if not text:
        return ""
    longest = max((len(run) for run in _runs_of_backticks(text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    escaped = text.replace("|", "\\|")
    return f"{fence}{space}{escaped}{space}{fence}"


def _printable(text: str) -> str:
    """Return the text with what cannot be printed escaped, but for the spaces made here."""
    return _NO_BREAK_SPACE.join(printable(part) for part in text.split(_NO_BREAK_SPACE))


def _runs_of_backticks(text: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in text).split(" ") if run]
