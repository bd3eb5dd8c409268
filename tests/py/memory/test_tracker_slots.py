"""The hooks in the tables of a running program: which calls they see, and what they leave."""

from __future__ import annotations

import os
import platform
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from case_runs import bytearray_bytes
from slot_programs import LINKED, SOURCE, WAYS, build, expected, sizes_in

SHT_RELA = 4
R_X86_64_JUMP_SLOT = 7 if platform.machine() == "x86_64" else -1


# Sizes are 1_000_000 and the number of the way (mappings: pages), so that nobody else has them.
PRELUDE = """
import ctypes, os, sys
from proftrace import Tracker
library, other, capture, mode = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
WAYS = sys.argv[5:]
def load(path, mode=os.RTLD_NOW): return ctypes.CDLL(path, mode)
def call_all(lib, start):
    for k, name in enumerate(WAYS):
        way = getattr(lib, name)
        way.restype, way.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        assert way(start + (k << 12) + 4096)
def pages():
    with open("/proc/self/maps") as file:
        return [line.split()[:2] for line in file if line.rstrip().endswith(".so")
                and ("slots" in line or "libpython" in line or "libc" in line)]
"""


def run(folder: Path, program: str, library: Path, other: Path, mode: int = 0) -> Counter[int]:
    """Run a program; return how many blocks of each size it recorded."""
    (folder / "program.py").write_text(PRELUDE + program)
    capture = folder / "out.bin"
    words = [sys.executable, "program.py", str(library), str(other), str(capture), str(mode)]
    done = subprocess.run([*words, *WAYS], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return sizes_in(capture)


@pytest.mark.parametrize("linked", LINKED)
@pytest.mark.parametrize("moment", ["before", "during", "before, called before"])
def test_every_way_to_an_allocator_is_seen(tmp_path: Path, linked: str, moment: str) -> None:
    library = build(tmp_path, "slots", *LINKED[linked])
    early = "lib = load(library, os.RTLD_LAZY)\n" if moment != "during" else ""
    called = "call_all(lib, 8 << 20)\n" if "called" in moment else ""
    program = f"""
{early}{called}
with Tracker(capture):
    lib = load(library, os.RTLD_LAZY)
    call_all(lib, 16 << 20)
call_all(lib, 32 << 20)
"""
    sizes = run(tmp_path, program, library, library)
    assert {size: sizes[size] for size in expected(16 << 20)} == expected(16 << 20)
    assert not any(sizes[size] for size in [*expected(32 << 20), *expected(8 << 20)])


def mark_table(library: Path) -> int:
    """Note in each entry of the procedure table where its code is, as newer linkers may do on
    x86-64; return how many entries there are."""
    data, n_marked = bytearray(library.read_bytes()), 0
    sections, n_sections = struct.unpack_from("<Q12xH", data, 40)
    for k in range(n_sections):
        kind, offset, size = struct.unpack_from("<4xI16xQQ", data, sections + k * 64)
        for at in range(offset, offset + size, 24) if kind == SHT_RELA else ():
            if struct.unpack_from("<I", data, at + 8)[0] == R_X86_64_JUMP_SLOT:
                n_marked += 1
                struct.pack_into("<q", data, at + 16, 0x1000 + 16 * n_marked)
    library.write_bytes(data)
    return n_marked


@pytest.mark.parametrize("linked", LINKED)
def test_a_table_with_notes_of_its_code_is_one(tmp_path: Path, linked: str) -> None:
    library = build(tmp_path, "slots", *LINKED[linked])
    assert (mark_table(library) > 0) == (platform.machine() == "x86_64")
    program = """
with Tracker(capture):
    call_all(load(library, os.RTLD_LAZY), 16 << 20)
"""
    sizes = run(tmp_path, program, library, library)
    assert {size: sizes[size] for size in expected(16 << 20)} == expected(16 << 20)


def test_a_library_that_looks_at_its_own_needs_first_is_seen(tmp_path: Path) -> None:
    library = build(tmp_path, "slots", *LINKED["lazily"])
    program = """
with Tracker(capture):
    call_all(load(library, os.RTLD_LAZY | os.RTLD_DEEPBIND), 16 << 20)
"""
    sizes = run(tmp_path, program, library, library)
    assert {size: sizes[size] for size in expected(16 << 20)} == expected(16 << 20)


def test_what_a_library_loads_is_seen(tmp_path: Path) -> None:
    library, other = build(tmp_path, "slots"), build(tmp_path, "slots_other")
    program = """
lib = load(library)
lib.by_other.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t]
with Tracker(capture):
    lib.by_other(other.encode(), 0, 12_345_678)
"""
    assert run(tmp_path, program, library, other)[12_345_678] == 1


def test_protected_pages_are_so_again(tmp_path: Path) -> None:
    library = build(tmp_path, "slots", *LINKED["at once"])
    program = """
lib = load(library)
before = pages()
assert any("slots" in line for line in open("/proc/self/maps"))
with Tracker(capture):
    assert pages() == before
assert pages() == before
"""
    run(tmp_path, program, library, library)


def test_the_tables_are_as_they_were(tmp_path: Path) -> None:
    """Pointers in the data of a library lead to the same function as before the recording."""
    library = build(tmp_path, "slots")
    program = """
lib = load(library)
def pointers():
    # The writable part of the library's file, as it is in memory.
    found = []
    for line in open("/proc/self/maps"):
        words = line.split()
        if line.rstrip().endswith("slots.so") and "x" not in words[1]:
            start, end = (int(word, 16) for word in words[0].split("-"))
            found.append(ctypes.string_at(start, end - start))
    return found
call_all(lib, 8 << 20)
before = pointers()
with Tracker(capture):
    during = pointers()
assert before != during
assert pointers() == before
"""
    run(tmp_path, program, library, library)


# ---- what cannot be seen: docs/tracker.md lists these -------------------------------------------


def test_what_a_library_allocates_while_it_is_loaded_is_not_seen(tmp_path: Path) -> None:
    library = build(tmp_path, "slots", "-DAT_LOAD=23456789")
    program = """
with Tracker(capture):
    call_all(load(library), 16 << 20)
"""
    sizes = run(tmp_path, program, library, library)
    assert sizes[23_456_789] == 0
    assert sizes[(16 << 20) + 4096] == 1


def test_objects_in_a_list_of_their_own_are_not_seen(tmp_path: Path) -> None:
    library, other = build(tmp_path, "slots"), build(tmp_path, "slots_other")
    program = """
lib = load(library)
lib.by_other.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t]
with Tracker(capture):
    lib.by_other(other.encode(), 1, 12_345_678)
"""
    assert run(tmp_path, program, library, other)[12_345_678] == 0


def test_a_pointer_that_the_program_has_kept_is_as_old_as_it_is(tmp_path: Path) -> None:
    library = build(tmp_path, "slots")
    program = """
lib = load(library)
lib.by_kept.restype, lib.by_kept.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
early = late = after = lib.by_kept
if EARLY: lib.keep()
with Tracker(capture):
    if EARLY: early(12_345_678)
    lib.keep()
    late(12_345_679)
after(12_345_670)
with Tracker(capture + ".2"):
    after(12_345_671)
"""
    # In a program at a fixed address, what is looked up is an entry of its own table: that is ours.
    sizes = run(tmp_path, "EARLY = True\n" + program, library, library)
    fixed = bool(sizes[12_345_678])
    assert fixed == executable_is_fixed()
    assert (sizes[12_345_679], sizes[12_345_670]) == (1, 0)
    assert sizes_in(tmp_path / "out.bin.2")[12_345_671] == 1


def executable_is_fixed() -> bool:
    with open(sys.executable, "rb") as file:
        return file.read(18)[16] == 2  # ET_EXEC


def test_what_ctypes_knew_before_is_seen(tmp_path: Path) -> None:
    library = build(tmp_path, "slots")
    program = """
libc = load(None)
early = libc.malloc
early.restype, early.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
with Tracker(capture):
    early(12_345_678)
early(12_345_670)
"""
    sizes = run(tmp_path, program, library, library)
    assert (sizes[12_345_678], sizes[12_345_670]) == (1, 0)


# ---- other allocators, and loading at the same time ---------------------------------------------


def test_an_allocator_in_front_of_the_c_library_stays_in_use(tmp_path: Path) -> None:
    front = tmp_path / "front.so"
    source = SOURCE.with_name("front.c")
    words = ["gcc", "-shared", "-fPIC", "-O1", "-fno-builtin", "-o", str(front), str(source)]
    subprocess.run(words, check=True)
    program = """
import ctypes, os
from proftrace import Tracker
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
before = [bytearray(5_000) for _ in range(100)]
with Tracker("out.bin"):
    kept = [bytearray(50_000) for _ in range(100)]
    before.clear()
    kept += [bytearray(700)]
    del kept[:50]
    libc.free(ctypes.c_void_p(libc.malloc(12_345_678)))
    import sqlite3
del kept
print("fine")
"""
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "LD_PRELOAD": str(front)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")
    sizes = sizes_in(tmp_path / "out.bin")
    assert (sizes[bytearray_bytes(50_000)], sizes[12_345_678]) == (100, 1)


LOADING = """
import shutil, threading, _ctypes
copies = [shutil.copy(library, f"{library}.{k}.so") for k in range(6)]
stop = False
def load_and_close(paths):
    while not stop:
        for path in paths:
            lib = load(path, os.RTLD_LAZY)
            lib.by_call.restype, lib.by_call.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
            lib.give_back.argtypes = [ctypes.c_void_p]
            lib.give_back(lib.by_call(70_000))
            _ctypes.dlclose(lib._handle)
threads = [threading.Thread(target=load_and_close, args=(copies[k::2],)) for k in range(2)]
[thread.start() for thread in threads]
for k in range(100):
    with Tracker(capture, overwrite=True):
        lib = load(copies[k % 6])
        lib.by_call.restype, lib.by_call.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        lib.by_call(12_345_678)
stop = True
[thread.join() for thread in threads]
"""


def test_libraries_come_and_go_while_recordings_do(tmp_path: Path) -> None:
    library = build(tmp_path, "slots", *LINKED["at once"])
    assert run(tmp_path, LOADING, library, library)[12_345_678] == 1
