"""The command `lprof`: profile a program line by line, and show what was recorded."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from proftrace.cli.lprof_show import add_table_options, table_arguments
from proftrace.cli.options import TargetParser, add_version
from proftrace.cli.outcome import run_command
from proftrace.cli.output import refuse_to_replace, resolve_output
from proftrace.errors import UsageError
from proftrace.run.launch import check_target, launch, report_command

DESCRIPTION = """\
Run a Python program and record hits and time of each line of the functions that are decorated with
@profile (a builtin under lprof; `from proftrace import profile` works everywhere).
"""
EPILOG = """\
lprof show FILE ...           print the table of a result file again
lprof merge FILE ... -o OUT   put several result files into one
lprof check                   prove what the numbers are worth on this machine
Each has --help.
"""
# Commands that run nothing, and the module of each: loaded only when asked for.
_COMMANDS = {"check": "lprof_check", "merge": "lprof_merge", "show": "lprof_show"}


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


def _run_parser() -> TargetParser:
    parser = TargetParser("lprof", description=DESCRIPTION, epilog=EPILOG)
    add = parser.add_argument
    add("-o", "--outfile", metavar="FILE", help="result file (default: <script>.lprof)")
    add("-v", "--view", "--verbose", action="store_true", help="print the table at the end")
    add("-q", "--quiet", action="store_true", help="do not say where the result is")
    add("--clock", action="store_true", help="time every line by the clock, also in hot code")
    add_table_options(parser)
    add("--summarize", action="store_true", help="add a line for each function at the end")
    add("-l", "--line-by-line", action="store_true", help="accepted: lines are always profiled")
    add("-b", "--builtin", action="store_true", help="accepted: profile is always a builtin")
    add_version(parser, "lprof")
    return parser


def _run(words: list[str]) -> int:
    parser = _run_parser()
    if not words:
        parser.print_usage(sys.stderr)
        return 2
    options, target = parser.parse_target(words)
    check_target(target)
    base = "lprof-command" if target.kind == "command" else target.base_name()
    output = resolve_output(options.outfile or f"{base}.lprof", replace=True)
    if target.kind == "script":
        refuse_to_replace(target.value, output)
    report = None
    if options.view or options.stats:
        if os.path.exists(output) and not os.path.isfile(output):
            raise UsageError(
                f"cannot show a table of {output}: what is written there cannot be read again; "
                "leave out -o, or what asks for the table"
            )
        report = report_command("show", *table_arguments(options), "--", output)
    launch(
        target,
        "lprof",
        {
            "output": output,
            "report": report,
            "quiet": options.quiet,
            "clock": options.clock or options.raw_hits,  # only events have raw hits
        },
    )


if __name__ == "__main__":
    sys.exit(main())
