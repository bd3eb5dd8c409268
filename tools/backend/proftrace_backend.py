"""The build backend: meson-python, with the command `memtrace` in editable installations too.

A wheel has `memtrace` as a program of machine code (csrc/launch) beside the Python command
`memtrace-python`. meson-python leaves programs out of editable wheels; there the Python command
takes both names.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

import mesonpy
from mesonpy import (
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]

SECTION = "[console_scripts]\n"
COMMAND = "memtrace = proftrace.cli.memtrace:main\n"


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, object] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build an editable wheel and return its name."""
    name: str = mesonpy.build_editable(wheel_directory, config_settings, metadata_directory)
    add_command(Path(wheel_directory, name))
    return name


def add_command(wheel: Path) -> None:
    """Write a wheel again, with COMMAND among its entry points."""
    with zipfile.ZipFile(wheel) as archive:
        members = {info.filename: (info, archive.read(info)) for info in archive.infolist()}
    points = next(name for name in members if name.endswith(".dist-info/entry_points.txt"))
    record = next(name for name in members if name.endswith(".dist-info/RECORD"))
    info, content = members[points]
    text = content.decode().replace(SECTION, SECTION + COMMAND)
    members[points] = (info, text.encode())
    info, content = members[record]
    lines = content.decode().splitlines(keepends=True)
    rows = [
        _row(points, text.encode()) if line.startswith(f"{points},") else line for line in lines
    ]
    members[record] = (info, "".join(rows).encode())
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, content in members.values():
            archive.writestr(info, content)


def _row(name: str, content: bytes) -> str:
    """Return a file's line in RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"
