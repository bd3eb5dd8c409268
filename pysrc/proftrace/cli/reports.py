"""The commands of `memtrace` that report on a capture."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence

from proftrace.cli.options import Parser
from proftrace.cli.outcome import print_warnings
from proftrace.cli.output import refuse_to_replace
from proftrace.errors import CaptureFileError
from proftrace.model.load import load_profile
from proftrace.model.profile import PEAK_BYTES, Profile
from proftrace.render.base import check_output, write_output
from proftrace.render.terminal import terminal_of
from proftrace.units import printable
from proftrace.views.notes import notes_on
from proftrace.views.selection import Selection


def flamegraph(words: Sequence[str]) -> int:
    """Write a page that shows who held the memory."""
    parser = _parser("flamegraph", flamegraph.__doc__)
    _add_output(parser, "the page (default: memtrace-flamegraph-<capture>.html)")
    parser.add_argument("--leaks", action="store_true", help="what was never freed, not the peak")
    options = _parse(parser, words)
    from proftrace.render.flamegraph import FlamegraphOptions, render

    output = _output(options, "flamegraph", "html")
    selection = Selection.LEAKS if options.leaks else Selection.PEAK
    profile = _load(options.capture)
    notes = _say_notes(profile, selection)
    page = render(profile, FlamegraphOptions(leaks=options.leaks, notes=notes))
    return _write(output, page, options)


def summary(words: Sequence[str]) -> int:
    """Print the places that hold the most memory."""
    parser = _parser("summary", summary.__doc__)
    _add_selection(parser)
    parser.add_argument("-n", "--rows", type=_count, metavar="N", help="rows to show; 0: all")
    parser.add_argument(
        "-s",
        "--sort",
        choices=("own", "total", "allocs"),
        default="own",
        help="what the function allocated itself, with callees, or the number (default: own)",
    )
    parser.add_argument("--by-function", action="store_true", help="a row a function, not a line")
    parser.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colours (auto)"
    )
    options = _parse(parser, words)
    from proftrace.render.summary import SummaryOptions, render_summary

    selection = _selection(options)
    profile = _load(options.capture)
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
    parser.add_argument("-n", "--largest", type=_count, default=5, metavar="N", help="places (5)")
    options = _parse(parser, words)
    from proftrace.render.stats import StatsOptions, render_stats

    profile = _load(options.capture)
    bar = terminal_of(sys.stdout).symbol("█", "#") if sys.stdout.isatty() else "#"
    settings = StatsOptions(largest=options.largest, json=options.json, bar=bar)
    sys.stdout.write(render_stats(profile, settings))
    return 0


def transform(words: Sequence[str]) -> int:
    """Write a capture in another format (csv)."""
    parser = _parser("transform", transform.__doc__, usage="csv [options] CAPTURE")
    parser.add_argument("format", choices=("csv",), help="what to write")
    _add_output(parser, "the file (default: memtrace-csv-<capture>.csv)")
    _add_selection(parser)
    options = _parse(parser, words)
    from proftrace.render.csv import CsvOptions, render_csv

    output = _output(options, "csv", "csv")
    selection = _selection(options)
    profile = _load(options.capture)
    _say_notes(profile, selection)
    return _write(output, render_csv(profile, CsvOptions(selection=selection)), options)


# ---- what they share ----------------------------------------------------------------------------


def _parser(name: str, description: str | None, usage: str = "[options] CAPTURE") -> Parser:
    """Return a parser for one capture; `usage` is what comes behind the command's name."""
    return Parser(f"memtrace {name}", description=description, usage=f"memtrace {name} {usage}")


def _parse(parser: Parser, words: Sequence[str]) -> Namespace:
    """Parse a command line, with the capture as the last positional argument."""
    parser.add_argument("capture", metavar="CAPTURE", help="written by memtrace run")
    return parser.parse_args(words)


def _add_output(parser: Parser, text: str) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help=f"{text}; -: standard output")
    parser.add_argument("-f", "--force", action="store_true", help="replace the file if it exists")


def _add_selection(parser: Parser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--leaks", action="store_true", help="what was never freed, not the peak")
    group.add_argument("--all", action="store_true", help="all that was allocated, freed or not")


def _selection(options: Namespace) -> Selection:
    if options.leaks:
        return Selection.LEAKS
    return Selection.ALL if options.all else Selection.PEAK


def _count(text: str) -> int:
    """Return a number that is not negative."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"not a number: {text!r}")
    return int(text)


def _output(options: Namespace, report: str, extension: str) -> str:
    """Return where the report goes, checked: a refusal must not come after the work."""
    output: str = options.output or default_name(options.capture, report, extension)
    if os.path.exists(options.capture):
        check_output(output, options.force)
        refuse_to_replace(options.capture, output)
    return output


def default_name(capture: str, report: str, extension: str) -> str:
    """Return the name of a report, beside its capture: memtrace-csv-app.py.7.csv."""
    folder, name = os.path.split(capture)
    name = name.removesuffix(".bin").removeprefix("memtrace-")
    return os.path.join(folder, f"memtrace-{report}-{name}.{extension}")


def _load(capture: str) -> Profile:
    """Return the profile of a capture; what is wrong with it is said on stderr."""
    profile = load_profile(capture)
    if PEAK_BYTES not in profile.metrics:
        name = printable(capture)
        raise CaptureFileError(f"{name} holds results of lines, not of memory: lprof show {name}")
    print_warnings("memtrace", profile.warnings)
    return profile


def _say_notes(profile: Profile, selection: Selection) -> list[str]:
    """Say on stderr what has to be known about a report that has no place to say it, or is a file
    that may be opened by nobody for long; return it."""
    notes = notes_on(profile, selection)
    for note in notes:
        print(f"memtrace: note: {note}", file=sys.stderr)
    return notes


def _write(output: str, text: str, options: Namespace) -> int:
    write_output(output, text, options.force)
    if output != "-":
        print(f"Wrote {printable(output)}")
    return 0
