"""Defaults from [tool.lprof], and command lines that were written for kernprof."""

from __future__ import annotations

from pathlib import Path

import pytest

from case_runs import Run, load_lines, lprof

PROGRAM = """\
import sys
def f(n):
    for i in range(n):
        n = n
f(3)
print(sys.argv[1:])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "program.py").write_text(PROGRAM)
    return tmp_path / "sub"


def configured(folder: Path, text: str, *words: str, file: str = "../pyproject.toml") -> Run:
    """Run the program with the table [tool.lprof] in a file of the folder above."""
    (folder / file).write_text(f"[tool.lprof]\n{text}\n")
    return lprof([*words, "program.py", "x"], folder)


def names(path: Path) -> set[str]:
    return {name for _, name, _ in load_lines(path).functions()}


def test_a_file_above_gives_defaults(folder: Path) -> None:
    run = configured(folder, 'prof-mod = ["f"]\noutfile = "o.lprof"\nview = true\nunit = 1e-3')
    assert run.status == 0, run.stderr
    assert run.stdout.startswith("['x']\nTimer unit: 0.001 s\n")
    assert names(folder / "o.lprof") == {"f"}


def test_the_command_line_comes_after_the_file(folder: Path) -> None:
    text = 'prof-mod = "nope"\nview = true\nquiet = true\noutput-interval = 5\nstyle = "classic"'
    run = configured(folder, text, "--no-view", "-p", "", "-p", "f", "-o", "r.lprof")
    assert (run.status, run.stdout, run.stderr) == (0, "['x']\n", "")
    assert names(folder / "r.lprof") == {"f"}


def test_a_file_is_left_alone_or_named(folder: Path) -> None:
    run = configured(folder, "view = true", "-q", "--no-config")
    assert (run.status, run.stdout) == (0, "['x']\n")
    run = configured(folder, 'all = true\noutfile = "o.lprof"', "--config", "c.toml", file="c.toml")
    assert run.status == 0
    assert names(folder / "o.lprof") == {"<module>", "f"}


def test_other_tables_and_files_without_ours_do_not_matter(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert lprof(["-q", "program.py"], folder).status == 0
    assert configured(folder, "[tool.lprof.write]\ntext = false", "-q").status == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour = 1", "[tool.lprof] has no key 'colour'"),
        ("config = 'x'", "has no key 'config'"),
        ("view = 1", "tool.lprof.view must be true or false, not 1"),
        ("unit = 'x'", "tool.lprof.unit must be a number, not 'x'"),
        ("unit = -1", "not a length of time"),
        ("outfile = 3", "tool.lprof.outfile must be a text, not 3"),
        ("outfile = ['a']", "tool.lprof.outfile must be one value, not a list"),
        ("prof-mod = [1]", "tool.lprof.prof-mod must be a text or a list of texts, not 1"),
        ("prof-mod = ['nope']", "-p nope"),
        ("style = 'pretty'", "pretty"),
        ("view = maybe", "not valid TOML"),
        ("[tool]\nlprof = 3\n", "not valid TOML"),
    ],
)
def test_mistakes_in_a_file_are_one_line(folder: Path, text: str, message: str) -> None:
    run = configured(folder, text)
    assert (run.status, run.stdout) == (2, "")
    assert len(run.stderr.splitlines()) == 1
    assert message in run.stderr
    assert [path.name for path in folder.iterdir()] == ["program.py"]


def test_a_named_file_has_to_be_there(folder: Path) -> None:
    run = lprof(["--config", "nope.toml", "program.py"], folder)
    assert (run.status, len(run.stderr.splitlines())) == (2, 1)
    (folder / "c.toml").write_text("tool = {lprof = 3}")
    run = lprof(["--config", "c.toml", "program.py"], folder)
    assert (run.status, "tool.lprof must be a table" in run.stderr) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ["-lv"],
        ["-l", "-v", "-r"],
        ["-lvz"],
        ["-lbv", "-u", "1e-3"],
        ["--line-by-line", "--view", "--skip-zero"],
        ["--line-by-line=yes", "--view", "--rich=off", "--skip-zero=Y"],
        ["-lv", "--no-preimports"],
        ["-lv", "--preimports=no", "--prof-imports=no"],
        ["-lv", "--no-rich", "--no-skip-zero", "--no-summarize"],
        ["-lvv"],
        ["-lv", "-i", "--summarize"],
        ["-lv", "-i", "1"],
        ["-lv", "--no-config"],
    ],
)
def test_habits_of_kernprof(folder: Path, words: list[str]) -> None:
    text = PROGRAM.replace("import sys\n", "").replace("sys.argv[1:]", "'done'")
    (folder / "program.py").write_text(f"@profile\n{text}")
    run = lprof([*words, "program.py"], folder)
    assert run.status == 0, run.stderr
    assert run.stdout.startswith("done\n")
    assert "n = n" in run.stdout
    assert names(folder / "program.py.lprof") == {"f"}


def test_a_flag_is_yes_or_no(folder: Path) -> None:
    run = lprof(["--rich=maybe", "program.py"], folder)
    assert (run.status, len(run.stderr.splitlines())) == (2, 1)


def test_a_folder_that_is_no_program_leaves_the_old_result(folder: Path) -> None:
    (folder / "empty").mkdir()
    (folder / "empty.lprof").write_text("old")
    run = lprof(["empty"], folder)
    assert (run.status, run.stdout, len(run.stderr.splitlines())) == (2, "", 1)
    assert (folder / "empty.lprof").read_text() == "old"
