"""What a log says is what the profile says."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from log_writer import (
    CALLOC,
    END_OF_SCRIPT,
    EVENTS,
    FREE,
    LOST,
    MALLOC,
    MARK,
    MMAP,
    MUNMAP,
    PYMALLOC_MALLOC,
    REALLOC,
    UNFREE,
    Event,
    LogWriter,
    RingSlot,
    block,
    call_record,
    file_header,
    function_details,
    function_record,
    line_details,
    line_record,
    ring,
    stored_events,
)
from proftrace.errors import CaptureFileError
from proftrace.model.load import load_profile
from proftrace.model.profile import ARENA, LINE_METRICS, MEMORY_METRICS, NO_FUNCTION, Profile

PYTHON_ALLOCATORS = 2  # an option in the header


def load(path: Path, log: LogWriter) -> Profile:
    path.write_bytes(log.data())
    return load_profile(str(path))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "capture.bin"


def code_log() -> LogWriter:
    log = LogWriter()
    code = log.code("f", "a.py", 1, table=f_code.co_linetable)
    log.node(0, code)
    return log


def f() -> None: ...


f_code = f.__code__


def columns(profile: Profile, metric: str) -> list[int]:
    return list(profile.samples.values[metric])


def test_an_empty_log_is_an_empty_profile(path: Path) -> None:
    log = LogWriter()
    log.end()
    profile = load(path, log)
    assert profile.metrics == MEMORY_METRICS
    assert len(profile.samples) == 0
    assert len(profile.stacks) == 1
    assert profile.strings == ("",)
    assert sum(profile.size_histogram) == 0
    assert profile.warnings == ()
    assert set(profile.totals.values()) == {0}
    assert profile.header["pid"] == 4242


def test_the_peak_is_the_highest_moment_and_leaks_are_what_is_left(path: Path) -> None:
    log = code_log()
    other = log.node(1, log.code("g", "a.py", 9))
    log.thread(0, 77, "MainThread")
    log.events(0, [
        Event(MALLOC, 0x1000, 100, 1),
        Event(CALLOC, 0x2000, 50, other),
        Event(FREE, 0x1000),
        Event(MALLOC, 0x3000, 20, 1),
        Event(MARK, END_OF_SCRIPT),
        Event(FREE, 0x3000),
    ])  # fmt: skip
    log.end()
    profile = load(path, log)
    assert list(profile.samples.allocator) == [MALLOC, CALLOC]
    assert columns(profile, "peak_bytes") == [100, 50]
    assert columns(profile, "peak_blocks") == [1, 1]
    assert columns(profile, "leaked_bytes") == [20, 50]
    assert columns(profile, "leaked_blocks") == [1, 1]
    assert columns(profile, "total_bytes") == [120, 50]
    assert columns(profile, "total_blocks") == [2, 1]
    assert profile.totals == {
        "n_allocations": 3, "n_frees": 2, "total_bytes": 170, "peak_bytes": 150,
        "leaked_bytes": 70, "largest_bytes": 100, "smallest_bytes": 20, "n_threads": 1,
        "n_lost": 0,
    }  # fmt: skip
    assert list(profile.threads.tid) == [77]
    assert profile.strings[profile.threads.name[0]] == "MainThread"
    assert profile.header["end_of_script"] == 1
    assert profile.size_histogram[7] == 1 and profile.size_histogram[6] == 1


def test_streams_are_merged_by_seq(path: Path) -> None:
    """Freed by another thread, and the address used again at once: only seq order gives 100."""
    log = code_log()
    log.events(0, [Event(MALLOC, 0x1000, 100, 1, 1), Event(MALLOC, 0x1000, 100, 1, 5)])
    log.events(1, [Event(FREE, 0x1000, seq=3)])
    log.end()
    profile = load(path, log)
    assert profile.totals["peak_bytes"] == 100
    assert profile.totals["leaked_bytes"] == 100
    assert profile.totals["n_frees"] == 1
    assert columns(profile, "total_blocks") == [2]


def test_events_without_seq_come_first_and_then_with_their_streams_last(path: Path) -> None:
    log = code_log()
    log.events(1, [Event(FREE, 0x1000, seq=1), Event(MALLOC, 0x1000, 30, 1, 3)])
    log.events(0, [Event(MALLOC, 0x1000, 100, 1), Event(FREE, 0x1000, seq=4)])
    log.end()
    profile = load(path, log)
    assert profile.totals["peak_bytes"] == 100
    assert profile.totals["leaked_bytes"] == 0


def test_unknown_frees_are_ignored_and_a_second_allocation_frees_the_first(path: Path) -> None:
    log = code_log()
    log.events(0, [
        Event(FREE, 0x9000),
        Event(MUNMAP, 0x9000, 4096),
        Event(MALLOC, 0x1000, 100, 1),
        Event(MALLOC, 0x1000, 30, 1),
    ])  # fmt: skip
    log.end()
    profile = load(path, log)
    assert profile.totals["leaked_bytes"] == 30
    assert profile.totals["n_frees"] == 1
    assert columns(profile, "leaked_blocks") == [1]


def test_a_failed_realloc_leaves_the_old_block(path: Path) -> None:
    log = code_log()
    log.events(0, [
        Event(MALLOC, 0x1000, 100, 1),
        Event(FREE, 0x1000),
        Event(UNFREE, 0x1000),
        Event(UNFREE, 0x1000),
        Event(FREE, 0x1000),
        Event(REALLOC, 0x2000, 300, 1),
    ])  # fmt: skip
    log.end()
    profile = load(path, log)
    assert profile.totals["leaked_bytes"] == 300
    assert profile.totals["peak_bytes"] == 300
    assert profile.totals["n_allocations"] == 2
    assert profile.totals["n_frees"] == 1


BASE = 0x7F0000000000
PAGE = 4096


@pytest.mark.parametrize(
    ("cut", "left", "blocks"),
    [
        ((0, 4 * PAGE), 0, 0),
        ((0, PAGE), 3 * PAGE - 96, 1),
        ((3 * PAGE, PAGE), 3 * PAGE, 1),
        ((PAGE, PAGE), 3 * PAGE - 96, 1),
        ((PAGE, 1), 3 * PAGE - 96, 1),
        ((-PAGE, 2 * PAGE), 3 * PAGE - 96, 1),
        ((-PAGE, 10 * PAGE), 0, 0),
        ((4 * PAGE, PAGE), 4 * PAGE - 96, 1),
    ],
)
def test_munmap_takes_pages(path: Path, cut: tuple[int, int], left: int, blocks: int) -> None:
    log = code_log()
    log.events(0, [
        Event(MMAP, BASE, 4 * PAGE - 96, 1), Event(MUNMAP, BASE + cut[0], cut[1])
    ])  # fmt: skip
    log.end()
    profile = load(path, log)
    assert columns(profile, "leaked_bytes") == [left]
    assert columns(profile, "leaked_blocks") == [blocks]
    assert profile.totals["n_frees"] == 1 - blocks


def test_a_failed_munmap_leaves_the_mapping(path: Path) -> None:
    log = code_log()
    log.events(0, [
        Event(MMAP, BASE, 4 * PAGE, 1),
        Event(MUNMAP, BASE + PAGE, PAGE),
        Event(UNFREE, BASE + PAGE),
        Event(MUNMAP, BASE, 4 * PAGE),
        Event(UNFREE, BASE),
    ])  # fmt: skip
    log.end()
    profile = load(path, log)
    assert columns(profile, "leaked_bytes") == [4 * PAGE]
    assert columns(profile, "leaked_blocks") == [1]
    assert profile.totals["n_frees"] == 0


def test_a_fixed_mapping_takes_the_place_of_what_was_there(path: Path) -> None:
    log = code_log()
    other = log.node(1, log.code("g", "a.py", 9))
    log.events(0, [Event(MMAP, BASE, 4 * PAGE, 1), Event(MMAP, BASE + PAGE, PAGE, other)])
    log.end()
    profile = load(path, log)
    assert columns(profile, "leaked_bytes") == [3 * PAGE, PAGE]
    assert profile.totals["peak_bytes"] == 4 * PAGE


def sample_function() -> list[int]:
    return [
        len("a"),
        len("b"),
    ]


def test_instructions_on_the_same_line_are_one_row(path: Path) -> None:
    """Stacks are shown by line: two nodes of one line merge, those of another do not."""
    code = sample_function.__code__
    by_line: dict[int, list[int]] = {}
    for unit, (*_, line) in enumerate(
        (start, line) for start, end, line in code.co_lines() for _ in range(start, end, 2)
    ):
        by_line.setdefault(line, []).append(unit)
    line, units = next((line, units) for line, units in by_line.items() if len(units) > 3)
    log = LogWriter()
    number = log.code("sample_function", __file__, code.co_firstlineno, table=code.co_linetable)
    nodes = [log.node(0, number, unit) for unit in (units[0], units[-1])]
    log.events(0, [Event(MALLOC, 16 * (i + 1), 10, node) for i, node in enumerate(nodes)])
    log.end()
    profile = load(path, log)
    assert columns(profile, "total_bytes") == [20]
    stack = profile.samples.stack[0]
    assert profile.frames.line[profile.stacks.frame[stack]] == line


def test_the_lines_of_real_code_are_right(path: Path) -> None:
    """Every instruction of two standard modules, against the interpreter's own decoder."""
    import argparse
    import typing

    log = LogWriter()
    want = Counter[tuple[str, int]]()
    events = []
    todo = [
        compile(Path(module.__file__).read_text(), module.__file__, "exec")
        for module in (argparse, typing)
    ]
    while todo:
        code = todo.pop()
        todo += [const for const in code.co_consts if isinstance(const, type(code))]
        number = log.code(
            code.co_name, code.co_filename, code.co_firstlineno, table=code.co_linetable,
            qualname=f"{code.co_qualname}-{len(log.codes)}",
        )  # fmt: skip
        for unit, (line, *_) in enumerate(code.co_positions()):
            node = log.node(0, number, unit)
            events.append(Event(MALLOC, 16 * node, 1, node))
            want[f"{code.co_qualname}-{number - 1}", line or 0] += 1
    for start in range(0, len(events), 5000):
        log.events(0, events[start : start + 5000])
    log.end()
    profile = load(path, log)
    got = Counter[tuple[str, int]]()
    for stack, blocks in zip(profile.samples.stack, columns(profile, "total_blocks"), strict=True):
        frame = profile.stacks.frame[stack]
        qualname = profile.functions.qualname[profile.frames.function[frame]]
        got[profile.strings[qualname], profile.frames.line[frame]] += blocks
    assert len(want) > 2000
    assert got == want


