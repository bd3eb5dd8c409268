"""Calls that go past a preloaded library: the hooks in the tables of loaded objects see them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from case_runs import csv_rows, memtrace, plain
from slot_programs import LINKED, SOURCE, WAYS, build, expected, sizes_in

START = 16 << 20
MODES = {
    "now": os.RTLD_NOW,
    "lazily": os.RTLD_LAZY,
    "deep": os.RTLD_NOW | os.RTLD_DEEPBIND,
    "deep, lazily": os.RTLD_LAZY | os.RTLD_DEEPBIND,
}
PROGRAM = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1], int(sys.argv[2]))
for _ in range(int(sys.argv[3])):
    for k, name in enumerate(sys.argv[4:]):
        way = getattr(lib, name)
        way.restype, way.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        lib.give_back.argtypes = [ctypes.c_void_p]
        block = way((16 << 20) + (k << 12) + 4096)
        if name != "by_mapping":
            lib.give_back(block)
"""


@pytest.mark.parametrize("linked", LINKED)
@pytest.mark.parametrize("mode", MODES)
def test_every_way_to_an_allocator_is_seen(tmp_path: Path, linked: str, mode: str) -> None:
    library = build(tmp_path, "slots", *LINKED[linked])
    words = ["-c", PROGRAM, str(library), str(MODES[mode]), "2", *WAYS]
    done = memtrace(["run", "-q", "-o", "out.bin", *words], tmp_path)
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
    sizes = sizes_in(tmp_path / "out.bin")
    assert {size: sizes[size] for size in expected(START)} == {
        size: 2 * n for size, n in expected(START).items()
    }


def test_what_such_a_library_frees_is_no_leak(tmp_path: Path) -> None:
    library = build(tmp_path, "slots")
    ways = [way for way in WAYS if way != "by_mapping"]
    words = ["-c", PROGRAM, str(library), str(MODES["deep"]), "3", *ways]
    memtrace(["run", "-q", "-o", "out.bin", *words], tmp_path)
    leaks = csv_rows(tmp_path / "out.bin", "--leaks")
    assert leaks
    assert not [row for row in leaks if row.size > 12 << 20]


CONSTRUCTED = """
#include <stdlib.h>
static void *early;
__attribute__((constructor)) static void begin(void) { early = malloc(12345678); }
__attribute__((destructor)) static void finish(void) { free(early); free(malloc(23456789)); }
void *late(void) { return malloc(34567890); }
"""


@pytest.mark.parametrize(("deep", "seen"), [(0, 1), (os.RTLD_DEEPBIND, 0)])
def test_constructors_are_seen_unless_their_library_binds_past_all_others(
    tmp_path: Path, deep: int, seen: int
) -> None:
    """As docs/internals/capture-rules.md says it: the rest of such a library is seen."""
    (tmp_path / "begins.c").write_text(CONSTRUCTED)
    words = ["gcc", "-shared", "-fPIC", "-o", "begins.so", "begins.c"]
    subprocess.run(words, cwd=tmp_path, check=True)
    program = (
        "import _ctypes, ctypes\n"
        f"lib = ctypes.CDLL('./begins.so', {os.RTLD_NOW | deep})\n"
        "lib.late()\n"
        "_ctypes.dlclose(lib._handle)\n"
    )
    done = memtrace(["run", "-q", "-o", "out.bin", "-c", program], tmp_path)
    assert (done.status, done.stderr) == (0, "")
    sizes = sizes_in(tmp_path / "out.bin")
    assert [sizes[n] for n in (12_345_678, 23_456_789, 34_567_890)] == [seen, 1, 1]
    leaked = [row.size for row in csv_rows(tmp_path / "out.bin", "--leaks")]
    assert [leaked.count(n) for n in (12_345_678, 34_567_890)] == [0, 1]


