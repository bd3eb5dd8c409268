"""Start the tracer inside the target; called by `boot/sitecustomize.py` before any user code.

Imports as little as can be: what is loaded here is in `sys.modules` when the program starts, and
its memory is missing from the program's own imports.
"""

from __future__ import annotations

import os
import sys

from proftrace.errors import ProftraceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def start(tool: str, settings: Mapping[str, object]) -> None:
    """Start the session of `tool` ("lprof" or "memtrace") with `settings`.

    If that fails the process ends here, with one line and before the program has run: results that
    are silently missing would be found out too late. A child of a recorded process goes on, with
    the same line: what it does is not for us to end.
    """
    ends = not settings.get("child", False)
    try:
        _session_of(tool)(settings)
    except ProftraceError as error:
        _report(tool, str(error))
        if ends:
            os._exit(error.status)
    except BaseException as error:
        _report(tool, f"cannot start: {type(error).__name__}: {error}")
        if ends:
            os._exit(1)


def _session_of(tool: str) -> Callable[[Mapping[str, object]], None]:
    """Import the session of `tool`, and only that one."""
    if tool == "lprof":
        from proftrace.lines import session as lines_session

        return lines_session.start
    from proftrace.memory import session as memory_session

    return memory_session.start


def _report(tool: str, message: str) -> None:
    """Say it in one line; an exception would only become a warning of `site`."""
    if os.environ.get("PROFTRACE_DEBUG"):
        import traceback

        traceback.print_exc()
    print(f"{tool}: {' '.join(message.split())}", file=sys.stderr, flush=True)
