"""The command `lprof`: profile a program line by line, and show what was recorded."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from proftrace._version import __version__
from proftrace.cli.options import Parser, TargetParser, add_version
from proftrace.cli.outcome import print_warnings, run_command
from proftrace.cli.output import refuse_to_replace, resolve_output
from proftrace.errors import CaptureFileError
from proftrace.run.launch import check_target, launch, report_command
from proftrace.units import format_time, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from proftrace.model.profile import Profile
    from proftrace.render.line_table import TableOptions
    from proftrace.views.line_table import FunctionLines

DESCRIPTION = """\
Run a Python program and record hits and time of each line of the functions that are decorated with
@profile (a builtin under lprof; `from proftrace import profile` works everywhere).
"""
EPILOG = """\
lprof show FILE ...   print the table of a result file again (lprof show --help)
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `lprof` with `argv` (default: the command line) and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    return run_command("lprof", lambda: _show(words[1:]) if words[:1] == ["show"] else _run(words))


def _add_table_options(parser: Parser) -> None:
    """Add the options of the table, which `lprof -v` hands on to `lprof show`."""
    add = parser.add_argument
    add("-u", "--unit", metavar="SECONDS", type=_unit, help="unit of times (default: 1e-06)")
    add("-z", "--skip-zero", action="store_true", help="leave out functions that never ran")
    add("-t", "--sort", action="store_true", help="sort by total time, ascending")
    add("-r", "--rich", action="store_true", help="the same as --style=terminal")
    add(
        "--style",
        choices=("auto", "classic", "terminal"),
        default="auto",
        help="classic: as line_profiler prints it; auto (default): terminal if stdout is one",
    )
    add("--color", choices=("auto", "always", "never"), default="auto", help="colours (auto)")
    add("--all", dest="all_lines", action="store_true", help="show cold lines too (terminal)")


def _unit(text: str) -> float:
    """Return a unit given in seconds."""
    try:
        unit = float(text)
    except ValueError:
        unit = 0.0
    if not 0 < unit < float("inf"):
        raise argparse.ArgumentTypeError(f"not a length of time in seconds: {text!r}")
    return unit


def _table_arguments(options: argparse.Namespace) -> list[str]:
    """Return the arguments of `lprof show` that ask for what `options` ask for."""
    words = [f"--style={options.style}", f"--color={options.color}"]
    if options.unit is not None:
        words.append(f"--unit={options.unit!r}")
    for flag, wanted in (
        ("--skip-zero", options.skip_zero),
        ("--sort", options.sort),
        ("--rich", options.rich),
        ("--summarize", options.summarize),
        ("--all", options.all_lines),
    ):
        if wanted:
            words.append(flag)
    return words


def _run_parser() -> TargetParser:
    parser = TargetParser("lprof", description=DESCRIPTION, epilog=EPILOG)
    add = parser.add_argument
    add("-o", "--outfile", metavar="FILE", help="result file (default: <script>.lprof)")
    add("-v", "--view", "--verbose", action="store_true", help="print the table at the end")
    add("-q", "--quiet", action="store_true", help="do not say where the result is")
    _add_table_options(parser)
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
    if options.view:
        report = report_command("show", *_table_arguments(options), "--", output)
    launch(
        target,
        "lprof",
        {"output": output, "report": report, "quiet": options.quiet},
    )


def _show_parser() -> Parser:
    parser = Parser(
        "lprof show",
        usage="lprof show [options] FILE ...",
        description="Print the table of result files; several files are added up.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="written by lprof")
    _add_table_options(parser)
    parser.add_argument(
        "-m", "--summarize", action="store_true", help="add a line for each function at the end"
    )
    return parser


def _show(words: list[str]) -> int:
    options = _show_parser().parse_args(words)
    # Imported here: `lprof` itself has to be gone before any of this is needed.
    from proftrace.model.load import load_profile
    from proftrace.model.profile import HITS
    from proftrace.render.line_table import TableOptions
    from proftrace.views.line_table import line_table

    profiles: list[Profile] = []
    for file in options.files:
        profile = load_profile(file)
        if HITS not in profile.metrics:
            raise CaptureFileError(f"{file}: a memory capture: memtrace reports on it")
        print_warnings("lprof", profile.warnings)
        profiles.append(profile)
    sections = line_table(profiles)
    table = TableOptions(
        unit=options.unit or TableOptions().unit,
        skip_zero=options.skip_zero,
        sort=options.sort,
        summarize=options.summarize,
        all_lines=options.all_lines,
    )
    _print_table(sections, table, options, profiles)
    if not any(section.hits for section in sections):
        print(f"lprof: {_why_empty(len(sections))}", file=sys.stderr)
    return 0


def _print_table(
    sections: Sequence[FunctionLines],
    table: TableOptions,
    options: argparse.Namespace,
    profiles: Sequence[Profile],
) -> None:
    """Print the table that fits where stdout goes: the classic one for scripts."""
    from proftrace.render.line_table import render_classic
    from proftrace.render.line_terminal import render_terminal
    from proftrace.render.terminal import terminal_of

    style = "terminal" if options.rich else options.style
    if style == "auto":
        style = "terminal" if sys.stdout.isatty() else "classic"
    if style == "classic":
        sys.stdout.write(render_classic(sections, table))
        return
    terminal = terminal_of(sys.stdout, options.color)
    sys.stdout.write(render_terminal(sections, table, terminal, _title(profiles, len(sections))))


def _title(profiles: Sequence[Profile], n_functions: int) -> str:
    programs = ", ".join(printable(profile.meta.get("program", "?")) for profile in profiles)
    functions = f"{n_functions} function{'' if n_functions == 1 else 's'}"
    walls = [p.header["last_mono_ns"] - p.header["start_mono_ns"] for p in profiles]
    wall = f"  {format_time(sum(walls))} wall time" if min(walls) > 0 else ""
    return f"lprof {__version__}  {programs}  {functions}{wall}"


def _why_empty(n_functions: int) -> str:
    """Return why there is nothing to show, and what to do about it."""
    if n_functions:
        return (
            "nothing was recorded: the functions decorated with @profile were never called in "
            "this run"
        )
    return (
        "nothing was recorded: no function was decorated; put @profile above the functions to "
        "profile (a builtin under lprof, or `from proftrace import profile`)"
    )


if __name__ == "__main__":
    sys.exit(main())
