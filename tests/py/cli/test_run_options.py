"""The options of `memtrace run`: what is read without argparse is what argparse would read."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from proftrace.cli.run_options import FLAGS, RunOptions, parse, read_plain
from proftrace.run.launch import Target

TARGETS = [["a.py"], ["a.py", "-q", "--"], ["-m", "mod", "-o", "x"], ["-c", "pass", "-m"]]
OPTIONS = [["-o", "x.bin"], ["--output", "x y"], *([name] for name in FLAGS)]


def both(words: list[str]) -> tuple[tuple[dict[str, object], Target], ...]:
    """Return what the plain way and argparse make of words, with all defaults."""
    plain = read_plain(words)
    assert plain is not None
    names = [name for name in vars(RunOptions) if not name.startswith("_")]
    return tuple(
        ({name: getattr(options, name) for name in names}, target)
        for options, target in (plain, parse(words))
    )


@pytest.mark.parametrize("target", TARGETS)
def test_plain_words_mean_the_same_to_argparse(target: list[str]) -> None:
    for pair in [[], *([option] for option in OPTIONS), *itertools.permutations(OPTIONS, 2)]:
        words = [*itertools.chain.from_iterable(pair), *target]
        plain, parsed = both(words)
        assert plain == parsed


def test_argparse_has_no_option_that_is_not_in_the_values() -> None:
    options, _ = parse(["a.py"])
    assert {name for name in vars(RunOptions) if not name.startswith("_")} == set(vars(options))


@pytest.mark.parametrize(
    "words",
    [
        *(["-h"], ["--help"], ["-qf", "a.py"], ["-oa", "a.py"], ["--output=x", "a.py"]),
        *(["-o"], ["-o", "-q", "a.py"], ["--", "a.py"], ["-"], ["-m"], ["-c", ""], ["-mmod"], []),
        *(["--sample", "4 KiB", "a.py"], ["--nat", "a.py"], ["-q"]),
    ],
)
def test_all_else_is_left_to_argparse(words: list[str]) -> None:
    assert read_plain(words) is None


SLOW = ["argparse", "collections", "contextlib", "dataclasses", "json", "typing"]


def test_the_program_does_not_wait_for_argparse(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        # What an editable installation imports for itself.
        f"for name in {SLOW}: sys.modules.pop(name, None)\n"
        "def execve(*_): print(*sys.modules); sys.stdout.flush(); os._exit(0)\n"
        "os.execve = execve\n"
        "from proftrace.cli import memtrace\n"
        "memtrace.main(['run', '-q', '-f', '-o', 'x.bin', '-c', 'pass'])\n"
    )
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = done.stdout.split()
    assert "proftrace.run.launch" in loaded
    assert [name for name in SLOW if name in loaded] == []
