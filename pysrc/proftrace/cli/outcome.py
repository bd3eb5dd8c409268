"""What a command ends with: its exit status, and one line on stderr when something is wrong."""

from __future__ import annotations

import io
import os
import sys

from proftrace.errors import ProftraceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def run_command(tool: str, command: Callable[[], int]) -> int:
    """Run a command and return its exit status; PROFTRACE_DEBUG=1 adds the traceback of errors."""
    _open_missing_streams()
    _print_any_text()
    try:
        status = command()
        sys.stdout.flush()
    except ProftraceError as error:
        return _report(tool, str(error), error.status)
    except BrokenPipeError:
        # The reader of our output went away (`| head`). Nothing more can be said to it, nor must
        # the interpreter try when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        reason = error.strerror or str(error)
        what = f"{error.filename}: {reason}" if error.filename else reason
        return _report(tool, what, 1)
    return status


def print_warnings(tool: str, warnings: Sequence[str]) -> None:
    """Print what is wrong with a capture that can be read all the same."""
    for warning in warnings:
        print(f"{tool}: warning: {warning}", file=sys.stderr)


def _report(tool: str, message: str, status: int) -> int:
    if os.environ.get("PROFTRACE_DEBUG"):
        import traceback

        traceback.print_exc()
    print(f"{tool}: {' '.join(message.split())}", file=sys.stderr)
    return status


def _open_missing_streams() -> None:
    """Let there be a stdout and stderr when the caller has closed them (`>&-`): Python has None.

    The program that is run finds them closed as ever: exec does not inherit what is opened here.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(descriptor, "w", encoding="utf-8"))


def _print_any_text() -> None:
    """Let names and source text that the terminal's encoding does not have be printed escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
