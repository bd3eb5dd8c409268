"""From a running program to the page: the graph holds the bytes that the other reports hold."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

from browser_page import OpenPage
from proftrace.model.load import load_profile
from proftrace.render.flamegraph import FlamegraphOptions

# Ten levels of recursion, each with a large block; half are freed before the end.
PROGRAM = """
def walk(level, held):
    held.append(bytearray(1_000_002))
    if level > 1:
        walk(level - 1, held)

held = []
walk(10, held)
del held[5:]
"""


SIZE = 1_000_003


def memtrace(*words: str | Path) -> str:
    """Run a command of memtrace; Python takes each object from malloc, so that no arena of
    pymalloc, which is a million bytes too, lands somewhere by chance."""
    command = [sys.executable, "-m", "proftrace.cli.memtrace", *map(str, words)]
    variables = os.environ | {"PYTHONMALLOC": "malloc"}
    run = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
    return run.stdout


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "walker.py").write_text(PROGRAM)
    memtrace("run", "-q", "-o", folder / "walker.bin", folder / "walker.py")
    return folder / "walker.bin"


@pytest.mark.parametrize("leaks", [False, True], ids=["peak", "leaks"])
def test_the_page_holds_the_bytes_of_the_csv(
    open_page: OpenPage, capture: Path, *, leaks: bool
) -> None:
    opened = open_page(load_profile(str(capture)), FlamegraphOptions(leaks=leaks))
    table = memtrace("transform", "csv", "-o", "-", *(["--leaks"] if leaks else []), capture)
    rows = list(csv.DictReader(table.splitlines()))
    sums = [sum(int(row[key]) for row in rows) for key in ("size", "num_allocations")]
    assert opened.state("totals") == sums
    in_walk = [row for row in rows if f"walk;{capture.with_suffix('.py')};" in row["stack_trace"]]
    opened.search(r"^walk .*walker\.py:")
    found = opened.state("search.sums[0]")
    assert found == sum(int(row["size"]) for row in in_walk)
    assert 0 <= found - (5 if leaks else 10) * SIZE < 10_000
    assert opened.text("h1").endswith("walker.py")


def test_each_level_of_the_recursion_is_a_frame_of_its_own(
    open_page: OpenPage, capture: Path
) -> None:
    opened = open_page(load_profile(str(capture)), height=900)
    calls = [r for r in opened.state("rects") if (r["name"], r["line"]) == ("walk", 5)]
    assert [rect["row"] for rect in calls] == list(range(2, 11))
    for levels_below, rect in zip(range(9, 0, -1), calls, strict=True):
        assert 0 <= rect["values"][0] - levels_below * SIZE < 10_000
