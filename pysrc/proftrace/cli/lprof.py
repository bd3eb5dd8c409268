"""The command `lprof`: profile a program line by line, and show what was recorded."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from proftrace.cli.options import TargetParser, add_version
from proftrace.cli.outcome import run_command
from proftrace.cli.output import resolve_output
from proftrace.run.launch import check_target, launch, report_command

DESCRIPTION = """\
Run a Python program and record hits and time of each line of the functions that are decorated with
@profile (a builtin under lprof; `from proftrace import profile` works everywhere).
"""
EPILOG = """\
lprof show FILE ...   print the table of a result file again
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `lprof` with `argv` (default: the command line) and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    return run_command("lprof", lambda: _run(words))


def _run_parser() -> TargetParser:
    parser = TargetParser("lprof", description=DESCRIPTION, epilog=EPILOG)
    add = parser.add_option
    add("-o", "--outfile", metavar="FILE", help="result file (default: <script>.lprof)")
    add("-v", "--view", "--verbose", action="store_true", help="print the table at the end")
    add("-q", "--quiet", action="store_true", help="do not say where the result is")
    add_table_options(parser)
    add("-l", "--line-by-line", action="store_true", help="accepted: lines are always profiled")
    add("-b", "--builtin", action="store_true", help="accepted: profile is always a builtin")
    add_version(parser, "lprof")
    return parser


def add_table_options(parser: TargetParser) -> None:
    """Add the options of the table, which `lprof -v` hands on to `lprof show`."""
    add = parser.add_option
    add("-u", "--unit", metavar="SECONDS", type=parse_unit, help="unit of times (default: 1e-06)")
    add("-z", "--skip-zero", action="store_true", help="leave out functions that never ran")
    add("-t", "--sort", action="store_true", help="sort by total time, ascending")
    add("-r", "--rich", action="store_true", help="the terminal's table even into a pipe")
    add("--summarize", action="store_true", help="add one line for each function at the end")


def parse_unit(text: str) -> float:
    """Return a unit given in seconds."""
    unit = float(text)
    if not 0 < unit < float("inf"):
        raise ValueError(text)
    return unit


def table_arguments(options: argparse.Namespace) -> list[str]:
    """Return the arguments of `lprof show` that ask for what `options` ask for."""
    words = [] if options.unit is None else ["--unit", repr(options.unit)]
    for name in ("skip_zero", "sort", "rich", "summarize"):
        if getattr(options, name):
            words.append("--" + name.replace("_", "-"))
    return words


def _run(words: list[str]) -> int:
    parser = _run_parser()
    if not words:
        parser.print_usage(sys.stderr)
        return 2
    options, target = parser.parse_target(words)
    check_target(target)
    base = "lprof-command" if target.kind == "command" else target.base_name()
    output = resolve_output(options.outfile or f"{base}.lprof", replace=True)
    report = None
    if options.view:
        report = report_command("show", str(output), *table_arguments(options))
    launch(
        target,
        "lprof",
        {"output": str(output), "report": report, "quiet": options.quiet},
    )


if __name__ == "__main__":
    sys.exit(main())
