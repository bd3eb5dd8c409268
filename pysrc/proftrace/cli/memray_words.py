"""Commands and options of memray that memtrace does not have.

What asks for something that is always so here is taken without effect; the rest is refused with one
line that says what to use instead, so that nobody has to guess from "unrecognized arguments".
"""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

COMMANDS: Mapping[str, str] = {
    "table": "memtrace summary prints the table, memtrace transform csv writes it to a file",
    "tree": "memtrace flamegraph shows the tree, memtrace summary -s total prints its sums",
    "live": "any report can be made of a capture while its program runs",
    "attach": "proftrace.Tracker records a part of a program that is running already",
    "detach": "proftrace.Tracker records a part of a program that is running already",
    "parse": "memtrace transform csv --all writes all that a capture holds, place by place",
}
_LIVE = "there is no live view; any report can be made of a capture while its program runs"
_THRESHOLD = "--temporary-allocations shows what was freed before more than one further allocation"

# By command: the option's names, whether a value comes behind it, and what to use instead ("" for
# what is always so).
type _Word = tuple[tuple[str, ...], bool, str]

_TEMPORARY: _Word = (("--temporary-allocation-threshold",), True, _THRESHOLD)
OPTIONS: Mapping[str, Sequence[_Word]] = {
    "": ((("-v", "--verbose"), False, "PROFTRACE_DEBUG=1 shows the traceback of an error"),),
    "run": (
        (("--live",), False, _LIVE),
        (("--live-remote",), False, _LIVE),
        (("-p", "--live-port"), True, _LIVE),
        (("--buffered-file-io",), False, ""),
        (("--compress-on-exit",), False, ""),
        (("--no-compress",), False, ""),
    ),
    "flamegraph": (
        _TEMPORARY,
        (("--temporal",), False, "the page shows one moment, the peak, or the end with --leaks"),
        (("--split-threads",), False, "memtrace transform csv has a row for each thread"),
        (("--inverted",), False, "memtrace summary lists the places that allocate themselves"),
        (("--max-memory-records",), True, ""),
        (("--no-web",), False, ""),
        (("--confidential-files",), True, ""),
    ),
    "summary": (_TEMPORARY,),
    "transform": (_TEMPORARY,),
}
FORMATS: Mapping[str, str] = {
    "gprof2dot": "csv has the whole stack of every row",
    "speedscope": "memtrace flamegraph writes a page of its own",
}


def add_memray_options(parser: ArgumentParser, command: str) -> None:
    """Add what memray's `command` has and ours has not; `--help` does not show it."""
    for names, has_value, instead in OPTIONS.get(command, ()):
        action: type[Action] = _Refused if instead else _Accepted
        parser.add_argument(
            *names,
            action=action,
            nargs=None if has_value else 0,
            dest=SUPPRESS,
            help=SUPPRESS,
            const=instead,
        )


class _Accepted(Action):
    def __call__(
        self, parser: ArgumentParser, space: Namespace, values: Any, option: str | None = None
    ) -> None:
        """Change nothing."""


class _Refused(Action):
    def __call__(
        self, parser: ArgumentParser, space: Namespace, values: Any, option: str | None = None
    ) -> NoReturn:
        """End the command; `const` is what to use instead."""
        parser.error(f"option {option} of memray is not there: {self.const}")
