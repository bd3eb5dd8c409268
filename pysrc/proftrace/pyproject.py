"""Where a project's settings are: pyproject.toml."""

from __future__ import annotations

import os

FILE = "pyproject.toml"


def find() -> str | None:
    """Return the nearest pyproject.toml, from the current folder upwards; None if there is none,
    or no current folder."""
    try:
        folder = os.getcwd()
    except FileNotFoundError:
        return None
    while True:
        path = os.path.join(folder, FILE)
        if os.path.isfile(path):
            return path
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
