"""Programs that bring an allocator of their own by LD_PRELOAD: it stays in use, and is recorded."""

from __future__ import annotations

import ctypes.util
import os
from pathlib import Path

import pytest

from case_runs import Row, csv_rows, memtrace, plain
from native_programs import build
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


# ---- operators of C++, which these allocators bring themselves ----------------------------------

SIZE_OF_STRING = 32  # std::string of libstdc++ with its own buffer, 64 bits
# What make_0 to make_7 make, drop_0 to drop_11 give back.
MAKER_OF_DROP = (0, 1, 2, 3, 0, 1, 4, 5, 6, 7, 4, 5)
OPERATORS = """
import ctypes, os, sys, threading
lib = ctypes.CDLL(sys.argv[1])
size, pointer = ctypes.c_size_t, ctypes.c_void_p
makes, drops = ([getattr(lib, f"{name}_{k}") for k in range(n)] for name, n in
                (("make", 8), ("drop", 12)))
for make in makes: make.restype, make.argtypes = pointer, [size]
for drop in drops: drop.restype, drop.argtypes = None, [pointer, size]
def all_of_them():
    for k, drop in enumerate(drops):
        drop(makes[MAKERS[k]](5_000_000 + 64 * k), 5_000_000 + 64 * k)
keep = [make(7_000_000 + 64 * k) for k, make in enumerate(makes)]
threads = [threading.Thread(target=all_of_them) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
lib.throws.argtypes = [size]
def deeper(n): return deeper(n - 1) if n else makes[0](3_000_000)
if sys.argv[2] != "mimalloc":  # that of Debian is built without exceptions, and ends the program
    for n in range(100):
        assert lib.throws(1 << 60) == 1
    assert makes[2](1 << 60) is None
keep.append(deeper(50))
lib.texts.argtypes = [size, size]
print(lib.texts(1000, 4321))
lib.drop_0(None, 0)
"""


def names(row: Row) -> list[str]:
    return [name for name, _, _ in row.stack]


def kinds_of(maker: int, allocator: str | None) -> set[str]:
    """What the operator is recorded as: the standard library's comes down to what it likes."""
    if maker < 4:
        return {"MALLOC"}
    return {"ALIGNED_ALLOC"} if allocator else {"ALIGNED_ALLOC", "POSIX_MEMALIGN"}


@pytest.mark.parametrize("name", [None, *ALLOCATORS])
def test_operators_of_cpp_are_recorded(tmp_path: Path, name: str | None) -> None:
    """One event each, whether they come down to malloc or belong to the allocator."""
    build("operators.cpp", tmp_path / "operators.so", "-O1", "-fsized-deallocation")
    program = f"MAKERS = {MAKER_OF_DROP}\n{OPERATORS}"
    words = ["-c", program, str(tmp_path / "operators.so"), str(name)]
    env = {"LD_PRELOAD": library_of(name)} if name else {}
    done = memtrace(["run", "-q", "--native", "-o", "out.bin", *words], tmp_path, env)
    assert (done.status, done.stdout, done.stderr) == (0, "1000\n", "")
    capture = tmp_path / "out.bin"
    assert list(load_profile(str(capture)).warnings) == []
    rows = csv_rows(capture, "--all")
    for maker in range(8):
        made = [
            row for row in rows if ("all_of_them" in names(row) and f"make_{maker}" in names(row))
        ]
        sizes = [5_000_000 + 64 * k for k in range(12) if MAKER_OF_DROP[k] == maker]
        (kind,) = {row.allocator for row in made}
        assert kind in kinds_of(maker, name)
        assert sum(row.blocks for row in made) == 3 * len(sizes)
        assert sum(row.size for row in made) == 3 * sum(sizes)
    texts = [row for row in rows if "texts" in names(row)]
    assert sum(row.blocks for row in texts) == 1 + 1000, "a vector and its texts"
    assert sum(row.size for row in texts) == 1000 * SIZE_OF_STRING + 1000 * 4322
    leaks = {row.size: row for row in csv_rows(capture, "--leaks") if row.size > 2_900_000}
    assert sorted(leaks) == [3_000_000, *(7_000_000 + 64 * k for k in range(8))]
    # The allocator's operator is no more on the stack than its malloc is.
    for k in range(8) if name else ():
        assert leaks[7_000_000 + 64 * k].stack[0][0] == f"make_{k}"
