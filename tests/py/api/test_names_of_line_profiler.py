"""docs/from-line-profiler.md has every public name and option of the line_profiler that is here."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import line_profiler
import pytest
from line_profiler import explicit_profiler
from line_profiler import line_profiler as module

import proftrace
from proftrace import LineProfiler, LineStats, profile

PAGE = (Path(__file__).parents[3] / "docs" / "from-line-profiler.md").read_text()


def is_named(name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", PAGE) is not None


def public(thing: object) -> list[str]:
    return [name for name in dir(thing) if not name.startswith("_")]


def is_of(place: ModuleType, name: str) -> bool:
    return getattr(vars(place)[name], "__module__", "") == place.__name__


@pytest.mark.parametrize(
    "names",
    [
        lambda: line_profiler.__all__,
        lambda: public(line_profiler.LineProfiler()),
        lambda: public(module.LineStats),
        lambda: public(explicit_profiler.profile),
        lambda: [n for n in public(module) if is_of(module, n)],
    ],
)
def test_every_name_is_in_the_table(names: Callable[[], list[str]]) -> None:
    wanted = names()
    assert wanted
    assert [name for name in wanted if not is_named(name)] == []


@pytest.mark.parametrize("command", ["kernprof", "line_profiler"])
def test_every_option_is_in_the_table(command: str) -> None:
    run = [sys.executable, "-m", command, "--help"]
    text = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    text = re.sub(r"-\n +", "-", text)  # lines are broken behind a hyphen
    options = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*(?=[ ,\n])", text)) - {"--"}
    assert "--unit" in options
    assert {option for option in options if not is_named(option)} == set()


CONFIG = ("output_prefix", "write_config", "show_config")  # read when they are looked at
OURS = {
    *dir(LineProfiler()),
    *dir(LineStats),
    *dir(profile),
    *dir(proftrace),
    *proftrace.__all__,
    *CONFIG,
}
# Words between backquotes that are no names of the API.
OTHER_WORDS = {"LINE_PROFILE", "LPROF", "config", "tool", "scoping_policy", "with", "wrap", "lprun"}


def test_what_is_said_to_be_the_same_is_there() -> None:
    api = PAGE.split("## `line_profiler.profile`")[1].split("## IPython")[0]
    rows = re.findall(r"^\| (.*?) \| (?:same|better) \|", api, re.MULTILINE)
    names = {name for row in rows for name in re.findall(r"`(\w+)[^`]*`", row)}
    assert {"add_function", "wrap_property", "write_config", "from_files"} <= names
    assert names - OURS - OTHER_WORDS == set()


@pytest.mark.parametrize("name", [n for n in dir(LineProfiler) if n.startswith("wrap_")])
def test_every_wrapper_returns_what_it_got_and_profiles_it(name: str) -> None:
    def function() -> int:
        return 1

    profiler = LineProfiler()
    assert getattr(profiler, name)(function) is function
    function()
    profiler.disable()
    assert [n for lines in profiler.get_stats().timings.values() for _, n, _ in lines] == [1]


def test_underlying_functions_of_wrappers() -> None:
    class Thing:
        @property
        def size(self) -> int:
            return 1

        @classmethod
        def make(cls) -> None: ...

    found = LineProfiler.get_underlying_functions(Thing.__dict__["size"])
    assert found == [Thing.__dict__["size"].fget]
    assert LineProfiler.get_underlying_functions(Thing.make) == [Thing.make.__func__]
    assert LineProfiler.get_underlying_functions(len) == []
