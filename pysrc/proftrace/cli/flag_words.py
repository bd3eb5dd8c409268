"""Flags as line_profiler's commands have them: `--rich`, `--no-rich`, `--rich=no`."""

from __future__ import annotations

import argparse
from typing import Any

from proftrace.errors import UsageError

_YES = ("y", "yes", "t", "true", "on", "1")
_NO = ("n", "no", "f", "false", "off", "0")


def add_opposites(parser: argparse.ArgumentParser) -> None:
    """Let every flag `--x` be taken back by `--no-x`, for those that a file has set."""
    for action in list(parser._actions):
        for name in long_names(action):
            opposite = f"--no-{name}"
            is_flag = action.nargs == 0 and action.const is True and not name.startswith("no-")
            if is_flag and opposite not in parser._option_string_actions:
                parser.add_argument(
                    opposite, dest=action.dest, action="store_false", help=argparse.SUPPRESS
                )


class FlagWords(argparse.ArgumentParser):
    """Makes a parser take a flag with yes or no behind it."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the words in front of the program."""
        return super().parse_args([self._plain(word) for word in args or ()], namespace)

    def _plain(self, word: str) -> str:
        name, separator, value = word.partition("=")
        action = self._option_string_actions.get(name)
        if separator and name.startswith("--") and action is not None and action.nargs == 0:
            return _spelled(name, value)
        return word


def _spelled(name: str, value: str) -> str:
    if value.lower() in _YES:
        return name
    if value.lower() in _NO:
        return name.removeprefix("--no-") if name.startswith("--no-") else f"--no-{name[2:]}"
    raise UsageError(f"option {name} is either yes or no, not {value!r}")


def long_names(action: argparse.Action) -> list[str]:
    """Return the names of an option that have two dashes, without them."""
    return [name[2:] for name in action.option_strings if name.startswith("--")]
