"""Which functions and lines a line table shows, when not all are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proftrace.views.line_table import FunctionKey, FunctionLines, Row
from proftrace.views.nesting import outer_functions

COLD_PERCENT = 0.5  # of its function's time: a line with less is not worth a look


@dataclass(frozen=True, slots=True)
class FunctionFilter:
    """`top`: only so many functions, those with the most time. `min_percent`: only functions with
    that part of all the time that was measured. None: all."""

    top: int | None = None
    min_percent: float | None = None


def measured_time(sections: Sequence[FunctionLines]) -> int:
    """Return all the time that was measured, in nanoseconds.

    Functions that call each other have the callee's time in both totals, so the whole is the sum of
    what each spent itself."""
    return sum(values.exclusive for section in sections for values in section.lines.values())


def select_functions(
    sections: Mapping[FunctionKey, FunctionLines], wanted: FunctionFilter
) -> list[FunctionKey]:
    """Return the functions to show, in their order; when some are left out, those that never ran
    are among them. Lambdas and generator expressions go with the function they stand in."""
    if wanted == FunctionFilter():
        return list(sections)
    groups = [group for group in outer_functions(list(sections.values())) if group[0].hits]
    if wanted.min_percent is not None:
        least = measured_time(list(sections.values())) * wanted.min_percent / 100
        groups = [group for group in groups if group[0].total >= least]
    if wanted.top is not None:
        groups = sorted(groups, key=lambda group: -group[0].total)[: wanted.top]
    shown = {id(one) for outer, inner in groups for one in (outer, *inner)}
    return [key for key, section in sections.items() if id(section) in shown]


def wanted_rows(
    section: FunctionLines,
    rows: Sequence[Row],
    least: float,
    context: int,
    *,
    waits: bool = True,
) -> list[bool]:
    """Return for each row if it has at least `least` percent of its function's time, or is one of
    the `context` rows before or behind such a one; all rows of a function that took no time.

    With `waits` the time that a function was suspended counts as well: where it waited is shown.
    """
    if not section.total:
        return [True] * len(rows)
    suspended = sum(values.suspended for values in section.lines.values()) if waits else 0
    counts = [_counts(section, row, least, suspended) for row in rows]
    return [
        any(counts[max(0, index - context) : index + context + 1]) for index in range(len(rows))
    ]


def _counts(section: FunctionLines, row: Row, least: float, suspended: int) -> bool:
    values = section.lines.get(row.line)
    if values is None:
        return False
    waited = 100 * values.suspended / suspended if suspended else 0.0
    return section.share(row.line) >= least or (waited > 0 and waited >= least)
