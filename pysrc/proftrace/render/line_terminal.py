"""The line table for people: times with units, bars, what is cold folded away, hottest last."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proftrace.render.line_calls import call_count, callers_of, short_path
from proftrace.render.line_columns import (
    AWAIT,
    LOOP_MARK,
    Layout,
    Numbers,
    Widths,
    common_widths,
    fit_layout,
)
from proftrace.render.line_table import TableOptions, dedented
from proftrace.render.terminal import Terminal, display_width
from proftrace.units import count_of, format_count, printable
from proftrace.views.line_filter import measured_time, wanted_rows
from proftrace.views.line_table import Call, FunctionLines, LineValues, Row
from proftrace.views.nesting import outer_functions

_FOLDED_RUN = 3  # cold lines in a row are folded into one; each one when that was asked for
_SHORTEST_PLACE = 6  # that says something
_TELLING_ERROR = 0.01  # of the total: from there on the heading says it
_WIDEST_HEADING = 100
_MOST_NAMED = 4  # functions in the last line
_MOST_IDLE = 5  # functions that never ran, named one by one
_MARK = re.compile(r"\s*@(\w+\.)*profile\s*")
# Share of the whole above which a line stands out, and how; the steps other profilers have too.
_HEAT = ((60.0, "red"), (20.0, "yellow"), (5.0, "green"))


@dataclass(slots=True)
class _Page:
    """What all parts of a report are written with; `whole` is all the time that was measured.
    `has_folds` and `has_loops` note what has to be explained at the end."""

    options: TableOptions
    terminal: Terminal
    numbers: Numbers
    widths: Widths
    whole: int
    has_folds: bool = False
    has_loops: bool = False

    def share(self, section: FunctionLines) -> float:
        """Return a function's part of all the time that was measured, in percent."""
        return min(100.0, 100 * section.total / self.whole) if self.whole > 0 else 0.0


@dataclass(frozen=True, slots=True)
class _Part:
    """A function with the unnamed ones in it, and how its rows are laid out."""

    section: FunctionLines
    inner: Sequence[FunctionLines]
    layout: Layout

    def room(self, terminal: Terminal) -> int:
        """Return the columns that there are for the text."""
        return max(terminal.width - self.layout.left_width(), 10)

    def inner_lines(self, row: Row) -> Iterator[tuple[str, LineValues]]:
        """Yield the lines of unnamed functions that stand on a row: their name and values."""
        for section in self.inner:
            for line, values in section.lines.items():
                if row.line <= line <= row.last:
                    yield section.name.rpartition(".")[2], values

    def has_row_of(self, call: Call) -> bool:
        """Tell whether a callee is an unnamed function that has rows of its own here."""
        return any(
            call.other is not None and call.other[1:3] == (one.first_line, one.name)
            for one in self.inner
        )

    def has_hot_inner(self, row: Row, least: float) -> bool:
        """Tell whether an unnamed function on a row took that part of the function's time, in
        percent; it may have been called from elsewhere."""
        least_time = self.section.total * least / 100
        return any(values.inclusive >= least_time for _, values in self.inner_lines(row))


def render_terminal(
    sections: Sequence[FunctionLines], options: TableOptions, terminal: Terminal, title: str
) -> str:
    """Return the table for a terminal; `title` says what was profiled."""
    numbers = Numbers(options.unit, options.raw)
    ran = [section for section in sections if section.hits]
    whole = measured_time(ran) if options.whole is None else options.whole
    page = _Page(options, terminal, numbers, common_widths(ran, numbers), whole)
    nested = sorted(outer_functions(ran), key=lambda one: one[0].total)
    lines = [terminal.style(terminal.cut(title, terminal.width), "bold")]
    if options.unit is not None and not options.raw:
        lines.append(terminal.style(f"times in units of {options.unit:g} s", "dim"))
    lines.append("")
    for section, inner in nested:
        lines += _section(section, inner, page)
    idle = [section for section, _ in outer_functions(sections) if not section.hits]
    if idle and not options.skip_zero:
        lines += _idle(idle, page)
    lines += _notes(page)
    if nested and options.summarize:
        lines += _summary([section for section, _ in nested], page)
    elif nested:
        lines.append(_sum([section for section, _ in nested], page))
    return "\n".join(lines) + "\n"


def _section(section: FunctionLines, inner: Sequence[FunctionLines], page: _Page) -> Iterator[str]:
    """Yield the heading and the rows of one function and of the unnamed ones in it."""
    terminal = page.terminal
    rows = _texts(section, everything=page.options.all_lines)
    longest = max((display_width(row.text) for row in rows), default=0)
    layout = fit_layout(section, page.widths, page.numbers, terminal, longest)
    part = _Part(section, inner, layout)
    yield _heading(section, page)
    yield terminal.style((layout.head() + "source").rstrip(), "dim")
    for shown in _fold(part, rows, page.options):
        if isinstance(shown, Row):
            yield from _row(part, shown, page)
        else:
            yield _folded_row(part, shown, page)
    if section.source is None:
        yield terminal.style("  its text was not recorded", "dim")
    if page.options.callers:
        yield from callers_of(section, terminal, page.numbers)
    yield ""


