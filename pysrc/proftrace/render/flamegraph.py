"""The flame graph: one self-contained HTML page with the viewer, the data and a summary.

The page needs no network and no other file. Without scripts it shows the summary; the viewer puts
the graph in its place. Nothing of the environment or of the program's arguments gets into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from proftrace.model.profile import Column, Metric, Profile
from proftrace.render.page import (
    fill_page,
    items,
    program_name,
    python_of,
    recorded_at,
    shown,
)
from proftrace.render.tree_codec import encode_tree
from proftrace.units import format_share, format_value
from proftrace.views.call_tree import CallTree, Place, build_call_tree, place_own, place_totals
from proftrace.views.notes import about
from proftrace.views.selection import Selection

SUMMARY_ROWS = 30


@dataclass(frozen=True, slots=True)
class Subject:
    """What a graph shows: the metric that frames are as wide as, how often, and all of it in words.

    `width_words` ends the sentence "A frame is as wide as ...".
    """

    title: str
    weight: Metric
    count: Metric
    count_noun: str
    width_words: str


def _memory_subject(title: str, selection: Selection) -> Subject:
    return Subject(
        title=title,
        weight=selection.bytes_metric,
        count=selection.blocks_metric,
        count_noun="blocks",
        width_words="the bytes allocated in it and in everything that it called",
    )


PEAK = _memory_subject("Peak memory", Selection.PEAK)
LEAKS = _memory_subject("Memory live at the end", Selection.LEAKS)
TEMPORARY = _memory_subject("Temporary memory", Selection.TEMPORARY)


@dataclass(frozen=True, slots=True)
class FlamegraphOptions:
    """Which memory the graph shows, and lines about the capture that readers have to know."""

    leaks: bool = False
    temporary: bool = False
    notes: Sequence[str] = ()

    @property
    def subject(self) -> Subject:
        if self.temporary:
            return TEMPORARY
        return LEAKS if self.leaks else PEAK


def render(profile: Profile, options: FlamegraphOptions | None = None) -> str:
    """Return the page of a memory profile."""
    options = options or FlamegraphOptions()
    return render_subject(profile, options.subject, options.notes)


def render_subject(profile: Profile, subject: Subject, notes: Sequence[str] = ()) -> str:
    """Return the page that shows any metric of a profile."""
    tree = build_call_tree(profile, (subject.weight, subject.count))
    program = program_name(profile.meta.get("program", ""))
    return fill_page(
        "",
        text={
            "title": f"{subject.title} - {program}",
            "subject": subject.title,
            "program": program,
            "count-noun": subject.count_noun,
            "width-words": subject.width_words,
        },
        markup={
            "facts": _facts(profile, tree, subject),
            "notes": items([*notes, *profile.warnings]),
            "summary": _summary(tree, subject),
            "data": encode_tree(tree),
        },
    )


def _facts(profile: Profile, tree: CallTree, subject: Subject) -> str:
    """Return the items of the line under the title: how much, how many, when and with what."""
    weight, count = (column[0] for column in tree.total)
    mark = about(profile)
    facts = [
        mark + format_value(weight, subject.weight.unit),
        f"{mark}{format_value(count, subject.count.unit)} {_plural(subject.count_noun, count)}",
    ]
    if "n_allocations" in profile.totals:
        number = profile.totals["n_allocations"]
        facts.append(f"{mark}{number:,} {_plural('allocations', number)} in all")
    if "start_wall_ns" in profile.header:
        facts.append(recorded_at(profile.header))
    if python := python_of(profile.meta, profile.header):
        facts.append(python)
    return items(facts)


def _plural(noun: str, number: int) -> str:
    return noun if number != 1 else noun.removesuffix("s")


def _summary(tree: CallTree, subject: Subject) -> str:
    """Return the rows of the table that is there without scripts: the largest places by what they
    hold themselves."""
    own, total = place_own(tree), place_totals(tree)
    by_own = sorted(
        (place for place in range(len(tree.places)) if own[0][place]),
        key=lambda place: (-own[0][place], -total[0][place], place),
    )
    rows = [_summary_row(tree, subject, place, own, total) for place in by_own[:SUMMARY_ROWS]]
    if len(by_own) > SUMMARY_ROWS:
        rest = sum(own[0][place] for place in by_own[SUMMARY_ROWS:])
        rows.append(
            f'<tr><td class="name">{len(by_own) - SUMMARY_ROWS:,} more locations</td><td></td>'
            f"{_number_cells(rest, tree.total[0][0], subject.weight.unit)}"
            "<td></td><td></td><td></td></tr>"
        )
    return "\n".join(rows)


def _summary_row(
    tree: CallTree, subject: Subject, place: int, own: Sequence[Column], total: Sequence[Column]
) -> str:
    whole, unit = tree.total[0][0], subject.weight.unit
    where = tree.places[place]
    return (
        f'<tr><td class="name"><bdi>{escape(shown(where.name))}</bdi></td>'
        f"<td><bdi>{escape(shown(location(where)))}</bdi></td>"
        f"{_number_cells(own[0][place], whole, unit)}"
        f"{_number_cells(total[0][place], whole, unit)}"
        f"<td>{format_value(own[1][place], subject.count.unit)}</td></tr>"
    )


def _number_cells(value: int, whole: int, unit: str) -> str:
    return f"<td>{format_value(value, unit)}</td><td>{format_share(value, whole)}</td>"


def location(place: Place) -> str:
    """Return file and line as one text, "" when the place is in no file."""
    return f"{place.file}:{place.line}" if place.file and place.line else place.file
