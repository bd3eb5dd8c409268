"""`lprof show`: print what was recorded, as the table, with everything known, or as JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from proftrace._version import __version__
from proftrace.cli.options import Parser
from proftrace.units import format_time, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from proftrace.model.profile import Profile
    from proftrace.render.terminal import Terminal
    from proftrace.views.line_stats import FunctionStats
    from proftrace.views.line_table import FunctionKey, FunctionLines

_NO_LIMIT = 10_000  # columns: a file is as wide as its lines


def add_table_options(parser: Parser) -> None:
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
    add(
        "--raw-hits",
        action="store_true",
        help="count the LINE events of the interpreter, not the statements that began",
    )
    add("--all", dest="all_lines", action="store_true", help="show cold lines too (terminal)")
    add(
        "--stats",
        action="store_true",
        help="everything that is known: errors, extremes, callers, how it was measured",
    )


def _unit(text: str) -> float:
    """Return a unit given in seconds."""
    try:
        unit = float(text)
    except ValueError:
        unit = 0.0
    if not 0 < unit < float("inf"):
        raise argparse.ArgumentTypeError(f"not a length of time in seconds: {text!r}")
    return unit


def table_arguments(options: argparse.Namespace) -> list[str]:
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
        ("--stats", options.stats),
        ("--raw-hits", options.raw_hits),
    ):
        if wanted:
            words.append(flag)
    return words


def _show_parser() -> Parser:
    parser = Parser(
        "lprof show",
        usage="lprof show [options] FILE ...",
        description="Print the table of result files; several files are added up.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="written by lprof")
    add_table_options(parser)
    add = parser.add_argument
    add("-m", "--summarize", action="store_true", help="add a line for each function at the end")
    add("-o", "--output", metavar="FILE", default="-", help="where to write (default: stdout)")
    add("-f", "--force", action="store_true", help="replace the output file if it is there")
    add("--format", choices=("text", "json"), help="default: by the name of the output file")
    return parser


def show(words: list[str]) -> int:
    """Run `lprof show` with its arguments and return its exit status."""
    options = _show_parser().parse_args(words)
    # Imported here: `lprof` itself has to be gone before any of this is needed.
    from proftrace.cli.results import read_profiles
    from proftrace.render.base import check_output, write_output
    from proftrace.views.line_stats import fallbacks, function_stats

    check_output(options.output, options.force)
    profiles = read_profiles(options.files)
    stats = function_stats(profiles, raw_hits=options.raw_hits)
    text = _text(stats, options, profiles)
    if options.output == "-":
        sys.stdout.write(text)
    else:
        write_output(options.output, text, options.force)
    n_hot = sum("samples" in one.lines.regimes for one in stats.values())
    if options.raw_hits and n_hot:
        print(f"lprof: {_why_no_events(n_hot)}", file=sys.stderr)
    elif not any(one.lines.hits for one in stats.values()):
        print(f"lprof: {_why_empty(len(stats))}", file=sys.stderr)
    for reason, n_functions in fallbacks(stats).items():
        print(f"lprof: {_why_cold(reason, n_functions)}", file=sys.stderr)
    return 0


def _text(
    stats: Mapping[FunctionKey, FunctionStats],
    options: argparse.Namespace,
    profiles: Sequence[Profile],
) -> str:
    """Return the report that was asked for, or that fits where it goes."""
    from proftrace.render.line_json import render_json
    from proftrace.render.line_stats import render_stats
    from proftrace.render.terminal import Terminal, terminal_of

    to_file = options.output != "-"
    if options.format == "json" or (options.format is None and options.output.endswith(".json")):
        return render_json(stats, profiles)
    if to_file:
        terminal = Terminal(width=_NO_LIMIT, color=options.color == "always")
    else:
        terminal = terminal_of(sys.stdout, options.color)
    title = _title(profiles, len(stats))
    if options.stats:
        return render_stats(stats, profiles, terminal, title)
    return _table([one.lines for one in stats.values()], options, terminal, title)


def _table(
    sections: Sequence[FunctionLines], options: argparse.Namespace, terminal: Terminal, title: str
) -> str:
    """Return the table that fits where it goes: the classic one for scripts."""
    from proftrace.render.line_table import TableOptions, render_classic
    from proftrace.render.line_terminal import render_terminal

    table = TableOptions(
        unit=options.unit or TableOptions().unit,
        skip_zero=options.skip_zero,
        sort=options.sort,
        summarize=options.summarize,
        all_lines=options.all_lines,
    )
    style = "terminal" if options.rich else options.style
    if style == "auto":
        to_terminal = options.output == "-" and sys.stdout.isatty()
        style = "terminal" if to_terminal else "classic"
    if style == "classic":
        return render_classic(sections, table)
    return render_terminal(sections, table, terminal, title)


def _title(profiles: Sequence[Profile], n_functions: int) -> str:
    programs = ", ".join(printable(profile.meta.get("program", "?")) for profile in profiles)
    functions = f"{n_functions} function{'' if n_functions == 1 else 's'}"
    walls = [p.header["last_mono_ns"] - p.header["start_mono_ns"] for p in profiles]
    wall = f"  {format_time(sum(walls))} wall time" if min(walls) > 0 else ""
    return f"lprof {__version__}  {programs}  {functions}{wall}"


def _why_cold(reason: str, n_functions: int) -> str:
    """Return that the times of busy functions are less true than they could be, and why."""
    functions = (
        "one busy function was" if n_functions == 1 else f"{n_functions} busy functions were"
    )
    return f"{functions} timed by the clock, not by samples: {reason}"


def _why_no_events(n_functions: int) -> str:
    """Return which hits are missing, and how to get them."""
    functions = "one busy function" if n_functions == 1 else f"{n_functions} busy functions"
    return f"no raw hits of {functions}, counted without LINE events; record with --raw-hits"


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
