"""Programs that bring an allocator of their own by LD_PRELOAD: it stays in use, and is recorded."""

from __future__ import annotations

import ctypes.util
import os
from pathlib import Path

import pytest

from case_runs import csv_rows, memtrace, plain
from proftrace.model.load import load_profile

# tools/dev/system.py installs them.
ALLOCATORS = ("jemalloc", "tcmalloc_minimal", "mimalloc")

PROGRAM = """
import ctypes, os, sys, threading, warnings
warnings.simplefilter("ignore")  # of a fork while threads end
maps = open("/proc/self/maps").read()
print(sys.argv[1] in maps, os.environ["LD_PRELOAD"])
libc = ctypes.CDLL(None)
pointer, size = ctypes.c_void_p, ctypes.c_size_t
for name, arguments in {"malloc": [size], "calloc": [size, size], "realloc": [pointer, size],
                        "free": [pointer], "memalign": [size, size], "valloc": [size]}.items():
    function = getattr(libc, name)
    function.restype, function.argtypes = (None if name == "free" else pointer), arguments
def work(k):
    for i in range(200):
        block = libc.realloc(libc.malloc(200_000 + k), 300_000 + k)
        libc.free(block)
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
keep = [libc.malloc(1_111_111), libc.calloc(3, 700_001), libc.memalign(4096, 1_300_001),
        libc.valloc(1_500_001)]
print(libc.realloc(keep[0], 1 << 62))
pid = os.fork()
if pid == 0:
    libc.malloc(5_000_005)
    os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def library_of(name: str) -> str:
    found = ctypes.util.find_library(name)
    assert found is not None, f"lib{name} is not installed"
    return found


@pytest.mark.parametrize("name", ALLOCATORS)
def test_a_preloaded_allocator_is_used_and_recorded(tmp_path: Path, name: str) -> None:
    script = tmp_path / "app.py"
    script.write_text(PROGRAM)
    library = library_of(name)
    env = {"LD_PRELOAD": library}
    before = plain(["app.py", name], tmp_path, env)
    assert before.stdout == f"True {library}\nNone\n3\n", before.stderr
    result = memtrace(
        ["run", "-q", "--follow-fork", "-o", "out.bin", "app.py", name], tmp_path, env
    )
    assert (result.status, result.stdout, result.stderr) == (0, before.stdout, "")
    assert list(load_profile(str(tmp_path / "out.bin")).warnings) == []
    rows = [row for row in csv_rows(tmp_path / "out.bin", "--all") if row.stack]
    work = sorted(
        (row.allocator, row.blocks, row.size) for row in rows if row.stack[0][0] == "work"
    )
    big = [row for row in work if row[2] > 1_000_000]
    assert big == sorted(
        [("MALLOC", 200, 200 * (200_000 + k)) for k in range(4)]
        + [("REALLOC", 200, 200 * (300_000 + k)) for k in range(4)]
    )
    leaks = csv_rows(tmp_path / "out.bin", "--leaks")
    assert sorted((row.allocator, row.size) for row in leaks if row.size > 1_050_000) == [
        ("CALLOC", 2_100_003),
        ("MALLOC", 1_111_111),
        ("MEMALIGN", 1_300_001),
        ("VALLOC", 1_500_001),
    ]
    (child,) = (entry for entry in os.listdir(tmp_path) if entry.startswith("out.bin."))
    sizes = [row.size for row in csv_rows(tmp_path / child, "--leaks")]
    assert 5_000_005 in sizes
