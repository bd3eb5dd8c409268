"""`lprof -`: a program on standard input runs as `python -` runs it, and has its text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from case_runs import COMMANDS, LineResult
from proftrace.model.load import load_profile

PROGRAM = """\
import sys
@profile
def f(n):
    for i in range(n):
        n += 1
    return "é"
f(3)
print(sys.argv, sys.path[0] == "", __name__, repr(sys.stdin.read()), f(2))
"""


def run(
    words: list[str], folder: Path, text: str = "", stdin: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    with subprocess.Popen(
        words,
        cwd=folder,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        out, err = process.communicate(text if stdin == subprocess.PIPE else None)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def lprof(*words: str) -> list[str]:
    return [str(COMMANDS / "lprof"), *words]


@pytest.mark.parametrize("way", ["pipe", "file", "file, from the middle on"])
def test_a_program_on_standard_input(way: str, tmp_path: Path) -> None:
    text = PROGRAM.replace("@profile\n", "\n")
    results = []
    for words, program in (
        ([sys.executable, "-", "a", "-v"], text),
        (lprof("-q", "-o", "r.lprof", "-", "a", "-v"), PROGRAM),
    ):
        if way == "pipe":
            results.append(run(words, tmp_path, program))
            continue
        head = "1/0  # \n" if "middle" in way else ""
        (tmp_path / "text").write_text(head + program)
        with (tmp_path / "text").open("rb") as file:
            os.lseek(file.fileno(), len(head), os.SEEK_SET)
            results.append(run(words, tmp_path, stdin=file.fileno()))
    plain, recorded = results
    assert (plain.returncode, plain.stderr) == (0, "")
    assert (recorded.returncode, recorded.stdout, recorded.stderr) == (0, plain.stdout, "")
    profile = load_profile(str(tmp_path / "r.lprof"))
    assert LineResult(profile).hits("<stdin>") == {4: 7, 5: 5, 6: 2}
    assert [source.text for source in profile.sources.values()] == [PROGRAM]


@pytest.mark.parametrize("words", [["--all"], ["-p", "f"]])
def test_what_is_not_decorated_is_found(words: list[str], tmp_path: Path) -> None:
    shown = run(lprof("-q", "-v", *words, "-"), tmp_path, PROGRAM.replace("@profile\n", ""))
    assert (shown.returncode, shown.stderr) == (0, "")
    rows = [line.split() for line in shown.stdout.splitlines() if "n += 1" in line]
    assert ["4", "5"] in [row[:2] for row in rows]
    assert (tmp_path / "lprof-stdin.lprof").exists()


def test_a_program_that_fails(tmp_path: Path) -> None:
    plain = run([sys.executable, "-"], tmp_path, "1/0\n")
    recorded = run(lprof("-q", "-"), tmp_path, "1/0\n")
    assert (recorded.returncode, recorded.stderr) == (plain.returncode, plain.stderr)


def test_what_is_typed_is_no_program(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    try:
        refused = run(lprof("-"), tmp_path, stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("lprof: cannot run what is typed")
    assert len(refused.stderr.splitlines()) == 1
