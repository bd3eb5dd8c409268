"""What was live at each mark, sample by sample."""

from __future__ import annotations

from array import array
from dataclasses import replace

from helpers import profile_from_text
from proftrace.model.profile import MarkTable
from proftrace.views.growth import live_at_marks


def marks(n: int, *rows: tuple[int, int, int]) -> MarkTable:
    """A table of n marks; the rows are mark, sample and bytes."""
    return MarkTable(
        array("I", [0] * n),
        array("I", [mark for mark, _, _ in rows]),
        array("I", [sample for _, sample, _ in rows]),
        array("q", [size for _, _, size in rows]),
        array("q", [1] * len(rows)),
    )


def test_a_value_stays_until_it_changes() -> None:
    profile = replace(
        profile_from_text("f 1\ng 1\nh 1"),
        marks=marks(4, (0, 0, 10), (1, 1, 5), (2, 0, 30), (3, 1, 0)),
    )
    assert live_at_marks(profile) == {0: [10, 10, 30, 30], 1: [0, 5, 5, 0]}


def test_without_marks_there_is_nothing() -> None:
    assert live_at_marks(profile_from_text("f 1")) == {}
