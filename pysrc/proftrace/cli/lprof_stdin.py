"""A program on standard input: `lprof -`, which Python reads as `python -` does."""

from __future__ import annotations

import os
import stat
import sys

from proftrace.errors import UsageError
from proftrace.run.launch import Target

_STANDARD_INPUT = 0


def with_text(target: Target) -> Target:
    """Return the target; of a program on standard input, with its text.

    What is read there is put back: the target's interpreter reads it again. Raise UsageError if
    there is nothing that could be a program.
    """
    if target.kind != "script" or target.value != "-":
        return target
    try:
        if os.isatty(_STANDARD_INPUT):
            raise UsageError("cannot run what is typed: name a script, or let a pipe or file be -")
        if not stat.S_ISREG(os.fstat(_STANDARD_INPUT).st_mode):
            _hold()
        start = os.lseek(_STANDARD_INPUT, 0, os.SEEK_CUR)
        size = os.fstat(_STANDARD_INPUT).st_size
        data = os.pread(_STANDARD_INPUT, max(size - start, 0), start)
    except OSError as error:
        raise UsageError(f"cannot read standard input: {error.strerror}") from error
    return Target("stdin", data.decode("utf-8", "replace"), target.args)


def _hold() -> None:
    """Put what a pipe says into memory, and that in the place of standard input."""
    held = os.memfd_create("stdin")
    with open(held, "wb", closefd=False) as file:
        file.write(sys.stdin.buffer.read())
    os.lseek(held, 0, os.SEEK_SET)
    os.dup2(held, _STANDARD_INPUT)
    os.close(held)
