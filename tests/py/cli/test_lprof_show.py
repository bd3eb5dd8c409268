"""`lprof show`: which table is printed where, and what is said beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from line_logs import code_of, write_line_log
from log_writer import LogWriter
from proftrace.cli import lprof, lprof_show
from proftrace.cli.lprof_run import run_parser
from proftrace.cli.lprof_show import table_arguments

TEXT = "def f(a):\n    b = a\n    return b\n\n\ndef g(): pass\n"


@pytest.fixture
def result(tmp_path: Path) -> Path:
    functions: dict = {
        code_of(TEXT, "f.py", "f"): [(2, 4, 3_000), (3, 4, 1_000)],
        code_of(TEXT, "f.py", "g"): [],
    }
    return write_line_log(tmp_path / "r.lprof", "f.py", TEXT, functions, program="app.py")


def test_a_pipe_gets_the_classic_table(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lprof.main(["show", str(result)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Timer unit: 1e-06 s\n\nTotal time: 4e-06 s\nFile: f.py\n")
    assert "Function: g at line 6" in out
    assert err == ""


@pytest.mark.parametrize(
    ("options", "there", "missing"),
    [
        (["-z"], "Function: f", "Function: g"),
        (["-u", "1e-9"], "Timer unit: 1e-09 s", "1e-06"),
        (["--unit=1"], "Timer unit: 1 s", "1e-06"),
        (["-m"], "  0.00 seconds - f.py:1 - f\n", "\x1b"),
        (["-tm"], "- g\n  0.00 seconds - f.py:1 - f\n", "\x1b"),
        (["--style=rich"], "lprof 0.1.0  app.py  2 functions", "Timer unit"),
        (["-r"], "never ran: g  f.py:6", "Timer unit"),
        (["-r", "--color=always"], "\x1b[", "Timer unit"),
        (["-rz"], "b = a", "never ran"),
    ],
)
def test_options(
    result: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    there: str,
    missing: str,
) -> None:
    assert lprof.main(["show", *options, str(result)]) == 0
    out, _ = capsys.readouterr()
    assert there in out
    assert missing not in out


def test_several_files_are_added_up(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lprof.main(["show", "-z", str(result), str(result)]) == 0
    assert re.search(r"^ +2 +8 +6\.0 +0\.8 +75\.0      b = a$", capsys.readouterr().out, re.M)


@pytest.mark.parametrize(
    ("functions", "reason"), [(["f"], "were never called in this run"), ([], "@profile above")]
)
def test_why_nothing_was_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], functions: list[str], reason: str
) -> None:
    timings: dict = {code_of(TEXT, "f.py", name): [] for name in functions}
    path = write_line_log(tmp_path / "r.lprof", "f.py", TEXT, timings)
    assert lprof.main(["show", str(path)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Timer unit: 1e-06 s\n")
    (line,) = err.splitlines()
    assert line.startswith("lprof: nothing was recorded: ")
    assert reason in line


def test_a_memory_capture_is_not_for_lprof(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = LogWriter()
    log.end()
    (tmp_path / "m.bin").write_bytes(log.data())
    assert lprof.main(["show", str(tmp_path / "m.bin")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"lprof: \S+/m\.bin: a memory capture: memtrace reports on it\n", err)


def test_a_file_that_is_cut_is_shown_with_a_warning(
    result: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result.write_bytes(result.read_bytes()[:-20])
    assert lprof.main(["show", str(result)]) == 0
    out, err = capsys.readouterr()
    assert "Function: f at line 1" in out
    assert err.startswith("lprof: warning: ")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ([], 2, "usage: lprof [options]"),
        (["show"], 2, "required: FILE"),
        (["show", "-u", "0", "x"], 2, "not a length of time in seconds"),
        (["show", "-x", "f"], 2, "unrecognized arguments: -x"),
        (["show", "missing.lprof"], 1, "missing.lprof"),
        (["missing.py"], 2, "cannot read script 'missing.py': No such file or directory"),
        (["-o", "no/folder/x", "-c", "1"], 1, "there is no folder"),
        (["-o", "/", "-c", "1"], 1, "it is a folder"),
        (["-v"], 2, "nothing to run"),
    ],
)
def test_errors(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], status: int, message: str
) -> None:
    assert lprof.main(words) == status
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert message in err
    assert list(folder.iterdir()) == []


EVERY_OPTION = [
    *("--unit=0.001", "--top=3", "--min-pct=2.5", "--context=1", "--format=md", "--style=rich"),
    *("--color=never", "-z", "-t", "-r", "--summarize", "--all", "--stats", "--raw-hits", "--raw"),
    *("--statements", "--callers"),
]


def test_view_hands_all_options_of_the_table_on() -> None:
    words = ["--all-lines" if word == "--all" else word for word in EVERY_OPTION]
    options, _ = run_parser().parse_target([*words, "app.py"])
    handed_on = vars(lprof_show._show_parser().parse_args([*table_arguments(options), "r.lprof"]))
    shown = lprof_show._show_parser().parse_args([*EVERY_OPTION, "r.lprof"])
    assert handed_on == vars(shown)
    defaults = vars(lprof_show._show_parser().parse_args(["r.lprof"]))
    unlike = {name for name, value in vars(shown).items() if value != defaults[name]}
    # Every option of the table was given another value here than it has by default.
    assert unlike == set(defaults) - {"files", "output", "force", "processes", "pid", "no_config"}


@pytest.mark.parametrize(
    ("options", "format"),
    [
        (["-o", "r.json"], "json"),
        (["-o", "r.csv"], "csv"),
        (["-o", "r.md"], "md"),
        (["-o", "r.txt"], "text"),
        (["-o", "r.txt", "--format=json"], "json"),
        (["-o", "r.json", "--format=text"], "text"),
    ],
)
def test_the_format_is_that_of_the_outputs_name_unless_it_is_named(
    result: Path, folder: Path, options: list[str], format: str
) -> None:
    assert lprof.main(["show", *options, str(result)]) == 0
    start = (folder / options[1]).read_text()[:12]
    begins = {
        "json": '{\n "schema_v',
        "csv": "file,functio",
        "md": "### `f`: 4.0",
        "text": "Timer unit: ",
    }
    assert start == begins[format]


@pytest.mark.parametrize(
    "option",
    [
        "--top=-1",
        "--top=x",
        "--top=1.5",
        "--top=²",
        "--context=-2",
        "--min-pct=101",
        "--min-pct=nan",
    ],
)
def test_numbers_that_make_no_sense_are_refused(
    result: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert lprof.main(["show", option, str(result)]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert "not a " in err


def test_only_some_functions_are_shown_and_the_title_says_so(
    result: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lprof.main(["show", "-r", "--top=1", "--min-pct=30%", str(result)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("lprof 0.1.0  app.py  1 of 2 functions  ")
    assert "b = a" in out
    assert "return b" not in out
    assert "never ran" not in out
    assert err == ""


@pytest.mark.parametrize("option", ["-r", "--stats"])
def test_a_program_that_was_recorded_often_is_named_once(
    result: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    option: str,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert lprof.main(["show", option, *[str(result)] * 20]) == 0
    title = capsys.readouterr().out.splitlines()[0]
    assert title.startswith("lprof 0.1.0  app.py (20 recordings)  2 functions")
    assert len(title) <= 60


@pytest.mark.parametrize("option", ["-r", "--stats"])
def test_the_time_of_a_child_is_within_that_of_its_parent(
    folder: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    code = code_of(TEXT, "f.py", "f")
    for pid in (1, 2):  # the parent of all these is process 1, and each takes 1 s
        write_line_log(folder / str(pid), "f.py", TEXT, {code: [(2, 1, 5)]}, pid=pid)
    assert lprof.main(["show", option, "1", "2"]) == 0
    title = capsys.readouterr().out.splitlines()[0]
    assert title.endswith("(2 recordings)  1 function  1.00 s wall time")


@pytest.mark.parametrize(
    ("words", "rich"),
    [
        (["--rich=no", "--skip-zero=Y"], False),
        (["--no-rich", "--no-skip-zero"], False),
        (["-r", "--no-rich"], False),
        (["--rich=on", "--sort=1", "--summarize=off", "--no-config"], True),
    ],
)
def test_flags_in_the_spelling_of_line_profiler(
    result: Path, capsys: pytest.CaptureFixture[str], words: list[str], rich: bool
) -> None:
    assert lprof.main(["show", *words, str(result)]) == 0
    assert capsys.readouterr().out.startswith("lprof 0" if rich else "Timer unit")


def test_a_flag_is_yes_or_no(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lprof.main(["show", "--rich=perhaps", str(result)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
