"""`lprof show`: print what was recorded, as the table, with everything known, or as JSON."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence

from proftrace._version import __version__
from proftrace.cli.flag_words import FlagWords, add_opposites
from proftrace.cli.options import Parser, add_version
from proftrace.errors import UsageError
from proftrace.units import format_time, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from proftrace.model.profile import Profile
    from proftrace.render.line_table import TableOptions
    from proftrace.render.terminal import Terminal
    from proftrace.views.line_stats import FunctionStats
    from proftrace.views.line_table import FunctionKey, FunctionLines

FORMATS = ("text", "json", "csv", "md")
# Options of the table that are there or not.
_FLAGS = (
    *("skip_zero", "sort", "rich", "summarize", "all_lines", "stats"),
    *("raw_hits", "raw", "statements", "callers"),
)


def add_table_options(parser: Parser) -> None:
    """Add the options of the table, which `lprof -v` hands on to `lprof show`."""
    add = parser.add_argument
    add(
        "-u",
        "--unit",
        metavar="SECONDS",
        type=_unit,
        help="unit of all times (default: 1e-06; on a terminal what fits)",
    )
    add("-z", "--skip-zero", action="store_true", help="leave out functions that never ran")
    add("-t", "--sort", action="store_true", help="sort by total time, ascending")
    add("-r", "--rich", action="store_true", help="the same as --style=rich")
    add(
        "--style",
        choices=("auto", "classic", "rich"),
        default="auto",
        help="classic: as line_profiler prints it; rich: for people; auto (default): rich on a "
        "terminal",
    )
    add("--color", choices=("auto", "always", "never"), default="auto", help="colours (auto)")
    add("--top", metavar="N", type=_count, help="show the N functions with the most time")
    add(
        "--min-pct",
        metavar="P",
        type=_percent,
        help="leave out functions with less than P %% of all time, and lines with less than P %% "
        "of their function's",
    )
    add(
        "--context",
        metavar="N",
        type=_count,
        help="show N lines around each line that is shown; leave out other cold ones",
    )
    add("--all", dest="all_lines", action="store_true", help="show cold lines too (rich)")
    add("--statements", action="store_true", help="one row for a statement over several lines")
    add("--callers", action="store_true", help="say who calls each function, and from which line")
    add("--raw", action="store_true", help="numbers as recorded: nanoseconds, nothing shortened")
    add(
        "--raw-hits",
        action="store_true",
        help="count the LINE events of the interpreter, not the statements that began",
    )
    add(
        "--stats",
        action="store_true",
        help="everything that is known: errors, extremes, callers, how it was measured",
    )
    add(
        "--format",
        choices=FORMATS,
        help="text (default), json, csv or md (Markdown)",
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


def _count(text: str) -> int:
    """Return a whole number that is not negative."""
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"not a number of lines or functions: {text!r}")
    return int(text)


def _percent(text: str) -> float:
    """Return a part in percent; the sign behind it may be there."""
    try:
        part = float(text.removesuffix("%"))
    except ValueError:
        part = -1.0
    if not 0 <= part <= 100:
        raise argparse.ArgumentTypeError(f"not a percentage from 0 to 100: {text!r}")
    return part


def table_arguments(options: argparse.Namespace) -> list[str]:
    """Return the arguments of `lprof show` that ask for what `options` ask for."""
    words = [f"--style={options.style}", f"--color={options.color}"]
    for name in ("unit", "top", "min_pct", "context", "format"):
        value = getattr(options, name)
        if value is not None:
            words.append(f"--{name.replace('_', '-')}={value}")
    for name in _FLAGS:
        if getattr(options, name):
            words.append("--all" if name == "all_lines" else f"--{name.replace('_', '-')}")
    return words


class _ShowParser(FlagWords, Parser):
    """The parser of `lprof show`."""


def _show_parser() -> _ShowParser:
    parser = _ShowParser(
        "lprof show",
        usage="lprof show [options] FILE ...",
        description="Print the table of result files; several files are added up.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="written by lprof")
    add_table_options(parser)
    add = parser.add_argument
    add("-m", "--summarize", action="store_true", help="add a line for each function at the end")
    add("--processes", action="store_true", help="list the processes instead, a row each")
    add(
        "--pid",
        metavar="PID",
        type=_count,
        action="append",
        help="show what this process did; repeatable",
    )
    add("-o", "--output", metavar="FILE", default="-", help="where to write (default: stdout)")
    add("-f", "--force", action="store_true", help="replace the output file if it is there")
    add_opposites(parser)
    add_version(parser, "lprof")
    add("--no-config", action="store_true", help=argparse.SUPPRESS)  # there is none
    return parser


def show(words: list[str]) -> int:
    """Run `lprof show` with its arguments and return its exit status."""
    options = _show_parser().parse_args(words)
    # Imported here: `lprof` itself has to be gone before any of this is needed.
    from proftrace.cli.output import refuse_to_replace
    from proftrace.cli.results import read_profiles
    from proftrace.render.base import write_output
    from proftrace.render.line_processes import render_processes
    from proftrace.render.place import check_output
    from proftrace.views.line_stats import fallbacks, function_stats
    from proftrace.views.line_table import Reading

    check_output(options.output, options.force)
    refuse_to_replace(options.output, *options.files)
    profiles = _of_processes(read_profiles(options.files), options.pid)
    stats = function_stats(profiles, Reading(options.raw_hits, options.raw, options.statements))
    text = render_processes(profiles) if options.processes else _text(stats, options, profiles)
    if options.output == "-":
        sys.stdout.write(text)
    else:
        write_output(options.output, text, options.force)
    n_hot = sum("samples" in one.lines.regimes for one in stats.values())
    if options.raw_hits and n_hot:
        print(f"lprof: {_why_no_events(n_hot)}", file=sys.stderr)
    elif not any(one.lines.hits for one in stats.values()):
        print(f"lprof: {_why_empty(len(stats), profiles)}", file=sys.stderr)
    for reason, n_functions in fallbacks(stats).items():
        print(f"lprof: {_why_cold(reason, n_functions)}", file=sys.stderr)
    return 0


def _of_processes(profiles: list[Profile], pids: Sequence[int] | None) -> list[Profile]:
    """Return the profiles of these processes, of all without pids; UsageError for none."""
    if pids is None:
        return profiles
    found = [profile for profile in profiles if profile.header["pid"] in pids]
    if not found:
        known = ", ".join(str(profile.header["pid"]) for profile in profiles)
        raise UsageError(f"--pid {pids[0]}: there is no such process; there are {known}")
    return found


def _text(
    stats: Mapping[FunctionKey, FunctionStats],
    options: argparse.Namespace,
    profiles: Sequence[Profile],
) -> str:
    """Return the report that was asked for, or that fits where it goes."""
    from proftrace.render.line_csv import render_line_csv
    from proftrace.render.line_json import render_json
    from proftrace.render.line_markdown import render_markdown
    from proftrace.render.line_stats import render_stats
    from proftrace.render.terminal import UNLIMITED, Terminal, terminal_of
    from proftrace.views.line_filter import FunctionFilter, measured_time, select_functions
    from proftrace.views.nesting import outer_functions

    sections = {key: one.lines for key, one in stats.items()}
    wanted = FunctionFilter(options.top, options.min_pct)
    shown = {key: stats[key] for key in select_functions(sections, wanted)}
    table = _table_options(options, measured_time(list(sections.values())))
    match _format(options):
        case "json":
            return render_json(shown, profiles, table)
        case "csv":
            return render_line_csv([one.lines for one in shown.values()], table)
        case "md":
            return render_markdown([one.lines for one in shown.values()], table)
    if options.output != "-":
        terminal = Terminal(width=UNLIMITED, color=options.color == "always")
    else:
        terminal = terminal_of(sys.stdout, options.color)
    n_functions = len(outer_functions(list(sections.values())))
    n_shown = len(outer_functions([one.lines for one in shown.values()]))
    title = _title(profiles, n_functions, n_shown)
    if options.stats:
        return render_stats(shown, profiles, terminal, title)
    return _table([one.lines for one in shown.values()], table, options, terminal, title)


def _format(options: argparse.Namespace) -> str:
    """Return the format that was named, or that the name of the output says."""
    if options.format is not None:
        return str(options.format)
    extension = options.output.rpartition(".")[2]
    return extension if extension in FORMATS else "text"


def _table_options(options: argparse.Namespace, whole: int) -> TableOptions:
    from proftrace.render.line_table import TableOptions

    return TableOptions(
        unit=options.unit,
        skip_zero=options.skip_zero,
        sort=options.sort,
        summarize=options.summarize,
        all_lines=options.all_lines,
        raw=options.raw,
        callers=options.callers,
        min_percent=options.min_pct,
        context=options.context,
        whole=whole,
        hint=_hint(options.files),
    )


def _hint(files: Sequence[str]) -> str:
    """Return the command that shows the same as a page; nothing where it is not one file."""
    from proftrace.render.line_calls import short_path

    return f"lprof html {shlex.quote(short_path(files[0]))}" if len(files) == 1 else ""


def _table(
    sections: Sequence[FunctionLines],
    table: TableOptions,
    options: argparse.Namespace,
    terminal: Terminal,
    title: str,
) -> str:
    """Return the table that fits where it goes: the classic one for scripts."""
    from proftrace.render.line_table import render_classic
    from proftrace.render.line_terminal import render_terminal

    style = "rich" if options.rich else options.style
    if style == "auto":
        to_terminal = options.output == "-" and sys.stdout.isatty()
        style = "rich" if to_terminal else "classic"
    if style == "classic":
        return render_classic(sections, table)
    return render_terminal(sections, table, terminal, title)


def _title(profiles: Sequence[Profile], n_functions: int, n_shown: int) -> str:
    from proftrace.views.runs import wall_time

    names = dict.fromkeys(printable(profile.meta.get("program", "?")) for profile in profiles)
    programs = ", ".join(names)
    if len(profiles) > len(names):
        programs += f" ({len(profiles)} recordings)"
    functions = f"{n_functions} function{'' if n_functions == 1 else 's'}"
    if n_shown < n_functions:
        functions = f"{n_shown} of {functions}"
    time = wall_time(profiles)
    wall = f"  {format_time(time)} wall time" if time else ""
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


def _why_empty(n_functions: int, profiles: Sequence[Profile]) -> str:
    """Return why there is nothing to show, and what to do about it."""
    if any("targets" in profile.meta for profile in profiles):
        return "nothing was recorded: nothing of what was asked for (-p, --all) ran in this program"
    if n_functions:
        return (
            "nothing was recorded: the functions decorated with @profile were never called in "
            "this run"
        )
    return (
        "nothing was recorded: no function was decorated; put @profile above the functions to "
        "profile (a builtin under lprof, or `from proftrace import profile`)"
    )
