"""The call tree: merging, totals, order, and the inclusive values of places."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helpers import ProfileBuilder, profile_from_text
from proftrace.model.profile import PEAK_BLOCKS, PEAK_BYTES, Profile
from proftrace.views.call_tree import (
    CallTree,
    Place,
    build_call_tree,
    place_own,
    place_totals,
)

METRICS = (PEAK_BYTES, PEAK_BLOCKS)


def tree_of(profile: Profile) -> CallTree:
    return build_call_tree(profile, METRICS)


def lines_of(tree: CallTree) -> list[str]:
    """Each node as its depth in dashes, name, line, total bytes and own bytes."""
    rows = zip(tree.place, tree.depth, tree.total[0], tree.own[0], strict=True)
    lines = []
    for number, depth, total, own in rows:
        place = tree.places[number]
        lines.append(f"{'-' * depth}{place.name}:{place.line} {total} {own}")
    return lines


def test_children_stand_by_total_then_by_name_and_values_add_up() -> None:
    tree = tree_of(profile_from_text("main;b 10\nmain;c;d 30\nmain;c 5\nmain;a 10\nmain 1"))
    assert lines_of(tree) == [
        "<root>:0 56 0",
        "-main:1 56 1",
        "--c:1 35 5",
        "---d:1 30 30",
        "--a:1 10 10",
        "--b:1 10 10",
    ]
    assert list(tree.total[1]) == [5, 5, 2, 1, 1, 1]


def test_lines_of_one_function_are_nodes_of_their_own() -> None:
    tree = tree_of(profile_from_text("main:3;f:1 10\nmain:4;f:1 7"))
    assert lines_of(tree) == [
        "<root>:0 17 0",
        "-main:3 10 0",
        "--f:1 10 10",
        "-main:4 7 0",
        "--f:1 7 7",
    ]


def test_functions_made_again_are_one_place() -> None:
    builder = ProfileBuilder()
    for first_line in (1, 2):  # two code objects, equal to the eye
        builder.add(builder.stack([builder.frame("f", "a.py", 5, first_line)]), 10)
    assert lines_of(tree_of(builder.build())) == ["<root>:0 20 0", "-f:5 20 20"]


def test_threads_and_allocators_are_added_together() -> None:
    text = "main 1 tid=1\nmain 2 tid=2 thread=worker\nmain 4 allocator=10"
    assert lines_of(tree_of(profile_from_text(text))) == ["<root>:0 7 0", "-main:1 7 7"]


def test_stacks_without_a_value_are_left_out() -> None:
    tree = tree_of(profile_from_text("main;gone 100 gone\nmain;held 5"))
    assert [tree.places[place].name for place in tree.place] == ["<root>", "main", "held"]


def test_blocks_of_zero_bytes_are_kept() -> None:
    tree = tree_of(profile_from_text("main 0 blocks=3"))
    assert (list(tree.total[0]), list(tree.total[1])) == ([0, 0], [3, 3])


def test_memory_without_a_python_frame_has_a_node() -> None:
    tree = tree_of(profile_from_text("- 8\nmain 5"))
    assert lines_of(tree) == ["<root>:0 13 0", "-<no Python frame>:0 8 8", "-main:1 5 5"]


def test_a_profile_without_samples_is_a_root() -> None:
    tree = tree_of(ProfileBuilder().build())
    assert (lines_of(tree), place_own(tree)[0].tolist()) == (["<root>:0 0 0"], [0, 0])


def test_twenty_thousand_levels_need_no_recursion() -> None:
    builder = ProfileBuilder()
    frames = [builder.frame(f"f{level % 7}", "a.py", 1) for level in range(20_000)]
    builder.add(builder.stack(frames), 10)
    tree = tree_of(builder.build())
    assert (len(tree), max(tree.depth), tree.total[0][0]) == (20_001, 20_000, 10)


def test_a_place_counts_once_in_a_stack() -> None:
    """As in a recursive function: ten levels of a million bytes each are ten million, not 55."""
    stacks = "\n".join(f"main;{';'.join(['walk'] * depth)} 1000003" for depth in range(1, 11))
    tree = tree_of(profile_from_text(stacks))
    walk = tree.places.index(Place("walk", "app.py", 1))
    assert place_totals(tree)[0][walk] == 10_000_030
    assert place_own(tree)[0][walk] == 10_000_030


SAMPLES = st.lists(
    st.tuples(st.lists(st.sampled_from("abc"), max_size=5), st.integers(0, 9), st.integers(0, 3)),
    max_size=12,
)


@given(SAMPLES)
def test_every_value_is_in_the_tree_once(samples: list[tuple[list[str], int, int]]) -> None:
    builder = ProfileBuilder()
    for names, size, blocks in samples:
        frames = [builder.frame(name, "a.py", 1) for name in names]
        builder.add(builder.stack(frames), size, blocks=blocks)
    tree = tree_of(builder.build())
    for k, sums in enumerate(([s for _, s, _ in samples], [b for _, _, b in samples])):
        assert sum(tree.own[k]) == tree.total[k][0] == sum(sums)
    for name in "abc":
        place = Place(name, "a.py", 1)
        if place in tree.places:
            number = tree.places.index(place)
            through = [size for names, size, _ in samples if name in names]
            assert place_totals(tree)[0][number] == sum(through)
            at_end = [size for names, size, _ in samples if names[-1:] == [name]]
            assert place_own(tree)[0][number] == sum(at_end)
