"""What a session has to know or do before the program's first line."""

from __future__ import annotations

import os
import sys

from proftrace import _lines


def own_argv() -> list[str]:
    """Return what `sys.argv` is going to be, as far as the command line tells; it is not set yet.

    For -m and -c it begins with the option, as in `["-c", ...]`, without its value.
    """
    words = sys.orig_argv[1:]
    index = 0
    while index < len(words) and words[index].startswith("-") and words[index] not in ("-", "--"):
        word = words[index]
        index += 1
        if word.startswith("--"):
            index += word == "--check-hash-based-pycs"
            continue
        for position, letter in enumerate(word[1:], 1):
            if letter in "mc":
                return ["-" + letter, *words[index + (not word[position + 1 :]) :]]
            if letter in "WX":
                index += not word[position + 1 :]
                break
    return words[index:]


def run_setup(path: str) -> None:
    """Run the file of `lprof --setup`, as a program of its own before the program.

    Its folder is first in sys.path meanwhile. When it fails, or asks to end, the process ends as
    Python would, the program does not run, and there is no result.
    """
    folder = os.path.dirname(path)
    sys.path.insert(0, folder)
    try:
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        exec(code, {"__name__": "__main__", "__file__": path, "__builtins__": __builtins__})
    except SystemExit as error:
        _end(error.code)
    except BaseException:
        import traceback

        kind, value, trace = sys.exc_info()
        _forget_context(value)
        traceback.print_exception(kind, value, trace.tb_next if trace is not None else None)
        _end(1)
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def _forget_context(error: BaseException | None) -> None:
    """Take off what is being handled outside of the file: that there is no sitecustomize."""
    while error is not None:
        if isinstance(error.__context__, ImportError) and error.__context__.name == "sitecustomize":
            error.__context__ = None
        error = error.__context__


def _end(status: object) -> None:
    """End the process; `site`, which is running, would only warn of an exception."""
    if status is not None and not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    _lines.abandon()
    os._exit(status or 0)
