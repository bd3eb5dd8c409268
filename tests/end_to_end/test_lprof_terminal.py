"""The table on a real (pseudo) terminal: it fits, it follows what the user has said of colours, and
whatever is no terminal gets the table that scripts know."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from case_runs import COMMANDS, HAS_GIL
from proftrace.render.terminal import display_width

# What is said of `decode`, which is busy enough to be sampled.
NOTE = (
    ""
    if HAS_GIL
    else "lprof: one busy function was timed by the clock, not by samples: "
    "this interpreter runs threads without a GIL\n"
)

PROGRAM = """\
import asyncio
import json


@profile
def decode(texts, name="text that is so long that it is cut on all but a very wide terminal"):
    # Words.
    # More words.
    # Enough words.
    found = []
    for text in texts:
        found.append(json.loads(text))
    for text in texts: found.sort(key=lambda one: -len(str(one)))
    return found, "日本語 日本語 日本語 日本語 日本語 日本語 日本語 日本語"


@profile
async def main():
    await asyncio.sleep(0.01)
    return decode(['{"a": [1, 2, 3]}'] * 300)


asyncio.run(main())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The current folder, with a recorded program."""
    folder = tmp_path_factory.mktemp("terminal")
    (folder / "app.py").write_text(PROGRAM)
    subprocess.run([COMMANDS / "lprof", "-q", "app.py"], cwd=folder, check=True)
    return folder


def environment(**variables: str) -> dict[str, str]:
    """Return an environment that says nothing of terminals but these variables."""
    unset = {"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "PYTHON_COLORS"}
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    return {**kept, "TERM": "xterm-256color", "PYTHONUTF8": "1", **variables}


def on_terminal(
    folder: Path, words: list[str], width: int = 80, **variables: str
) -> tuple[str, list[str]]:
    """Return what a command writes to a terminal of a width, and its lines without colours."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    command = [str(COMMANDS / "lprof"), *words]
    child = subprocess.Popen(
        command,
        cwd=folder,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.PIPE,
    )
    os.close(follower)
    output = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # Linux says so when the last writer is gone
            break
        if not part:
            break
        output += part
    os.close(leader)
    _, errors = child.communicate()
    assert (child.returncode, errors.decode()) == (0, NOTE)
    text = output.decode().replace("\r\n", "\n")
    return text, re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("options", [[], ["--statements", "--callers", "--all"], ["--stats"]])
def test_nothing_is_wider_than_the_terminal(folder: Path, options: list[str], width: int) -> None:
    text, lines = on_terminal(folder, ["show", *options, "app.py.lprof"], width)
    assert max(map(display_width, lines)) <= width
    assert "\x1b[" in text
    assert any("decode" in line for line in lines)


def test_the_hottest_function_stands_last_with_its_lambda(folder: Path) -> None:
    _, lines = on_terminal(folder, ["show", "app.py.lprof"], 120)
    headings = [line.split()[0] for line in lines if re.match(r"\w+  app\.py:\d", line)]
    assert headings == ["decode", "main"]
    assert any(line.endswith("└ <lambda>") for line in lines)
    assert any("⋮" in line for line in lines)
    assert lines[-1].startswith("Σ  main ")


def test_view_prints_the_same_behind_the_program(folder: Path) -> None:
    (folder / "again.py").write_text(PROGRAM)
    text, lines = on_terminal(folder, ["-qv", "--top=1", "again.py"], 100)
    assert "\x1b[" in text
    assert lines[0].startswith("lprof ")
    assert "1 of 2 functions" in lines[0]
    assert max(map(display_width, lines)) <= 100


@pytest.mark.parametrize(
    "variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"PYTHON_COLORS": "0", "FORCE_COLOR": "1"}]
)
def test_no_colours_where_none_are_wanted(folder: Path, variables: dict[str, str]) -> None:
    text, _ = on_terminal(folder, ["show", "app.py.lprof"], **variables)
    assert "\x1b" not in text
    assert "█" in text


def test_columns_is_followed(folder: Path) -> None:
    _, lines = on_terminal(folder, ["show", "app.py.lprof"], 200, COLUMNS="64")
    assert 55 <= max(map(display_width, lines)) <= 64


def test_a_terminal_without_these_characters_gets_ascii(folder: Path) -> None:
    text, lines = on_terminal(
        folder,
        ["show", "--callers", "app.py.lprof"],
        120,
        PYTHONUTF8="0",
        PYTHONIOENCODING="ascii",
    )
    assert text.isascii()
    assert any("#" in line for line in lines)
    assert any(line.endswith("+ <lambda>") for line in lines)


@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}, {"COLUMNS": "60"}, {"TERM": "dumb"}])
def test_what_is_no_terminal_gets_the_whole_classic_table(
    folder: Path, variables: dict[str, str]
) -> None:
    done = subprocess.run(
        [COMMANDS / "lprof", "show", "app.py.lprof"],
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == NOTE
    assert done.stdout.startswith("Timer unit: 1e-06 s\n\nTotal time: ")
    sources = PROGRAM.splitlines()
    for line in (*range(5, 15), *range(17, 21)):
        pattern = rf"^ +{line} .*  {re.escape(sources[line - 1])}$"
        assert re.search(pattern, done.stdout, re.M), line


def test_colours_are_forced_into_a_pipe_but_nothing_is_cut(folder: Path) -> None:
    done = subprocess.run(
        [COMMANDS / "lprof", "show", "-r", "--color=always", "app.py.lprof"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "\x1b[" in done.stdout
    assert "on all but a very wide terminal" in done.stdout
