"""`memtrace run --trace-python-allocators`: each object, by site and domain, and the arenas."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from case_runs import HAS_GIL
from log_events import read_events
from proftrace.model.load import load_profile
from proftrace.model.profile import ARENA, Profile
from proftrace.views.selection import Selection

# Without the GIL objects come from mimalloc, which has no arenas of Python's; a list that grows is
# copied, and what it leaves is freed a little later, by way of some blocks more.
MORE_WHERE_LISTS_GROW = 0 if HAS_GIL else 400
FREED_LATER = 0 if HAS_GIL else 10

MEMTRACE = [sys.executable, "-m", "proftrace.cli.memtrace"]
PYMALLOC = {12, 13, 14}

OBJECTS = """\
from itertools import repeat

class Thing:
    __slots__ = ("left", "right")

def make(n):
    return [Thing() for _ in repeat(None, n)]

kept = make(30_000)
gone = make(5_000)
del gone
"""


def record(
    tmp_path: Path, program: str, *options: str, env: dict[str, str] | None = None
) -> Profile:
    script = tmp_path / "program.py"
    script.write_text(program)
    path = tmp_path / "capture.bin"
    command = [*MEMTRACE, "run", "-q", "-f", "-o", str(path), *options, str(script)]
    subprocess.run(command, check=True, timeout=100, env={**os.environ, **(env or {})})
    return load_profile(str(path))


def blocks_at(profile: Profile, line: int, selection: Selection) -> list[tuple[int, int]]:
    """The (bytes, blocks) of each site whose innermost frame is this line of program.py."""
    sizes, blocks = selection.columns(profile)
    found = []
    for row, stack in enumerate(profile.samples.stack):
        frame = profile.stacks.frame[stack]
        function = profile.frames.function[frame]
        file = profile.strings[profile.functions.file[function]]
        if stack and file.endswith("program.py") and profile.frames.line[frame] == line:
            found.append((sizes[row], blocks[row]))
    return found


def allocators(profile: Profile) -> dict[int, int]:
    _, blocks = Selection.ALL.columns(profile)
    sums: dict[int, int] = {}
    for kind, count in zip(profile.samples.allocator, blocks, strict=True):
        sums[kind] = sums.get(kind, 0) + count
    return sums


def assert_kept(leaked: list[tuple[int, int]]) -> None:
    """Assert that these are the objects of OBJECTS that are kept, and their list."""
    assert 30_001 <= sum(count for _, count in leaked) <= 30_001 + FREED_LATER


def test_each_object_counts_at_its_line(tmp_path: Path) -> None:
    profile = record(tmp_path, OBJECTS, "--trace-python-allocators")
    made = blocks_at(profile, 7, Selection.ALL)
    # 35,000 objects, and the lists that hold them as they grow.
    assert 35_000 <= sum(count for _, count in made) < 35_300 + MORE_WHERE_LISTS_GROW
    leaked = blocks_at(profile, 7, Selection.LEAKS)
    assert_kept(leaked)
    least = object.__sizeof__(object()) + 2 * 8
    assert sum(size for size, _ in leaked) >= 30_000 * (least + 8)
    assert profile.header["options"] & 2


def test_what_an_allocator_does_inside_is_no_event(tmp_path: Path) -> None:
    """A large object is one block, though pymalloc passes it on to malloc, and no arena counts."""
    program = "large = [bytes(100_000) for _ in range(50)]\n" + OBJECTS
    profile = record(tmp_path, program, "--trace-python-allocators")
    large = blocks_at(profile, 1, Selection.LEAKS)
    assert sum(size for size, _ in large) - 50 * sys.getsizeof(bytes(100_000)) in range(1_000)
    kinds = allocators(profile)
    assert sum(kinds[kind] for kind in PYMALLOC if kind in kinds) > 35_000
    assert ARENA not in kinds
    assert profile.totals["peak_bytes"] < 5_005_000 + 35_000 * 60 + 1_500_000


def test_arenas_and_what_is_used_of_them(tmp_path: Path) -> None:
    program = OBJECTS.replace("30_000", "150_000")
    heap = record(tmp_path, program, "--trace-python-allocators").python_heap
    assert heap is not None
    for moment in heap.peak, heap.end:
        if not HAS_GIL:
            assert moment.arenas == moment.arena_bytes == moment.used_bytes == 0
            continue
        assert moment.arenas >= 1
        assert moment.arena_bytes % moment.arenas == 0
        assert 0 < moment.used_bytes < moment.arena_bytes
        assert moment.slack_bytes == moment.arena_bytes - moment.used_bytes
    assert heap.peak.used_blocks >= heap.end.used_blocks
    assert heap.end.used_blocks > 100_000 or not HAS_GIL
    assert heap.domains["obj"][1] > 155_000
    assert set(heap.domains) <= {"raw", "mem", "obj"}


def test_without_the_option_arenas_are_allocations_with_a_tag(tmp_path: Path) -> None:
    profile = record(tmp_path, OBJECTS)
    if not HAS_GIL:  # there the option is on by itself, and there are no arenas
        assert profile.header["options"] & 2
        assert ARENA not in allocators(profile)
        return
    kinds = allocators(profile)
    assert kinds[ARENA] >= 1
    assert not PYMALLOC & set(kinds)
    assert profile.python_heap is None
    assert not profile.header["options"] & 2
    text = report(tmp_path, "stats")
    assert "Arenas of pymalloc:" in text
    assert "  in all\n" in text


def report(tmp_path: Path, *words: str) -> str:
    command = [*MEMTRACE, *words, str(tmp_path / "capture.bin")]
    return subprocess.run(command, check=True, timeout=100, text=True, capture_output=True).stdout


def test_every_report_takes_such_a_capture(tmp_path: Path) -> None:
    record(tmp_path, OBJECTS, "--trace-python-allocators")
    assert "pymalloc traced: yes" in report(tmp_path, "summary")
    text = report(tmp_path, "stats")
    assert "Python's allocators:\n    " in text
    assert "slack (" in text
    data = json.loads(report(tmp_path, "stats", "--json"))
    assert data["metadata"]["trace_python_allocators"] is True
    arenas = data["python_allocators"]["arenas_at_peak"]
    assert arenas["slack_bytes"] == arenas["arena_bytes"] - arenas["used_bytes"]
    assert data["allocator_type_distribution"]["PYMALLOC_MALLOC"] > 30_000
    rows = csv.DictReader(io.StringIO(report(tmp_path, "transform", "csv", "-o", "-")))
    assert "PYMALLOC_MALLOC" in {row["allocator"] for row in rows}
    page = tmp_path / "page.html"
    report(tmp_path, "flamegraph", "-o", str(page))
    assert page.stat().st_size > 10_000


def test_blocks_from_before_the_recording_may_be_freed(tmp_path: Path) -> None:
    program = "import sys\nfor name in list(sys.modules):\n    sys.modules.pop(name)\n" + OBJECTS
    profile = record(tmp_path, program, "--trace-python-allocators")
    assert profile.warnings == ()
    events = read_events(tmp_path / "capture.bin")
    live: set[int] = set()
    unknown = 0
    for event in events:
        if event.kind in PYMALLOC:
            live.add(event.address)
        elif event.kind == 15:
            unknown += event.address not in live
            live.discard(event.address)
    assert unknown > 100


def test_a_realloc_that_fails_leaves_the_block(tmp_path: Path) -> None:
    program = """\
