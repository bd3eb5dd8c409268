"""`[tool.lprof.write]` and `[tool.lprof.show]`: what comes of `profile` in a plain program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from case_runs import run
from proftrace import load_stats

PROGRAM = """\
from proftrace import profile
{before}
@profile
def f(n):
    return n
@profile
def never(): pass
f(1)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "program.py").write_text(PROGRAM.format(before=""))
    return tmp_path


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_tables_say_what_is_written_and_how_it_is_shown(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(
        "[tool.lprof.write]\noutput_prefix = 'out/of'\ntext = false\ntimestamped_text = false\n"
        "[tool.lprof.show]\nstripzeros = false\ndetails = true\nrich = false\nsummarize = false\n"
    )
    (folder / "below" / "out").mkdir()
    done = run([sys.executable, "program.py"], folder / "below", {"LPROF": "1"})
    assert (done.status, done.stderr) == (0, "")
    assert "Function: f at line 3" in done.stdout
    assert "Function: never at line 6" in done.stdout
    assert files(folder / "below" / "out") == {"of.lprof"}
    assert files(folder / "below") == {"out", "program.py"}
    assert {name for _, _, name in load_stats(folder / "below/out/of.lprof").timings} >= {"f"}


def test_nothing_is_printed_if_stdout_is_off(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.lprof]\nwrite.stdout = false\n")
    done = run([sys.executable, "program.py"], folder / "below", {"LPROF": "1"})
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
    assert len(files(folder / "below")) == 4


def test_the_program_comes_after_the_file(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(
        "[tool.lprof.write]\noutput_prefix = 'file'\ntext = false\nstdout = false\n"
    )
    before = (
        "profile.write_config['timestamped_text'] = False\nprofile.write_config['text'] = True\n"
        "profile.enable(output_prefix='mine')"
    )
    (folder / "below" / "program.py").write_text(PROGRAM.format(before=before))
    done = run([sys.executable, "program.py"], folder / "below", {})
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
    assert files(folder / "below") == {"program.py", "mine.lprof", "mine.txt"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.lprof.write]\ntxt = true\n", "tool.lprof.write.txt: there is no such key, only"),
        ("[tool.lprof.write]\ntext = 1\n", "tool.lprof.write.text must be true or false, not 1"),
        ("[tool.lprof.write]\noutput_prefix = true\n", "must be a text, not True"),
        ("[tool.lprof]\nshow = 3\n", "tool.lprof.show must be a table"),
        ("tool.lprof = 3\n", "tool.lprof must be a table"),
        ("[tool.lprof\n", "pyproject.toml: "),
        ("# lprof \xff\n", "pyproject.toml: "),
    ],
)
def test_a_wrong_file_is_one_line_and_changes_nothing(folder: Path, text: str, said: str) -> None:
    (folder / "pyproject.toml").write_text(text, encoding="latin-1")
    done = run([sys.executable, "program.py"], folder / "below", {"LPROF": "1"})
    assert (done.status, len(done.stderr.splitlines()), said in done.stderr) == (0, 1, True)
    assert len(files(folder / "below")) == 4


def test_results_that_cannot_be_written_are_a_line_each(folder: Path) -> None:
    before = "profile.enable('no/such/folder')"
    (folder / "below" / "program.py").write_text(PROGRAM.format(before=before))
    done = run([sys.executable, "program.py"], folder / "below", {})
    assert done.status == 0
    assert [line.split("folder")[0] for line in done.stderr.splitlines()] == [
        "lprof: cannot write no/such/"
    ] * 3
    assert "Wrote" not in done.stdout


def test_where_it_is_off_the_file_is_not_read(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.lprof.write]\nnonsense = 1\n")
    done = run([sys.executable, "program.py"], folder / "below", {})
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
