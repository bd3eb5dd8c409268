"""Defaults of `lprof` from `[tool.lprof]` in pyproject.toml."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator, Mapping, Sequence

from proftrace import pyproject
from proftrace.cli.flag_words import FlagWords, long_names
from proftrace.cli.options import TargetParser
from proftrace.errors import UsageError
from proftrace.run.launch import Target
from proftrace.units import printable

# Tables for `profile` in programs that run without lprof (api/explicit.py).
_OTHER_TABLES = ("write", "show")
_NOT_IN_FILES = ("help", "version", "config", "no-config")


def add_config_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where defaults come from."""
    parser.add_argument(
        "--config", metavar="FILE", help="a TOML file with a table [tool.lprof] of defaults"
    )
    parser.add_argument(
        "--no-config", action="store_true", help=f"do not look for [tool.lprof] in {pyproject.FILE}"
    )


class RunParser(FlagWords, TargetParser):
    """The parser of `lprof`."""

    reads_standard_input = True


def parse_with_config(parser: RunParser, words: Sequence[str]) -> tuple[argparse.Namespace, Target]:
    """Return the options and the target of a command line, with the defaults of a file.

    Raise UsageError, with one line, when one of them cannot be followed.
    """
    options, target = parser.parse_target(words)
    path = options.config
    if path is None and not options.no_config:
        path = pyproject.find()
    if path is None:
        return options, target
    given = _config_words(parser, path, is_named=options.config is not None)
    try:
        return parser.parse_target([*given, *words])
    except UsageError as error:
        raise UsageError(f"{printable(path)}: [tool.lprof]: {error}") from None


def _config_words(parser: RunParser, path: str, *, is_named: bool) -> list[str]:
    """Return what a configuration file says, as words of a command line."""
    table = _read(path, is_named=is_named)
    actions = {name: action for action in parser._actions for name in long_names(action)}
    words: list[str] = []
    for key, value in table.items():
        if key in _OTHER_TABLES and isinstance(value, dict):
            continue
        action = actions.get(key)
        if action is None or key in _NOT_IN_FILES:
            raise UsageError(
                f"{printable(path)}: [tool.lprof] has no key {key!r}; its keys are the long options"
                " of lprof --help, without the dashes"
            )
        words += _words(path, key, action, value)
    return words


def _read(path: str, *, is_named: bool) -> Mapping[str, object]:
    try:
        with open(path, "rb") as file:
            data = tomllib.load(file)
    except OSError as error:
        raise UsageError(f"cannot read {printable(path)}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        hint = "" if is_named else " (--no-config leaves it alone)"
        raise UsageError(f"{printable(path)}: not valid TOML: {error}{hint}") from error
    tool = data.get("tool")
    table = tool.get("lprof", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"{printable(path)}: tool.lprof must be a table")
    return table


def _words(path: str, key: str, action: argparse.Action, value: object) -> Iterator[str]:
    """Yield an option as it would stand on a command line."""
    place = f"{printable(path)}: tool.lprof.{key}"
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise UsageError(f"{place} must be true or false, not {value!r}")
        if value:
            yield f"--{key}"
        elif not key.startswith("no-"):
            yield f"--no-{key}"
        return
    items = value if isinstance(value, list) else [value]
    if isinstance(value, list) and not isinstance(action.default, list):
        raise UsageError(f"{place} must be one value, not a list")
    for item in items:
        if isinstance(item, bool) or not isinstance(item, (str, int, float)):
            raise UsageError(f"{place} must be {_kind(action)}, not {item!r}")
        if (isinstance(item, str) and action.type is not None) or (
            not isinstance(item, str) and action.type is None
        ):
            raise UsageError(f"{place} must be {_kind(action)}, not {item!r}")
        yield f"--{key}={item}"


def _kind(action: argparse.Action) -> str:
    if isinstance(action.default, list):
        return "a text or a list of texts"
    return "a text" if action.type is None else "a number"
