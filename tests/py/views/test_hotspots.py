"""Own and total values by place, with recursion counted once."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import profile_from_text
from proftrace.views.hotspots import NO_FRAME, Hotspot, hotspots
from proftrace.views.selection import Selection


def by_name(text: str, selection: Selection = Selection.PEAK) -> dict[str, Hotspot]:
    spots = hotspots(profile_from_text(text), selection, by_line=False)
    return {spot.name: spot for spot in spots}


def test_recursion_counts_once() -> None:
    """Ten levels of walk(), each of which allocates 1,000,003 bytes."""
    stacks = "\n".join(
        "main;" + ";".join(["walk:12"] * level + ["walk:10"]) + " 1000003" for level in range(10)
    )
    spots = by_name(stacks)
    assert spots["walk"].own_bytes == 10_000_030
    assert spots["walk"].total_bytes == 10_000_030
    assert spots["main"].own_bytes == 0
    assert spots["main"].total_bytes == 10_000_030
    lines = {
        spot.line: spot.total_bytes
        for spot in hotspots(profile_from_text(stacks), Selection.PEAK)
        if spot.name == "walk"
    }
    assert lines == {10: 10_000_030, 12: 9_000_027}


def test_a_place_counts_again_on_another_branch() -> None:
    spots = by_name("a;f;g 1\na;g 2\na;g;f 4\na;f;h;f 8")
    assert {name: spot.total_bytes for name, spot in spots.items()} == {
        "a": 15, "f": 13, "g": 7, "h": 8,
    }  # fmt: skip


def test_blocks_without_a_python_frame_have_a_row() -> None:
    spots = by_name("- 7 blocks=2\nf 1")
    assert spots[NO_FRAME] == Hotspot(NO_FRAME, "", 0, 7, 2, 7, 2)


def test_the_selection_decides_what_counts() -> None:
    text = "f 10 leaked\ng 20 gone temporary\nh 40"
    totals = {
        selection: {name: spot.own_bytes for name, spot in by_name(text, selection).items()}
        for selection in Selection
    }
    assert totals == {
        Selection.PEAK: {"f": 10, "h": 40},
        Selection.LEAKS: {"f": 10},
        Selection.ALL: {"f": 10, "g": 20, "h": 40},
        Selection.TEMPORARY: {"g": 20},
    }


def test_equal_names_in_one_file_stay_apart_by_line() -> None:
    profile = profile_from_text("f@a.py:1 1\nf@a.py:2 2\nf@b.py:1 4")
    spots = hotspots(profile, Selection.PEAK)
    assert [(spot.file, spot.line, spot.own_bytes) for spot in spots] == [
        ("b.py", 1, 4), ("a.py", 2, 2), ("a.py", 1, 1),
    ]  # fmt: skip


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from("abcd"), max_size=6), st.integers(0, 100)), max_size=12
    )
)
def test_totals_are_what_counting_stack_by_stack_gives(stacks: list[tuple[list[str], int]]) -> None:
    text = "\n".join(f"{';'.join(names) or '-'} {size}" for names, size in stacks)
    spots = by_name(text)
    for name in "abcd":
        own = sum(size for names, size in stacks if names and names[-1] == name)
        total = sum(size for names, size in stacks if name in names)
        got = spots.get(name, Hotspot(name, "", 0, 0, 0, 0, 0))
        assert (got.own_bytes, got.total_bytes) == (own, total)
        assert got.total_blocks == sum(name in names for names, _ in stacks)
