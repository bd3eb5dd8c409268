"""A capture can be read at any moment: while its program runs, and after it was killed."""

from __future__ import annotations

import signal
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from case_runs import COMMANDS, PYTHON_KINDS
from proftrace.model.load import load_profile
from proftrace.model.profile import Profile

THREADS = 3
STEP = 10_000_000
# Where threads run at the same time they are faster than the reader, and in the end the kernel has
# no more mappings for them.
MOST_BLOCKS = 1_000_000

# Thread k allocates k * STEP, k * STEP + 1, k * STEP + 2, ... bytes and frees most of them.
PROGRAM = f"""
import ctypes, threading

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]

def allocate(first):
    n = 0
    while True:
        block = libc.malloc(first + n)
        if n % 64:
            libc.free(block)
        n += 1
        if n == 500:
            print("ready", flush=True)

for k in range(1, {THREADS} + 1):
    threading.Thread(target=allocate, args=(k * {STEP},)).start()
"""


def check_prefixes(profile: Profile) -> int:
    """Assert that what is there of each thread is a prefix of what it did; return how much."""
    amounts: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
    samples, stacks, functions = profile.samples, profile.stacks, profile.functions
    for row, stack in enumerate(samples.stack):
        function = profile.frames.function[stacks.frame[stack]]
        if samples.allocator[row] in PYTHON_KINDS:
            continue
        if stack and profile.strings[functions.name[function]] == "allocate":
            n_bytes = samples.values["total_bytes"][row]
            if n_bytes >= STEP:
                amounts[samples.thread[row]][0] += n_bytes
                amounts[samples.thread[row]][1] += samples.values["total_blocks"][row]
    firsts = []
    for n_bytes, blocks in amounts.values():
        first, rest = divmod(n_bytes - blocks * (blocks - 1) // 2, blocks)
        assert rest == 0
        firsts.append(first)
    assert sorted(firsts) == [k * STEP for k in range(1, THREADS + 1)]
    return sum(blocks for _, blocks in amounts.values())


@pytest.fixture
def running(tmp_path: Path) -> subprocess.Popen[bytes]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [COMMANDS / "memtrace", "run", "-q", "-o", "capture.bin", "program.py"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE)
    assert process.stdout is not None
    for _ in range(THREADS):
        process.stdout.readline()
    return process


def test_every_read_is_a_prefix_and_the_last_one_too(
    tmp_path: Path, running: subprocess.Popen[bytes]
) -> None:
    capture = str(tmp_path / "capture.bin")
    read = 0
    try:
        for _ in range(12):
            profile = load_profile(capture)
            (warning,) = profile.warnings
            assert "were recovered" in warning
            now = check_prefixes(profile)
            assert now >= read
            read = now
            if read > MOST_BLOCKS:
                break
    finally:
        running.send_signal(signal.SIGKILL)
        running.communicate()
    profile = load_profile(capture)
    assert check_prefixes(profile) >= read
    (warning,) = profile.warnings
    assert "were recovered" in warning
