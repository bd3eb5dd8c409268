"""The commands of `memtrace` that report on a capture."""

from __future__ import annotations

import os
import stat
import sys
from argparse import ArgumentTypeError, Namespace, _ArgumentGroup
from collections.abc import Sequence

from proftrace.cli import memray_words
from proftrace.cli.captures import (
    add_captures,
    default_name,
    find_captures,
    load_captures,
)
from proftrace.cli.options import Parser
from proftrace.cli.outcome import print_warnings
from proftrace.cli.output import refuse_to_replace
from proftrace.errors import CaptureFileError
from proftrace.model.load import append_logs, symbolize_logs
from proftrace.model.profile import Profile
from proftrace.render.base import write_output, write_pieces, write_stepwise
from proftrace.render.place import check_output
from proftrace.render.terminal import terminal_of
from proftrace.units import format_count, printable
from proftrace.views.notes import notes_on
from proftrace.views.selection import Selection


def flamegraph(words: Sequence[str]) -> int:
    """Write a page that shows who held the memory."""
    parser = _parser("flamegraph", flamegraph.__doc__)
    _add_output(parser, "the page (default: memtrace-flamegraph-<capture>.html)")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--leaks", action="store_true", help="what was never freed, not the peak")
    _add_temporary(group)
    options = _parse(parser, words)
    from proftrace.render.flamegraph import FlamegraphOptions, render

    output = _output(options, "flamegraph", "html")
    selection = _selection(options)
    profile = load_captures(options)
    notes = _say_notes(profile, selection)
    settings = FlamegraphOptions(
        leaks=options.leaks, temporary=options.temporary_allocations, notes=notes
    )
    page = render(profile, settings)
    return _write(output, page, options)


def summary(words: Sequence[str]) -> int:
    """Print the places that hold the most memory."""
    parser = _parser("summary", summary.__doc__)
    _add_selection(parser)
    parser.add_argument(
        *("-n", "--rows", "-r", "--max-rows"),
        type=_count,
        metavar="N",
        help="rows to show; 0: all",
    )
    parser.add_argument(
        "-s",
        "--sort",
        "--sort-column",
        type=_sort_column,
        default="own",
        metavar="own|total|allocs",
        help="what the function allocated itself, with callees, or the number (default: own)",
    )
    parser.add_argument("--by-function", action="store_true", help="a row a function, not a line")
    parser.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colours (auto)"
    )
    options = _parse(parser, words)
    from proftrace.render.summary import SummaryOptions, render_summary

    selection = _selection(options)
    profile = load_captures(options)
    settings = SummaryOptions(
        selection=selection,
        rows=options.rows,
        sort=options.sort,
        by_line=not options.by_function,
    )
    sys.stdout.write(render_summary(profile, settings, terminal_of(sys.stdout, options.color)))
    return 0


def stats(words: Sequence[str]) -> int:
    """Print numbers of the whole run."""
    parser = _parser("stats", stats.__doc__)
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument(
        *("-n", "--largest", "--num-largest"),
        type=_count,
        default=5,
        metavar="N",
        help="places (5)",
    )
    _add_output(parser, "a file to write to (default: standard output)")
    options = _parse(parser, words)
    from proftrace.render.stats import StatsOptions, render_stats

    output = _output(options, "stats", "txt") if options.output else "-"
    profile = load_captures(options)
    on_screen = output == "-" and sys.stdout.isatty()
    bar = terminal_of(sys.stdout).symbol("█", "#") if on_screen else "#"
    settings = StatsOptions(largest=options.largest, json=options.json, bar=bar)
    text = render_stats(profile, settings)
    if options.output:
        return _write(output, text, options)
    sys.stdout.write(text)
    return 0


def transform(words: Sequence[str]) -> int:
    """Write a capture in another format (csv)."""
    parser = _parser("transform", transform.__doc__, usage="csv [options] CAPTURE ...")
    parser.add_argument("format", type=_format, metavar="csv", help="what to write")
    _add_output(parser, "the file (default: memtrace-csv-<capture>.csv)")
    _add_selection(parser)
    options = _parse(parser, words)
    from proftrace.render.csv import CsvOptions, csv_pieces

    output = _output(options, "csv", "csv")
    selection = _selection(options)
    profile = load_captures(options)
    _say_notes(profile, selection)
    write_pieces(output, csv_pieces(profile, CsvOptions(selection=selection)), options.force)
    return _wrote(output)


def merge(words: Sequence[str]) -> int:
    """Put the captures of several processes into one file."""
    parser = _parser("merge", merge.__doc__, usage="[options] -o FILE CAPTURE ...")
    _add_output(parser, "the merged capture, which every report takes")
    add_captures(parser)
    options = parser.parse_args(words)
    if options.output is None:
        parser.error("-o FILE is needed: where the merged capture goes")
    output = _output(options, "merged", "bin")
    captures = find_captures(options.captures, children=options.children)
    with write_stepwise(output, options.force) as descriptor:
        for path in captures:
            append_logs(path, descriptor)
    return _wrote(output)


