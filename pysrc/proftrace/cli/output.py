"""Output files of a run, checked before it starts: a refusal must not come after an hour's work."""

from __future__ import annotations

import os

from proftrace.errors import OutputError
from proftrace.render.place import check_output
from proftrace.units import printable


def refuse_to_replace(output: str, *sources: str) -> None:
    """Raise OutputError when `output` is one of `sources`, files that are to be read or run."""
    if output == "-" or not os.path.exists(output):
        return
    for source in sources:
        if os.path.exists(source) and os.path.samefile(output, source):
            raise OutputError(f"cannot write {printable(output)}: it is the file to read from")


def refuse_own_output(path: str) -> None:
    """Raise OutputError when `path` is the file that the program's own output goes to."""
    for descriptor in (1, 2):
        try:
            is_it = os.path.samestat(os.stat(path), os.fstat(descriptor))
        except (OSError, ValueError):
            continue
        if is_it and os.path.isfile(path):
            raise OutputError(f"cannot write {printable(path)}: the program's output goes there")


def resolve_output(path: str, *, replace: bool) -> str:
    """Return `path` made absolute, or raise OutputError when it cannot be written.

    Absolute, since the program may change the current folder. `replace` says whether a file that
    exists already may be replaced.
    """
    output = os.path.abspath(path)
    check_output(output, replace)
    if os.path.exists(output) and not os.access(output, os.W_OK):
        raise OutputError(f"cannot write {printable(output)}: no permission to write to it")
    # The result is renamed to its place: that must not replace a link, least of all /dev/stdout.
    return os.path.realpath(output) if os.path.isfile(output) else output
