"""A call tree as text for a page: see `render/payload.py` for the form.

    header = {"v", "n", "metrics", "strings", "columns": [[name, bytes], ...]}

Totals, depths and positions are not stored: the page computes them. docs/flamegraph.md describes
the columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from proftrace.render.payload import encode_payload, varints
from proftrace.units import printable
from proftrace.views.call_tree import CallTree, Place
from proftrace.views.origin import origin_of


def encode_tree(tree: CallTree) -> str:
    """Return the tree as base64 text, ready to stand in a page."""
    ranked, rank = _by_frequency(tree)
    strings: dict[str, int] = {}
    columns = [
        ("pops", varints(_pops(tree.depth))),
        ("place", varints(rank[place] for place in tree.place)),
        *_place_columns([tree.places[place] for place in ranked], strings),
        *_own_columns(tree),
    ]
    header = {
        "n": len(tree),
        "metrics": [
            {"name": metric.name, "unit": metric.unit, "title": metric.title}
            for metric in tree.metrics
        ],
        "strings": list(strings),
    }
    return encode_payload(header, columns)


def _by_frequency(tree: CallTree) -> tuple[list[int], dict[int, int]]:
    """Return the places in use, the most frequent first, and the number of each in that order."""
    ranked = [place for place, _ in Counter(tree.place).most_common()]
    return ranked, {place: number for number, place in enumerate(ranked)}


def _pops(depth: Sequence[int]) -> Iterable[int]:
    """Yield for each node but the root how many levels to go up from the node before it."""
    for node in range(1, len(depth)):
        yield depth[node - 1] + 1 - depth[node]


def _place_columns(places: Sequence[Place], strings: dict[str, int]) -> list[tuple[str, bytes]]:
    """Return the columns of the table of places; their texts are added to `strings`."""

    def number(text: str) -> int:
        return strings.setdefault(printable(text), len(strings))

    return [
        ("place_name", varints([number(place.name) for place in places])),
        ("place_file", varints([number(place.file) for place in places])),
        ("place_line", varints(place.line for place in places)),
        (
            "place_origin",
            varints(int(origin_of(place.file, native=place.native)) for place in places),
        ),
    ]


def _own_columns(tree: CallTree) -> list[tuple[str, bytes]]:
    """Return where own values are (steps from one such node to the next), then one column each."""
    nodes = [node for node in range(len(tree)) if any(column[node] for column in tree.own)]
    steps = [node - before for node, before in zip(nodes, [0, *nodes], strict=False)]
    columns = [("own_at", varints(steps))]
    for number, column in enumerate(tree.own):
        columns.append((f"own_{number}", varints(column[node] for node in nodes)))
    return columns
