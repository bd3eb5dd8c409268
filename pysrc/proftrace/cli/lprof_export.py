"""`lprof export`: a result in the formats of other tools."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from proftrace.cli.options import Parser
from proftrace.cli.progress import progress
from proftrace.cli.results import check_report, read_profiles
from proftrace.errors import UsageError
from proftrace.units import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from proftrace.views.line_stats import FunctionStats
    from proftrace.views.line_table import FunctionKey

    type Stats = Mapping[FunctionKey, FunctionStats]


@dataclass(frozen=True, slots=True)
class _Request:
    """What is exported: `name` of the program, and whether frames are functions, not lines."""

    stats: Stats
    name: str
    by_function: bool


@dataclass(frozen=True, slots=True)
class _Format:
    """One format: `prefix` and `endings` tell a file of it by its name, the first is ours."""

    render: Callable[[_Request], str | bytes]
    endings: tuple[str, ...]
    prefix: str = ""

    def default_name(self, result: str) -> str:
        """Return the name for what is made of a result file, beside it."""
        folder, name = os.path.split(result.removesuffix(".lprof"))
        return os.path.join(folder, f"{self.prefix}{name}{self.endings[0]}")

    def has_name(self, path: str) -> bool:
        """Tell whether a file by this name is of this format."""
        name = os.path.basename(path)
        if self.prefix and name.startswith(self.prefix):
            return True
        return any(ending and name.endswith(ending) for ending in self.endings)


def _pstats(request: _Request) -> bytes:
    from proftrace.render.line_pstats import render_pstats

    return render_pstats(request.stats)


def _callgrind(request: _Request) -> str:
    from proftrace.render.line_callgrind import render_callgrind

    return render_callgrind(request.stats, request.name)


def _speedscope(request: _Request) -> str:
    from proftrace.render.line_speedscope import SpeedscopeOptions, render_speedscope

    options = SpeedscopeOptions(request.name, by_function=request.by_function)
    return render_speedscope(request.stats, options)


def _collapsed(request: _Request) -> str:
    from proftrace.render.line_collapsed import render_collapsed

    return render_collapsed(request.stats, by_function=request.by_function)


_FORMATS = {
    "callgrind": _Format(_callgrind, ("", ".callgrind"), prefix="callgrind.out."),
    "collapsed": _Format(_collapsed, (".ns.collapsed", ".collapsed", ".folded")),
    "pstats": _Format(_pstats, (".pstats", ".prof")),
    "speedscope": _Format(_speedscope, (".speedscope.json",)),
}
_WITH_STACKS = ("collapsed", "speedscope")


def export(words: list[str]) -> int:
    """Run `lprof export` with its arguments and return its exit status."""
    parser = Parser(
        "lprof export",
        usage="lprof export [options] --to FORMAT FILE ...",
        description="Write a result for other tools.",
    )
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="written by lprof; several are added up")
    add("--to", choices=_FORMATS, metavar="FORMAT", help=f"{', '.join(_FORMATS)}")
    add("-o", "--output", metavar="OUT", help="where to write; -: standard output")
    add("-f", "--force", action="store_true", help="replace OUT if it is there")
    add(
        "--by",
        choices=("line", "function"),
        help="what a frame of speedscope and collapsed is (line)",
    )
    options = parser.parse_args(words)
    name = options.to or _format_of(options.output)
    if options.by and name not in _WITH_STACKS:
        raise UsageError(f"--by is for {' and '.join(_WITH_STACKS)}, not for {name}")

    # Imported here: `lprof` itself has to be gone before any of this is needed.
    from proftrace.render.base import write_output
    from proftrace.views.line_stats import function_stats

    output = options.output or _FORMATS[name].default_name(options.files[0])
    check_report(options.files, output, force=options.force)
    profiles = read_profiles(options.files)
    with progress("lprof", f"exporting to {name}"):
        programs = dict.fromkeys(profile.meta.get("program", "?") for profile in profiles)
        request = _Request(
            function_stats(profiles),
            ", ".join(programs),
            by_function=options.by == "function",
        )
        data = _FORMATS[name].render(request)
    write_output(output, data, options.force)
    if output != "-":
        print(f"Wrote {printable(output)}")
    return 0


def _format_of(output: str | None) -> str:
    """Return the format of a file by its name."""
    for name, known in _FORMATS.items():
        if output and known.has_name(output):
            return name
    raise UsageError(f"--to is needed: one of {', '.join(_FORMATS)} (see lprof export --help)")
