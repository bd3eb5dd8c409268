"""The call tree: all stacks of a profile merged from the outside in, with own and total values.

A node is a place (function, file, line) under its parent; equal places under one parent are one
node, whichever function object or thread they come from. The tree is columns in preorder, so every
walk over it is a loop: profiles of recursive programs are tens of thousands of levels deep.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from proftrace.model.profile import Column, Metric, Profile

NO_FRAME = "<no Python frame>"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the code: function name, file ("" = none) and line (0 = not known)."""

    name: str
    file: str
    line: int
    native: bool = False


ROOT_PLACE = Place("<root>", "", 0)
NO_FRAME_PLACE = Place(NO_FRAME, "", 0)


@dataclass(frozen=True, slots=True)
class CallTree:
    """Nodes in preorder; node 0 is the root, and children stand by total, largest first.

    `places[place[node]]` is what a node stands for. `own[k]` and `total[k]` hold the values of
    `metrics[k]`, and `metrics[0]` is what the children are ordered by. Nodes without any value
    below them are left out.
    """

    metrics: Sequence[Metric]
    places: Sequence[Place]
    place: Column
    depth: Column
    own: Sequence[Column]
    total: Sequence[Column]

    def __len__(self) -> int:
        return len(self.place)


def build_call_tree(profile: Profile, metrics: Sequence[Metric]) -> CallTree:
    """Merge the samples of a profile into a tree that carries the given metrics."""
    own_by_stack = _values_by_stack(profile, metrics)
    merged = _merge_stacks(profile, own_by_stack)
    total = [_totals(column, merged.parent) for column in merged.own]
    order = _preorder(merged, total)
    depth_of = array("q", bytes(8 * len(order)))
    for node in range(1, len(order)):
        depth_of[node] = depth_of[merged.parent[node]] + 1
    return CallTree(
        metrics=tuple(metrics),
        places=merged.places,
        place=_picked(merged.place, order),
        depth=_picked(depth_of, order),
        own=[_picked(column, order) for column in merged.own],
        total=[_picked(column, order) for column in total],
    )


def place_totals(tree: CallTree) -> list[Column]:
    """Return per metric the total of every place, by place: what its own nodes and all below them
    hold. A place that is on a stack several times counts once, so nothing exceeds the root."""
    totals = [array("q", bytes(8 * len(tree.places))) for _ in tree.metrics]
    on_path = bytearray(len(tree.places))
    path: list[tuple[int, bool]] = []
    for node, (place, depth) in enumerate(zip(tree.place, tree.depth, strict=True)):
        while len(path) > depth:
            left, counted = path.pop()
            if counted:
                on_path[left] = 0
        counts = not on_path[place]
        path.append((place, counts))
        if counts:
            on_path[place] = 1
            for sums, column in zip(totals, tree.total, strict=True):
                sums[place] += column[node]
    return totals


def place_own(tree: CallTree) -> list[Column]:
    """Return per metric what every place holds itself, by place."""
    sums = [array("q", bytes(8 * len(tree.places))) for _ in tree.metrics]
    for column, own in zip(sums, tree.own, strict=True):
        for place, value in zip(tree.place, own, strict=True):
            column[place] += value
    return sums


@dataclass(slots=True)
class _Merged:
    """Nodes in the order they were met: a parent comes before its children."""

    places: list[Place]
    place: Column
    parent: Column
    own: list[Column]


def _picked(column: Column, order: Sequence[int]) -> Column:
    return array("q", [column[node] for node in order])


def _values_by_stack(profile: Profile, metrics: Sequence[Metric]) -> list[Column]:
    """Return per metric the samples' values summed by row of the stack table."""
    sums = []
    for metric in metrics:
        column = array("q", bytes(8 * len(profile.stacks)))
        values = profile.samples.values.get(metric.name)
        if values is not None:
            for stack, value in zip(profile.samples.stack, values, strict=True):
                column[stack] += value
        sums.append(column)
    return sums


def _places_of_frames(profile: Profile) -> tuple[list[Place], list[int]]:
    """Return the places and which of them each row of the frame table is.

    Places 0 and 1 are the root and the stack without a Python frame.
    """
    places = [ROOT_PLACE, NO_FRAME_PLACE]
    known: dict[Place, int] = {}
    strings, functions = profile.strings, profile.functions
    of_frame = []
    for function, line in zip(profile.frames.function, profile.frames.line, strict=True):
        file = strings[functions.file[function]]
        place = Place(profile.function_name(function), file, line, bool(functions.native[function]))
        if place not in known:
            known[place] = len(places)
            places.append(place)
        of_frame.append(known[place])
    return places, of_frame


def _rows_with_values(profile: Profile, own: Sequence[Column]) -> bytearray:
    """Mark the rows of the stack table that hold a value or lead to one that does."""
    marks = bytearray(len(profile.stacks))
    for column in own:
        for row, value in enumerate(column):
            if value:
                marks[row] = 1
    parent = profile.stacks.parent
    for row in range(len(marks) - 1, 0, -1):
        if marks[row]:
            marks[parent[row]] = 1
    return marks


def _merge_stacks(profile: Profile, own_by_stack: Sequence[Column]) -> _Merged:
    """Give every stack its node, one node for equal places under one parent."""
    places, place_of_frame = _places_of_frames(profile)
    marks = _rows_with_values(profile, own_by_stack)
    node_place, node_parent = [0], [0]
    known: dict[tuple[int, int], int] = {}
    node_of_row = [0] * len(profile.stacks)

    def node_under(parent: int, place: int) -> int:
        node = known.setdefault((parent, place), len(node_place))
        if node == len(node_place):
            node_place.append(place)
            node_parent.append(parent)
        return node

    if any(column[0] for column in own_by_stack if column):
        node_of_row[0] = node_under(0, 1)
    stack_parent, stack_frame = profile.stacks.parent, profile.stacks.frame
    for row in range(1, len(profile.stacks)):
        if marks[row]:
            above = stack_parent[row]
            parent = node_of_row[above] if above else 0
            node_of_row[row] = node_under(parent, place_of_frame[stack_frame[row]])
    own = []
    for column in own_by_stack:
        values = array("q", bytes(8 * len(node_place)))
        for row, value in enumerate(column):
            if value:
                values[node_of_row[row]] += value
        own.append(values)
    return _Merged(places, array("q", node_place), array("q", node_parent), own)


def _totals(own: Column, parent: Column) -> Column:
    """Return own values plus those of everything below; a parent's index is below its child's."""
    total = array("q", own)
    for node in range(len(total) - 1, 0, -1):
        total[parent[node]] += total[node]
    return total


def _preorder(merged: _Merged, total: Sequence[Column]) -> list[int]:
    """Return the nodes in preorder, siblings by their totals and then by name, file and line."""
    rank = _ranks(merged.places)
    weights = [[-value for value in column] for column in total]
    keys = list(zip(*weights, (rank[place] for place in merged.place), strict=True))
    # Sorted as a whole and in reverse, so that pushing on a stack turns the order around again.
    by_key = sorted(range(1, len(merged.place)), key=keys.__getitem__, reverse=True)
    children: list[list[int]] = [[] for _ in range(len(merged.place))]
    for node in by_key:
        children[merged.parent[node]].append(node)
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting.extend(children[node])
    return order


def _ranks(places: Sequence[Place]) -> list[int]:
    """Return each place's position in the order of name, file and line."""
    rank = [0] * len(places)
    by_name = sorted(
        range(len(places)), key=lambda k: (places[k].name, places[k].file, places[k].line)
    )
    for position, place in enumerate(by_name):
        rank[place] = position
    return rank
