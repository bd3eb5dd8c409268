"""Columns of numbers as text for a page: varints, deflated, in base64.

    payload = header length (4 bytes, little endian) | header (JSON) | columns

The header has "columns": [[name, bytes], ...] besides what each page puts into it. Columns are
varints (7 bits a byte, low bits first). `10_codec.js` of the viewer reads this.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence

VERSION = 1

type CodedColumn = tuple[str, bytes]


def varints(values: Iterable[int]) -> bytes:
    """Return non-negative numbers as a column."""
    data = bytearray()
    append = data.append
    for value in values:
        while value > 0x7F:
            append(value & 0x7F | 0x80)
            value >>= 7  # noqa: PLW2901
        append(value)
    return bytes(data)


def encode_payload(header: Mapping[str, object], columns: Sequence[CodedColumn]) -> str:
    """Return header and columns as base64 text, ready to stand in a page."""
    whole = {"v": VERSION, **header, "columns": [[name, len(data)] for name, data in columns]}
    text = json.dumps(whole, separators=(",", ":")).encode()
    payload = b"".join([len(text).to_bytes(4, "little"), text, *(data for _, data in columns)])
    deflate = zlib.compressobj(level=9, wbits=-15)
    return base64.b64encode(deflate.compress(payload) + deflate.flush()).decode()
