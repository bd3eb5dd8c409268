"""`memtrace run --aggregate` and `--ring`: small files that know as much as the whole."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from case_runs import ALL_OBJECTS, BUFFER, HAS_GIL, PYTHON_KINDS, memtrace
from proftrace.model.load import load_profile
from proftrace.model.profile import ALLOCATOR_NAMES, ARENA, MEMORY_METRICS, Profile

BY_CHANCE = {kind for kind in PYTHON_KINDS if ALL_OBJECTS and ALLOCATOR_NAMES[kind] != BUFFER}

# Makes, resizes, maps and frees in an order of its own, whatever it runs under.
WORK = (
    "import ctypes, mmap, os, threading\n"
    "c = ctypes.CDLL(None)\n"
    "c.malloc.restype, c.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]\n"
    "c.realloc.restype = ctypes.c_void_p\n"
    "c.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]\n"
    "c.free.argtypes = [ctypes.c_void_p]\n"
    "kept = []\n"
    "def make(size): return c.malloc(size)\n"
    "def resize(block, size): return c.realloc(block, size)\n"
    "def work(seed, n):\n"
    "    blocks = [None] * 700\n"
    "    maps = []\n"
    "    for i in range(n):\n"
    "        seed = (seed * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1\n"
    "        at, size = (seed >> 33) % 700, (seed >> 44) % 5000\n"
    "        if blocks[at] is None:\n"
    "            blocks[at] = make(size)\n"
    "        elif size % 5 == 0:\n"
    "            blocks[at] = resize(blocks[at], size + 1)\n"
    "        else:\n"
    "            c.free(blocks[at])\n"
    "            blocks[at] = None\n"
    "        if i % 5000 == 0:\n"
    "            maps.append(mmap.mmap(-1, 16384))\n"
    "            if len(maps) == 8:\n"
    "                maps.pop(0).close()\n"
    "    kept.append((blocks, maps))\n"
)
ONE_THREAD = WORK + "work(1, 200_000)\n"
# One after the other, so that the order is the program's; what they free is each other's.
THREADS = WORK + (
    "for k in range(4):\n"
    "    t = threading.Thread(target=work, args=(k, 40_000), name=f'worker {k}')\n"
    "    t.start()\n"
    "    t.join()\n"
    "    for block in kept[-1][0][::2]:\n"
    "        if block is not None:\n"
    "            c.free(block)\n"
)
AT_ONCE = WORK + (
    "threads = [threading.Thread(target=work, args=(k, 30_000)) for k in range(6)]\n"
    "[t.start() for t in threads]\n"
    "[t.join() for t in threads]\n"
)

type Sums = dict[tuple[str, ...], Counter[str]]


def run(folder: Path, text: str, *options: str, status: int = 0) -> Path:
    name = "-".join(["out", *options]).replace(" ", "")
    (folder / "program.py").write_text(text)
    words = ["run", "-f", "-q", "-o", f"{name}.bin", *options, "program.py"]
    done = memtrace(words, folder)
    assert (done.status, done.stderr) == (status, "")
    return folder / f"{name}.bin"


def sums(profile: Profile) -> Sums:
    """Return all values by stack, allocator and name of the thread, of what lines of the program
    ask for by themselves: no two runs agree on when an arena is full or a lock has to wait."""
    strings, functions, frames = profile.strings, profile.functions, profile.frames
    found: Sums = {}
    samples = profile.samples
    for row, top in enumerate(samples.stack):
        stack = top
        thread = strings[profile.threads.name[samples.thread[row]]]
        key = [str(samples.allocator[row]), thread]
        while stack:
            frame = profile.stacks.frame[stack]
            file = strings[functions.file[frames.function[frame]]]
            key.append(f"{os.path.basename(file)}:{frames.line[frame]}")
            stack = profile.stacks.parent[stack]
        if samples.allocator[row] == ARENA or not key[2:] or "program.py" not in key[2]:
            continue
        # How many objects the interpreter makes besides is chance, where they are recorded.
        if samples.allocator[row] in BY_CHANCE:
            continue
        values = found.setdefault(tuple(key), Counter())
        for metric in MEMORY_METRICS:
            values[metric.name] += samples.values[metric.name][row]
    return found


def assert_same(bounded: Profile, whole: Profile) -> None:
    assert bounded.warnings == ()
    assert sums(bounded) == sums(whole)
    assert sums(whole)


# ---- the same numbers ---------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [["--aggregate"], ["--ring", "256 KiB"], ["--ring", "1 MB"]])
@pytest.mark.parametrize("program", [ONE_THREAD, THREADS], ids=["one thread", "threads"])
def test_sums_are_those_of_a_whole_capture(tmp_path: Path, program: str, mode: list[str]) -> None:
    whole = load_profile(str(run(tmp_path, program)))
    path = run(tmp_path, program, *mode)
    bounded = load_profile(str(path))
    assert_same(bounded, whole)
    assert bounded.kept == mode[0][2:]
    assert os.listdir(tmp_path).count(f"{path.name}.ring") == 0


def test_objects_of_python_are_summed_too(tmp_path: Path) -> None:
    program = (
        "def make(n):\n"
        "    return [str(i) * 3 for i in range(n)]\n"
        "kept = make(50_000)\n"
        "del kept[::2]\n"
        "more = [make(1000) for _ in range(30)]\n"
    )
    whole = load_profile(str(run(tmp_path, program, "--trace-python-allocators")))
    bounded = load_profile(str(run(tmp_path, program, "--trace-python-allocators", "--aggregate")))
    assert_same(bounded, whole)
    assert bounded.python_heap is not None
    assert whole.python_heap is not None
    assert bounded.python_heap.domains["obj"][1] > 80_000
    # Where the blocks lie, and so whether the last arena is empty again, differs between runs.
    ends = bounded.python_heap.end.arenas, whole.python_heap.end.arenas
    assert min(ends) >= 2 if HAS_GIL else ends == (0, 0)
    assert max(ends) - min(ends) <= 1


def test_threads_that_run_at_once_add_up(tmp_path: Path) -> None:
    whole = load_profile(str(run(tmp_path, AT_ONCE)))
    bounded = load_profile(str(run(tmp_path, AT_ONCE, "--aggregate")))
    for name in "total_bytes", "total_blocks", "leaked_bytes", "leaked_blocks":
        assert sum(values[name] for values in sums(bounded).values()) == sum(
            values[name] for values in sums(whole).values()
        )
    assert bounded.totals["peak_bytes"] >= bounded.totals["leaked_bytes"]
    assert sum(bounded.samples.values["peak_bytes"]) == bounded.totals["peak_bytes"]


@pytest.mark.parametrize("mode", [["--aggregate"], ["--ring", "256 KiB"]])
def test_a_kill_loses_nothing(tmp_path: Path, mode: list[str]) -> None:
    program = ONE_THREAD + "os.kill(os.getpid(), 9)\n"
    whole = load_profile(str(run(tmp_path, program, status=-signal.SIGKILL)))
    path = run(tmp_path, program, *mode, status=-signal.SIGKILL)
    bounded = load_profile(str(path))
    assert sums(bounded) == sums(whole)
    assert "were recovered" in bounded.warnings[0]
    # What the ring still held goes with it into a copy.
    assert memtrace(["merge", "-o", "copy.bin", str(path)], tmp_path).status == 0
    assert sums(load_profile(str(tmp_path / "copy.bin"))) == sums(whole)


def test_a_kill_after_a_checkpoint_loses_nothing(tmp_path: Path) -> None:
    program = WORK + "".join(
        f"work({k}, 60_000)\n__import__('time').sleep({wait})\n"
        for k, wait in enumerate((2.7, 2.7, 0, 0))
    )
    program += "os.kill(os.getpid(), 9)\n"
    whole = load_profile(str(run(tmp_path, program, status=-signal.SIGKILL)))
    path = run(tmp_path, program, "--aggregate", status=-signal.SIGKILL)
    bounded = load_profile(str(path))
    assert sums(bounded) == sums(whole)
    # Most of it is in the checkpoint.
    assert bounded.header["n_events_kept"] < bounded.header["n_events"] * 3 // 4
    # Looks at the size of the process are events too, and come by the clock.
    assert bounded.header["n_events"] == pytest.approx(whole.header["n_events"], rel=0.02)


def test_an_exec_and_a_child_keep_what_there_was(tmp_path: Path) -> None:
    program = ONE_THREAD + (
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    work(5, 100_000)\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "os.execv('/bin/true', ['true'])\n"
    )
    whole = run(tmp_path, program, "--follow-fork")
    path = run(tmp_path, program, "--follow-fork", "--aggregate")
    assert sums(load_profile(str(path))) == sums(load_profile(str(whole)))
    (child,) = tmp_path.glob("out---follow-fork---aggregate.bin.*")
    (whole_child,) = tmp_path.glob("out---follow-fork.bin.*")
    assert load_profile(str(child)).kept == "aggregate"
    assert sums(load_profile(str(child))) == sums(load_profile(str(whole_child)))


def test_samples_may_be_summed(tmp_path: Path) -> None:
    profile = load_profile(str(run(tmp_path, ONE_THREAD, "--aggregate", "--sample", "4 KiB")))
    whole = load_profile(str(run(tmp_path, ONE_THREAD)))
    assert (profile.kept, profile.sample_bytes) == ("aggregate", 4096)
    ratio = profile.totals["total_bytes"] / whole.totals["total_bytes"]
    assert abs(ratio - 1) < 0.1


# ---- the size of the file -----------------------------------------------------------------------

# A million events that do not pack well, in 2 million bytes or more.
MUCH = WORK + "work(3, 700_000)\n"


def test_the_file_stays_small(tmp_path: Path) -> None:
    whole = run(tmp_path, MUCH)
    aggregate = run(tmp_path, MUCH, "--aggregate")
    ring = run(tmp_path, MUCH, "--ring", "300 kB")
    assert whole.stat().st_size > 1_500_000
    # Without a GIL every object of the interpreter's own start has a row too.
    assert aggregate.stat().st_size < (20_000 if HAS_GIL else 60_000)
    assert 300_000 < ring.stat().st_size < (700_000 if HAS_GIL else 1_000_000)
    events = load_profile(str(ring)).header
    assert 50_000 < events["n_events_kept"] < events["n_events"] // 2
    assert load_profile(str(aggregate)).header["n_events_kept"] == 0


def test_a_file_without_much_is_whole(tmp_path: Path) -> None:
    profile = load_profile(str(run(tmp_path, "x = bytearray(5_000_000)\n", "--ring", "10 MB")))
    assert profile.header["n_events_kept"] == profile.header["n_events"] > 0
    assert profile.totals["leaked_bytes"] > 5_000_000


# ---- what is said -------------------------------------------------------------------------------


def test_reports_take_it_and_stats_says_what_it_is(tmp_path: Path) -> None:
    path = run(tmp_path, ONE_THREAD, "--aggregate")
    for words in (
        ["summary", path.name],
        ["flamegraph", "-o", "-", path.name],
        ["flamegraph", "--leaks", "-o", "-", path.name],
        ["transform", "csv", "-o", "-", path.name],
    ):
        done = memtrace(words, tmp_path)
        assert done.status == 0, done.stderr
        assert "work" in done.stdout
    stats = memtrace(["stats", path.name], tmp_path).stdout
    assert "sums by place only (--aggregate): no moments but the peak and the end" in stats
    numbers = json.loads(memtrace(["stats", "--json", path.name], tmp_path).stdout)
    assert numbers["events_kept"] == "aggregate"
    assert numbers["num_events_kept"] == 0
    assert numbers["num_events"] > 200_000
    assert path.read_bytes()[10] == 4, "readers of version 3 must not take it for the whole"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--aggregate", "--ring", "1 MB"], "choose one of them"),
        (["--ring", "0"], "has to be above 0"),
        (["--ring", "-1 MB"], "is not a size"),
        (["--ring", "lots"], "is not a size"),
        (["--ring", "10 kB"], "256.0 KiB at least"),
        (["--ring"], "expected one argument"),
    ],
)
def test_what_makes_no_sense_is_one_line(tmp_path: Path, words: list[str], problem: str) -> None:
    (tmp_path / "program.py").write_text("open('ran', 'w')\n")
    done = memtrace(["run", *words, "program.py"] if words != ["--ring"] else ["run", "--ring"],
                    tmp_path)  # fmt: skip
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert problem in done.stderr
    assert os.listdir(tmp_path) == ["program.py"]