def symbolize(words: Sequence[str]) -> int:
    """Store the names of native code in captures."""
    parser = _parser("symbolize", symbolize.__doc__)
    add_captures(parser)
    options = parser.parse_args(words)
    for path in find_captures(options.captures, children=options.children):
        _symbolize_in_place(path)
    return 0


def _symbolize_in_place(path: str) -> None:
    """Replace a capture by itself with names; it stays as it was if that fails."""
    if not os.path.isfile(path):
        problem = "not a regular file" if os.path.exists(path) else "no such file"
        raise CaptureFileError(f"{printable(path)}: cannot be read: {problem}")
    mode = stat.S_IMODE(os.stat(path).st_mode)
    with write_stepwise(path, force=True) as descriptor:
        result = symbolize_logs(path, descriptor)
        if not result.has_native:
            raise CaptureFileError(f"{printable(path)}: no native stacks (memtrace run --native)")
        for pid in result.recording:
            if _is_running(pid):
                raise CaptureFileError(
                    f"{printable(path)}: process {pid} is still writing to it, or another process"
                    " has its number now (memtrace merge makes a copy)"
                )
    os.chmod(path, mode)
    print_warnings("memtrace", result.warnings)
    print(
        f"Stored {format_count(result.n_found)} of {format_count(result.n_addresses)} names"
        f" in {printable(path)}"
    )


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True


# ---- what they share ----------------------------------------------------------------------------


def _parser(name: str, description: str | None, usage: str = "[options] CAPTURE ...") -> Parser:
    """Return a parser for captures; `usage` is what comes behind the command's name."""
    parser = Parser(f"memtrace {name}", description=description, usage=f"memtrace {name} {usage}")
    memray_words.add_memray_options(parser, name)
    return parser


def _parse(parser: Parser, words: Sequence[str]) -> Namespace:
    """Parse a command line, with the captures as the last positional arguments."""
    parser.add_argument(
        "--no-native", action="store_true", help="Python frames only, of a capture with native ones"
    )
    add_captures(parser)
    return parser.parse_args(words)


def _add_output(parser: Parser, text: str) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help=f"{text}; -: standard output")
    parser.add_argument("-f", "--force", action="store_true", help="replace the file if it exists")


def _add_selection(parser: Parser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--leaks", action="store_true", help="what was never freed, not the peak")
    group.add_argument("--all", action="store_true", help="all that was allocated, freed or not")
    _add_temporary(group)


def _add_temporary(group: _ArgumentGroup) -> None:
    group.add_argument(
        "--temporary-allocations",
        action="store_true",
        help="what was freed before its thread had made more than one further allocation",
    )


def _selection(options: Namespace) -> Selection:
    if options.leaks:
        return Selection.LEAKS
    if options.temporary_allocations:
        return Selection.TEMPORARY
    return Selection.ALL if getattr(options, "all", False) else Selection.PEAK


def _sort_column(text: str) -> str:
    """Return what to sort by; memray's numbers of columns are accepted too."""
    numbers = {"1": "total", "2": "total", "3": "own", "4": "own", "5": "allocs"}
    column = numbers.get(text, text)
    if column not in numbers.values():
        raise ArgumentTypeError(f"{text!r} is none of own, total, allocs")
    return column


def _format(text: str) -> str:
    """Return the format of `transform`."""
    if text != "csv":
        instead = memray_words.FORMATS.get(text, "choose csv")
        raise ArgumentTypeError(f"invalid choice: {text!r}; {instead}")
    return text


def _count(text: str) -> int:
    """Return a number that is not negative."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"not a number: {text!r}")
    return int(text)


def _output(options: Namespace, report: str, extension: str) -> str:
    """Return where the report goes, checked: a refusal must not come after the work."""
    output: str = options.output or default_name(options.captures[0], report, extension)
    if any(map(os.path.exists, options.captures)):
        check_output(output, options.force)
        refuse_to_replace(output, *options.captures)
    return output


def _say_notes(profile: Profile, selection: Selection) -> list[str]:
    """Say on stderr what has to be known about a report that has no place to say it, or is a file
    that may be opened by nobody for long; return it."""
    notes = notes_on(profile, selection)
    for note in notes:
        print(f"memtrace: note: {note}", file=sys.stderr)
    return notes


def _write(output: str, text: str, options: Namespace) -> int:
    write_output(output, text, options.force)
    return _wrote(output)


def _wrote(output: str) -> int:
    if output != "-":
        print(f"Wrote {printable(output)}")
    return 0
