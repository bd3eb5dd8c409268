"""`lprof diff`: what became slower or faster between two results, and whether that is too much."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence

from proftrace.cli.options import Parser
from proftrace.cli.results import check_report, read_profiles
from proftrace.units import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from proftrace.views.conditions import Condition, Met
    from proftrace.views.line_diff import ProfileDiff

_EPILOG = """\
A condition of --fail-if is [FUNCTION:] METRIC COMPARISON AMOUNT:
  'time > +10%'             the whole run takes over 10 % longer
  'parse*: time > +5ms'     a function of such a name takes over 5 ms longer
  'app.py:load: calls > +0' more calls than before
  '*: time > 2s'            any function takes more than 2 s
metrics: time, self, hits, calls, await, per-hit; the status is then 1
"""


def diff(words: list[str]) -> int:
    """Run `lprof diff` with its arguments and return its exit status."""
    parser = Parser(
        "lprof diff",
        usage="lprof diff [options] BEFORE AFTER",
        description="Compare two results, by functions and by the text of their lines.",
        epilog=_EPILOG,
    )
    add = parser.add_argument
    add("before", metavar="BEFORE", help="written by lprof, or several runs by lprof merge")
    add("after", metavar="AFTER", help="the same")
    add(
        "--fail-if",
        action="append",
        default=[],
        metavar="CONDITION",
        help="end with status 1 when it is met; may be given several times",
    )
    add("--all", action="store_true", help="also what is within the noise, and every line")
    add("-n", "--top", type=_count, metavar="N", help="only the N functions that changed most")
    add("--format", choices=("text", "json", "md"), help="default: by the name of the output")
    add("-o", "--output", metavar="FILE", default="-", help="where to write (default: stdout)")
    add("-f", "--force", action="store_true", help="replace the output file if it is there")
    add("--color", choices=("auto", "always", "never"), default="auto", help="colours (auto)")
    options = parser.parse_args(words)

    # Imported here: `lprof` itself has to be gone before any of this is needed.
    from proftrace.render.base import write_output
    from proftrace.render.line_diff_markdown import met_text
    from proftrace.views.conditions import judge, parse_condition
    from proftrace.views.line_diff import diff_profiles

    conditions = [parse_condition(text) for text in options.fail_if]
    check_report([options.before, options.after], options.output, force=options.force)
    changes = diff_profiles(read_profiles([options.before]), read_profiles([options.after]))
    met = judge(changes, conditions)
    text = _text(changes, options, conditions, met)
    if options.output == "-":
        sys.stdout.write(text)
    else:
        write_output(options.output, text, options.force)
    for one in met:
        print(f"lprof: {printable(met_text(one))}", file=sys.stderr)
    return 1 if met else 0


def _count(text: str) -> int:
    """Return a number of functions."""
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"not a number of functions: {text!r}")
    return int(text)


def _text(
    changes: ProfileDiff, options: Namespace, conditions: Sequence[Condition], met: Sequence[Met]
) -> str:
    """Return the report in the format that was asked for."""
    from proftrace.render.line_diff import DiffOptions, render_diff
    from proftrace.render.line_diff_json import render_diff_json
    from proftrace.render.line_diff_markdown import render_diff_markdown
    from proftrace.render.terminal import UNLIMITED, Terminal, terminal_of

    shown = DiffOptions(options.before, options.after, top=options.top, everything=options.all)
    endings = {".json": "json", ".md": "md"}
    by_name = next((f for end, f in endings.items() if options.output.endswith(end)), "text")
    name = options.format or by_name
    if name == "json":
        return render_diff_json(changes, shown, conditions, met)
    if name == "md":
        return render_diff_markdown(changes, shown, met)
    if options.output != "-":
        return render_diff(changes, shown, Terminal(UNLIMITED, color=options.color == "always"))
    return render_diff(changes, shown, terminal_of(sys.stdout, options.color))
