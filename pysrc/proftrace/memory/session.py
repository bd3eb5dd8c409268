"""The session of `memtrace` inside the target: starts the recording and marks its end."""

from __future__ import annotations

import atexit
import os
import sys

from proftrace import _capture
from proftrace.errors import OutputError, ProftraceError

# Not from typing, which would import collections and re into the target.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def start(settings: Mapping[str, object]) -> None:
    """Record all allocations from here to the end of the process.

    `settings`: "output" (absolute path), "force", "quiet", "follow_fork", "program" and
    "argv". Afterwards nothing of this is left in the program but one exit handler, in C.
    """
    if not _capture.is_preloaded():
        raise ProftraceError(
            "the capture library was not loaded: LD_PRELOAD is ignored by static and set-uid"
            " interpreters"
        )
    output = str(settings["output"])
    # First registered, last run: the mark comes after the program's own exit handlers.
    atexit.register(_capture.mark_end_of_script)
    try:
        no_stacks = _capture.start(
            output,
            _describe(settings),
            force=bool(settings["force"]),
            quiet=bool(settings["quiet"]),
            own_folder=PACKAGE_FOLDER,
            follow_forks=bool(settings["follow_fork"]),
        )
    except FileExistsError as error:
        raise OutputError(f"{output} exists already (-f replaces it)") from error
    except OSError as error:
        raise OutputError(f"cannot write {output}: {error.strerror}") from error
    if no_stacks is not None:
        print(f"memtrace: no Python stacks: {no_stacks}", file=sys.stderr)


def _describe(settings: Mapping[str, object]) -> dict[str, str]:
    """Return what the capture says about the run."""
    argv = settings["argv"]
    words = [str(word) for word in argv] if isinstance(argv, list) else []
    meta = {
        "program": str(settings["program"]),
        "argv": "[" + ", ".join(_quote(word) for word in words) + "]",
        "python": sys.version.split()[0],
        "tool": "memtrace",
        # Whether small objects come out of arenas: see views/notes.py.
        "pythonmalloc": os.environ.get("PYTHONMALLOC", ""),
    }
    # Arguments that are not UTF-8 are surrogates here; a capture holds UTF-8 only.
    return {key: text.encode("utf-8", "replace").decode("utf-8") for key, text in meta.items()}


def _quote(text: str) -> str:
    """Return a JSON string. The json module would bring `re` and more into the target."""
    parts = ['"']
    for char in text:
        if char in '"\\':
            parts.append("\\" + char)
        elif char < " ":
            parts.append(f"\\u{ord(char):04x}")
        else:
            parts.append(char)
    return "".join([*parts, '"'])
