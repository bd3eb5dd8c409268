"""Reads the events of a capture, from the specification (docs/internals/log-format.md) and not by
the C code, so that a mistake there is not made twice. Slow, and only for whole, closed captures."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from log_writer import ALLOCATIONS, DICT, END, EVENTS, MARK, MUNMAP, Event, crc32c

PACKED = 5
WORD = (1 << 64) - 1
HALF = (1 << 32) - 1
CONTROL, SITE, NEW, SIZE, ADDRESS, AGE, FREED, SEQ = range(8)


def unpack_lz4(data: bytes) -> bytes:
    """Decode one LZ4 block."""
    out = bytearray()
    at = 0
    while True:
        token = data[at]
        at += 1
        at, n_literals = long_length(data, at, token >> 4)
        out += data[at : at + n_literals]
        at += n_literals
        if at >= len(data):
            return bytes(out)
        (offset,) = struct.unpack_from("<H", data, at)
        at, n_match = long_length(data, at + 2, token & 15)
        start = len(out) - offset
        for i in range(n_match + 4):
            out.append(out[start + i])


def long_length(data: bytes, at: int, length: int) -> tuple[int, int]:
    if length == 15:
        while data[at] == 255:
            length += 255
            at += 1
        length += data[at]
        at += 1
    return at, length


def code_lengths(data: bytes) -> tuple[list[int], int]:
    """The bits of the code of each byte, and how many bytes say so."""
    nibbles = [nibble for byte in data[:258] for nibble in (byte & 15, byte >> 4)]
    lengths: list[int] = []
    at = 0
    while len(lengths) < 256:
        if nibbles[at] < 12:
            lengths.append(nibbles[at])
            at += 1
        else:
            lengths += [0] * ((nibbles[at] - 12) * 16 + nibbles[at + 1] + 2)
            at += 2
    assert len(lengths) == 256
    return lengths, (at + 1) // 2


def unpack_codes(data: bytes, n_bytes: int) -> bytes:
    """Decode the bytes that the codes of codec 2 stand for."""
    lengths, start = code_lengths(data)
    codes = {}
    code = 0
    for bits in range(1, 12):
        code <<= 1
        for byte in range(256):
            if lengths[byte] == bits:
                codes[bits, code] = byte
                code += 1
    out = bytearray()
    bits = code = 0
    for byte in data[start:]:
        for shift in range(7, -1, -1):
            code = code << 1 | byte >> shift & 1
            bits += 1
            if len(out) < n_bytes and (bits, code) in codes:
                out.append(codes[bits, code])
                bits = code = 0
    assert len(out) == n_bytes and bits < 8 and not code
    return bytes(out)


def unpack(data: bytes, codec: int) -> bytes:
    """Decode the payload of a block."""
    if codec == 2:
        head = Column(data)
        n_bytes = head.varint()
        data = unpack_codes(data[head.at :], n_bytes)
    return unpack_lz4(data) if codec else data


@dataclass
class Column:
    data: bytes
    at: int = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def svarint(self) -> int:
        value = self.varint()
        return value >> 1 ^ -(value & 1)


def rotated(value: int) -> int:
    return (value >> 4 | value << 60) & WORD


def rotated_back(value: int) -> int:
    return (value << 4 | value >> 60) & WORD


def upper(value: int, bits: int) -> int:
    return (value * 0x9E3779B1 & HALF) >> (32 - bits)


@dataclass
class Site:
    how: int
    node: int
    size: int | None = None
    step: int = 0

    def is_small(self, size: int) -> bool:
        return 12 <= self.how & 31 <= 14 and self.how >> 5 != 1 and size <= 512

    def units(self, size: int) -> int:
        return (size + 15) // 16 if self.is_small(size) else max(2, ((size + 23) & WORD) // 16)

    def size_class(self, size: int) -> int:
        units = self.units(size)
        low = units if units < 64 else 64 + upper(units & HALF, 6)
        return low + (128 if self.is_small(size) else 0)


@dataclass
class Packed:
    """A PACKED payload as it is decoded."""

    columns: list[Column]
    seq: int
    sites: list[Site] = field(default_factory=list)
    blocks: list[tuple[int, int, int]] = field(default_factory=list)  # address, site, class
    free: dict[int, dict[int, int]] = field(default_factory=dict)
    n_free: dict[int, int] = field(default_factory=dict)
    next_site: dict[int, int] = field(default_factory=dict)
    next_age: dict[int, int] = field(default_factory=dict)
    next_size: dict[int, int] = field(default_factory=dict)
    previous: int = 0
    behind: int = 0
    freed: int = 0
    far: int = 0
    far_step: int = 0
    last: dict[int, int] = field(default_factory=dict)  # of small classes
    freed_row: int = 0
    context: int = 0

    def event(self) -> Event:
        control = self.columns[CONTROL].byte()
        what = control & 3
        if what == 0:
            event = self.allocation(control)
        elif what == 3:
            kind = control >> 2
            self.far = (self.far + self.columns[FREED].svarint()) & WORD
            size = self.columns[SIZE].varint() if kind in (MUNMAP, MARK) else 0
            self.context = 0
            event = Event(kind, rotated_back(self.far), size)
        else:
            event = Event(2 if what == 1 else 15, self.freed_address(control >> 2))
        if self.columns[SEQ].data and (step := self.columns[SEQ].varint()):
            self.seq += step - 1
            event = Event(event.kind, event.address, event.size, event.node, self.seq)
        return event

    def site(self, way: int) -> int:
        if way == 0:
            return self.next_site[self.context]
        if way == 1:
            return self.columns[SITE].varint()
        how = self.columns[NEW].byte()
        before = self.sites[-1].node if self.sites else 0
        self.sites.append(Site(how, (before + self.columns[NEW].svarint()) & HALF))
        return len(self.sites) - 1

    def size_slot(self, row: int) -> int:
        size = self.sites[row].size or 0
        mixed = (size & HALF) * 0x9E3779B1 & HALF ^ row * 0x85EBCA6B & HALF
        return mixed >> 22

    def size(self, row: int, way: int) -> int:
        site = self.sites[row]
        if way == 3:
            return self.columns[SIZE].varint()
        assert site.size is not None
        if way == 2:
            return self.next_size.get(self.size_slot(row), 0)
        return site.size if way == 0 else (site.size + site.step) & WORD

    def address(self, size_class: int, units: int, way: int) -> int:
        if way == 3:
            near = self.last.get(size_class) or self.previous
            difference = self.columns[ADDRESS].svarint()
            return rotated_back((rotated(near) + difference) & WORD)
        if way == 0:
            return self.free[size_class][(self.n_free[size_class] - 1) % 8]
        if way == 2:
            return self.freed
        return self.last.get(size_class, 0) + units * 16 if size_class >= 128 else self.behind

    def allocation(self, control: int) -> Event:
        row = self.site(control >> 2 & 3)
        site = self.sites[row]
        size = self.size(row, control >> 6)
        size_class = site.size_class(size)
        way = control >> 4 & 3
        address = self.address(size_class, site.units(size), way)
        self.next_site[self.context] = row
        if site.size is not None:
            self.next_size[self.size_slot(row)] = size & HALF
            site.step = size - site.size
        site.size = size
        if way in (0, 3) and self.n_free.get(size_class, 0):
            self.n_free[size_class] -= 1
        self.previous = address
        if size_class >= 128:
            self.last[size_class] = address
        else:
            self.behind = (address + site.units(size) * 16) & WORD
        self.context = upper(4 * row + 1, 11)
        self.blocks.append((address, row, size_class))
        return Event(site.how & 31, address, size, site.node)

    def freed_address(self, way: int) -> int:
        if way >= 4:
            if way == 4:
                self.far_step = self.columns[FREED].svarint()
            self.far = (self.far + self.far_step) & WORD
            self.freed = rotated_back(self.far)
            self.context = upper(3, 11)
            return self.freed
        n = len(self.blocks)
        row = (
            n - self.next_age[self.context] if way == 0
            else self.freed_row + 1 if way == 1
            else n - 1 if way == 2
            else n - 1 - self.columns[AGE].varint()
        )  # fmt: skip
        address, site, size_class = self.blocks[row]
        count = self.n_free.get(size_class, 0)
        self.free.setdefault(size_class, {})[count % 8] = address
        self.n_free[size_class] = 8 if count == 15 else count + 1
        self.next_age[self.context] = n - row
        self.freed_row = row
        self.freed = address
        self.context = upper(4 * site + 2, 11)
        return address


def packed_events(payload: bytes, n_events: int, first_seq: int) -> list[Event]:
    """The events of a PACKED payload; every byte of it must be used."""
    whole = Column(payload)
    lengths = [whole.varint() for _ in range(8)]
    columns = []
    for length in lengths:
        columns.append(Column(payload[whole.at : whole.at + length]))
        whole.at += length
    assert whole.at == len(payload)
    packed = Packed(columns, first_seq)
    events = [packed.event() for _ in range(n_events)]
    assert all(column.at == len(column.data) for column in columns)
    return events


def blocks(data: bytes) -> Iterator[tuple[int, int, int, int, bytes]]:
    """Yield kind, stream, number of records, first seq and payload of each block."""
    at = 128
    while at < len(data):
        magic, kind, codec, _, stream, n, _, n_stored, _, seq, _, _, _, crc = struct.unpack_from(
            "<IBBHIIIIQQQQII", data, at
        )
        payload = data[at + 64 : at + 64 + n_stored]
        assert magic == 0x4B425450 and crc == crc32c(data[at : at + 60] + payload)
        yield kind, stream, n, seq, unpack(payload, codec)
        at += 64 + n_stored


def read_streams(path: Path) -> dict[int, list[Event]]:
    """The events of each thread of a capture, by kernel thread id."""
    tids: dict[int, int] = {}
    streams: dict[int, list[Event]] = {}
    kinds = []
    for kind, stream, n_records, first_seq, payload in blocks(path.read_bytes()):
        kinds.append(kind)
        if kind == DICT:
            tids |= thread_ids(payload)
        elif kind == PACKED:
            events = packed_events(payload, n_records, first_seq)
            streams.setdefault(stream, []).extend(events)
    assert EVENTS not in kinds and kinds[-1] == END
    return {tids[stream]: events for stream, events in streams.items()}


def thread_ids(payload: bytes) -> dict[int, int]:
    """Kernel thread ids by thread index, out of a DICT payload."""
    found = {}
    at = 0
    while at < len(payload):
        tag, length = struct.unpack_from("<BI", payload, at)
        if tag == 4:
            record = Column(payload[at + 5 : at + 5 + length])
            index = record.varint()
            found[index] = record.varint()
        at += 5 + length
    return found


def read_events(path: Path) -> list[Event]:
    """All events of a capture, in an order in which their addresses are consistent."""
    keyed = []
    for tid, events in read_streams(path).items():
        seq = 0
        for at, event in enumerate(events):
            seq = max(seq, event.seq)
            keyed.append((seq, tid, at, event))
    keyed.sort(key=lambda row: row[:3])
    return [row[3] for row in keyed]


@dataclass
class Replay:
    """What the events come to."""

    live: dict[int, int] = field(default_factory=dict)  # address -> size
    n_allocations: int = 0
    n_frees: int = 0
    total: int = 0
    size: int = 0
    peak: int = 0

    def allocate(self, address: int, size: int) -> None:
        if address in self.live:
            self.free(address)
        self.live[address] = size
        self.n_allocations += 1
        self.total += size
        self.size += size
        self.peak = max(self.peak, self.size)

    def free(self, address: int) -> None:
        size = self.live.pop(address, None)
        if size is not None:
            self.n_frees += 1
            self.size -= size


def is_allocation(event: Event) -> bool:
    return event.kind in ALLOCATIONS or event.kind == 17
