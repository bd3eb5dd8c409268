"""A line on stderr that says how far long work has come: only where a person is looking."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PATIENCE_S = 1.0
_REDRAW_S = 0.1


@contextmanager
def progress(tool: str, doing: str, total: int, noun: str) -> Iterator[Callable[[int], None]]:
    """Give a function to call with the number of each piece of work before it is done.

    After a second it shows "lprof: merging file 12 of 400" on one line, which is gone at the end;
    nothing is shown when stderr is not a terminal.
    """
    begun = time.monotonic()
    shown_at = 0.0
    width = 0

    def step(number: int) -> None:
        nonlocal shown_at, width
        now = time.monotonic()
        if now - begun < _PATIENCE_S or now - shown_at < _REDRAW_S:
            return
        text = f"{tool}: {doing} {noun} {number + 1} of {total}"
        sys.stderr.write(f"\r{text.ljust(width)}")
        sys.stderr.flush()
        shown_at, width = now, len(text)

    def nothing(number: int) -> None:
        """Show nothing: nobody is looking."""

    try:
        yield step if sys.stderr.isatty() else nothing
    finally:
        if width:
            sys.stderr.write(f"\r{' ' * width}\r")
            sys.stderr.flush()
