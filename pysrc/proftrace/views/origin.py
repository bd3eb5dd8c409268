"""Whose code a file is: the program, a package, the standard library, the interpreter or native."""

from __future__ import annotations

import re
from enum import IntEnum


class Origin(IntEnum):
    """Where code comes from; reports colour and group by it."""

    PROGRAM = 0
    PACKAGE = 1
    STDLIB = 2
    IMPORT = 3
    INTERPRETER = 4
    NATIVE = 5


_PACKAGE = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
_STDLIB = re.compile(r"[/\\](?:lib|lib64|Lib)[/\\](?:python3\.\d+t?[/\\])")
_IMPORT = re.compile(r"^<frozen (?:importlib|zipimport)|[/\\]importlib[/\\]_bootstrap\w*\.py$")


def origin_of(file: str, *, native: bool = False) -> Origin:
    """Return whose code a file is, by its name alone: the capture may be from another machine."""
    if native:
        return Origin.NATIVE
    if not file:
        return Origin.INTERPRETER
    if _IMPORT.search(file):
        return Origin.IMPORT
    if _PACKAGE.search(file):
        return Origin.PACKAGE
    if _STDLIB.search(file) or file.startswith("<frozen "):
        return Origin.STDLIB
    return Origin.PROGRAM
