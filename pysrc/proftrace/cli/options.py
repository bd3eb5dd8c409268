"""Command lines: options through argparse, and a target that keeps its arguments byte for byte."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from proftrace._version import __version__
from proftrace.errors import UsageError
from proftrace.run.launch import Target

TARGET_USAGE = "(script.py | -m module | -c code) [args ...]"


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line and that takes no shortened options."""

    def __init__(self, prog: str, **settings: Any) -> None:
        super().__init__(
            prog=prog,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **settings,
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


class TargetParser(Parser):
    """A parser for `[options] target [args ...]`, where everything behind the target is its own.

    argparse's own REMAINDER drops a `--` and takes options of the target for ours; so the words are
    split here first and argparse sees only those in front of the target.
    """

    reads_standard_input = False  # whether the target may be there

    def __init__(self, prog: str, **settings: Any) -> None:
        self._value_options: set[str] = set()
        self._number_options: set[str] = set()  # whose value may be left out
        super().__init__(prog, usage=f"{prog} [options] {TARGET_USAGE}", **settings)

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        """Add an option, and note if it takes a value."""
        action = super().add_argument(*names, **settings)
        if action.nargs == "?":
            self._number_options.update(action.option_strings)
        elif action.nargs != 0:
            self._value_options.update(action.option_strings)
        return action

    def _has_number(self, option: str, rest: Sequence[str]) -> bool:
        """Tell whether the word behind an option whose value may be left out is its value."""
        return (
            option in self._number_options
            and bool(rest)
            and rest[0].replace(".", "", 1).isdecimal()
        )

    def parse_target(self, words: Sequence[str]) -> tuple[argparse.Namespace, Target]:
        """Return the options and the target of a command line; UsageError if there is none."""
        own, target = self._split(list(words))
        options = self.parse_args(own)
        if target is None:
            self.error("nothing to run: name a script, -m module or -c code")
        if target.kind == "script" and target.value == "-" and not self.reads_standard_input:
            self.error("cannot run a program from standard input: save it to a file")
        if target.kind == "module" and not target.value:
            self.error("option -m needs the name of a module")
        return options, target

    def _split(self, words: list[str]) -> tuple[list[str], Target | None]:
        """Return our own words and the target behind them (None: there is none)."""
        index = 0
        while index < len(words):
            word = words[index]
            if word == "--":
                own, words, index = words[:index], words[index + 1 :], 0
                return own, Target("script", words[0], tuple(words[1:])) if words else None
            if not word.startswith("-") or word == "-":
                return words[:index], Target("script", word, tuple(words[index + 1 :]))
            if word.startswith("--"):
                takes_next = word in self._value_options or self._has_number(
                    word, words[index + 1 :]
                )
                index += 2 if takes_next else 1
                continue
            used, target = self._split_cluster(words, index)
            if target is not None:
                own = words[:index] + ([word[:used]] if used > 1 else [])
                return own, target
            index += used
        return words, None

    def _split_cluster(self, words: list[str], index: int) -> tuple[int, Target | None]:
        """Read the short options of `words[index]`.

        Return (letters before the target, target) if one of them is -m or -c, else (words used,
        None).
        """
        word = words[index]
        for position in range(1, len(word)):
            letter = word[position]
            if letter in "mc":
                rest = [*filter(None, [word[position + 1 :]]), *words[index + 1 :]]
                if not rest:
                    what = "the name of a module" if letter == "m" else "the text of a program"
                    self.error(f"option -{letter} needs {what}")
                kind = "module" if letter == "m" else "command"
                return position, Target(kind, rest[0], tuple(rest[1:]))  # type: ignore[arg-type]
            if "-" + letter in self._value_options:
                return (1 if word[position + 1 :] else 2), None
            if "-" + letter in self._number_options and word[position + 1 :]:
                return 1, None
        last = "-" + word[-1]
        return (2 if self._has_number(last, words[index + 1 :]) else 1), None


def add_version(parser: Parser, tool: str) -> None:
    """Add -V, --version."""
    parser.add_argument(
        "-V",
        "--version",
        action="version",
        version=f"{tool} {__version__} (Python {sys.version.split()[0]})",
        help="print the version and exit",
    )
