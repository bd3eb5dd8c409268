"""Stacks out of calls: where time goes, and that none is lost or made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from line_logs import random_line_log
from log_writer import LogWriter, call_record, function_record, line_record
from proftrace.model.load import load_profile
from proftrace.views import call_paths as module
from proftrace.views.call_paths import Stats, call_paths
from proftrace.views.line_stats import function_stats

type Calls = Sequence[tuple[str, str, int]]  # caller ("" is not profiled), callee, inclusive ns


def stats_of(path: Path, self_ns: Mapping[str, int], calls: Calls) -> Stats:
    """A result in which each function has one line, 10, with its self time, and calls from 11."""
    log = LogWriter(content=2)
    codes = {name: log.code(name, "f.py", 10) for name in self_ns}
    records = []
    for name, own in self_ns.items():
        total = max([own, *(time for _, callee, time in calls if callee == name)])
        records += [
            function_record(codes[name], 0, 1, total, own),
            line_record(codes[name], 10, 1, total, own),
        ]
    for caller, callee, time in calls:
        records.append(call_record(codes.get(caller, 0), 11 * bool(caller), codes[callee], 1, time))
    log.lines(*records)
    log.end()
    path.write_bytes(log.data())
    return function_stats([load_profile(str(path))])


def stacks(stats: Stats) -> dict[str, int]:
    found: Counter[str] = Counter()
    for path in call_paths(stats):
        found[" ".join(place.function[2] for place in path.frames)] += path.self_ns
    return dict(found)


def test_with_one_caller_each_a_stack_is_exact(tmp_path: Path) -> None:
    stats = stats_of(
        tmp_path / "r",
        {"main": 10, "load": 20, "read": 70},
        [("", "main", 100), ("main", "load", 90), ("load", "read", 70)],
    )
    assert stacks(stats) == {"main": 10, "main load": 20, "main load read": 70}
    lines = [[place.line for place in path.frames] for path in call_paths(stats)]
    assert lines == [[10], [11, 10], [11, 11, 10]]


def test_a_shared_callee_is_divided_by_the_time_of_its_calls(tmp_path: Path) -> None:
    stats = stats_of(
        tmp_path / "r",
        {"main": 0, "a": 1, "b": 2, "shared": 100},
        [("", "main", 103), ("main", "a", 76), ("main", "b", 27), ("a", "shared", 75),
         ("b", "shared", 25)],
    )  # fmt: skip
    assert stacks(stats) == {
        "main a": 1,
        "main b": 2,
        "main a shared": 75,
        "main b shared": 25,
    }


def test_a_function_that_calls_itself_is_on_a_stack_once(tmp_path: Path) -> None:
    stats = stats_of(
        tmp_path / "r",
        {"main": 1, "fib": 50},
        [("", "main", 51), ("main", "fib", 50), ("fib", "fib", 49)],
    )
    assert stacks(stats) == {"main": 1, "main fib": 50}


def test_functions_that_call_each_other_keep_their_times(tmp_path: Path) -> None:
    stats = stats_of(
        tmp_path / "r",
        {"main": 0, "even": 40, "odd": 60},
        [("", "main", 100), ("main", "even", 100), ("even", "odd", 90), ("odd", "even", 80)],
    )
    assert stacks(stats) == {"main even": 40, "main even odd": 60}


def test_what_only_leads_in_circles_starts_a_stack(tmp_path: Path) -> None:
    stats = stats_of(
        tmp_path / "r", {"even": 40, "odd": 60}, [("even", "odd", 90), ("odd", "even", 80)]
    )
    assert stacks(stats) == {"odd": 60, "odd even": 40}


def test_without_any_call_each_function_is_a_stack(tmp_path: Path) -> None:
    assert stacks(stats_of(tmp_path / "r", {"a": 3, "b": 0, "c": 5}, [])) == {"a": 3, "c": 5}


def test_a_call_that_took_no_time_is_still_a_way(tmp_path: Path) -> None:
    stats = stats_of(tmp_path / "r", {"main": 5, "f": 7}, [("", "main", 0), ("main", "f", 0)])
    assert sum(stacks(stats).values()) == 12


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("most", [3, 20_000])
def test_the_times_of_each_line_add_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, most: int
) -> None:
    """Also in a thicket of calls in circles, and when most ways are left out."""
    monkeypatch.setattr(module, "MOST_WAYS", most)
    stats = function_stats([load_profile(str(random_line_log(tmp_path / "r", seed + 1)))])
    found: Counter[tuple[object, int]] = Counter()
    for path in call_paths(stats):
        functions = [place.function for place in path.frames]
        assert len(set(functions)) == len(functions)
        assert path.self_ns > 0
        found[functions[-1], path.frames[-1].line] += path.self_ns
    wanted = {
        (key, line): values.exclusive
        for key, one in stats.items()
        for line, values in one.lines.lines.items()
        if values.exclusive
    }
    assert dict(found) == wanted


def test_every_step_of_a_stack_is_a_call_that_was_seen(tmp_path: Path) -> None:
    stats = function_stats([load_profile(str(random_line_log(tmp_path / "r", 3)))])
    calls = {
        (key, call.line, call.other) for key, one in stats.items() for call in one.lines.callees
    }
    for path in call_paths(stats):
        for caller, callee in zip(path.frames, path.frames[1:], strict=False):
            assert (caller.function, caller.line, callee.function) in calls
