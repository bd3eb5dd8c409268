"""Where a file is going to be written: what can be said about that before the work is done.

`run` asks before it starts the program, which waits for what is imported here.
"""

from __future__ import annotations

import os
import stat

from proftrace.errors import OutputError
from proftrace.units import printable


def check_output(path: str, force: bool) -> None:
    """Raise `OutputError` if `write_output` would refuse, so that it can be said before the work.

    A file that is there is refused unless `force`; a device or pipe ("/dev/stdout") is not a file
    that could be lost. "-" is standard output.
    """
    if path == "-" or is_stream(path):
        return
    name = printable(path)
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise OutputError(f"cannot write {name}: it is a folder")
    if not force and os.path.lexists(path):
        raise OutputError(f"{name} exists already: -f replaces it, -o names another file")
    if not os.path.isdir(folder):
        raise OutputError(f"cannot write {name}: there is no folder {printable(folder)}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write {name}: no permission to write in {printable(folder)}")


def is_stream(path: str) -> bool:
    """Tell whether there is a device, pipe or socket at `path`."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