def test_thirty_thousand_frames_are_one_stack(path: Path) -> None:
    log = LogWriter()
    code = log.code("dig", "a.py", 1, table=f_code.co_linetable)
    node = 0
    for unit in range(30_000):
        node = log.node(node, code, unit)
    log.events(0, [Event(MALLOC, 0x1000, 7, node)])
    log.end()
    profile = load(path, log)
    depth, row = 0, profile.samples.stack[0]
    while row:
        assert profile.stacks.parent[row] < row
        row = profile.stacks.parent[row]
        depth += 1
    assert depth == 30_000
    assert sys.getrecursionlimit() < 30_000


def test_equal_texts_and_functions_are_one(path: Path) -> None:
    """The recorder interns by address: one file name may come with several ids."""
    log = LogWriter()
    first = log.node(0, log.code("f", "a.py", 1, table=f_code.co_linetable))
    log.strings.clear()  # the next code gets strings of its own ids, with the same texts
    log.strings.update({str(i): i for i in range(10)})
    log.codes[("", "", 0)] = 1
    del log.codes[("f", "a.py", 1)]
    second = log.node(0, log.code("f", "a.py", 1, table=f_code.co_linetable))
    assert first != second
    log.events(0, [Event(MALLOC, 16, 1, first), Event(MALLOC, 32, 2, second)])
    log.end()
    profile = load(path, log)
    assert columns(profile, "total_bytes") == [3]
    assert len(set(profile.strings)) == len(profile.strings)


