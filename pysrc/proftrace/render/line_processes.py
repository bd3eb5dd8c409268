"""The processes that a line profile adds up, a row each."""

from __future__ import annotations

from collections.abc import Sequence

from proftrace.model.profile import Profile
from proftrace.units import format_count, format_time, printable
from proftrace.views.line_table import line_table

_HEADER = ("pid", "parent", "wall", "functions", "hits", "in them", "program")


def render_processes(profiles: Sequence[Profile]) -> str:
    """Return a table of processes in the order in which they started; times are exclusive."""
    ordered = sorted(profiles, key=lambda one: (one.header["start_wall_ns"], one.header["pid"]))
    rows = [_HEADER, *(_row(profile) for profile in ordered)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER) - 1)]
    return "".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=False))
        + f"  {row[-1]}\n"
        for row in rows
    )


def _row(profile: Profile) -> tuple[str, ...]:
    header = profile.header
    sections = [section for section in line_table([profile]) if section.hits]
    wall = header["last_mono_ns"] - header["start_mono_ns"]
    times = [values.exclusive for section in sections for values in section.lines.values()]
    return (
        str(header["pid"]),
        str(header["ppid"]),
        format_time(max(wall, 0)),
        format_count(len(sections)),
        format_count(sum(section.hits for section in sections)),
        format_time(sum(times)),
        printable(profile.command) or "-",
    )
