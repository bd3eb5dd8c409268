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


@pytest.mark.parametrize("version", ["v1", "v2", "v4"])
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


def test_a_checkpoint_stands_for_the_events_before_it() -> None:
    """Logs of version 3: the same program as memory.bin, its first events in a checkpoint."""
    bounded = load_profile(str(ALL_LOGS / "v3" / "bounded.bin"))
    whole = load_profile(str(ALL_LOGS / "v2" / "memory.bin"))
    assert (bounded.kept, whole.kept) == ("aggregate", "all")
    assert bounded.totals == whole.totals
    assert bounded.size_histogram == whole.size_histogram
    assert bounded.header["n_events"] == whole.header["n_events"] == 21
    assert bounded.header["n_events_kept"] == 11
    rows = []
    for profile in bounded, whole:
        samples = profile.samples
        keys = zip(samples.stack, samples.thread, samples.allocator, strict=True)
        values = zip(*(samples.values[metric.name] for metric in MEMORY_METRICS), strict=True)
        rows.append(sorted(zip(keys, values, strict=True)))
    assert rows[0] == rows[1]


def test_a_sampled_log_is_scaled_up() -> None:
    """Logs of version 3: memory.bin as if one allocation in 1000 bytes had been recorded."""
    profile = load_profile(str(ALL_LOGS / "v3" / "sampled.bin"))
    assert profile.sample_bytes == 1000
    by_allocator = {
        allocator: (n_bytes, blocks)
        for allocator, n_bytes, blocks in zip(
            profile.samples.allocator,
            profile.samples.values["total_bytes"],
            profile.samples.values["total_blocks"],
            strict=True,
        )
    }
    # 200 bytes: 1 / (1 - exp(-0.2)) = 5.517; 64: 16.13; 8: 125.5; mappings are all there.
    assert by_allocator[3] == (1103, 5)
    assert by_allocator[5] == (1032, 16)
    assert by_allocator[8] == (1004, 125)
    assert by_allocator[10][1] == 1
    assert by_allocator[6] == (5 * GIB, 1)