def _texts(section: FunctionLines, *, everything: bool) -> list[Row]:
    """Return the rows to show, without the indentation that all have, and without the mark that
    they are shown at all."""
    rows = list(section.rows())
    if not everything:
        rows = [row for row in rows if row.line in section.lines or not _MARK.fullmatch(row.text)]
    return dedented(rows)


def _heading(section: FunctionLines, page: _Page) -> str:
    """Return name and place on the left, time, share and calls on the right."""
    terminal = page.terminal
    width = min(terminal.width, _WIDEST_HEADING)
    right = _facts(section, page, width - min(display_width(section.name), 20) - 14)
    room = width - len(right) - 2
    name = terminal.cut(printable(section.name), max(room - 20, min(room, 20)))
    last = section.first_line + max(len(section.source or ()), 1) - 1
    place = f"{short_path(section.file)}:{section.first_line}-{last}"
    place_room = room - display_width(name) - 2
    place = terminal.cut_left(place, place_room) if place_room >= _SHORTEST_PLACE else ""
    gap = room - display_width(name) - 2 - display_width(place)
    return f"{terminal.style(name, 'head')}  {place}{' ' * max(gap, 0)}  {right}"


def _facts(section: FunctionLines, page: _Page, room: int) -> str:
    """Return time, error, share, calls and regime of a function, as many of them as there is room
    for; what says least goes first."""
    sign = page.terminal.symbol("±", "+-")
    has_error = section.error >= _TELLING_ERROR * section.total > 0
    facts = {
        "time": page.numbers.time(section.total),
        "error": f" {sign} {page.numbers.time(section.error)}" if has_error else "",
        "share": f"  {page.share(section):.1f} %" if page.whole > 0 else "",
        "calls": f"  {page.numbers.count(section.calls)} call{'' if section.calls == 1 else 's'}"
        if section.calls  # line_profiler counts none
        else "",
        "regime": "  sampled" if "samples" in section.regimes else "",
    }
    for name in ("regime", "error", "calls"):
        if len("".join(facts.values())) > room:
            facts[name] = ""
    return "".join(facts.values())


def _fold(part: _Part, rows: Sequence[Row], options: TableOptions) -> Iterator[Row | list[Row]]:
    """Yield each row to show, and each run of rows to fold into one."""
    section = part.section
    least = options.least_percent
    wanted = wanted_rows(section, rows, least, options.context or 0)
    run = 1 if options.drops_lines else _FOLDED_RUN
    everything = options.all_lines or options.raw or section.source is None
    name_line = _name_line(section, rows)
    cold: list[Row] = []
    for row, is_wanted in zip(rows, wanted, strict=True):
        if not (everything or is_wanted or row.line == name_line or part.has_hot_inner(row, least)):
            cold.append(row)
            continue
        yield from [cold] if len(cold) >= run else cold
        cold = []
        yield row
    yield from [cold] if len(cold) >= run else cold


def _name_line(section: FunctionLines, rows: Sequence[Row]) -> int:
    """Return the line with the function's name, which is behind its decorators; 0: there is none,
    as in a module."""
    name = section.name.rpartition(".")[2]
    starts = tuple(f"{word} {name}" for word in ("def", "async def", "class"))
    return next((row.line for row in rows if row.text.startswith(starts)), 0)


def _is_name(text: str) -> bool:
    return text.startswith(("def ", "async def ", "class "))


def _row(part: _Part, row: Row, page: _Page) -> Iterator[str]:
    """Yield one row, those of unnamed functions on its lines, and whom it calls."""
    terminal, layout, section = page.terminal, part.layout, part.section
    text = terminal.cut(row.text, part.room(terminal))
    values = section.lines.get(row.line)
    if values is None:
        blank = layout.row(terminal, str(row.line), [""] * len(layout.columns), "")
        yield (blank + terminal.style(text, "" if _is_name(row.text) else "dim")).rstrip()
    else:
        share = section.share(row.line)
        heat = next((style for limit, style in _HEAT if share > limit), "dim")
        cells = [column.cell(values, share) for column in layout.columns]
        if section.loops:
            is_loop = row.line in section.loops and values.hits > 0
            cells[0] += LOOP_MARK if is_loop else " "
            page.has_loops |= is_loop
        yield (layout.row(terminal, str(row.line), cells, heat) + text).rstrip()
    yield from _inner_rows(part, row, page)
    if page.options.callers:
        for call in section.callees:
            if row.line <= call.line <= row.last and not part.has_row_of(call):
                yield _callee_row(part, call, row, page)


