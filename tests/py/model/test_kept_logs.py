"""The files of tests/logs, made once by `make_logs`, read as they ever did."""

from __future__ import annotations

from pathlib import Path

import pytest

from proftrace.model.load import load_profile
from proftrace.model.profile import LINE_METRICS, MEMORY_METRICS

ALL_LOGS = Path(__file__).parents[2] / "logs"
LOGS = ALL_LOGS / "v1"
GIB = 1 << 30
PAGE = 4096


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_memory_log(version: str) -> None:
    path = ALL_LOGS / version / "memory.bin"
    profile = load_profile(str(path))
    assert profile.metrics == MEMORY_METRICS
    assert profile.totals == {
        "n_allocations": 11,
        "n_frees": 5,
        "total_bytes": 5 * GIB + 4 * PAGE + 1714,
        "peak_bytes": 5 * GIB + 3 * PAGE + 582,
        "leaked_bytes": 3 * PAGE + 582,
        "largest_bytes": 5 * GIB,
        "smallest_bytes": 0,
        "n_threads": 3,
        "n_lost": 2,
    }
    assert profile.warnings == (f"{path}: 2 events could not be recorded: sizes are too low",)
    assert list(profile.threads.tid) == [4242, 4243, 4244]
    assert [profile.strings[name] for name in profile.threads.name] == [
        "MainThread", "worker-1", "café \udc80",
    ]  # fmt: skip
    strings, frames = profile.strings, profile.frames
    assert [
        (strings[profile.functions.name[function]], line)
        for function, line in zip(frames.function, frames.line, strict=True)
    ] == [("main", 10), ("work", 20), ("work", 21), ("work", 26), ("main", 11)]
    assert list(profile.stacks.parent) == [0, 0, 1, 1, 1, 2]
    assert sum(profile.samples.values["peak_bytes"]) == profile.totals["peak_bytes"]
    assert profile.meta == {"program": "app.py", "argv": '["app.py", "--fast"]'}
    assert profile.header["start_wall_ns"] == 1_764_486_000_000_000_000
    assert profile.header["last_mono_ns"] == 3_000_000_000


def test_the_lines_log() -> None:
    profile = load_profile(str(LOGS / "lines.bin"))
    assert profile.metrics == LINE_METRICS
    assert profile.warnings == ()
    assert [profile.strings[profile.functions.name[f]] for f in profile.calls.function] == [
        "fast", "slow",
    ]  # fmt: skip
    assert list(profile.calls.calls) == [10, 5]
    assert list(profile.calls.regime) == [0, 1]
    assert list(profile.calls.exclusive) == [900, 40_000]
    assert list(profile.lines.line) == [2, 6]
    assert list(profile.lines.values["raw_hits"]) == [10, 10]
    assert list(profile.lines.values["exclusive"]) == [900, -40_000]
    assert list(profile.lines.values["await"]) == [0, 7]
    assert profile.sources[1].text.splitlines()[4] == "def slow(n):"
