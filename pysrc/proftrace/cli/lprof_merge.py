"""`lprof merge`: put the results of several runs or processes into one file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from proftrace.cli.options import Parser
from proftrace.cli.progress import progress
from proftrace.cli.results import check_report, read_results
from proftrace.errors import CaptureFileError
from proftrace.units import printable

if TYPE_CHECKING:
    from proftrace.model.profile import Profile


def merge(words: list[str]) -> int:
    """Run `lprof merge` with its arguments and return its exit status."""
    parser = Parser(
        "lprof merge",
        usage="lprof merge [options] -o OUT FILE ...",
        description="Put result files into one; every report adds up what is in it.",
    )
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="written by lprof, or by lprof merge")
    add("-o", "--output", metavar="OUT", required=True, help="the merged file; -: standard output")
    add("-f", "--force", action="store_true", help="replace OUT if it is there")
    options = parser.parse_args(words)

    # Imported here: `lprof` itself has to be gone before any of this is needed.
    from proftrace.model.results import merge_results
    from proftrace.render.base import write_stepwise

    check_report(options.files, options.output, force=options.force)
    results = read_results(options.files)
    _refuse_pickles(results.profiles)
    n_processes = len(results.profiles)
    with (
        write_stepwise(options.output, options.force) as descriptor,
        progress("lprof", "merging") as say,
    ):
        merge_results(results, descriptor, say)
    if options.output != "-":
        recordings = "one recording" if n_processes == 1 else f"{n_processes} recordings"
        print(f"Wrote {printable(options.output)} ({recordings})")
    return 0


def _refuse_pickles(profiles: Sequence[Profile]) -> None:
    """Raise CaptureFileError for a file of line_profiler, which is no log and no part of one."""
    from proftrace.model.line_pickle import LINE_PROFILER

    for profile in profiles:
        if profile.meta.get("tool") == LINE_PROFILER:
            raise CaptureFileError(
                f"{printable(profile.path)}: written by line_profiler, it cannot be merged into a "
                "file of ours; lprof show, html, export and diff take it beside others"
            )
