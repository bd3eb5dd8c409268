"""A library that reaches malloc and mmap in every way there is (programs/tracker/slots.c)."""

from __future__ import annotations

import platform
import subprocess
from collections import Counter
from pathlib import Path

from log_events import is_allocation, read_events
from proftrace.model.load import load_profile

SOURCE = Path(__file__).parent / "programs" / "tracker" / "slots.c"
FIRST_VERSION = {"x86_64": "GLIBC_2.2.5", "aarch64": "GLIBC_2.17"}[platform.machine()]
WAYS = ("by_call", "by_pointer", "by_constant", "by_name", "by_next", "by_version", "by_mapping",
        "by_library")  # fmt: skip
LINKED = {
    "at once": ["-Wl,-z,now", "-Wl,-z,relro"],
    "lazily": ["-Wl,-z,lazy", "-Wl,-z,relro"],
    "lazily, all writable": ["-Wl,-z,lazy", "-Wl,-z,norelro"],
}


def build(folder: Path, name: str, *flags: str) -> Path:
    path = folder / f"{name}.so"
    words = ["gcc", "-shared", "-fPIC", "-O1", f'-DVERSION="{FIRST_VERSION}"', *flags]
    subprocess.run([*words, "-o", str(path), str(SOURCE)], check=True)
    return path


def sizes_in(capture: Path) -> Counter[int]:
    assert list(load_profile(str(capture)).warnings) == []
    return Counter(event.size for event in read_events(capture) if is_allocation(event))


def expected(start: int) -> dict[int, int]:
    """Each way makes one block of its size; the C library's copy is a second one."""
    sizes = {start + (k << 12) + 4096: 1 for k in range(len(WAYS))}
    sizes[start + (WAYS.index("by_library") << 12) + 4096] = 2
    return sizes
