"""Which recordings are one run, and how long the runs took."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from proftrace.model.load import load_profile
from proftrace.model.profile import Profile
from proftrace.views.runs import runs_of, wall_time


def recording(pid: int, ppid: int, start: int, end: int) -> Profile:
    profile = load_profile(str(Path(__file__).parents[2] / "logs" / "v1" / "lines.bin"))
    times = {"start_mono_ns": start, "last_mono_ns": end}
    return replace(profile, header={**profile.header, "pid": pid, "ppid": ppid, **times})


def test_children_are_of_their_parents_run() -> None:
    recordings = [
        recording(11, 10, 20, 30),
        recording(10, 1, 0, 100),
        recording(12, 11, 25, 90),
        recording(20, 1, 200, 300),
        recording(21, 20, 210, 220),
        recording(13, 10, 400, 410),  # a process with the number of one that is gone
    ]
    found = [[profile.header["pid"] for profile in run] for run in runs_of(recordings)]
    assert found == [[10, 11, 12], [20, 21], [13]]


@pytest.mark.parametrize(
    ("recordings", "nanoseconds"),
    [
        ([], 0),
        ([(10, 1, 0, 100)], 100),
        ([(10, 1, 0, 100), (11, 10, 20, 30), (12, 11, 25, 90)], 100),
        ([(10, 1, 0, 100), (11, 10, 90, 130)], 130),  # the child outlives its parent
        ([(10, 1, 0, 100), (20, 1, 50, 80)], 130),
        ([(10, 1, 0, 100), (0, 0, 7, 7)], 0),  # a result of line_profiler
    ],
)
def test_the_time_of_children_is_within_that_of_their_run(
    recordings: list[tuple[int, int, int, int]], nanoseconds: int
) -> None:
    assert wall_time([recording(*one) for one in recordings]) == nanoseconds
