"""`lprof html`: one self-contained page with the source of the profiled functions, line by line.

The page needs no network and no other file. Without scripts it shows a table of the functions; the
viewer puts the list and the source in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from proftrace.model.profile import Profile
from proftrace.render.line_codec import encode_lines
from proftrace.render.line_stats import measured
from proftrace.render.page import (
    fill_page,
    items,
    program_name,
    python_of,
    recorded_at,
    shown,
)
from proftrace.units import count_of, format_count, format_share, format_time
from proftrace.views.line_filter import measured_time
from proftrace.views.line_stats import FunctionStats
from proftrace.views.line_table import FunctionKey
from proftrace.views.runs import wall_time

SUBJECT = "Time by line"
SUMMARY_ROWS = 30


@dataclass(frozen=True, slots=True)
class LinePageOptions:
    """`source`: whether the page holds the text of the functions."""

    source: bool = True


def render_line_page(
    stats: Mapping[FunctionKey, FunctionStats],
    profiles: Sequence[Profile],
    options: LinePageOptions | None = None,
) -> str:
    """Return the page of a line profile."""
    options = options or LinePageOptions()
    names = list(dict.fromkeys(program_name(p.meta.get("program", "")) for p in profiles))
    program = names[0] if len(names) == 1 else f"{len(names)} programs"
    warnings = dict.fromkeys(text for profile in profiles for text in profile.warnings)
    whole = measured_time([one.lines for one in stats.values()])
    return fill_page(
        "lines",
        text={
            "title": f"{SUBJECT} - {program}",
            "subject": SUBJECT,
            "program": program,
        },
        markup={
            "facts": items(_facts(stats, profiles, whole)),
            "notes": items(warnings),
            "measured": items(dict.fromkeys(measured(stats, profiles))),
            "summary": "\n".join(_summary(stats, whole)),
            "data": encode_lines(stats, source=options.source),
        },
    )


def _facts(
    stats: Mapping[FunctionKey, FunctionStats], profiles: Sequence[Profile], whole: int
) -> Iterator[str]:
    """Yield what stands under the title: how much, of what, when and with what."""
    ran = sum(1 for one in stats.values() if one.lines.hits)
    yield f"{format_time(whole)} in profiled functions"
    yield count_of(ran, "function") + (f" of {format_count(len(stats))}" * (ran != len(stats)))
    if len(profiles) > 1:
        yield count_of(len(profiles), "recording")
    if wall := wall_time(profiles):
        yield f"{format_time(wall)} wall time"
    if profiles:
        first = min(profiles, key=lambda profile: profile.header["start_wall_ns"])
        yield recorded_at(first.header)
    yield from dict.fromkeys(filter(None, (python_of(p.meta, p.header) for p in profiles)))


def _summary(stats: Mapping[FunctionKey, FunctionStats], whole: int) -> Iterator[str]:
    """Yield the rows of the table that is there without scripts: the hottest functions."""
    ran = [one for one in stats.values() if one.lines.hits]
    ran.sort(key=lambda one: (-one.lines.total, one.lines.file, one.lines.first_line))
    for one in ran[:SUMMARY_ROWS]:
        section = one.lines
        place = f"{section.file}:{section.first_line}"
        yield (
            f'<tr><td class="name"><bdi>{escape(shown(section.name))}</bdi></td>'
            f"<td><bdi>{escape(shown(place))}</bdi></td>"
            f"<td>{format_time(section.total)}</td><td>{_share(section.total, whole)}</td>"
            f"<td>{format_time(one.exclusive)}</td><td>{_share(one.exclusive, whole)}</td>"
            f"<td>{format_count(section.calls)}</td></tr>"
        )
    if len(ran) > SUMMARY_ROWS:
        more = count_of(len(ran) - SUMMARY_ROWS, "more function")
        yield f'<tr><td class="name">{more}</td>{"<td></td>" * 6}</tr>'


def _share(part: int, whole: int) -> str:
    return format_share(min(part, whole), whole)
