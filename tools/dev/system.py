"""What the system has to bring: checked by what works, installed by package name when root."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.dev.console import ROOT, DevError

OLDEST_NODE = 18


def quiet(*command: str) -> str | None:
    """Return what a command prints, or None when it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def has_compiler() -> bool:
    return shutil.which("cc") is not None or shutil.which("gcc") is not None


def has_c_headers() -> bool:
    compiler = "cc" if shutil.which("cc") else "gcc"
    return quiet(compiler, "-E", "-include", "stdio.h", "-x", "c", os.devnull) is not None


def has_lz4() -> bool:
    folder = quiet("pkg-config", "--variable=libdir", "liblz4")
    return folder is not None and Path(folder.strip(), "liblz4.a").exists()


def has_libdw() -> bool:
    return quiet("pkg-config", "--exists", "libdw") is not None


def has_node() -> bool:
    version = quiet("node", "--version")
    return version is not None and int(version.strip().lstrip("v").split(".")[0]) >= OLDEST_NODE


def has_shared_library(name: str) -> bool:
    """Tell whether a program can load it by its name."""
    return ctypes.util.find_library(name) is not None


def find_chromium() -> str | None:
    """Return the browser that the page tests drive."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path is not None:
            return path
    return None


def has_fonts() -> bool:
    """Tell whether a page can show text: without one font Chromium measures every name as 0."""
    return bool((quiet("fc-list") or "").strip())


@dataclass(frozen=True, slots=True)
class Need:
    """Something that must work, and the Debian package that brings it."""

    package: str
    works: Callable[[], bool]
    optional: bool = False


BUILD_NEEDS = (
    Need("gcc", has_compiler),
    Need("libc6-dev", has_c_headers),
    Need("pkg-config", lambda: shutil.which("pkg-config") is not None),
    Need("liblz4-dev", has_lz4),
    Need("libdw-dev", has_libdw, optional=True),
)
# What the C, Python and end-to-end tests take.
VERSION_NEEDS = (
    Need("git", lambda: shutil.which("git") is not None),
    Need("libdw-dev", has_libdw),
    Need("libdebuginfod-dev", lambda: has_shared_library("debuginfod")),
    Need("g++", lambda: shutil.which("g++") is not None),
    Need("binutils", lambda: shutil.which("nm") is not None),
    Need("nodejs", has_node),
    Need("libjemalloc2", lambda: has_shared_library("jemalloc")),
    Need("libgoogle-perftools-dev", lambda: has_shared_library("tcmalloc_minimal")),
    Need("libmimalloc-dev", lambda: has_shared_library("mimalloc")),
)
TEST_NEEDS = (
    *VERSION_NEEDS,
    Need("chromium", lambda: find_chromium() is not None),
    Need("fonts-dejavu-core", has_fonts),
    Need("fontconfig", lambda: shutil.which("fc-list") is not None),
)


def ensure(needs: tuple[Need, ...]) -> None:
    """Install what does not work, or say what is missing and how to get it.

    An optional need is installed with the others but never a reason to fail.
    """
    missing = [need for need in needs if not need.works()]
    if not missing:
        return
    install = shutil.which("apt-get") is not None and os.geteuid() == 0
    if not install:
        missing = [need for need in missing if not need.optional]
    if not missing:
        return
    script = ROOT / "tools" / "apt_install.sh"
    packages = [need.package for need in missing]
    if subprocess.call(["sh", str(script), *packages], cwd=ROOT):
        raise DevError("")
    useless = [need.package for need in missing if not need.optional and not need.works()]
    if useless:
        raise DevError(f"installed, but still of no use: {' '.join(useless)}")
