"""A line on stderr that says how far long work has come: only where a person is looking."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PATIENCE_S = 1.0
_REDRAW_S = 0.2


@contextmanager
def progress(tool: str, doing: str) -> Iterator[Callable[[str], None]]:
    """Give a function to call with what is being done now, such as "file 12 of 400".

    After a second that is shown on one line, "lprof: merging file 12 of 400", which is gone at the
    end. Nothing is shown when stderr is not a terminal.
    """
    if not sys.stderr.isatty():
        yield lambda now: None
        return
    line = _Line(f"{tool}: {doing}")
    thread = threading.Thread(target=line.keep, daemon=True)
    thread.start()
    try:
        yield line.say
    finally:
        line.done.set()
        thread.join()


class _Line:
    """The line, redrawn from a thread of its own: one piece of work may take long, too."""

    def __init__(self, text: str) -> None:
        self._text = self._now = text
        self.done = threading.Event()

    def say(self, now: str) -> None:
        """Let the line say what is being done now."""
        self._now = f"{self._text} {now}"

    def keep(self) -> None:
        """Show the line after a while, until it is done."""
        stderr = sys.stderr
        width = 0
        wait = _PATIENCE_S
        while not self.done.wait(wait):
            text = self._now
            stderr.write(f"\r{text.ljust(width)}")
            stderr.flush()
            width, wait = len(text), _REDRAW_S
        if width:
            stderr.write(f"\r{' ' * width}\r")
            stderr.flush()