def test_functions_of_the_c_librarys_own_handle_are_ours(tmp_path: Path) -> None:
    """A name that is looked up in the C library itself never meets a preloaded library."""
    program = (
        "import ctypes\n"
        "for k, name in enumerate((None, 'libc.so.6')):\n"
        "    libc = ctypes.CDLL(name)\n"
        "    libc.malloc.restype = ctypes.c_void_p\n"
        "    libc.malloc(ctypes.c_size_t(12_345_678 + k))\n"
        "    libc.free(ctypes.c_void_p(libc.malloc(ctypes.c_size_t(23_456_789 + k))))\n"
    )
    done = memtrace(["run", "-q", "-o", "out.bin", "-c", program], tmp_path)
    assert (done.status, done.stderr) == (0, "")
    sizes = sizes_in(tmp_path / "out.bin")
    assert [sizes[n] for n in (12_345_678, 12_345_679, 23_456_789, 23_456_790)] == [1, 1, 1, 1]


def test_a_library_with_an_allocator_of_its_own_keeps_it(tmp_path: Path) -> None:
    """Bound to itself or to another allocator than ours stands in for: not to be mixed."""
    front, library = tmp_path / "front.so", build(tmp_path, "slots")
    words = ["gcc", "-shared", "-fPIC", "-O1", "-fno-builtin", "-o", str(front)]
    subprocess.run([*words, str(SOURCE.with_name("front.c"))], check=True)
    run = ["-c", PROGRAM, str(library), str(MODES["deep"]), "2", "by_call", "by_pointer"]
    env = {"LD_PRELOAD": str(front)}
    before = plain(run, tmp_path, env)
    assert before.status == 0, before.stderr
    done = memtrace(["run", "-q", "-o", "out.bin", *run], tmp_path, env)
    assert (done.status, done.stdout, done.stderr) == (0, before.stdout, before.stderr)


def test_libraries_are_found_as_ever(tmp_path: Path) -> None:
    """Whom the loader looks for depends on who asks: what the program gets must stay the same."""
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.mkdir()
    outer.mkdir()
    build(inner, "slots")
    (outer / "loads.c").write_text(
        "#include <dlfcn.h>\n"
        'const char *try(void) { return dlopen("slots.so", RTLD_NOW) ? "found" : dlerror(); }\n'
    )
    for name, flags in (("plain", []), ("with", ["-Wl,-rpath,$ORIGIN/../inner"])):
        words = ["gcc", "-shared", "-fPIC", "-o", f"{name}.so", "loads.c", *flags]
        subprocess.run(words, cwd=outer, check=True)
    program = (
        "import ctypes, os\n"
        "for name in ('plain', 'with', 'plain'):\n"
        f"    lib = ctypes.CDLL({str(outer)!r} + '/' + name + '.so')\n"
        "    getattr(lib, 'try').restype = ctypes.c_char_p\n"
        "    print(getattr(lib, 'try')())\n"
        "for name in ('no-such-library.so', './no-such.so', 'libc.so.6'):\n"
        "    try: print(ctypes.CDLL(name)._name)\n"
        "    except OSError as error: print(error)\n"
        "try: ctypes.CDLL(None).no_such_function\n"
        "except AttributeError as error: print(error)\n"
    )
    before = plain(["-c", program], tmp_path)
    done = memtrace(["run", "-q", "-o", "out.bin", "-c", program], tmp_path)
    assert b"found" in before.stdout.encode()
    assert (done.status, done.stdout, done.stderr) == (0, before.stdout, before.stderr)


STORM = """
import _ctypes, ctypes, os, shutil, sys, threading
def work(k):
    path = shutil.copy(sys.argv[1 + k % 2], f"copy{k}.so")
    for n in range(60):
        lib = ctypes.CDLL(os.path.abspath(path), os.RTLD_LAZY | (os.RTLD_DEEPBIND if n % 2 else 0))
        lib.by_call.restype, lib.by_call.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        lib.give_back.argtypes = [ctypes.c_void_p]
        lib.give_back(lib.by_call(12_345_000 + k))
        _ctypes.dlclose(lib._handle)
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def test_libraries_come_and_go_in_all_threads(tmp_path: Path) -> None:
    libraries = [build(tmp_path, f"slots{k}", *LINKED[way]) for k, way in enumerate(LINKED)][:2]
    words = ["-c", STORM, *map(str, libraries)]
    done = memtrace(["run", "-q", "-o", "out.bin", *words], tmp_path)
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
    sizes = sizes_in(tmp_path / "out.bin")
    assert [sizes[12_345_000 + k] for k in range(4)] == [60] * 4
