"""The summary: a table of the places that hold the most memory.

On a terminal it fits the width; otherwise nothing is cut, wrapped or coloured and all rows are
there, so that it can be searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from proftrace.model.profile import Profile
from proftrace.render.terminal import Terminal, display_width
from proftrace.units import count_of, format_bytes, format_count, format_share, printable
from proftrace.views.hotspots import Hotspot, hotspots
from proftrace.views.notes import about, notes_on
from proftrace.views.selection import Selection

type SortColumn = Literal["own", "total", "allocs"]

_ROWS_ON_TERMINAL = 25
_LEAST_LOCATION = 28  # columns: before a location gets narrower, these are left out:
_LEFT_OUT_FIRST = ("bar", "total %", "allocs")
_BAR_WIDTH = 10
_NO_LIMIT = 1000  # a stream that is no terminal says it has at least as many columns
# Share of the whole above which a row stands out; the steps other profilers have too.
_HEAT = ((60.0, "red"), (20.0, "yellow"), (5.0, "green"))
_PYTHON_ALLOCATORS = 2  # option flag of the file header


@dataclass(frozen=True, slots=True)
class SummaryOptions:
    """`rows`: how many, 0 = all, None = what suits the output; `by_line`: a row a line or a row a
    function."""

    selection: Selection = Selection.PEAK
    rows: int | None = None
    sort: SortColumn = "own"
    by_line: bool = True


@dataclass(frozen=True, slots=True)
class _Column:
    title: str
    width: int
    cell: Callable[[Hotspot], str]
    sort: SortColumn | None = None


_SORT_KEYS: dict[SortColumn, Callable[[Hotspot], int]] = {
    "own": lambda spot: spot.own_bytes,
    "total": lambda spot: spot.total_bytes,
    "allocs": lambda spot: spot.own_blocks,
}


def render_summary(profile: Profile, options: SummaryOptions, terminal: Terminal) -> str:
    """Return the table for a terminal or a file."""
    spots = hotspots(profile, options.selection, by_line=options.by_line)
    spots.sort(key=_SORT_KEYS[options.sort], reverse=True)  # stable: equal rows stay in order
    whole = sum(spot.own_bytes for spot in spots)
    lines = [*_heading(profile, options, terminal), ""]
    if not spots:
        lines.append(f"No allocations {options.selection.title(profile)}.")
        return "\n".join(lines) + "\n"
    limit = options.rows
    if limit is None:
        limit = _ROWS_ON_TERMINAL if terminal.width < _NO_LIMIT else 0
    shown = spots[:limit] if limit else spots
    lines += _table(shown, whole, options, terminal)
    if len(shown) < len(spots):
        lines.append(_rest(spots[len(shown) :], whole))
    return "\n".join(lines) + "\n"


# ---- above the table ----------------------------------------------------------------------------


def _heading(profile: Profile, options: SummaryOptions, terminal: Terminal) -> Iterator[str]:
    """What was measured: the file, the numbers of the whole run, and what to know about them."""
    totals = profile.totals
    dot = terminal.symbol(" · ", " - ")
    threads, mark = totals["n_threads"], about(profile)
    facts = [
        f"peak {mark}{format_bytes(totals['peak_bytes'])}",
        f"{mark}{format_count(totals['n_allocations'])} allocations",
        f"{mark}{format_bytes(totals['total_bytes'])} in all",
        f"{mark}{format_bytes(totals['leaked_bytes'])} live at the end",
        count_of(threads, "thread"),
        f"pymalloc traced: {_pymalloc_traced(profile)}",
    ]
    heap = profile.python_heap
    if heap is not None and heap.peak.arenas:
        slack = format_bytes(heap.peak.slack_bytes)
        facts.append(f"{slack} of {format_bytes(heap.peak.arena_bytes)} of arenas unused")
    title = f"memtrace summary {printable(profile.path)}, {options.selection.title(profile)}"
    yield terminal.style(terminal.cut(title, terminal.width), "bold")
    yield from _folded(facts, dot, terminal.width)
    for note in notes_on(profile, options.selection):
        yield from _folded(note.split(" "), " ", terminal.width)


def _pymalloc_traced(profile: Profile) -> str:
    """Say if the small objects of Python are seen one by one."""
    if profile.meta.get("pythonmalloc", "").startswith("malloc"):
        return "off, each object is a malloc"
    return "yes" if profile.header["options"] & _PYTHON_ALLOCATORS else "no"


def _folded(words: Sequence[str], between: str, width: int) -> Iterator[str]:
    """Join words to lines of at most `width` columns."""
    line = ""
    for word in words:
        longer = f"{line}{between}{word}" if line else word
        if line and display_width(longer) > width:
            yield line
            longer = word
        line = longer
    yield line


# ---- the table ----------------------------------------------------------------------------------


def _table(
    spots: Sequence[Hotspot], whole: int, options: SummaryOptions, terminal: Terminal
) -> Iterator[str]:
    columns = _columns(whole, terminal)
    left = sum(column.width + 2 for column in columns)
    room = max(terminal.width - left, 8)
    titles = []
    for column in columns:
        marked = column.sort == options.sort
        title = "" if column.title == "bar" else f"{'>' if marked else ''}{column.title}"
        titles.append(f"{title:>{column.width}}")
    yield terminal.style("  ".join([*titles, "location"]), "bold")
    for spot in spots:
        cells = [f"{column.cell(spot):>{column.width}}" for column in columns]
        row = terminal.style("  ".join(cells), _heat(spot.own_bytes, whole))
        yield f"{row}  {_location(spot, room, terminal)}".rstrip()


def _columns(whole: int, terminal: Terminal) -> list[_Column]:
    """The columns left of the location; the less important ones only where there is room."""

    def bar(spot: Hotspot) -> str:
        return terminal.bar(spot.own_bytes / whole if whole else 0.0, _BAR_WIDTH)

    columns = [
        _Column("own", 10, lambda spot: format_bytes(spot.own_bytes), "own"),
        _Column("own %", 6, lambda spot: format_share(spot.own_bytes, whole)),
        _Column("bar", _BAR_WIDTH, bar),
        _Column("total", 10, lambda spot: format_bytes(spot.total_bytes), "total"),
        _Column("total %", 7, lambda spot: format_share(spot.total_bytes, whole)),
        _Column("allocs", 9, lambda spot: format_count(spot.own_blocks), "allocs"),
    ]
    if terminal.width >= _NO_LIMIT:
        return [column for column in columns if column.title != "bar"]
    for title in _LEFT_OUT_FIRST:
        if terminal.width - sum(column.width + 2 for column in columns) < _LEAST_LOCATION:
            columns = [column for column in columns if column.title != title]
    return columns


def _heat(part: int, whole: int) -> str:
    share = 100 * part / whole if whole > 0 else 0.0
    return next((style for above, style in _HEAT if share > above), "dim")


def _location(spot: Hotspot, room: int, terminal: Terminal) -> str:
    """`file:line function`; in a narrow column folders go first, from the left, then the end of
    the function's name."""
    name = printable(spot.name)
    if not spot.file:
        return terminal.cut(name, room)
    line = f":{spot.line}" if spot.line else ""
    place = ""
    for path in _shorter_paths(printable(spot.file), terminal.symbol("…", "<")):
        place = path + line
        if display_width(place) + 1 + display_width(name) <= room:
            return f"{place} {name}"
    name = terminal.cut(name, max(room // 2, room - display_width(place) - 1))
    return f"{terminal.cut_left(place, max(room - display_width(name) - 1, 2))} {name}"


def _shorter_paths(path: str, mark: str) -> Iterator[str]:
    """Yield the path and then ever less of it, down to the file's own name."""
    yield path
    folders, _, base = path.rpartition("/")
    parts = folders.split("/")
    for start in range(1, len(parts)):
        yield "/".join([mark, *parts[start:], base])
    yield base


def _rest(spots: Sequence[Hotspot], whole: int) -> str:
    n_bytes = sum(spot.own_bytes for spot in spots)
    share = format_share(n_bytes, whole)
    places = count_of(len(spots), "more location")
    return f"  {places}, {format_bytes(n_bytes)} ({share} %); -n 0 shows all"