def test_lone_surrogates_come_back(path: Path) -> None:
    log = LogWriter()
    log.node(0, log.code("f\udcff", "a\udc80.py", 1))
    log.end()
    assert "f\udcff" in load(path, log).strings


def test_line_results_of_the_same_code_are_added_up(path: Path) -> None:
    log = LogWriter(content=2)
    log.source(1, "a.py", "def f():\n    pass\n")
    code = log.code("f", "a.py", 1)
    log.codes[("other", "a.py", 1)] = log.codes.pop(("f", "a.py", 1))
    again = log.code("f", "a.py", 1)
    g = log.code("g", "a.py", 5)
    log.lines(
        function_record(code, 1, 2, 100, 90), line_record(code, 2, 5, 80, 70),
        function_record(again, 1, 3, 200, 190), line_record(again, 2, 6, 8, 7),
        function_record(g, 0, 0, 0, 0), line_record(again, 3, 1, 1, -1),
    )  # fmt: skip
    log.end()
    profile = load(path, log)
    assert profile.metrics == LINE_METRICS
    names = [profile.strings[profile.functions.name[f]] for f in profile.calls.function]
    assert names == ["f", "g"]
    assert list(profile.calls.calls) == [5, 0]
    assert list(profile.calls.inclusive) == [300, 0]
    assert list(profile.calls.exclusive) == [280, 0]
    assert list(profile.calls.source) == [1, 0]
    assert list(profile.lines.line) == [2, 3]
    assert list(profile.lines.values["hits"]) == [11, 1]
    assert list(profile.lines.values["exclusive"]) == [77, -1]
    assert profile.sources[1].file == "a.py"
    assert profile.sources[1].text == "def f():\n    pass\n"


