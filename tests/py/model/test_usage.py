"""What was live at the moments at which a log tells the size of the process."""

from __future__ import annotations

from pathlib import Path

import pytest

from log_writer import FREE, MALLOC, MARK, MMAP, MUNMAP, UNFREE, Event, LogWriter
from proftrace.model.load import load_profile
from proftrace.model.usage import UsageHistory

TAKEN, DURING, ANONYMOUS = 4, 5, 16
PAGE = 4096


def usage_of(path: Path, *events: Event) -> UsageHistory:
    log = LogWriter()
    log.node(0, log.code("f", "a.py", 1))
    log.events(0, list(events))
    log.end()
    path.write_bytes(log.data())
    usage = load_profile(str(path)).usage
    assert usage is not None
    return usage


def look(time_us: int, size: int, during: int | None = None) -> list[Event]:
    before = [] if during is None else [Event(MARK, DURING, during)]
    return [*before, Event(MARK, ANONYMOUS, size), Event(MARK, TAKEN, time_us)]


def test_a_block_that_is_being_given_back_is_there_at_that_moment_only(tmp_path: Path) -> None:
    usage = usage_of(
        tmp_path / "capture.bin",
        Event(MALLOC, 0x1000, 1000, 1),
        Event(MALLOC, 0x2000, 70, 1),
        *look(1, 5000),
        Event(FREE, 0x1000),
        *look(2, 5000, during=0x1000),
        *look(3, 4000),
    )
    live = [(moment.live_bytes, moment.live_blocks) for moment in usage.moments]
    assert live == [(1070, 2), (1070, 2), (70, 1)]
    assert (usage.peak.time_us, usage.peak.live_bytes) == (2, 1070)
    assert usage.end.live_bytes == 70


def test_a_mapping_that_is_being_given_back_is_a_mapping(tmp_path: Path) -> None:
    usage = usage_of(
        tmp_path / "capture.bin",
        Event(MMAP, 16 * PAGE, 4 * PAGE, 1),
        Event(MUNMAP, 16 * PAGE, 3 * PAGE),
        *look(1, 5000, during=16 * PAGE),
        Event(MUNMAP, 19 * PAGE, PAGE),
        *look(2, 5000, during=19 * PAGE),
        *look(3, 5000),
    )
    rows = [(one.live_bytes, one.live_blocks, one.mapped_bytes) for one in usage.moments]
    assert rows == [(4 * PAGE, 1, 4 * PAGE), (PAGE, 1, PAGE), (0, 0, 0)]


@pytest.mark.parametrize("address", [0x1000, 0x3000, 0])
def test_what_was_not_given_back_last_changes_nothing(tmp_path: Path, address: int) -> None:
    usage = usage_of(
        tmp_path / "capture.bin",
        Event(MALLOC, 0x1000, 1000, 1),
        Event(MALLOC, 0x2000, 70, 1),
        Event(FREE, 0x1000),
        Event(FREE, 0x2000),
        Event(UNFREE, 0x2000),
        *look(1, 5000, during=address),
        *look(2, 5000, during=0x2000),
    )
    assert [moment.live_bytes for moment in usage.moments] == [70, 70]


def test_of_moments_of_one_size_the_one_that_tells_most_is_the_peak(tmp_path: Path) -> None:
    usage = usage_of(
        tmp_path / "capture.bin",
        Event(MALLOC, 0x1000, 1000, 1),
        *look(1, 5000),
        *look(2, 5000),
        Event(FREE, 0x1000),
        *look(3, 5000),
        *look(4, 4999),
    )
    assert (usage.peak.time_us, usage.peak.live_bytes) == (2, 1000)
