"""`memtrace run --sample`: estimates that are right on average, and that say what they are."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
from pathlib import Path

import pytest

from case_runs import HAS_GIL, PYTHON_KINDS, memtrace
from proftrace.model.load import load_profile
from proftrace.model.profile import ARENA, Profile

KIB, MIB = 1 << 10, 1 << 20
DISTANCE = 16 * KIB
C_MALLOC = (
    "import ctypes\n"
    "c = ctypes.CDLL(None)\n"
    "c.malloc.restype, c.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]\n"
    "c.realloc.restype = ctypes.c_void_p\n"
    "c.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]\n"
    "c.free.argtypes = [ctypes.c_void_p]\n"
)
# Fifty places that allocate the same; each is an experiment of its own.
PLACES, SIZES = 50, (24, 400, 5_000, 70_000)
BLOCKS = {24: 4000, 400: 1000, 5_000: 100, 70_000: 10}
EXPERIMENTS = C_MALLOC + (
    "kept = []\n"
    f"for place in range({PLACES}):\n"
    f"    for size, n in {list(BLOCKS.items())}:\n"
    "        name = f'place_{place}_{size}'\n"
    "        scope = {'malloc': c.malloc}\n"
    "        text = f'def {name}(out):\\n for i in range(len(out)): out[i] = malloc({size})'\n"
    "        exec(text, scope)\n"
    "        kept.append([None] * n)\n"
    "        scope[name](kept[-1])\n"
    "for blocks in kept:\n"
    "    for block in blocks[::2]:\n"
    "        c.free(block)\n"
)


def run(folder: Path, text: str, *options: str) -> Profile:
    script = folder / "program.py"
    script.write_text(text)
    done = memtrace(["run", "-f", "-q", "-o", "out.bin", *options, str(script)], folder)
    assert (done.status, done.stderr) == (0, "")
    return load_profile(str(folder / "out.bin"))


def sums(profile: Profile, metric: str, without: set[int] = PYTHON_KINDS) -> dict[str, int]:
    """Return the values by the name of the innermost function, without what Python's allocators
    do: arenas, and objects, which are recorded where there is no GIL."""
    found: dict[str, int] = {}
    functions, frames = profile.functions, profile.frames
    names = [profile.strings[functions.name[function]] for function in frames.function]
    samples = profile.samples
    columns = zip(samples.stack, samples.allocator, samples.values[metric], strict=True)
    for stack, allocator, value in columns:
        name = names[profile.stacks.frame[stack]] if stack else ""
        found[name] = found.get(name, 0) + (0 if allocator in without else value)
    return found


@pytest.fixture(scope="module")
def experiments(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    folder = tmp_path_factory.mktemp("experiments")
    return run(folder, EXPERIMENTS, "--sample", f"{DISTANCE} B")


def deviation_of_mean(size: int, blocks: int) -> float:
    """Return one standard deviation of the mean estimate of blocks, as a share of the truth."""
    taken = -math.expm1(-size / DISTANCE)
    return math.sqrt(blocks * (1 - taken) / taken) / blocks / math.sqrt(PLACES)


@pytest.mark.parametrize("size", SIZES)
def test_estimates_are_right_on_average(experiments: Profile, size: int) -> None:
    blocks, n_bytes = sums(experiments, "total_blocks"), sums(experiments, "total_bytes")
    leaked = sums(experiments, "leaked_blocks")
    names = [f"place_{place}_{size}" for place in range(PLACES)]
    truth = BLOCKS[size]
    sigma = deviation_of_mean(size, truth)
    mean = sum(blocks.get(name, 0) for name in names) / PLACES
    assert abs(mean / truth - 1) < 5 * sigma + 1 / truth
    mean_bytes = sum(n_bytes.get(name, 0) for name in names) / PLACES
    assert abs(mean_bytes / (truth * size) - 1) < 5 * sigma + 1 / truth
    left = sum(leaked.get(name, 0) for name in names) / PLACES
    assert abs(left / (truth / 2) - 1) < 8 * sigma + 2 / truth


def error_of_the_whole(profile: Profile) -> float:
    """Return by which share of the truth the bytes of all experiments are off."""
    truth = PLACES * sum(size * n for size, n in BLOCKS.items())
    found = sum(
        value for name, value in sums(profile, "total_bytes").items() if name[:6] == "place_"
    )
    return abs(found / truth - 1)


def test_the_whole_is_estimated_as_well_as_its_distance_allows(experiments: Profile) -> None:
    assert error_of_the_whole(experiments) < 0.053  # five standard deviations


def test_the_whole_is_estimated_within_two_percent(tmp_path: Path) -> None:
    # Seven standard deviations.
    assert error_of_the_whole(run(tmp_path, EXPERIMENTS, "--sample", "2 KiB")) < 0.02


def test_what_is_freed_is_never_left_over(tmp_path: Path) -> None:
    program = C_MALLOC + (
        "import threading\n"
        "def churn():\n"
        "    for i in range(20000):\n"
        "        block = c.realloc(c.malloc(i % 700), i % 5000 + 1)\n"
        "        c.free(block)\n"
        "threads = [threading.Thread(target=churn) for _ in range(3)]\n"
        "[t.start() for t in threads]\n"
        "[t.join() for t in threads]\n"
        "blocks = [None] * 2000\n"
        "def fill():\n"
        "    for i in range(2000):\n"
        "        blocks[i] = c.malloc(3000)\n"
        "fill()\n"
        "def free_all():\n"
        "    for block in blocks:\n"
        "        c.free(block)\n"
        "t = threading.Thread(target=free_all)\n"  # by another thread than the one that allocated
        "t.start()\n"
        "t.join()\n"
    )
    profile = run(tmp_path, program, "--sample", "2 KiB")
    assert sums(profile, "total_blocks")["churn"] > 60_000
    assert sums(profile, "leaked_blocks").get("churn", 0) == 0
    assert abs(sums(profile, "total_blocks")["fill"] / 2000 - 1) < 0.2
    assert sums(profile, "leaked_blocks")["fill"] == 0


def test_a_realloc_that_fails_leaves_its_block(tmp_path: Path) -> None:
    program = C_MALLOC + (
        "def keep():\n"
        "    for _ in range(500):\n"
        "        assert c.realloc(c.malloc(4000), 1 << 62) is None\n"
        "keep()\n"
    )
    profile = run(tmp_path, program, "--sample", "1 KiB")
    kept = sums(profile, "leaked_blocks")["keep"]
    assert kept == sums(profile, "total_blocks")["keep"]
    assert abs(kept / 500 - 1) < 0.05


def test_a_distance_of_one_byte_is_every_allocation(tmp_path: Path) -> None:
    program = C_MALLOC + "def many():\n for i in range(300):\n  c.malloc(1000 + i)\nmany()\n"
    profile = run(tmp_path, program, "--sample", "1")
    assert sums(profile, "total_blocks")["many"] == 300
    assert sums(profile, "total_bytes")["many"] == sum(1000 + i for i in range(300))


def test_mappings_are_all_recorded_with_their_size(tmp_path: Path) -> None:
    program = (
        "import mmap\ndef some():\n return [mmap.mmap(-1, 8192) for _ in range(100)]\nx = some()"
    )
    profile = run(tmp_path, program, "--sample", "1 GiB")
    assert sums(profile, "leaked_bytes")["some"] == 100 * 8192
    assert sums(profile, "leaked_blocks")["some"] == 100


def test_objects_of_python_are_sampled_too(tmp_path: Path) -> None:
    program = "def make():\n return [bytes(100) for _ in range(50_000)]\nx = make()\n"
    profile = run(tmp_path, program, "--sample", "4 KiB", "--trace-python-allocators")
    truth = 50_000 * sys.getsizeof(bytes(100))
    assert abs(sums(profile, "leaked_bytes", {ARENA})["make"] / truth - 1) < 0.2
    assert profile.python_heap is not None
    used = truth if HAS_GIL else 0  # which counts what lies in pymalloc's arenas
    assert abs(profile.python_heap.end.used_bytes - used) <= 0.3 * used


def test_children_that_fork_are_sampled_on_their_own(tmp_path: Path) -> None:
    program = C_MALLOC + (
        "import os\n"
        "def early(): return [c.malloc(5000) for _ in range(400)]\n"
        "def late(): return [c.malloc(5000) for _ in range(400)]\n"
        "x = early()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    [c.free(block) for block in x]\n"
        "    y = late()\n"
        "else:\n"
        "    os.waitpid(pid, 0)\n"
    )
    parent = run(tmp_path, program, "--sample", "1 KiB", "--follow-fork")
    child_path = next(path for path in tmp_path.iterdir() if path.name.startswith("out.bin."))
    child = load_profile(str(child_path))
    assert "late" not in sums(parent, "total_blocks")
    assert child.sample_bytes == KIB
    assert "early" not in sums(child, "total_blocks")
    assert abs(sums(child, "leaked_blocks")["late"] / 400 - 1) < 0.05


# ---- what reports say ---------------------------------------------------------------------------


def test_every_report_says_that_it_shows_estimates(tmp_path: Path) -> None:
    run(tmp_path, EXPERIMENTS, "--sample", "16 KiB")
    summary = memtrace(["summary", "out.bin"], tmp_path).stdout
    assert "sampled, one allocation about every 16.0 KiB: all numbers are estimates" in summary
    assert "peak ~" in summary
    stats = memtrace(["stats", "out.bin"], tmp_path).stdout
    assert stats.startswith("Estimates:\n    sampled, one allocation about every 16.0 KiB")
    numbers = json.loads(memtrace(["stats", "--json", "out.bin"], tmp_path).stdout)
    assert (numbers["estimated"], numbers["sample_bytes"]) == (True, 16 * KIB)
    page = memtrace(["flamegraph", "-o", "-", "out.bin"], tmp_path).stdout
    assert "all numbers are estimates" in page
    table = memtrace(["transform", "csv", "-o", "-", "out.bin"], tmp_path).stdout
    rows = list(csv.DictReader(io.StringIO(table)))
    assert rows
    assert {row["sample_bytes"] for row in rows} == {str(16 * KIB)}


def test_a_full_capture_says_nothing_of_it(tmp_path: Path) -> None:
    assert run(tmp_path, "x = bytearray(100_000)\n").sample_bytes == 0
    assert "estimate" not in memtrace(["summary", "out.bin"], tmp_path).stdout
    numbers = json.loads(memtrace(["stats", "--json", "out.bin"], tmp_path).stdout)
    assert (numbers["estimated"], numbers["sample_bytes"]) == (False, 0)
    header = (tmp_path / "out.bin").read_bytes()[:80]
    assert header[10] == 4 and header[72:] == bytes(8), "events stand for themselves"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("-5", "is not a size"),
        ("0", "has to be above 0"),
        ("0.2 B", "has to be above 0"),
        ("many", "is not a size"),
        ("12 parsecs", "is not a size"),
        ("2 GiB", "1.0 GiB at most"),
        ("", "is not a size"),
    ],
)
def test_a_size_that_makes_no_sense_is_one_line(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "program.py").write_text("open('ran', 'w')\n")
    done = memtrace(["run", "--sample", text, "program.py"], tmp_path)
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert problem in done.stderr
    assert os.listdir(tmp_path) == ["program.py"]