def _inner_rows(part: _Part, row: Row, page: _Page) -> Iterator[str]:
    """Yield what the unnamed functions on these lines took, a row for each of their lines; but not
    how long they were suspended: a generator expression always is, from one value to the next."""
    branch = page.terminal.symbol("└ ", "+ ")
    for name, values in part.inner_lines(row):
        columns = part.layout.columns
        cells = [
            "" if column.heat or column.title == AWAIT else column.cell(values, 0.0)
            for column in columns
        ]
        if part.section.loops:
            cells[0] += " "
        yield _extra_row(part, cells, f"{_indent(row.text)}{branch}{name}", page)


def _callee_row(part: _Part, call: Call, row: Row, page: _Page) -> str:
    """Return the row that says whom a line calls."""
    name = printable(call.other[2]) if call.other else ""
    count = call_count(call, page.numbers, page.terminal)
    count = f"{count} x, " if count else ""
    arrow = page.terminal.symbol("→ ", "> ")
    text = f"{_indent(row.text)}{arrow}{name}  {count}{page.numbers.time(call.inclusive)}"
    return _extra_row(part, [""] * len(part.layout.columns), text, page)


def _extra_row(part: _Part, cells: Sequence[str], text: str, page: _Page) -> str:
    """Return a row below that of a line, without a number of its own."""
    text = page.terminal.cut(text, part.room(page.terminal))
    return part.layout.row(page.terminal, "", cells, "") + page.terminal.style(text, "dim")


def _indent(text: str) -> str:
    return " " * (len(text) - len(text.lstrip()) + 2)


def _folded_row(part: _Part, rows: Sequence[Row], page: _Page) -> str:
    """Return the row that stands for a run of cold lines."""
    page.has_folds = True
    share = sum(part.section.share(row.line) for row in rows)
    n_lines = sum(row.last - row.line + 1 for row in rows)
    mark = page.terminal.symbol("⋮", ":")
    what = f"{n_lines} line{'' if n_lines == 1 else 's'}, {share:.1f} %"
    return page.terminal.style(f"  {mark:>{part.layout.number_width}}  {what}", "dim")


def _idle(sections: Sequence[FunctionLines], page: _Page) -> Iterator[str]:
    """Yield a line for each function that was registered but never ran, if they are not many."""
    terminal = page.terminal
    n_named = len(sections) if page.options.all_lines else _MOST_IDLE
    for section in sections[:n_named]:
        place = f"{short_path(section.file)}:{section.first_line}"
        text = f"never ran: {printable(section.name)}  {place}"
        yield terminal.style(terminal.cut(text, terminal.width), "dim")
    if len(sections) > n_named:
        text = f"never ran: {count_of(len(sections) - n_named, 'more function')}"
        yield terminal.style(terminal.cut(text, terminal.width), "dim")
    yield ""


def _notes(page: _Page) -> Iterator[str]:
    """Yield what marks in the table mean."""
    terminal = page.terminal
    fold = terminal.symbol("⋮", ":")
    notes = [
        (page.has_loops, f"{LOOP_MARK} a loop on one line is one hit; its rounds are not counted"),
        (page.has_folds, f"{fold} cold lines, folded: lprof show --all shows them"),
    ]
    shown = [note for is_needed, note in notes if is_needed]
    for note in shown:
        yield terminal.style(terminal.cut(note, terminal.width), "dim")
    if shown:
        yield ""


def _sum(ran: Sequence[FunctionLines], page: _Page) -> str:
    """Return the last line: the functions that took most, hottest first, and what to do next."""
    terminal = page.terminal
    named = [
        f"{printable(section.name)} {page.numbers.time(section.total)}"
        for section in reversed(ran[-_MOST_NAMED:])
    ]
    if len(ran) > _MOST_NAMED:
        named.append(f"{format_count(len(ran) - _MOST_NAMED)} more")
    dot = terminal.symbol(" · ", " | ")
    text = terminal.cut(f"{terminal.symbol('Σ', 'sum')}  {dot.join(named)}", terminal.width)
    if page.options.hint and display_width(text) + 4 + len(page.options.hint) <= terminal.width:
        text += "    " + terminal.style(page.options.hint, "dim")
    return text


def _summary(ran: Sequence[FunctionLines], page: _Page) -> Iterator[str]:
    """Yield a line a function, the hottest last."""
    terminal = page.terminal
    times = [page.numbers.time(section.total) for section in ran]
    width = max(map(len, times))
    for section, time in zip(ran, times, strict=True):
        share = f"{page.share(section):5.1f} %"
        place = f"{short_path(section.file)}:{section.first_line}"
        text = f"  {time:>{width}}  {share}  {printable(section.name)}  {place}"
        yield terminal.cut(text, terminal.width)
