"""A call tree as text for a page: varint columns, deflated, in base64.

    payload = header length (4 bytes, little endian) | header (JSON) | columns
    header  = {"v", "n", "metrics", "strings", "columns": [[name, bytes], ...]}

Columns are varints (7 bits a byte, low bits first). Totals, depths and positions are not stored:
the page computes them. `10_codec.js` of the viewer reads this; docs/flamegraph.md describes it.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence

from proftrace.units import printable
from proftrace.views.call_tree import CallTree, Place
from proftrace.views.origin import origin_of

VERSION = 1


def encode_tree(tree: CallTree) -> str:
    """Return the tree as base64 text, ready to stand in a page."""
    ranked, rank = _by_frequency(tree)
    strings: dict[str, int] = {}
    columns = [
        ("pops", _varints(_pops(tree.depth))),
        ("place", _varints(rank[place] for place in tree.place)),
        *_place_columns([tree.places[place] for place in ranked], strings),
        *_own_columns(tree),
    ]
    header = {
        "v": VERSION,
        "n": len(tree),
        "metrics": [
            {"name": metric.name, "unit": metric.unit, "title": metric.title}
            for metric in tree.metrics
        ],
        "strings": list(strings),
        "columns": [[name, len(data)] for name, data in columns],
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    payload = b"".join([len(text).to_bytes(4, "little"), text, *(data for _, data in columns)])
    deflate = zlib.compressobj(level=9, wbits=-15)
    return base64.b64encode(deflate.compress(payload) + deflate.flush()).decode()


def _varints(values: Iterable[int]) -> bytes:
    data = bytearray()
    append = data.append
    for value in values:
        while value > 0x7F:
            append(value & 0x7F | 0x80)
            value >>= 7  # noqa: PLW2901
        append(value)
    return bytes(data)


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
        ("place_name", _varints([number(place.name) for place in places])),
        ("place_file", _varints([number(place.file) for place in places])),
        ("place_line", _varints(place.line for place in places)),
        (
            "place_origin",
            _varints(int(origin_of(place.file, native=place.native)) for place in places),
        ),
    ]


def _own_columns(tree: CallTree) -> list[tuple[str, bytes]]:
    """Return where own values are (steps from one such node to the next), then one column each."""
    nodes = [node for node in range(len(tree)) if any(column[node] for column in tree.own)]
    steps = [node - before for node, before in zip(nodes, [0, *nodes], strict=False)]
    columns = [("own_at", _varints(steps))]
    for number, column in enumerate(tree.own):
        columns.append((f"own_{number}", _varints(column[node] for node in nodes)))
    return columns
