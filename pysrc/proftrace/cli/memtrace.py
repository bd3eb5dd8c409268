"""The command `memtrace`: record every allocation of a program, and report on captures."""

from __future__ import annotations

import os
import sys

from proftrace.cli.outcome import run_command
from proftrace.cli.output import refuse_own_output, refuse_to_replace, resolve_output
from proftrace.cli.run_options import read_run
from proftrace.errors import OutputError, UsageError
from proftrace.run.launch import capture_library, check_target, has_native_stacks, launch
from proftrace.units import printable

# The time until the program starts is imports: what `run` can do without is imported late.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from proftrace.run.launch import Setting

type Command = Callable[[list[str]], int]

DESCRIPTION = "Record every allocation of a Python program, and report on what was recorded."


def main(argv: Sequence[str] | None = None) -> int:
    """Run `memtrace` with `argv` (default: the command line) and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    return run_command("memtrace", lambda: _dispatch(words))


def _dispatch(words: list[str]) -> int:
    if words and words[0] in COMMANDS:
        return COMMANDS[words[0]](words[1:])
    from proftrace.cli import memray_words
    from proftrace.cli.options import Parser, add_version

    parser = Parser("memtrace", description=DESCRIPTION, epilog=_command_list())
    parser.usage = "memtrace command [options] ..."
    add_version(parser, "memtrace")
    memray_words.add_memray_options(parser, "")
    if not words:
        parser.print_usage(sys.stderr)
        return 2
    if not words[0].startswith("-"):
        instead = memray_words.COMMANDS.get(words[0], f"commands: {', '.join(COMMANDS)}")
        parser.error(f"there is no command {words[0]!r}; {instead}")
    parser.parse_args(words)
    parser.error("no command given")


def _command_list() -> str:
    """Return the commands for --help, each with the first line of its function's text."""
    lines = [f"  {name:12}{(run.__doc__ or '').splitlines()[0]}" for name, run in COMMANDS.items()]
    return "\n".join(["commands (each has --help):", *lines])


def run_target(words: list[str]) -> int:
    """Run a program and record its allocations."""
    # csrc/launch does the same for plain command lines, and leaves to us what is refused here.
    options, target = read_run(words)
    if options.native and not has_native_stacks():
        raise UsageError("--native: native stacks cannot be recorded on this kind of machine")
    check_target(target)
    if options.output in ("", "-"):
        raise UsageError("option -o needs the name of a file (see memtrace run --help)")
    default = f"memtrace-{target.base_name()}.{os.getpid()}.bin"
    refuse_own_output(options.output or default)
    output = resolve_output(options.output or default, replace=options.force)
    if os.path.exists(output) and not os.path.isfile(output):
        raise OutputError(f"cannot write {printable(output)}: it is not a regular file")
    if target.kind == "script":
        refuse_to_replace(output, target.value)
    settings: dict[str, Setting] = {
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
