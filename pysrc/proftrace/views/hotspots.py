"""Hot spots: for every place in the code what it allocates itself and with everything it calls."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from proftrace.model.profile import Column, Profile
from proftrace.views.selection import Selection

NO_FRAME = "<no Python frame>"


@dataclass(frozen=True, slots=True)
class Hotspot:
    """A place: function and file with a line, or the whole function (line 0).

    `own` is what was allocated right there, `total` includes what was called from there; a block
    counts once, however often the place is on its stack. The file of `NO_FRAME` is "".
    """

    name: str
    file: str
    line: int
    own_bytes: int
    own_blocks: int
    total_bytes: int
    total_blocks: int


def hotspots(profile: Profile, selection: Selection, *, by_line: bool = True) -> list[Hotspot]:
    """Return all places with a selected block on their stacks, the largest owners first."""
    names, place_of_frame = _places(profile, by_line)
    sizes, blocks = selection.columns(profile)
    own = [_by_stack(profile, column) for column in (sizes, blocks)]
    totals = [_with_callees(column, profile.stacks.parent) for column in own]
    own_sums = [[0] * len(names) for _ in own]
    total_sums = [[0] * len(names) for _ in own]
    place_of_row = [0, *(place_of_frame[frame] for frame in profile.stacks.frame[1:])]
    for k in (0, 1):
        for place, value in zip(place_of_row, own[k], strict=True):
            own_sums[k][place] += value
    for row in _outermost_rows(profile.stacks.parent, place_of_row, totals[1]):
        for k in (0, 1):
            total_sums[k][place_of_row[row]] += totals[k][row]
    for k in (0, 1):
        total_sums[k][0] = own_sums[k][0]
    rows = [
        Hotspot(*names[place], own_bytes, own_blocks, total_bytes, total_blocks)
        for place, (own_bytes, own_blocks, total_bytes, total_blocks) in enumerate(
            zip(*own_sums, *total_sums, strict=True)
        )
        if total_blocks
    ]
    return sorted(rows, key=lambda spot: (-spot.own_bytes, -spot.total_bytes, *_name(spot)))


def _name(spot: Hotspot) -> tuple[str, str, int]:
    return spot.name, spot.file, spot.line


def _places(profile: Profile, by_line: bool) -> tuple[list[tuple[str, str, int]], list[int]]:
    """Return the places, and the place of every row of the frame table. Place 0 is no frame."""
    strings, functions = profile.strings, profile.functions
    known = {(NO_FRAME, "", 0): 0}
    of_frame = []
    for function, line in zip(profile.frames.function, profile.frames.line, strict=True):
        name = profile.function_name(function)
        file = strings[functions.file[function]]
        # Two functions of one name in one file are told apart by where they start.
        where = line if by_line else functions.first_line[function]
        of_frame.append(known.setdefault((name, file, where), len(known)))
    return list(known), of_frame


def _by_stack(profile: Profile, column: Column) -> Column:
    sums = array("q", bytes(8 * len(profile.stacks)))
    for stack, value in zip(profile.samples.stack, column, strict=True):
        sums[stack] += value
    return sums


def _with_callees(own: Column, parent: Column) -> Column:
    """Return the value of every stack with all that lie on top of it (a child's row is higher)."""
    total = array("q", own)
    for row in range(len(total) - 1, 0, -1):
        total[parent[row]] += total[row]
    return total


def _outermost_rows(parent: Column, place: Sequence[int], blocks: Column) -> list[int]:
    """Return the rows of the stack table whose place is on no stack below them.

    The total of a place is the sum over these rows: so recursion counts once. Walks the tree depth
    first in a loop, keeping how often each place is on the way; rows without blocks are left out.
    """
    children: list[list[int]] = [[] for _ in parent]
    for row in range(1, len(parent)):
        if blocks[row]:
            children[parent[row]].append(row)
    on_way = [0] * (max(place, default=0) + 1)
    rows = []
    waiting = list(children[0])
    while waiting:
        row = waiting.pop()
        if row < 0:  # everything above this row has been seen
            on_way[place[-row]] -= 1
            continue
        if not on_way[place[row]]:
            rows.append(row)
        on_way[place[row]] += 1
        waiting.append(-row)
        waiting += children[row]
    return rows
