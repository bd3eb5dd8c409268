"""The command `lprof`: profile a program line by line, and show what was recorded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from proftrace.cli.outcome import run_command

EPILOG = """\
lprof show FILE ...           print the table of a result file again
lprof html FILE ...           write a page with the source and what each line cost
lprof diff FILE FILE          compare two results, by functions and lines
lprof export FILE ...         write it for pstats, callgrind, speedscope, flame graphs
lprof merge FILE ... -o OUT   put several result files into one
lprof check                   prove what the numbers are worth on this machine
Each has --help.
"""
# Commands that run nothing, and the module of each: loaded only when asked for.
_COMMANDS = {
    "check": "lprof_check",
    "diff": "lprof_diff",
    "export": "lprof_export",
    "html": "lprof_html",
    "merge": "lprof_merge",
    "show": "lprof_show",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run `lprof` with `argv` (default: the command line) and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in _COMMANDS:
        return run_command("lprof", lambda: _command(words[0])(words[1:]))
    return run_command("lprof", lambda: _run(words))


def _command(name: str) -> Callable[[list[str]], int]:
    command: Callable[[list[str]], int] = getattr(
        import_module(f"proftrace.cli.{_COMMANDS[name]}"), name
    )
    return command


def _run(words: list[str]) -> int:
    from proftrace.cli.lprof_run import run

    return run(words, EPILOG)


if __name__ == "__main__":
    sys.exit(main())