def test_details_of_line_results(path: Path) -> None:
    log = LogWriter(content=2)
    f, g = log.code("f", "a.py", 1), log.code("g", "a.py", 5)
    log.lines(
        function_record(f, 0, 2, 100, 90, details=function_details(6, 1, 2, 3, 40)),
        function_record(f, 0, 2, 100, 90, details=function_details(0, 10, 20, 30, 400)),
        function_record(g, 0, 0, 0, 0),
        line_record(f, 2, 3, 80, 70, details=line_details(8, 8, [0, 0, 0, 1], samples=5, error=6)),
        line_record(f, 2, 3, 80, 70, details=line_details()),
        line_record(f, 2, 3, 80, 70, details=line_details(2, 33, [0, 1, 0, 0, 0, 1], 50, 60)),
        line_record(g, 6, 1, 1, 1),
        call_record(0, 0, f, 1, 10),
        call_record(f, 2, g, 2, 20), call_record(f, 3, g, 3, 30), call_record(f, 2, g, 4, 40),
    )  # fmt: skip
    log.end()
    profile = load(path, log)
    calls, lines, edges = profile.calls, profile.lines, profile.edges
    assert list(calls.reason) == [6, 0]
    assert list(calls.samples) == [11, 0]
    assert list(calls.discarded) == [22, 0]
    assert list(calls.yields) == [33, 0]
    assert list(calls.exclusive_error) == list(calls.inclusive_error) == [440, 0]
    assert list(lines.values["min"]) == [2, 0]
    assert list(lines.values["max"]) == [33, 0]
    assert list(lines.values["samples"]) == [55, 0]
    assert list(lines.values["exclusive_error"]) == [66, 0]
    assert list(lines.histogram(0)) == [0, 1, 0, 1, 0, 1]
    assert list(lines.histogram(1)) == []
    of_f, of_g = calls.function
    assert [
        tuple(column[row] for column in (edges.caller, edges.line, edges.callee, edges.calls))
        for row in range(len(edges))
    ] == [(NO_FUNCTION, 0, of_f, 1), (of_f, 2, of_g, 6), (of_f, 3, of_g, 3)]
    assert list(edges.inclusive) == list(edges.exclusive) == [10, 60, 30]


