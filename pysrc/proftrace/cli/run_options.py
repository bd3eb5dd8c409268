"""The options of `memtrace run`.

Each millisecond here is added to every recorded program, and argparse with what it imports takes
more of them than all the rest. So words that need no more than a look into a table are read by one,
and argparse gets those that do: help, mistakes, sizes, letters in one word. An installed `memtrace`
does not even start a Python for plain words (csrc/launch/plain_run.c): the tables have to agree.
"""

from __future__ import annotations

from proftrace.run.launch import Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from proftrace.run.launch import TargetKind


class RunOptions:
    """What was asked for; the defaults are those of a command line without options."""

    output: str | None = None
    force: bool = False
    quiet: bool = False
    trace_python_allocators: bool = False
    native: bool = False
    follow_fork: bool = False
    follow_children: bool = False
    verify_stacks: bool = False
    sample: int = 0
    aggregate: bool = False
    ring: int = 0

    def __init__(self, **values: object) -> None:
        vars(self).update(values)


FLAGS = {
    "-f": "force",
    "--force": "force",
    "-q": "quiet",
    "--quiet": "quiet",
    "--trace-python-allocators": "trace_python_allocators",
    "--native": "native",
    "--follow-fork": "follow_fork",
    "--follow-children": "follow_children",
}
_OUTPUT = ("-o", "--output")


def read_run(words: Sequence[str]) -> tuple[RunOptions, Target]:
    """Return the options and the target of a command line; UsageError if it makes no sense."""
    return read_plain(words) or parse(words)


def read_plain(words: Sequence[str]) -> tuple[RunOptions, Target] | None:
    """Return what the words say, or None if that takes more than the table above."""
    values: dict[str, object] = {}
    rest = iter(words)
    for word in rest:
        if word in FLAGS:
            values[FLAGS[word]] = True
        elif word in _OUTPUT:
            values["output"] = next(rest, "-")
            if str(values["output"]).startswith("-"):
                return None
        elif word in ("-m", "-c"):
            value = next(rest, None)
            if not value:
                return None
            kind: TargetKind = "module" if word == "-m" else "command"
            return RunOptions(**values), Target(kind, value, tuple(rest))
        elif word.startswith("-"):
            return None
        else:
            return RunOptions(**values), Target("script", word, tuple(rest))
    return None


def parse(words: Sequence[str]) -> tuple[RunOptions, Target]:
    """Return the same for any words."""
    from proftrace.cli.memray_words import add_memray_options
    from proftrace.cli.options import TargetParser
    from proftrace.cli.sizes import ring_size, sample_size

    parser = TargetParser("memtrace run", description="Run a program and record its allocations.")
    add = parser.add_argument
    add("-o", "--output", metavar="FILE", help="capture (default: memtrace-<script>.<pid>.bin)")
    add("-f", "--force", action="store_true", help="replace the capture if it exists")
    add("-q", "--quiet", action="store_true", help="say nothing about the capture")
    add(
        "--trace-python-allocators",
        action="store_true",
        help="record each object of Python, also small ones, not the memory they are cut from",
    )
    add("--native", action="store_true", help="native stacks too: C, C++ and Rust between Python's")
    add("--follow-fork", action="store_true", help="forked children too, each in FILE.<pid>")
    add("--follow-children", action="store_true", help="every Python that is started, forks too")
    add("--verify-stacks", action="store_true", help="compare each stack with Python's own view")
    add(
        "--sample",
        type=sample_size,
        default=0,
        metavar="BYTES",
        help='record one allocation in so many bytes ("512 KiB"): reports show estimates',
    )
    add(
        "--aggregate",
        action="store_true",
        help="keep what each place allocated, not the events: a small file, however long it runs",
    )
    add(
        "--ring",
        type=ring_size,
        default=0,
        metavar="SIZE",
        help='the same, and the last events up to this size ("64 MB")',
    )
    add_memray_options(parser, "run")
    options, target = parser.parse_target(words)
    if options.aggregate and options.ring:
        parser.error("--aggregate keeps no events, --ring keeps the last ones: choose one of them")
    return RunOptions(**vars(options)), target
