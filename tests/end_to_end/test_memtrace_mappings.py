"""Mappings that are cut, replaced, moved and resized are accounted to the page."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from case_runs import PYTHON_KINDS
from proftrace.model.load import load_profile

PROGRAM = Path(__file__).parents[1] / "programs" / "mappings.py"
SITES = ("map", "move", "resize", "reserve")


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("options", [[], ["--aggregate"], ["--ring", "256 KiB"]], ids=str)
def test_every_page_is_its_last_owners(tmp_path: Path, options: list[str], seed: int) -> None:
    path = tmp_path / "a.bin"
    command = [sys.executable, "-m", "proftrace.cli.memtrace", "run", "-q", *options]
    run = [*command, "-o", str(path), str(PROGRAM), str(seed)]
    done = subprocess.run(run, check=True, capture_output=True, text=True, timeout=200)
    truth = json.loads(done.stdout)
    profile = load_profile(str(path))
    sums: dict[str, Counter[str]] = {}
    for metric in ("leaked_bytes", "total_bytes", "peak_bytes"):
        sums[metric] = Counter()
        samples = profile.samples
        rows = zip(samples.stack, samples.allocator, samples.values[metric], strict=True)
        for stack, allocator, value in rows:
            function = profile.frames.function[profile.stacks.frame[stack]] if stack else -1
            name = profile.strings[profile.functions.name[function]] if stack else ""
            if name.rstrip("0123456789") in SITES and value and allocator not in PYTHON_KINDS:
                sums[metric][name] += value
    assert sums["leaked_bytes"] == Counter(truth["held"])
    assert sums["total_bytes"] == Counter(truth["asked"])
    assert sum(sums["peak_bytes"].values()) == truth["peak"]