def test_a_file_that_was_edited_in_between_gives_two_functions(path: Path) -> None:
    log = LogWriter(content=2)
    log.source(1, "a.py", "one")
    log.source(2, "a.py", "two")
    code = log.code("f", "a.py", 1)
    log.codes[("other", "a.py", 1)] = log.codes.pop(("f", "a.py", 1))
    edited = log.code("f", "a.py", 1)
    log.lines(function_record(code, 1, 1, 1, 1), function_record(edited, 2, 1, 1, 1))
    log.end()
    profile = load(path, log)
    assert list(profile.calls.source) == [1, 2]
    assert len(set(profile.calls.function)) == 2


# ---- files that are not whole -------------------------------------------------------------------


def test_a_file_without_an_end_says_so(path: Path) -> None:
    log = code_log()
    log.events(0, [Event(MALLOC, 0x1000, 100, 1)])
    profile = load(path, log)
    assert profile.totals["leaked_bytes"] == 100
    (warning,) = profile.warnings
    assert warning.startswith(f"{path}: ends early")
    assert "read 1 events up to there" in warning
    assert profile.header["end_of_script"] == 0


def test_a_cut_block_is_dropped(path: Path) -> None:
    log = code_log()
    log.events(0, [Event(MALLOC, 0x1000, 100, 1)])
    log.events(0, [Event(MALLOC, 0x2000, 100, 1)])
    path.write_bytes(log.data()[:-1])
    profile = load_profile(str(path))
    assert profile.totals["n_allocations"] == 1
    assert "ends early (in the middle of a block)" in profile.warnings[0]


def test_a_damaged_block_ends_the_log(path: Path) -> None:
    log = code_log()
    log.events(0, [Event(MALLOC, 0x1000, 100, 1)])
    at = len(log.data()) + 66
    log.events(0, [Event(MALLOC, 0x2000, 100, 1)])
    log.end()
    data = bytearray(log.data())
    data[at] ^= 1
    path.write_bytes(data)
    profile = load_profile(str(path))
    assert profile.totals["n_allocations"] == 1
    assert f"damaged at byte {at - 66:,}" in profile.warnings[0]


def test_a_block_that_makes_no_sense_ends_the_events(path: Path) -> None:
    """Its checksum is right, but it has fewer events than it says; what comes before it is kept."""
    log = code_log()
    log.events(0, [Event(MALLOC, 0x1000, 100, 1)])
    at = len(log.data())
    payload = stored_events([Event(MALLOC, 0x2000, 10, 1)], 0)
    log.blocks.append(block(EVENTS, payload, 2, first_ordinal=1))
    log.end()
    profile = load(path, log)
    assert profile.totals["n_allocations"] == 2
    assert profile.warnings == (f"{path}: damaged at byte {at:,}; read 2 events up to there",)


def test_a_size_that_no_allocation_has_ends_the_events(path: Path) -> None:
    log = code_log()
    at = len(log.data())
    log.events(0, [Event(MALLOC, 0x1000, 100, 1), Event(MALLOC, 0x2000, 1 << 63, 1)])
    log.end()
    profile = load(path, log)
    assert profile.totals["total_bytes"] == 100
    assert f"damaged at byte {at:,}" in profile.warnings[0]


def test_the_ring_gives_what_was_not_written(path: Path) -> None:
    log = code_log()
    log.events(0, [Event(MALLOC, 0x1000, 100, 1), Event(MALLOC, 0x2000, 50, 1)])
    data = log.data()
    late = log.node(1, log.code("late", "b.py", 3))
    path.write_bytes(data)
    # The first two events are in the log already (its block was written, the slot not yet reset).
    events = [Event(MALLOC, 0x1000, 100, 1), Event(MALLOC, 0x2000, 50, 1), Event(FREE, 0x1000),
              Event(MMAP, BASE, 1 << 33, late)]  # fmt: skip
    tail = [RingSlot(0, events, base_ordinal=0), RingSlot(3, [Event(FREE, 0x2000, seq=9)], 0),
            RingSlot(4, [Event(MALLOC, 0x5000, 1, 1)], 0, version=1)]  # fmt: skip
    path.with_name("capture.bin.ring").write_bytes(ring(tail, bytes(log.pending)))
    profile = load_profile(str(path))
    assert profile.totals["total_bytes"] == 150 + (1 << 33)
    assert profile.totals["leaked_bytes"] == 1 << 33
    assert "late" in profile.strings
    (warning,) = profile.warnings
    assert "killed" in warning
    assert "all 5 events" in warning


