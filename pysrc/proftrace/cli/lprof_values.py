"""Values of options of `lprof`, checked before the program starts."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile

from proftrace.errors import UsageError
from proftrace.units import printable

_SHORTEST_INTERVAL_S = 0.01


def interval(text: str) -> float:
    """Return a number of seconds between two writes of the result; 0: none but the last."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise argparse.ArgumentTypeError(f"not a number of seconds: {text!r}")
    return max(seconds, _SHORTEST_INTERVAL_S) if seconds else 0.0


def readable(path: str) -> str:
    """Return the absolute path of a file that can be read; UsageError if it cannot."""
    try:
        with open(path, "rb"):
            return os.path.abspath(path)
    except OSError as error:
        raise UsageError(f"cannot read {printable(path)}: {error.strerror}") from error


def parts_folder(output: str) -> str:
    """Return the folder for the results of children, which is made when there is one.

    What runs that were killed have left beside the same output is removed.
    """
    place = output
    if os.path.exists(output) and not os.path.isfile(output):  # a pipe, a device
        place = os.path.join(tempfile.gettempdir(), "lprof")
    folder, name = os.path.split(place)
    try:
        entries = os.listdir(folder)
    except OSError:
        entries = []
    for entry in entries:
        pid = entry.removeprefix(f"{name}.").removesuffix(".parts")
        if entry == f"{name}.{pid}.parts" and pid.isdecimal() and not _is_alive(int(pid)):
            shutil.rmtree(os.path.join(folder, entry), ignore_errors=True)
    return f"{place}.{os.getpid()}.parts"


def _is_alive(pid: int) -> bool:
    return pid != os.getpid() and os.path.exists(f"/proc/{pid}")
