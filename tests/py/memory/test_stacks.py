"""Stacks of recorded blocks against what `sys._getframe` said at the same moment."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from case_runs import bytearray_bytes
from proftrace.model.load import load_profile
from proftrace.model.profile import Profile

PROGRAMS = Path(__file__).parents[2] / "programs"
MEMTRACE_RUN = [sys.executable, "-m", "proftrace.cli.memtrace", "run", "-q", "-f"]

Stack = tuple[tuple[str, int], ...]


def record(tmp_path: Path, *target: str) -> Profile:
    """Run a program under memtrace, which has to succeed, and load the capture."""
    path = tmp_path / "capture.bin"
    subprocess.run([*MEMTRACE_RUN, "-o", str(path), *target], check=True, timeout=200)
    profile = load_profile(str(path))
    assert profile.warnings == ()
    return profile


def stack_of(profile: Profile, row: int) -> Stack:
    """Return a stack, outermost frame first."""
    frames = []
    while row:
        frame = profile.stacks.frame[row]
        function = profile.frames.function[frame]
        name = profile.strings[profile.functions.qualname[function]]
        frames.append((name, profile.frames.line[frame]))
        row = profile.stacks.parent[row]
    return tuple(reversed(frames))


def block_stacks(profile: Profile, smallest: int = 0) -> dict[Stack, tuple[int, int]]:
    """Return (blocks, bytes) allocated in all with each stack; `smallest` is in bytes."""
    totals: dict[Stack, tuple[int, int]] = {}
    for row in range(len(profile.samples)):
        added = profile.samples.values["total_bytes"][row]
        if added < smallest:
            continue
        stack = stack_of(profile, profile.samples.stack[row])
        blocks, size = totals.get(stack, (0, 0))
        totals[stack] = (blocks + profile.samples.values["total_blocks"][row], size + added)
    return totals


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Profile, dict[int, Stack]]:
    folder = tmp_path_factory.mktemp("stacks")
    profile = record(folder, str(PROGRAMS / "stacks.py"), str(folder / "truth.json"))
    truth = json.loads((folder / "truth.json").read_text())
    return profile, {
        int(size): tuple((name, line) for name, line in stack) for size, stack in truth.items()
    }


def test_every_block_has_the_stack_that_python_shows(
    recorded: tuple[Profile, dict[int, Stack]],
) -> None:
    profile, truth = recorded
    wanted: dict[Stack, tuple[int, int]] = {}
    for size, stack in truth.items():
        blocks, total = wanted.get(stack, (0, 0))
        wanted[stack] = (blocks + 1, total + size)
    assert len(truth) > 1500
    got = block_stacks(profile)
    wrong = []
    for stack, (blocks, total) in wanted.items():
        # Others allocate there too (ctypes, and all objects in builds without the GIL), but
        # nothing comes near the size of these blocks.
        got_blocks, got_total = got.get(stack, (0, 0))
        if got_blocks < blocks or not total <= got_total < total + 100_000 + 1000 * blocks:
            wrong.append((stack[-3:], (blocks, total), (got_blocks, got_total)))
    assert not wrong


def test_no_stack_holds_a_frame_of_ours(recorded: tuple[Profile, dict[int, Stack]]) -> None:
    profile, _ = recorded
    files = {profile.strings[file] for file in profile.functions.file}
    # The program itself imports the extension module, which has no frames.
    assert not [file for file in files if "proftrace/run" in file or "proftrace/memory" in file]
    assert not [file for file in files if file.endswith("sitecustomize.py")]


DEEP = """
import ctypes, sys, threading
malloc = ctypes.PyDLL(None).malloc
malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
def dig(n):
    if n % 10000 == 0:
        malloc(300_000 + n)
    if n:
        dig(n - 1)
sys.setrecursionlimit(100_000)
threading.stack_size(512 << 20)
thread = threading.Thread(target=dig, args=(30_000,))
thread.start()
thread.join()
"""


def test_stacks_are_not_cut_at_any_depth(tmp_path: Path) -> None:
    profile = record(tmp_path, "-c", DEEP)
    depths = {len(stack) for stack in block_stacks(profile, smallest=300_000)}
    # _bootstrap, _bootstrap_inner, run, then dig once and once more a level.
    assert {4, 10_004, 20_004, 30_004} <= depths


THREADS_OF_C = """
import ctypes
libc = ctypes.CDLL(None)
malloc = ctypes.cast(libc.malloc, ctypes.c_void_p)
thread = ctypes.c_ulong()
libc.pthread_create(ctypes.byref(thread), None, malloc, ctypes.c_void_p(345_678))
libc.pthread_join(thread, None)
"""


def test_a_thread_without_python_has_the_empty_stack(tmp_path: Path) -> None:
    profile = record(tmp_path, "-c", THREADS_OF_C)
    assert block_stacks(profile)[()][1] >= 345_678


EMPTY_LINES = "\n" * 3 + "x = bytearray(654_320)\n"


def test_the_first_statement_of_a_script_is_recorded(tmp_path: Path) -> None:
    script = tmp_path / "first.py"
    script.write_text(EMPTY_LINES)
    profile = record(tmp_path, str(script))
    blocks, size = block_stacks(profile)[(("<module>", 4),)]
    assert blocks >= 1 and 0 <= size - bytearray_bytes(654_320) < 1000


COMPILED_AGAIN = """
import ctypes
malloc = ctypes.PyDLL(None).malloc
malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
def run(text):
    exec(compile(text, "<cell>", "exec"), {"malloc": malloc})
run("malloc(1_000_001)")
run("\\n" * 9 + "malloc(1_000_010)")
for line in 2, 5, 7, 400:
    run("def f():\\n" + "\\n" * (line - 2) + f"    malloc({line} + 1_000_100)\\nf()")
"""


def test_code_that_is_compiled_again_has_lines_of_its_own(tmp_path: Path) -> None:
    # Same name, same file, same first line, same instructions: only their lines are others.
    (tmp_path / "again.py").write_text(COMPILED_AGAIN)
    profile = record(tmp_path, str(tmp_path / "again.py"))
    innermost = {stack[-1] for stack in block_stacks(profile, smallest=1_000_000) if len(stack) > 1}
    cells = {("<module>", 1), ("<module>", 10)}
    assert innermost == cells | {("f", line) for line in (2, 5, 7, 400)}
