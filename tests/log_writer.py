"""Writes log files for tests, from the specification (docs/internals/log-format.md) and not from
the C code, so that a mistake there is not made twice. Blocks are stored raw."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

MAGIC = b"\x89PTRC\r\n\x1a"
RING_MAGIC = b"PTRING1\n"
SESSION = bytes(range(16))
DICT, EVENTS, LINES, END = 1, 2, 3, 4
MALLOC, FREE, CALLOC, REALLOC = 1, 2, 3, 4
MMAP, MUNMAP, PYMALLOC_MALLOC, PYMALLOC_FREE, UNFREE, MARK = 10, 11, 12, 15, 16, 31
END_OF_SCRIPT, LOST = 1, 2
ALLOCATIONS = {1, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 17}


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_CRC = _crc_table()


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def svarint(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def file_header(
    content: int = 1,
    options: int = 0,
    *,
    version: int = 1,
    min_reader: int = 1,
    byte_order: int = 0x01020304,
    pid: int = 4242,
) -> bytes:
    head = MAGIC + struct.pack(
        "<HHIIIIIQQII", version, min_reader, byte_order, 128, content, options, 0x030D00F0,
        1_700_000_000_000_000_000, 5_000_000_000, pid, 1,
    )  # fmt: skip
    head += SESSION
    head += bytes(124 - len(head))
    return head + struct.pack("<I", crc32c(head))


def block(
    kind: int,
    payload: bytes,
    n_records: int = 0,
    *,
    stream: int = 0,
    first_ordinal: int = 0,
    seqs: tuple[int, int] = (0, 0),
) -> bytes:
    head = struct.pack(
        "<IBBHIIIIQQQQI", 0x4B425450, kind, 0, 0, stream, n_records, len(payload), len(payload),
        first_ordinal, *seqs, 6_000_000_000, 0,
    )  # fmt: skip
    return head + struct.pack("<I", crc32c(head + payload)) + payload


def record(tag: int, payload: bytes) -> bytes:
    return struct.pack("<BI", tag, len(payload)) + payload


@dataclass(frozen=True)
class Event:
    kind: int
    address: int
    size: int = 0
    node: int = 0
    seq: int = 0

    def raw(self) -> bytes:
        """The form in the ring: see csrc/format/record.h."""
        allocation = self.kind in ALLOCATIONS
        wide = self.size > 0xFFFFFFFF if allocation else self.kind in (MUNMAP, MARK)
        flags = (2 if wide else 0) | (1 if self.seq else 0)
        words = [self.address << 16 | self.kind << 8 | flags]
        if allocation:
            words.append(self.node << 32 | (0 if wide else self.size))
        if wide:
            words.append(self.size)
        if self.seq:
            words.append(self.seq)
        return struct.pack(f"<{len(words)}Q", *words)


def stored_events(events: list[Event], first_seq: int) -> bytes:
    """The payload of an EVENTS block."""
    out = bytearray()
    address = node = 0
    seq = first_seq
    for event in events:
        allocation = event.kind in ALLOCATIONS
        same_node = allocation and event.node == node
        out.append(event.kind | (0x20 if same_node else 0) | (0x40 if event.seq else 0))
        if event.seq:
            out += varint(event.seq - seq)
            seq = event.seq
        rotated = (event.address >> 4 | event.address << 60) & (1 << 64) - 1
        out += svarint(((rotated - address + (1 << 63)) & (1 << 64) - 1) - (1 << 63))
        address = rotated
        if allocation or event.kind in (MUNMAP, MARK):
            out += varint(event.size)
        if allocation and not same_node:
            out += svarint(event.node - node)
            node = event.node
    return bytes(out)


@dataclass
class LogWriter:
    """Collects blocks; `data()` is the file. Strings, codes and nodes are interned by value."""

    content: int = 1
    options: int = 0
    pid: int = 4242
    blocks: list[bytes] = field(default_factory=list)
    pending: bytearray = field(default_factory=bytearray)
    strings: dict[str, int] = field(default_factory=lambda: {"": 0})
    codes: dict[tuple[str, str, int], int] = field(default_factory=dict)
    nodes: dict[tuple[int, int, int], int] = field(default_factory=dict)
    ordinals: dict[int, int] = field(default_factory=dict)

    def string(self, text: str) -> int:
        if text not in self.strings:
            number = self.strings[text] = len(self.strings)
            self.pending += record(1, varint(number) + text.encode("utf-8", "surrogatepass"))
        return self.strings[text]

    def code(
        self, name: str, file: str, first_line: int, *, qualname: str = "", table: bytes = b""
    ) -> int:
        key = (qualname or name, file, first_line)
        if key not in self.codes:
            ids = [self.string(name), self.string(qualname or name), self.string(file)]
            number = self.codes[key] = len(self.codes) + 1
            fields = b"".join(map(varint, [number, *ids, first_line, 3]))
            self.pending += record(2, fields + table)
        return self.codes[key]

    def node(self, parent: int, code: int, unit: int = 0) -> int:
        key = (parent, code, unit)
        if key not in self.nodes:
            number = self.nodes[key] = len(self.nodes) + 1
            self.pending += record(3, b"".join(map(varint, [number, parent, code, unit << 1])))
        return self.nodes[key]

    def thread(self, index: int, tid: int, name: str = "") -> None:
        fields = [index, tid, self.string(name), 5_000_000_000]
        self.pending += record(4, b"".join(map(varint, fields)))

    def meta(self, key: str, value: str) -> None:
        self.pending += record(5, varint(len(key.encode())) + key.encode() + value.encode())

    def source(self, number: int, file: str, text: str) -> None:
        head = varint(number) + varint(self.string(file))
        self.pending += record(6, head + text.encode())

    def flush_dict(self) -> None:
        if self.pending:
            self.blocks.append(block(DICT, bytes(self.pending)))
            self.pending.clear()

    def events(self, stream: int, events: list[Event]) -> None:
        """One EVENTS block, behind a DICT block with what is pending."""
        self.flush_dict()
        seqs = [event.seq for event in events if event.seq]
        first, last = (seqs[0], seqs[-1]) if seqs else (0, 0)
        ordinal = self.ordinals.get(stream, 0)
        payload = stored_events(events, first)
        self.blocks.append(
            block(
                EVENTS,
                payload,
                len(events),
                stream=stream,
                first_ordinal=ordinal,
                seqs=(first, last),
            )
        )
        self.ordinals[stream] = ordinal + len(events)

    def lines(self, *records: bytes) -> None:
        self.flush_dict()
        self.blocks.append(block(LINES, b"".join(records), len(records)))

    def end(self, reason: int = 0, error: int = 0, lost: int = 0) -> None:
        self.flush_dict()
        n_events = sum(self.ordinals.values())
        payload = struct.pack("<BiQQQ", reason, error, n_events, lost, 7_000_000_000)
        self.blocks.append(block(END, payload, 1))

    def data(self) -> bytes:
        self.flush_dict()
        return file_header(self.content, self.options, pid=self.pid) + b"".join(self.blocks)


def function_record(
    code: int,
    source: int,
    calls: int,
    inclusive: int,
    exclusive: int,
    *,
    details: bytes = b"",
    regime: int = 0,
) -> bytes:
    fields = varint(code) + varint(source) + bytes([regime]) + varint(calls)
    return record(16, fields + svarint(inclusive) + svarint(exclusive) + details)


def line_record(
    code: int,
    line: int,
    hits: int,
    inclusive: int,
    exclusive: int,
    *,
    suspended: int = 0,
    details: bytes = b"",
) -> bytes:
    fields = b"".join(map(varint, [code, line, hits, hits]))
    times = svarint(inclusive) + svarint(exclusive) + svarint(suspended)
    return record(17, fields + times + details)


def function_details(
    reason: int = 0, samples: int = 0, discarded: int = 0, yields: int = 0, error: int = 0
) -> bytes:
    """What may follow in a function record; the error is that of both times."""
    fields = map(varint, [samples, discarded, yields, error, error])
    return bytes([reason]) + b"".join(fields)


def line_details(
    shortest: int = 0,
    longest: int = 0,
    histogram: Sequence[int] = (),
    samples: int = 0,
    error: int = 0,
) -> bytes:
    """What may follow in a line record."""
    buckets = b"".join(map(varint, histogram))
    head = varint(shortest) + varint(longest) + varint(len(buckets)) + buckets
    return head + varint(samples) + varint(error) + varint(error)


def call_record(caller: int, line: int, callee: int, calls: int, time: int) -> bytes:
    """Calls whose inclusive and exclusive times are the same."""
    fields = b"".join(map(varint, [caller, line, callee, calls]))
    return record(18, fields + svarint(time) + svarint(time))


@dataclass(frozen=True)
class RingSlot:
    stream: int
    events: list[Event]
    base_ordinal: int
    version: int = 0


def ring(slots: list[RingSlot], dictionary: bytes = b"", session: bytes = SESSION) -> bytes:
    """A ring file: see csrc/format/ring.h."""
    dict_bytes, slot_bytes = 4096, 4096
    out = RING_MAGIC + session + struct.pack("<QQI", dict_bytes, slot_bytes, len(slots))
    out += bytes(4096 - len(out))

    def slot(version: int, used: int, stream: int, ordinal: int, payload: bytes) -> bytes:
        head = struct.pack("<IIIIQQ32x", version, used, stream, 0, ordinal, len(payload))
        return (head + payload).ljust(slot_bytes, b"\0")

    out += slot(0, 1, 0, 0, dictionary)
    for one in slots:
        payload = b"".join(event.raw() for event in one.events)
        out += slot(one.version, 1, one.stream, one.base_ordinal, payload)
    return out
