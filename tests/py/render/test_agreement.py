"""All views of one capture agree to the byte."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest

from helpers import ProfileBuilder, profile_from_text
from proftrace.model.load import load_profile
from proftrace.model.profile import Profile
from proftrace.render.csv import CsvOptions, render_csv
from proftrace.render.stats import StatsOptions, render_stats
from proftrace.views.call_tree import build_call_tree
from proftrace.views.hotspots import hotspots
from proftrace.views.selection import Selection

LOG = Path(__file__).parents[2] / "logs" / "v1" / "memory.bin"
TEXT = """
main:1;walk:5 10 leaked
main:1;walk:7;walk:5 20 gone allocator=10
main:1;walk:7;walk:7;walk:5 40 blocks=3 tid=2 thread=worker leaked
main:2;load@io.py:9 80
- 160 allocator=3
"""
TOTALS = {
    Selection.PEAK: "peak_bytes",
    Selection.LEAKS: "leaked_bytes",
    Selection.ALL: "total_bytes",
}


@pytest.fixture(params=["text", "log"])
def profile(request: pytest.FixtureRequest) -> Profile:
    return profile_from_text(TEXT) if request.param == "text" else load_profile(str(LOG))


@pytest.mark.parametrize("selection", Selection)
def test_csv_table_and_tree(profile: Profile, selection: Selection) -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv(profile, CsvOptions(selection)))))
    spots = hotspots(profile, selection)
    tree = build_call_tree(profile, [selection.bytes_metric, selection.blocks_metric])
    values, _ = selection.columns(profile)
    whole = profile.totals[TOTALS[selection]] if selection in TOTALS else sum(values)
    assert sum(int(row["size"]) for row in rows) == whole
    assert sum(spot.own_bytes for spot in spots) == whole
    assert tree.total[0][0] == whole
    blocks = sum(int(row["num_allocations"]) for row in rows)
    assert sum(spot.own_blocks for spot in spots) == blocks
    assert tree.total[1][0] == blocks
    assert all(spot.own_bytes <= spot.total_bytes <= whole for spot in spots)


@pytest.mark.parametrize("selection", Selection)
def test_every_place_of_the_table_is_what_the_rows_of_the_csv_say(
    profile: Profile, selection: Selection
) -> None:
    own: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for row in csv.DictReader(io.StringIO(render_csv(profile, CsvOptions(selection)))):
        stack = row["stack_trace"].split("|")
        own[stack[0]] += int(row["size"])
        for place in set(stack):
            total[place] += int(row["size"])
    for spot in hotspots(profile, selection):
        place = f"{spot.name};{spot.file};{spot.line}" if spot.file else ""
        assert (spot.own_bytes, spot.total_bytes) == (own[place], total[place])


def test_a_function_without_a_name_has_one_name_everywhere() -> None:
    builder = ProfileBuilder()
    builder.add(builder.stack([builder.frame("", "app.py", 3)]), 10)
    profile = builder.build()
    (row,) = csv.DictReader(io.StringIO(render_csv(profile, CsvOptions())))
    name = row["stack_trace"].split(";")[0]
    (spot,) = hotspots(profile, Selection.PEAK)
    tree = build_call_tree(profile, [Selection.PEAK.bytes_metric])
    data = json.loads(render_stats(profile, StatsOptions(json=True)))
    (place,) = data["top_allocations_by_size"]
    named = {name, spot.name, tree.places[-1].name, place["location"].split(":")[0]}
    assert named == {"<unknown>"}


def test_stats(profile: Profile) -> None:
    data = json.loads(render_stats(profile, StatsOptions(json=True)))
    assert data["peak_bytes"] == profile.totals["peak_bytes"]
    assert sum(data["allocator_bytes"].values()) == profile.totals["total_bytes"]
    assert sum(thread["peak_bytes"] for thread in data["threads"]) == data["peak_bytes"]
    assert sum(thread["leaked_bytes"] for thread in data["threads"]) == data["leaked_bytes"]
    assert sum(data["allocator_type_distribution"].values()) == data["total_num_allocations"]
