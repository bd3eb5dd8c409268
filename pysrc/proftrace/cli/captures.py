"""Which captures a report is about: files, folders of them, and those of child processes."""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Sequence

from proftrace.cli.options import Parser
from proftrace.cli.outcome import print_warnings
from proftrace.errors import CaptureFileError
from proftrace.model.combine import combine
from proftrace.model.load import load_profiles
from proftrace.model.profile import PEAK_BYTES, Profile, Recording, recording_of
from proftrace.units import printable

_MAGIC = b"\x89PTRC\r\n\x1a"
_CHILD = re.compile(r"\.(\d+)(?:\.(\d+))?$")


def add_captures(parser: Parser) -> None:
    """Add the captures as the last arguments."""
    parser.add_argument(
        "--children", action="store_true", help="those of child processes too (CAPTURE.<pid>)"
    )
    parser.add_argument(
        "captures",
        metavar="CAPTURE",
        nargs="+",
        help="written by memtrace run; several are put side by side; a folder: all in it",
    )


def load_captures(options: Namespace) -> Profile:
    """Return one profile of all captures that were named; what is wrong is said on stderr."""
    profiles: dict[Recording, Profile] = {}
    for path in find_captures(options.captures, children=options.children):
        for profile in load_profiles(path, native=not options.no_native):
            if PEAK_BYTES not in profile.metrics:
                name = printable(path)
                text = f"{name} holds results of lines, not of memory: lprof show {name}"
                raise CaptureFileError(text)
            # A folder may hold a merged file and its parts: each recording counts once.
            profiles.setdefault(recording_of(profile.header), profile)
    profile = combine(list(profiles.values()))
    print_warnings("memtrace", profile.warnings)
    return profile


def find_captures(named: Sequence[str], *, children: bool) -> list[str]:
    """Return the files that these names stand for, each once, in the order in which they come.

    The ring of a killed process is read with its capture: `out.bin*` may name both.
    """
    found: dict[str, None] = {}
    for path in named:
        if os.path.isdir(path):
            inside = [os.path.join(path, name) for name in sorted(os.listdir(path))]
            captures = [file for file in inside if _is_capture(file)]
            if not captures:
                raise CaptureFileError(f"{printable(path)}: there is no capture in this folder")
            found.update(dict.fromkeys(captures))
        elif path.endswith(".ring") and os.path.isfile(path.removesuffix(".ring")):
            continue
        else:
            found[path] = None
            if children:
                found.update(dict.fromkeys(_children_of(path)))
    if not found:
        raise CaptureFileError("no capture among the files named")
    return list(found)


def default_name(capture: str, report: str, extension: str) -> str:
    """Return the name of a report, beside its capture: memtrace-csv-app.py.7.csv."""
    folder, name = os.path.split(capture.rstrip("/") or "/")
    name = name.removesuffix(".bin").removeprefix("memtrace-")
    return os.path.join(folder, f"memtrace-{report}-{name}.{extension}")


def _is_capture(path: str) -> bool:
    if not os.path.isfile(path):  # a pipe would wait for its writer
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _children_of(path: str) -> list[str]:
    """Return the captures `path.<pid>` by process id, without those of an earlier run."""
    folder, name = os.path.split(path)
    numbered = []
    for entry in os.listdir(folder or "."):
        match = _CHILD.match(entry[len(name) :]) if entry.startswith(name) else None
        file = os.path.join(folder, entry)
        if match and _is_capture(file) and _started_ns(file) >= _started_ns(path):
            numbered.append((int(match[1]), int(match[2] or 1), file))
    return [file for _, _, file in sorted(numbered)]


def _started_ns(path: str) -> int:
    """Return when a recording began, as its header says; see docs/internals/log-format.md."""
    try:
        with open(path, "rb") as file:
            file.seek(32)
            return int.from_bytes(file.read(8), "little")
    except OSError:
        return 0
