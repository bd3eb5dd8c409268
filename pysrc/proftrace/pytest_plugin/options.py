"""The options of a run, from the command line or else the ini file."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

_key = pytest.StashKey["Options"]()


@dataclass(frozen=True, slots=True)
class Options:
    """`top`: how many tests the summary shows (0 = all). `stacks`: frames of a stack that are
    shown. `bin_path`: the folder for captures that are kept, "" = none."""

    native: bool
    hide_summary: bool
    fail_on_increase: bool
    top: int
    stacks: int
    bin_path: str


def options_of(config: pytest.Config) -> Options:
    """Return the options; UsageError when one cannot be followed."""
    found = config.stash.get(_key, None)
    if found is None:
        found = config.stash[_key] = _read(config)
    return found


def _read(config: pytest.Config) -> Options:
    return Options(
        native=_flag(config, "memtrace_native"),
        hide_summary=_flag(config, "memtrace_hide_summary"),
        fail_on_increase=_flag(config, "memtrace_fail_on_increase"),
        top=_count(config, "memtrace_top"),
        stacks=_count(config, "memtrace_stacks"),
        bin_path=_folder(config),
    )


def _flag(config: pytest.Config, name: str) -> bool:
    return bool(config.getoption(name) or config.getini(name))


def _count(config: pytest.Config, name: str) -> int:
    given = config.getoption(name)
    text = str(config.getini(name)) if given is None else str(given)
    if not (text.isascii() and text.isdigit()):
        raise pytest.UsageError(f"{name} is a whole number of at least 0, not {text!r}")
    return int(text)


def _folder(config: pytest.Config) -> str:
    """Return the absolute path of the folder, made if need be; "" when nothing is kept."""
    given = config.getoption("memtrace_bin_path")
    base = config.invocation_params.dir if given else config.rootpath
    text = str(given or config.getini("memtrace_bin_path"))
    if not text:
        return ""
    path = os.path.join(base, text)
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise pytest.UsageError(
            f"memtrace_bin_path: cannot make the folder {path}: {error.strerror}"
        ) from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise pytest.UsageError(f"memtrace_bin_path: cannot write into {path}")
    return path
