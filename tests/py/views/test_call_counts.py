"""Counts of calls by place: what is missing is made up for, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from line_logs import random_line_log
from log_writer import LogWriter, call_record, function_record, line_record
from proftrace.model.load import load_profile
from proftrace.model.profile import NO_FUNCTION
from proftrace.views.line_stats import function_stats
from proftrace.views.line_table import FunctionKey, function_keys


def counts(
    path: Path, calls: int, places: Sequence[tuple[int, int]]
) -> list[tuple[int, int, bool]]:
    """Return (line, calls, estimated) of a function that is called from lines 1, 2, ... of another,
    each with (counted calls, time)."""
    log = LogWriter(content=2)
    caller, callee = log.code("caller", "f.py", 1), log.code("callee", "f.py", 9)
    log.lines(
        function_record(caller, 0, 1, 900, 1),
        line_record(caller, 1, 1, 900, 1),
        function_record(callee, 0, calls, 800, 800),
        line_record(callee, 9, calls, 800, 800),
        *(call_record(caller, n, callee, *place) for n, place in enumerate(places, 1)),
    )
    log.end()
    path.write_bytes(log.data())
    stats = function_stats([load_profile(str(path))])
    caller_stats, callee_stats = stats.values()
    found = sorted((c.line, c.calls, c.estimated) for c in callee_stats.lines.callers)
    assert found == sorted((c.line, c.calls, c.estimated) for c in caller_stats.lines.callees)
    return found


@pytest.mark.parametrize(
    ("calls", "places", "wanted"),
    [
        (50, [(50, 700)], [(1, 50, False)]),
        (50, [(11, 700)], [(1, 50, False)]),
        (50, [(0, 0)], [(1, 50, False)]),
        (50, [(20, 100), (30, 900)], [(1, 20, False), (2, 30, False)]),
        (100, [(5, 750), (5, 250)], [(1, 75, True), (2, 25, True)]),
        (100, [(90, 10), (0, 10)], [(1, 90, False), (2, 10, True)]),
        (7, [(0, 1), (0, 1), (0, 1)], [(1, 2, True), (2, 3, True), (3, 2, True)]),
        (10, [(0, 0), (4, 0)], [(1, 3, True), (2, 7, True)]),
        (3, [(5, 10)], [(1, 5, False)]),
        (3, [], []),
    ],
)
def test_missing_calls_are_divided_by_time(
    tmp_path: Path,
    calls: int,
    places: Sequence[tuple[int, int]],
    wanted: Sequence[tuple[int, int, bool]],
) -> None:
    assert counts(tmp_path / "r", calls, places) == wanted


@pytest.mark.parametrize("seed", range(1, 9))
def test_completed_calls_add_up_and_none_is_taken_away(tmp_path: Path, seed: int) -> None:
    profile = load_profile(str(random_line_log(tmp_path / "r", seed)))
    keys = function_keys(profile)
    counted: dict[tuple[FunctionKey | None, int, FunctionKey], int] = {}
    for row, callee in enumerate(profile.edges.callee):
        caller = profile.edges.caller[row]
        place = (None if caller == NO_FUNCTION else keys[caller], profile.edges.line[row])
        before = counted.get((*place, keys[callee]), 0)
        counted[*place, keys[callee]] = before + profile.edges.calls[row]
    for key, one in function_stats([profile]).items():
        after = {(call.other, call.line): call.calls for call in one.lines.callers}
        before_all = {place: counted[*place, key] for place in after}
        assert all(after[place] >= before_all[place] for place in after)
        if after:
            assert sum(after.values()) == max(one.lines.calls, sum(before_all.values()))
