from __future__ import annotations

import json
import re

from helpers import profile_from_text
from proftrace.render.stats import StatsOptions, render_stats

ODD = "zero 0 blocks=3\nequal 560008 blocks=8\ngiant 419430400 leaked"

MEMRAY_KEYS = {
    "total_num_allocations", "total_bytes_allocated", "allocation_size_histogram",
    "allocator_type_distribution", "top_allocations_by_size", "top_allocations_by_count",
    "top_modules_by_allocation_size", "top_modules_by_allocation_count", "metadata",
}  # fmt: skip
MEMRAY_METADATA = {
    "start_time", "end_time", "total_allocations", "total_frames", "peak_memory", "command_line",
    "pid", "main_thread_id", "python_allocator", "has_native_traces", "trace_python_allocators",
    "file_format",
}  # fmt: skip


def test_the_sections_stand_in_memrays_order() -> None:
    text = render_stats(profile_from_text(ODD), StatsOptions())
    titles = [line[:-1] for line in text.splitlines() if line.endswith(":") and line[0] != " "]
    assert titles == [
        "Total allocations",
        "Total memory allocated",
        "Peak memory usage",
        "Live at the end of the script",
        "Histogram of allocation sizes",
        "Allocator type distribution",
        "Top 5 largest allocating locations (by size)",
        "Top 5 largest allocating locations (by number of allocations)",
        "Top 5 allocating modules (by size)",
        "Top 5 allocating modules (by number of allocations)",
        "Threads",
    ]
    assert "400.5 MiB (419,990,408 bytes)" in text
    assert "giant:app.py:1" in text


def test_the_histogram_of_the_text_counts_every_allocation_once() -> None:
    text = render_stats(profile_from_text(ODD), StatsOptions())
    rows = re.findall(r"^    < +(\d+ \w+) +([\d,]+)(?:  #*)?$", text, re.MULTILINE)
    assert sum(int(count.replace(",", "")) for _, count in rows) == 12
    edges = [edge for edge, _ in rows]
    assert len(set(edges)) == len(edges)
    assert edges[0] == "1 B"
    assert edges[-1] == "512 MiB"


def test_the_json_has_memrays_keys_and_more() -> None:
    data = json.loads(render_stats(profile_from_text(ODD), StatsOptions(json=True)))
    assert data.keys() > MEMRAY_KEYS
    assert data["metadata"].keys() == MEMRAY_METADATA
    assert data["schema_version"] == 1
    assert data["total_num_allocations"] == 12
    assert data["total_bytes_allocated"] == data["peak_bytes"] == 419_990_408
    assert data["leaked_bytes"] == 419_430_400
    assert sum(row["count"] for row in data["allocation_size_histogram"]) == 12
    assert data["top_allocations_by_size"][0] == {"location": "giant:app.py:1", "size": 419430400}
    assert data["top_allocations_by_count"][0] == {"location": "equal:app.py:1", "count": 8}
    assert data["metadata"]["start_time"] == "2023-11-14 22:13:20+00:00"
    assert data["metadata"]["end_time"] == "2023-11-14 22:13:21.500000+00:00"


def test_nothing_is_divided_by_zero() -> None:
    text = render_stats(profile_from_text(""), StatsOptions())
    assert "There were no allocations." in text
    assert "0 B" in render_stats(profile_from_text("zero 0"), StatsOptions())
    data = json.loads(render_stats(profile_from_text(""), StatsOptions(json=True)))
    assert data["allocation_size_histogram"] == []
