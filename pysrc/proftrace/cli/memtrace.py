"""The command `memtrace`: record every allocation of a program, and report on captures."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence

from proftrace.cli.options import Parser, TargetParser, add_version
from proftrace.cli.outcome import run_command
from proftrace.cli.output import refuse_to_replace, resolve_output
from proftrace.cli.sizes import ring_size, sample_size
from proftrace.errors import OutputError, UsageError
from proftrace.run.launch import capture_library, check_target, has_native_stacks, launch
from proftrace.units import printable

type Command = Callable[[list[str]], int]

DESCRIPTION = "Record every allocation of a Python program, and report on what was recorded."


def main(argv: Sequence[str] | None = None) -> int:
    """Run `memtrace` with `argv` (default: the command line) and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    return run_command("memtrace", lambda: _dispatch(words))


def _dispatch(words: list[str]) -> int:
    if words and words[0] in COMMANDS:
        return COMMANDS[words[0]](words[1:])
    parser = Parser("memtrace", description=DESCRIPTION, epilog=_command_list())
    parser.usage = "memtrace command [options] ..."
    add_version(parser, "memtrace")
    if not words:
        parser.print_usage(sys.stderr)
        return 2
    if not words[0].startswith("-"):
        parser.error(f"there is no command {words[0]!r}; commands: {', '.join(COMMANDS)}")
    parser.parse_args(words)
    parser.error("no command given")


def _command_list() -> str:
    """Return the commands for --help, each with the first line of its function's text."""
    lines = [f"  {name:12}{(run.__doc__ or '').splitlines()[0]}" for name, run in COMMANDS.items()]
    return "\n".join(["commands (each has --help):", *lines])


def run_target(words: list[str]) -> int:
    """Run a program and record its allocations."""
    parser = TargetParser("memtrace run", description=run_target.__doc__)
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
    options, target = parser.parse_target(words)
    if options.aggregate and options.ring:
        parser.error("--aggregate keeps no events, --ring keeps the last ones: choose one of them")
    if options.native and not has_native_stacks():
        raise UsageError("--native: native stacks cannot be recorded on this kind of machine")
    check_target(target)
    if options.output in ("", "-"):
        parser.error("option -o needs the name of a file")
    default = f"memtrace-{target.base_name()}.{os.getpid()}.bin"
    output = resolve_output(options.output or default, replace=options.force)
    if os.path.exists(output) and not os.path.isfile(output):
        raise OutputError(f"cannot write {printable(output)}: it is not a regular file")
    if target.kind == "script":
        refuse_to_replace(target.value, output)
    settings = {
        "output": output,
        "force": options.force,
        "quiet": options.quiet,
        "native": options.native,
        "verify_stacks": options.verify_stacks,
        "sample_bytes": options.sample,
        "aggregate": options.aggregate,
        "ring_bytes": options.ring,
        "python_allocators": options.trace_python_allocators,
        "follow_fork": options.follow_fork or options.follow_children,
        "follow_children": options.follow_children,
    }
    launch(target, "memtrace", settings, preload=capture_library())


def _report(name: str, text: str) -> Command:
    """Return a report command that is imported when it is called: `run` needs none of them."""

    def report(words: list[str]) -> int:
        from proftrace.cli import reports

        command: Command = getattr(reports, name)
        return command(words)

    report.__doc__ = text
    return report


COMMANDS: Mapping[str, Command] = {
    "run": run_target,
    "flamegraph": _report("flamegraph", "Write a page that shows who held the memory."),
    "summary": _report("summary", "Print the places that hold the most memory."),
    "stats": _report("stats", "Print numbers of the whole run."),
    "merge": _report("merge", "Put the captures of several processes into one file."),
    "symbolize": _report("symbolize", "Store the names of native code in a capture."),
    "transform": _report("transform", "Write a capture in another format (csv)."),
}


if __name__ == "__main__":
    sys.exit(main())
