"""`lprof html`: the source with what each line cost, as one page."""

from __future__ import annotations

import os

from proftrace.cli.options import Parser
from proftrace.cli.results import check_report, read_profiles
from proftrace.units import printable


def html(words: list[str]) -> int:
    """Run `lprof html` with its arguments and return its exit status."""
    parser = Parser(
        "lprof html",
        usage="lprof html [options] FILE ...",
        description="Write a page that shows the source with what each line cost; it needs no "
        "network.",
    )
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="written by lprof; several are added up")
    add("-o", "--output", metavar="PAGE", help="the page (default: FILE.html); -: standard output")
    add("-f", "--force", action="store_true", help="replace the page if it is there")
    add("--no-source", action="store_true", help="leave the source text out of the page")
    options = parser.parse_args(words)

    # Imported here: `lprof` itself has to be gone before any of this is needed.
    from proftrace.render.base import write_output
    from proftrace.render.line_page import LinePageOptions, render_line_page
    from proftrace.views.line_stats import function_stats

    output = options.output or f"{options.files[0].removesuffix('.lprof')}.html"
    check_report(options.files, output, force=options.force)
    profiles = read_profiles(options.files)
    settings = LinePageOptions(source=not options.no_source)
    page = render_line_page(function_stats(profiles), profiles, settings)
    write_output(output, page, options.force)
    if output != "-":
        print(f"Wrote {printable(os.path.normpath(output))}")
    return 0
