"""Every call of the allocator, as memtrace has it and as an independent interposer logs it.

The interposer is loaded behind the capture library, so both see the same calls. The capture is
decoded from the specification (log_events.py); what the reader makes of it is held against that.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from case_runs import ALL_OBJECTS
from log_events import Replay, read_streams
from log_writer import MARK, MMAP, MUNMAP, PYMALLOC_FREE, UNFREE, Event
from proftrace.model.load import load_profile

PROGRAMS = Path(__file__).parents[1] / "programs"
FREE, ARENA = 2, 17
PAGE = os.sysconf("SC_PAGE_SIZE")
FIRST_MARK, LAST_MARK = 54_321_017, 54_321_019

# What a program does stands between two blocks of sizes that nobody else asks for.
HEAD = f"""
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.valloc.restype = libc.pvalloc.restype = ctypes.c_void_p
libc.memalign.restype = libc.aligned_alloc.restype = ctypes.c_void_p
libc.realloc.restype = libc.reallocarray.restype = libc.mmap.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
libc.malloc({FIRST_MARK})
"""
TAIL = f"\nlibc.malloc({LAST_MARK})\n"

CASES = {
    "json": """
import json
rows = [{"id": n, "name": f"n{n}" * (n % 40), "tags": list(range(n % 9))} for n in range(800)]
for _ in range(3):
    rows = json.loads(json.dumps(rows))
""",
    "trees": """
import ast, inspect, logging
for _ in range(2):
    tree = ast.parse(inspect.getsource(logging))
    names = [type(node).__name__ for node in ast.walk(tree)]
""",
    "strings": """
kept = []
for chapter in range(6):
    rows = [f"{chapter}.{n}: {'x' * (n % 900)} {n * chapter:>12,}" for n in range(1500)]
    kept.append("\\n".join(rows).replace("x", "yz")[:20_000])
""",
    "imports": """
import asyncio, csv, decimal, email.message, http.client, logging.config, pdb, unittest.mock
""",
    "threads": """
import queue, threading
box = queue.Queue(50)
def produce():
    for n in range(1500):
        box.put(bytes(600 + n % 1700))
def consume():
    for _ in range(1500):
        box.get()
threads = [threading.Thread(target=f) for f in [produce, consume] * 4]
for thread in threads: thread.start()
for thread in threads: thread.join()
# join() is back before the C library has freed what it kept for the thread.
import os, time
while len(os.listdir("/proc/self/task")) > 1:
    time.sleep(0.001)
""",
    "the C library's calls": """
size_t, address = ctypes.c_size_t, ctypes.c_void_p
block = address()
for n in range(200):
    assert libc.posix_memalign(ctypes.byref(block), size_t(64), size_t(100 + n)) == 0
    libc.free(block)
    libc.free(libc.memalign(size_t(128), size_t(1000 + n)))
    libc.free(libc.aligned_alloc(size_t(256), size_t(512 * n)))
    kept = libc.valloc(size_t(n)), libc.pvalloc(size_t(n))
    libc.free(kept[0])
    at = libc.malloc(size_t(n))
    at = libc.realloc(address(at), size_t(3 * n + 1))
    assert libc.realloc(address(at), size_t(1 << 62)) is None
    assert libc.reallocarray(address(at), size_t(1 << 40), size_t(1 << 40)) is None
    at = libc.reallocarray(address(at), size_t(n + 1), size_t(7))
    if n % 3:
        libc.free(at)
    libc.free(None)
    libc.free(libc.realloc(None, size_t(n)))
""",
    "arrays": """
