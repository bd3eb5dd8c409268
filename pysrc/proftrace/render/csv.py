"""Comma-separated values: one row a stack, allocator and thread, in memray's columns.

The stack is `function;file;line` joined by `|`, innermost frame first; where a name itself has one
of these, or a `%`, it stands there as in a URL (`%3B`, `%7C`, `%25`). Unlike memray's, `tid` is
the kernel's thread id and `thread_name` the thread's own name. A sampled capture has one more
column, `sample_bytes`: the numbers are estimates.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from proftrace.model.profile import ALLOCATOR_NAMES, Profile
from proftrace.units import printable, separable
from proftrace.views.selection import Selection
from proftrace.views.threads import thread_names

HEADER = ("allocator", "num_allocations", "size", "tid", "thread_name", "stack_trace")
_SEPARATORS = ";|"
ESTIMATED = "sample_bytes"


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """`selection`: blocks at the peak, live at the end, or all; rows without any are left out."""

    selection: Selection = Selection.PEAK


def render_csv(profile: Profile, options: CsvOptions) -> str:
    """Return the table, a header first; rows stand in the order of their first allocation."""
    return "".join(csv_pieces(profile, options))


def csv_pieces(profile: Profile, options: CsvOptions) -> Iterator[str]:
    """Yield the table row by row: where each call of a deep recursion allocates, the stacks have as
    many characters as the square of its depth."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    distance = (profile.sample_bytes,) if profile.sample_bytes else ()
    writer.writerow((*HEADER, ESTIMATED) if distance else HEADER)
    sizes, blocks = options.selection.columns(profile)
    samples, threads = profile.samples, profile.threads
    places, names = _places(profile), thread_names(profile)
    for row, count in enumerate(blocks):
        if count == 0:
            continue
        kind, thread = samples.allocator[row], samples.thread[row]
        writer.writerow(
            (
                ALLOCATOR_NAMES.get(kind, str(kind)),
                count,
                sizes[row],
                threads.tid[thread],
                printable(names[thread]),
                _stack_text(profile, places, samples.stack[row]),
                *distance,
            )
        )
        yield _take(out)
    yield _take(out)


def _take(out: io.StringIO) -> str:
    text = out.getvalue()
    out.seek(0)
    out.truncate()
    return text


def _places(profile: Profile) -> list[str]:
    """Return the text of every row of the frame table."""
    strings, functions = profile.strings, profile.functions
    return [
        ";".join(
            (
                separable(profile.short_name(function), _SEPARATORS),
                separable(strings[functions.file[function]], _SEPARATORS),
                str(line),
            )
        )
        for function, line in zip(profile.frames.function, profile.frames.line, strict=True)
    ]


def _stack_text(profile: Profile, places: list[str], stack: int) -> str:
    parent, frame = profile.stacks.parent, profile.stacks.frame
    frames = []
    while stack:
        frames.append(places[frame[stack]])
        stack = parent[stack]
    return "|".join(frames)
