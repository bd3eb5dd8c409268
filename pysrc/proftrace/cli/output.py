"""Output files, checked before anything runs: a refusal must not come after an hour's work."""

from __future__ import annotations

import os
from pathlib import Path

from proftrace.errors import OutputError


def resolve_output(path: str | Path, *, replace: bool) -> Path:
    """Return `path` made absolute, or raise OutputError when it cannot be written.

    Absolute, since the program may change the current folder. `replace` says whether a file that
    exists already may be replaced.
    """
    output = Path(os.path.abspath(path))
    if output.is_dir():
        raise OutputError(f"cannot write {output}: it is a folder")
    if not replace and os.path.lexists(output):
        raise OutputError(f"{output} exists already: -f replaces it, -o names another file")
    folder = output.parent
    if not folder.is_dir():
        raise OutputError(f"cannot write {output}: there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write {output}: no permission to write in {folder}")
    if output.exists() and not os.access(output, os.W_OK):
        raise OutputError(f"cannot write {output}: no permission to write to it")
    return output