import array, numpy
kept = []
for n in range(1, 300):
    field = numpy.arange(n * 50, dtype=float)
    kept.append((field * 2 + 1)[::3].copy())
    numbers = array.array("d", range(n))
    numbers.extend(numbers)
    kept[n // 2] = None
""",
    "asyncio": """
import asyncio
async def leaf(n):
    data = bytearray(700 + n)
    await asyncio.sleep(0)
    data *= 2
    return len(data)
async def main():
    for _ in range(12):
        await asyncio.gather(*(leaf(n) for n in range(60)))
asyncio.run(main())
""",
    "extensions": """
import bz2, decimal, lzma, pickle, re, sqlite3, zlib
base = sqlite3.connect(":memory:")
base.execute("create table t (a integer, b text)")
base.executemany("insert into t values (?, ?)", [(n, "b" * (n % 300)) for n in range(2000)])
rows = base.execute("select b, count(*) from t group by b order by 2").fetchall()
data = pickle.dumps(rows)
assert zlib.decompress(zlib.compress(data)) == bz2.decompress(bz2.compress(data)) == data
assert lzma.decompress(lzma.compress(data)) == data
words = re.findall(r"(b+)|(\\d+)", repr(rows))
with decimal.localcontext(prec=500):
    number = decimal.Decimal(2).sqrt() ** 3
base.close()
""",
    "mappings": """
import mmap
kept = []
for n in range(1, 60):
    area = mmap.mmap(-1, 4096 * n)
    area[10] = 1
    kept.append(area)
    if n % 2:
        kept.pop(n // 4).close()
    if n % 5 == 0:
        bytes(3_000_000)
""",
}


@pytest.fixture(scope="module")
def interposer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("interposer") / "interposer.so"
    source = PROGRAMS / "interposer.c"
    flags = ["-O1", "-shared", "-fPIC", "-fno-builtin", "-U_FILE_OFFSET_BITS"]
    subprocess.run(["cc", *flags, "-o", library, source, "-ldl"], check=True)
    return library


# (what, address, size): what both say of a call
type Call = tuple[int, int, int]


def logged_calls(path: Path) -> list[tuple[int, Call]]:
    """The interposer's calls in order, each with its thread: of the program alone, not of the
    interpreter that became it."""
    rows = sorted(struct.iter_unpack("<QQIIQQ", path.read_bytes()))
    program = next(row[0] for row in rows if row[5] == FIRST_MARK)
    return [
        (thread, (what, address, size))
        for image, _, thread, what, address, size in rows
        if image == program
    ]


def of_each_thread(calls: Iterable[tuple[int, Call]]) -> dict[int, list[Call]]:
    found: dict[int, list[Call]] = defaultdict(list)
    for thread, call in calls:
        found[thread].append(call)
    return found


def between_marks(calls: list[Call]) -> list[Call]:
    sizes = [call[2] for call in calls]
    return calls[sizes.index(FIRST_MARK) : sizes.index(LAST_MARK) + 1]


class Mappings(Replay):
    """A replay in which mappings are cut: one has gone when its last piece is unmapped."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: dict[int, tuple[int, int]] = {}  # start -> end, number of its mapping

    def map(self, start: int, size: int) -> None:
        self.unmap(start, size)
        self.pieces[start] = start + size, self.n_allocations
        self.allocate(start, size)

    def unmap(self, start: int, size: int) -> None:
        end = start + -(-size // PAGE) * PAGE
        hit = [at for at, (upto, _) in self.pieces.items() if at < end and upto > start]
        for at in hit:
            upto, number = self.pieces.pop(at)
            self.size -= self.live.pop(at)
            for low, high in ((at, start), (end, upto)):
                if low < high:
                    self.pieces[low] = high, number
                    self.live[low] = high - low
                    self.size += high - low
            self.n_frees += all(other != number for _, other in self.pieces.values())


def replay(calls: Iterable[Call]) -> Replay:
    """What the calls come to."""
    state = Mappings()
    gone: dict[int, int] = {}
    for what, address, size in calls:
        if what == UNFREE:
            state.allocate(address, gone[address])
            state.n_allocations -= 1
            state.n_frees -= 1
            state.total -= gone[address]
        elif what == MUNMAP:
            state.unmap(address, size)
        elif what in (FREE, PYMALLOC_FREE):
            gone[address] = state.live.get(address, 0)
            state.free(address)
        elif what in (MMAP, ARENA):
            state.map(address, size)
        else:
            state.allocate(address, size)
    return state


@pytest.mark.parametrize("name", CASES)
def test_both_agree_on_every_block(tmp_path: Path, interposer: Path, name: str) -> None:
    script, log, path = tmp_path / "program.py", tmp_path / "calls.log", tmp_path / "a.bin"
    script.write_text(HEAD + CASES[name] + TAIL)
    run = [sys.executable, "-m", "proftrace.cli.memtrace", "run", "-q", "-o", str(path)]
    env = {**os.environ, "LD_PRELOAD": str(interposer), "INTERPOSER_LOG": str(log)}
    env["PYTHONHASHSEED"] = "1"
    subprocess.run([*run, str(script)], check=True, timeout=200, env=env)
    logged = logged_calls(log)
    recorded = {tid: list(recorded_calls(events)) for tid, events in read_streams(path).items()}
    if ALL_OBJECTS:
        check_objects(recorded)
        streams, logged = of_the_c_library(recorded, logged)
    else:
        streams = recorded
    theirs_by_thread, theirs = of_each_thread(logged), [call for _, call in logged]
    main = max(streams, key=lambda tid: len(streams[tid]))
    ours_main = between_marks([call[:3] for call in streams[main]])
    assert ours_main == between_marks(theirs_by_thread[main])
    assert len(ours_main) >= (2 if ALL_OBJECTS else 100)
    # What a thread frees after its own end is in a stream that all share, of thread 0.
    late: Counter[Call] = Counter()
    for tid in streams.keys() - {main, 0}:
        calls = [call[:3] for call in streams[tid]]
        assert calls == theirs_by_thread[tid][: len(calls)]
        late.update(theirs_by_thread[tid][len(calls) :])
    assert late == Counter(call[:3] for call in streams.get(0, []))
    ours, truth = replay(between_marks(merged(streams))), replay(between_marks(theirs))
    assert ours.live == truth.live
    assert (ours.n_allocations, ours.n_frees) == (truth.n_allocations, truth.n_frees)
    assert (ours.total, ours.size) == (truth.total, truth.size)
    if len(streams) == 1:  # the order across threads is one of several that can be
        assert ours.peak == truth.peak
    check_reader(path, merged(recorded))


# A call with the seq that counts for it.
type Recorded = tuple[int, int, int, int]

# What Python's own allocators do, as the C library would name it.
PLAIN = {12: 1, 13: 3, 14: 4, PYMALLOC_FREE: FREE}


def of_the_c_library(
    streams: dict[int, list[Recorded]], logged: list[tuple[int, Call]]
) -> tuple[dict[int, list[Recorded]], list[tuple[int, Call]]]:
    """Return of both what the other one has to have too, where objects come from mimalloc.

    What Python asks for in its raw domain is a call of the C library, for a byte at least: it is
    recorded as one of Python's. What mimalloc maps for itself is logged by the interposer alone.
    """
    mine: dict[int, list[Recorded]] = {}
    rest = {tid: [i for i, (thread, _) in enumerate(logged) if thread == tid] for tid in streams}
    late = [i for i, (thread, _) in enumerate(logged) if thread not in streams]
    own_mappings = set()
    for tid in sorted(streams, reverse=True):  # 0, the late stream, at the end
        rows = rest[tid] if tid else sorted(late)
        calls = streams[tid]
        first = [i for i, row in enumerate(rows) if logged[row][1][2] == FIRST_MARK]
        if first:  # the interposer was there before the recording
            rows = rows[first[0] :]
            calls = calls[[call[2] for call in calls].index(FIRST_MARK) :]
        mine[tid], skipped, left = matched(calls, rows, logged)
        own_mappings |= skipped
        late += left if tid else []
    return mine, [row for i, row in enumerate(logged) if i not in own_mappings]


def matched(
    calls: list[Recorded], rows: list[int], logged: list[tuple[int, Call]]
) -> tuple[list[Recorded], set[int], list[int]]:
    """Match a thread's calls with the rows of the log that it has. Return those that have to be in
    both, the rows that are mappings of mimalloc, and the rows behind the last that was matched."""
    found, at = [], 0
    skipped: set[int] = set()
    for what, address, size, seq in calls:
        is_python = what in PLAIN
        call = (PLAIN[what], address, size or what != PYMALLOC_FREE) if is_python else None
        wanted = call or (what, address, size)
        end = at
        while end < len(rows) and logged[rows[end]][1] != wanted:
            if logged[rows[end]][1][0] not in (MMAP, MUNMAP):
                end = len(rows)
            end += 1
        if end < len(rows):
            skipped.update(rows[at:end])
            at = end + 1
        if end < len(rows) or not is_python:
            found.append((*wanted, seq))
    left = rows[at:]
    skipped.update(i for i in left if logged[i][1][0] in (MMAP, MUNMAP))
    return found, skipped, [i for i in left if i not in skipped]


def check_objects(streams: dict[int, list[Recorded]]) -> None:
    """No block of Python's allocators comes twice or goes twice between the marks."""
    live: set[int] = set()
    n_objects = 0
    for what, address, _ in between_marks(merged(streams)):
        if what in PLAIN and what != PYMALLOC_FREE:
            assert address not in live
            live.add(address)
            n_objects += 1
        elif what == PYMALLOC_FREE:
            live.discard(address)
    assert n_objects > 100


def recorded_calls(events: Iterable[Event]) -> Iterator[Recorded]:
    """What is a call among the events of a stream. Where objects are events, arenas are none."""
    seq = 0
    for event in events:
        seq = max(seq, event.seq)
        if event.kind != MARK and not (ALL_OBJECTS and event.kind == ARENA):
            kind = MMAP if event.kind == ARENA else event.kind
            yield kind, event.address, event.size, seq


def merged(streams: dict[int, list[tuple[int, int, int, int]]]) -> list[Call]:
    """All events in an order in which their addresses are consistent."""
    keyed = []
    for tid, events in streams.items():
        last = 0
        for at, (what, address, size, seq) in enumerate(events):
            last = max(last, seq)
            keyed.append((last, tid, at, (what, address, size)))
    keyed.sort()
    return [row[3] for row in keyed]


def check_reader(path: Path, calls: list[Call]) -> None:
    """The reports' numbers are those of the events."""
    profile = load_profile(str(path))
    allocations = [call for call in calls if call[0] not in (FREE, MUNMAP, UNFREE, PYMALLOC_FREE)]
    assert profile.totals["n_allocations"] == len(allocations)
    assert profile.totals["total_bytes"] == sum(size for _, _, size in allocations)
    whole = replay(calls)
    assert profile.totals["peak_bytes"] == whole.peak
    assert profile.totals["n_frees"] == whole.n_frees
    by_kind = Counter(what for what, _, _ in allocations)
    kinds: Counter[int] = Counter()
    values = profile.samples.values["total_blocks"]
    for kind, count in zip(profile.samples.allocator, values, strict=True):
        kinds[MMAP if kind == ARENA else kind] += count
    assert kinds == by_kind
