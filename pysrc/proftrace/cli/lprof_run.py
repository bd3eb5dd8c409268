"""`lprof` itself: run a program and record its lines."""

from __future__ import annotations

import os
import sys

from proftrace.cli.flag_words import add_opposites
from proftrace.cli.lprof_config import (
    RunParser,
    add_config_options,
    parse_with_config,
)
from proftrace.cli.lprof_show import add_table_options, table_arguments
from proftrace.cli.lprof_stdin import with_text
from proftrace.cli.lprof_targets import add_target_options, read_targets
from proftrace.cli.lprof_values import interval, parts_folder, readable
from proftrace.cli.options import add_version
from proftrace.cli.output import refuse_to_replace, resolve_output
from proftrace.errors import UsageError
from proftrace.run.launch import check_target, launch, report_command

DESCRIPTION = """\
Run a Python program and record hits and time of each line of the functions that are decorated with
@profile (a builtin under lprof; `from proftrace import profile` works everywhere).
"""
# What a program is called that has no name.
_NAMELESS = {"command": "lprof-command", "stdin": "lprof-stdin"}


def run_parser(epilog: str = "") -> RunParser:
    """Return the parser of `lprof [options] target [args ...]`."""
    # In the table `--all` is about cold lines; here it is about code.
    parser = RunParser("lprof", description=DESCRIPTION, epilog=epilog, conflict_handler="resolve")
    add = parser.add_argument
    add("-o", "--outfile", metavar="FILE", help="result file (default: <script>.lprof)")
    add("-v", "--view", "--verbose", action="store_true", help="print the table at the end")
    add("-q", "--quiet", action="store_true", help="do not say where the result is")
    add(
        "-i",
        "--output-interval",
        metavar="SECONDS",
        nargs="?",
        type=interval,
        const=1.0,
        default=0.0,
        help="write what there is so far every so often (default: 1)",
    )
    add("-s", "--setup", metavar="FILE", help="run a file before the program, without recording it")
    add("--no-follow", action="store_true", help="do not record child processes")
    add("--clock", action="store_true", help="time every line by the clock, also in hot code")
    add_table_options(parser)
    add_target_options(parser)
    add("--all-lines", action="store_true", help="show cold lines too (terminal)")
    add("--summarize", action="store_true", help="add a line for each function at the end")
    add("-l", "--line-by-line", action="store_true", help="accepted: lines are always profiled")
    add("-b", "--builtin", action="store_true", help="accepted: profile is always a builtin")
    add_config_options(parser)
    add_version(parser, "lprof")
    add_opposites(parser)
    return parser


def run(words: list[str], epilog: str) -> int:
    """Run a program under the tracer; return a status only when it is not started."""
    parser = run_parser(epilog)
    if not words:
        parser.print_usage(sys.stderr)
        return 2
    options, target = parse_with_config(parser, words)
    target = with_text(target)
    check_target(target)
    targets = read_targets(options, target)
    base = _NAMELESS.get(target.kind) or target.base_name()
    output = resolve_output(options.outfile or f"{base}.lprof", replace=True)
    if target.kind == "script":
        refuse_to_replace(output, target.value)
    setup = None if not options.setup else readable(options.setup)
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
            "targets": targets,
            "report": report,
            "quiet": options.quiet,
            "clock": options.clock or options.raw_hits,  # only events have raw hits
            "interval": options.output_interval,
            "setup": setup,
            "follow_children": not options.no_follow,
            "parts": parts_folder(output),
        },
    )
