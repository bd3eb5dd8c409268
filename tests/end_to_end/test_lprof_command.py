"""`lprof` as people type it."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from case_runs import COMMANDS, load_lines, lprof, plain, read_table

PROGRAM = """\
import sys
from proftrace import profile


@profile
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total


print(work(10), sys.argv[1:])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The current folder, with the program as a script and as a module."""
    (tmp_path / "app.py").write_text(PROGRAM)
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(set(os.listdir(folder)) - {"app.py", "__pycache__"})


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (["app.py"], "app.py.lprof"),
        (["./app.py", "-o", "x"], "app.py.lprof"),
        (["-m", "app"], "app.lprof"),
        (["-c", PROGRAM], "lprof-command.lprof"),
        (["-o", "named", "app.py"], "named"),
        (["--outfile=named", "-lbm", "app"], "named"),
    ],
)
def test_where_the_result_is(folder: Path, words: list[str], result: str) -> None:
    for _ in range(2):  # the second run replaces the first one's file
        run = lprof(words, folder)
        assert run.status == 0
        assert run.stdout.startswith("45 [")
        assert len(run.stderr.splitlines()) == 1
        assert str(folder / result) in run.stderr
        assert names(folder) == [result]
    file = "<string>" if "-c" in words else "app.py"
    assert load_lines(folder / result).hits(file)[8] == 11
    assert lprof(["-q", *words], folder).stderr == ""


def test_without_lprof_the_decorator_does_nothing(folder: Path) -> None:
    run = plain(["app.py", "a"], folder)
    assert (run.status, run.stdout, run.stderr) == (0, "45 ['a']\n", "")
    assert names(folder) == []


def test_the_text_of_a_command_is_in_the_table(folder: Path) -> None:
    run = lprof(["-qv", "-c", PROGRAM], folder)
    (section,) = read_table(run.stdout)
    assert (8, 11, "    for i in range(n):") in section.rows


def test_view_options_reach_the_table(folder: Path) -> None:
    run = lprof(["-qvz", "-u", "1e-3", "--summarize", "app.py"], folder)
    assert "Timer unit: 0.001 s\n" in run.stdout
    assert re.search(r"^ +\d+\.\d\d seconds - \S+/app\.py:5 - work$", run.stdout, re.M)
    run = lprof(["-qv", "--style=rich", "app.py"], folder)
    assert "for i in range(n):" in run.stdout
    assert "Timer unit" not in run.stdout


def test_the_report_is_ours_whatever_the_program_did(folder: Path) -> None:
    (folder / "re.py").write_text("raise SystemExit('not this re')")
    (folder / "proftrace.py").write_text("raise SystemExit('not this package')")
    program = (
        "import os, sys\n"
        "os.environ.clear()\n"
        "@profile\n"
        "def f(): pass\n"
        "f()\n"
        "os.makedirs('gone')\n"
        "os.chdir('gone')\n"
        "os.rmdir('../gone')\n"
    )
    (folder / "s.py").write_text(program)
    run = lprof(["-v", "-q", "s.py"], folder)
    assert (run.status, run.stderr) == (0, "")
    assert [section.name for section in read_table(run.stdout)] == ["f"]


def test_a_script_called_show_can_be_run(folder: Path) -> None:
    (folder / "show").write_text("print('shown')")
    assert lprof(["-q", "./show"], folder).stdout == "shown\n"
    assert lprof(["-q", "--", "show"], folder).stdout == "shown\n"


@pytest.mark.parametrize(
    ("program", "hint"),
    [
        ("print(1)", "no function was decorated"),
        ("@profile\ndef f(): pass\nprint(1)", "never called"),
    ],
)
def test_nothing_recorded_is_explained(folder: Path, program: str, hint: str) -> None:
    (folder / "s.py").write_text(program)
    run = lprof(["-v", "-q", "s.py"], folder)
    assert (run.status, run.stdout.splitlines()[0]) == (0, "1")
    (line,) = run.stderr.splitlines()
    assert line.startswith("lprof: nothing was recorded: ")
    assert hint in line
    # Without -v the target's process says it, in the same words.
    run = lprof(["s.py"], folder)
    assert (run.status, run.stdout) == (0, "1\n")
    assert run.stderr.splitlines()[1:] == [line]


def test_a_terminal_gets_the_table_for_terminals(folder: Path) -> None:
    reader, writer = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    environ.pop("NO_COLOR", None)
    command = [str(COMMANDS / "lprof"), "-q", "-v", "app.py"]
    with subprocess.Popen(
        command, cwd=folder, env=environ, stdin=writer, stdout=writer, stderr=writer
    ) as process:
        os.close(writer)
        output = b""
        while chunk := read_terminal(reader):
            output += chunk
        assert process.wait(60) == 0
    os.close(reader)
    text = output.decode()
    assert "45 []" in text
    assert "\x1b[" in text
    assert "Σ" in text
    assert "Timer unit" not in text


def read_terminal(reader: int) -> bytes:
    """Read from a terminal; its end is an error on Linux."""
    try:
        return os.read(reader, 65536)
    except OSError:
        return b""


def test_the_interpreters_options_reach_the_program(folder: Path) -> None:
    code = "import sys; print(sys.flags.optimize, sys.flags.bytes_warning, __debug__)"
    run = plain(["-OO", "-b", "-m", "proftrace.cli.lprof", "-q", "-c", code], folder)
    assert (run.status, run.stdout) == (0, "2 1 False\n")


def test_the_total_of_recursion_is_the_time_of_the_outermost_call(folder: Path) -> None:
    (folder / "s.py").write_text(
        "import time\n"
        "@profile\n"
        "def down(n):\n"
        "    if n:\n"
        "        time.sleep(0.01)\n"
        "        down(n - 1)\n"
        "start = time.perf_counter()\n"
        "down(8)\n"
        "print(time.perf_counter() - start)\n"
    )
    run = lprof(["-v", "-q", "s.py"], folder)
    (total,) = re.findall(r"Total time: (\S+) s", run.stdout)
    shares = [
        float(share) for share in re.findall(r"^ +\d+ +\d+ +\S+ +\S+ +(\S+)", run.stdout, re.M)
    ]
    assert 0.08 <= float(total) <= float(run.stdout.split()[0])
    assert len(shares) == 3
    assert max(shares) <= 100


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["-m", "nosuch"], ""),
        (["-m", "json.nosuch"], ""),
        (["-m", "package"], ""),
        (["broken.py"], "from json import"),
    ],
)
def test_a_program_that_python_cannot_start_leaves_no_result(
    words: list[str], file: str, tmp_path: Path
) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    if file:
        (tmp_path / words[-1]).write_text(file)
    before = sorted(path.name for path in tmp_path.iterdir())
    assert lprof(words, tmp_path) == plain(words, tmp_path)
    after = sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__")
    assert after == before


def test_a_table_of_what_cannot_be_read_again_is_refused_at_once(folder: Path) -> None:
    run = lprof(["-v", "-o", "/dev/null", "-c", "print('not reached')"], folder)
    assert (run.status, run.stdout) == (2, "")
    assert "cannot show a table of /dev/null" in run.stderr
