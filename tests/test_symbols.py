"""The symbols of libproftrace_capture.so, which stands in front of every library of a process."""

from __future__ import annotations

import ctypes
import subprocess

import pytest

from proftrace import _capture

OUR_PREFIX = "proftrace_"
# Hooked though this machine's C library may be too old to have them (C23).
NEWER_THAN_SOME_LIBC = {"free_sized", "free_aligned_sized"}


def symbols(*options: str) -> set[str]:
    """Return names from the library's dynamic symbol table, without their versions."""
    command = ["nm", "-D", *options, _capture.library_path()]
    rows = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {row.split()[-1].partition("@")[0] for row in rows.splitlines()}


@pytest.fixture(scope="module")
def defined() -> set[str]:
    return symbols("--defined-only")


def test_no_python_symbol_is_needed() -> None:
    needed = symbols("--undefined-only")
    assert "memcpy" in needed or "pthread_once" in needed or "dlsym" in needed
    assert [name for name in needed if name.startswith(("Py", "_Py"))] == []


def test_only_hooks_and_our_own_names_are_exported(defined: set[str]) -> None:
    c_library = ctypes.CDLL(None)
    strangers = {
        name
        for name in defined
        if not name.startswith(OUR_PREFIX)
        and name not in NEWER_THAN_SOME_LIBC
        and not hasattr(c_library, name)
    }
    assert strangers == set()


def test_every_allocator_is_hooked(defined: set[str]) -> None:
    names = (
        "malloc calloc realloc reallocarray free posix_memalign aligned_alloc memalign valloc"
        " pvalloc free_sized free_aligned_sized mmap mmap64 munmap mremap"
    )
    assert set(names.split()) <= defined


def test_lz4_is_not_exported(defined: set[str]) -> None:
    assert [name for name in defined if name.startswith("LZ4")] == []