def test_a_ring_of_another_session_is_left_alone(path: Path) -> None:
    log = code_log()
    log.events(0, [Event(MALLOC, 0x1000, 100, 1)])
    tail = ring([RingSlot(0, [Event(MALLOC, 0x2000, 1, 1)], 1)], session=b"x" * 16)
    path.with_name("capture.bin.ring").write_bytes(tail)
    profile = load(path, log)
    assert profile.totals["n_allocations"] == 1
    assert "ends early" in profile.warnings[0]


def test_lost_events_are_told(path: Path) -> None:
    log = code_log()
    log.events(0, [Event(MARK, LOST, 5)])
    log.end(lost=5)
    profile = load(path, log)
    assert profile.totals["n_lost"] == 5
    assert "5 events could not be recorded" in profile.warnings[0]


def test_a_full_disk_is_told(path: Path) -> None:
    log = code_log()
    log.end(reason=1, error=28)
    assert "No space left on device" in load(path, log).warnings[0]


def test_a_limit_on_memory_is_told_with_what_to_do(path: Path) -> None:
    log = code_log()
    log.end(reason=1, error=12)
    (warning,) = load(path, log).warnings
    assert "writing failed: Cannot allocate memory (a limit on address space" in warning
    assert "ulimit -v" in warning


def not_captures() -> dict[str, tuple[bytes, str]]:
    whole = file_header()
    return {
        "empty": (b"", "is empty"),
        "text": (b"hello world\n" * 100, "is not a capture"),
        "zeros": (bytes(4096), "is not a capture"),
        "short": (b"x", "is not a capture"),
        "png": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8, "is not a capture"),
        "magic": (whole[:8], "is cut off inside its header"),
        "cut": (whole[:127], "is cut off inside its header"),
        "new": (
            file_header(version=9, min_reader=7),
            "was written by a newer version (log format 9, for readers of 7 and later; this one"
            " reads up to 4): update proftrace",
        ),
        "other new": (
            file_header(version=4, min_reader=5),
            "(log format 4, for readers of 5 and later; this one reads up to 4)",
        ),
        "order": (file_header(byte_order=0x04030201), "other byte order"),
        "crc": (whole[:60] + b"!" + whole[61:], "is damaged"),
    }


@pytest.mark.parametrize("name", not_captures())
def test_what_is_not_a_capture_gets_one_line(path: Path, name: str) -> None:
    data, reason = not_captures()[name]
    path.write_bytes(data)
    with pytest.raises(CaptureFileError) as caught:
        load_profile(str(path))
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert reason in message
    assert "\n" not in message


def test_what_is_no_file_gets_one_line(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    for name, reason in {
        "missing\nname": "No such file",
        "": "is a directory",
        "pipe": "not a regular file",
        "nul\0": "no such file",
    }.items():
        with pytest.raises(CaptureFileError, match=reason) as caught:
            load_profile(str(tmp_path / name))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("allocator", "arenas"), [("pymalloc", 1), ("pymalloc_debug", 1), ("mimalloc", 0)]
)
def test_only_pymalloc_has_arenas(path: Path, allocator: str, arenas: int) -> None:
    # Others map memory the same way for the stacks of the interpreter's frames.
    log = LogWriter(options=PYTHON_ALLOCATORS)
    log.thread(1, 4242)
    log.meta("pythonmalloc", allocator)
    used = Event(PYMALLOC_MALLOC, 0x100040, 64)
    log.events(1, [Event(ARENA, 0x100000, 1 << 20), used, Event(MARK, END_OF_SCRIPT, 0)])
    log.end()
    heap = load(path, log).python_heap
    assert heap is not None
    assert (heap.peak.arenas, heap.end.arenas) == (arenas, arenas)