import resource
kept = [0] * 400_000  # a bytearray is empty after that, since 3.15
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
try:
    kept.append(0)
    kept *= 1000
except MemoryError:
    print("no memory")
assert len(kept) == 400_001
"""
    profile = record(tmp_path, program, "--trace-python-allocators")
    leaked, _ = Selection.LEAKS.columns(profile)
    assert max(leaked) >= 8 * 400_001


def test_threads_with_and_without_the_lock(tmp_path: Path) -> None:
    program = OBJECTS + (
        "import threading\n"
        "threads = [threading.Thread(target=make, args=(4_000,)) for _ in range(4)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
    )
    profile = record(tmp_path, program, "--trace-python-allocators")
    made = blocks_at(profile, 7, Selection.ALL)
    assert 51_000 <= sum(count for _, count in made) < 51_600 + 3 * MORE_WHERE_LISTS_GROW
    assert_kept(blocks_at(profile, 7, Selection.LEAKS))


# 3.12 has no mimalloc.
APART = sys.version_info >= (3, 13)
ALLOCATORS = [
    *(["malloc", "pymalloc", "pymalloc_debug"] if HAS_GIL else []),
    *(["mimalloc", "mimalloc_debug"] if APART else []),
]


@pytest.mark.parametrize("name", ALLOCATORS)
def test_whichever_allocator_python_has(tmp_path: Path, name: str) -> None:
    env = {"PYTHONMALLOC": name}
    profile = record(tmp_path, OBJECTS, "--trace-python-allocators", env=env)
    assert_kept(blocks_at(profile, 7, Selection.LEAKS))
    assert profile.meta["pythonmalloc"] == name
    heap = profile.python_heap
    assert heap is not None
    assert (heap.end.arenas > 0) == name.startswith("pymalloc")


# On 3.12 the same must hold for an option that asks for nothing special.
def test_where_malloc_sees_nothing_the_objects_are_traced_unasked(tmp_path: Path) -> None:
    env = {"PYTHONMALLOC": "mimalloc" if APART else "pymalloc"}
    profile = record(tmp_path, OBJECTS, env=env)
    assert bool(profile.header["options"] & 2) == APART
    if APART:
        assert_kept(blocks_at(profile, 7, Selection.LEAKS))
        assert profile.meta["pythonmalloc"] == "mimalloc"


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_followed_children_record_the_same(tmp_path: Path, how: str) -> None:
    module = tmp_path / "things.py"
    module.write_text(OBJECTS.partition("kept")[0])
    program = (
        "import multiprocessing, things\n"
        "if __name__ == '__main__':\n"
        f"    context = multiprocessing.get_context({how!r})\n"
        "    child = context.Process(target=things.make, args=(9_000,))\n"
        "    child.start()\n"
        "    child.join()\n"
        "    assert child.exitcode == 0\n"
    )
    option = "--follow-fork" if how == "fork" else "--follow-children"
    record(tmp_path, program, "--trace-python-allocators", option)
    most = 0
    for path in tmp_path.glob("capture.bin.*[0-9]"):
        profile = load_profile(str(path))
        assert profile.header["options"] & 2
        sums = allocators(profile)
        most = max(most, sums.get(12, 0))
    assert most >= 9_000
