"""The published line-profiler cases, run with the real command."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from case_runs import (
    CASES,
    COMMANDS,
    HAS_GIL,
    LineResult,
    assert_as_stated,
    case_path,
    line_of,
    load_lines,
    lprof,
    plain,
    read_table,
    wrong_hits,
)
from proftrace.model.profile import REGIME_HOT

SIMPLE = [
    "LP-01", "LP-03", "LP-05", "LP-06", "LP-08", "LP-09", "LP-10", "LP-11", "LP-13", "LP-14",
    "LP-17", "LP-25", "LP-26", "LP-32", "VW-06",
]  # fmt: skip


# By how code is measured: options and, for tests only, after how many events it is hot.
MODES = {"default": ([], ""), "clock": (["--clock"], ""), "early": ([], "1"), "fifth": ([], "5")}


def profile_case(name: str, folder: Path, mode: str = "default") -> LineResult:
    """Run a case and return its result; status and output have to be those of a plain run."""
    options, after = MODES[mode]
    words = [*options, "-q", "-o", "r.lprof", str(case_path(name))]
    run = lprof(words, folder, {"PROFTRACE_TEST_HOT_AFTER": after})
    assert_as_stated(name, run)
    return load_lines(folder / "r.lprof")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*SIMPLE, "LP-20", "LP-31"])
def test_output_and_hits(name: str, mode: str, tmp_path: Path) -> None:
    result = profile_case(name, tmp_path, mode)
    assert name == "LP-13" or wrong_hits(case_path(name), result) == []
    is_hot = REGIME_HOT in result.profile.calls.regime
    assert not is_hot or (mode != "clock" and HAS_GIL)
    # In LP-17 another tool keeps it cold.
    assert is_hot or mode != "early" or name == "LP-17" or not HAS_GIL


# What ends in another way or takes arguments.
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("name", "words", "status"),
    [
        ("LP-15", [], 0),
        ("LP-18", [], 3),
        ("LP-18", ["msg"], 1),
        ("LP-19", [], 1),
        ("LP-21", [], -signal.SIGINT),
        ("LP-21", ["handler"], 9),
        ("LP-22", ["-v", "x"], 0),
    ],
)
def test_status_and_hits(
    name: str, words: list[str], status: int, mode: str, tmp_path: Path
) -> None:
    options, after = MODES[mode]
    command = [*options, "-q", "-o", "r.lprof", str(case_path(name)), *words]
    run = lprof(command, tmp_path, {"PROFTRACE_TEST_HOT_AFTER": after})
    assert run.status == status
    assert wrong_hits(case_path(name), load_lines(tmp_path / "r.lprof")) == []


@pytest.mark.parametrize("name", SIMPLE)
def test_the_table_has_the_hits_of_the_file(name: str, tmp_path: Path) -> None:
    script = case_path(name)
    run = lprof(["-v", "-q", str(script)], tmp_path)
    before = plain([str(script)], tmp_path)
    assert run.status == 0
    assert run.stdout.startswith(before.stdout + "Timer unit: 1e-06 s\n\n")
    shown = {
        (section.file, line): 0 for section in read_table(run.stdout) for line, _, _ in section.rows
    }
    for section in read_table(run.stdout):
        for line, hits, _ in section.rows:
            shown[section.file, line] += hits or 0
    stored = load_lines(tmp_path / f"{script.name}.lprof").hits(script.name)
    for (file, line), hits in shown.items():
        if file == str(script):
            assert hits == stored[line], (file, line)
    again = lprof(["show", f"{script.name}.lprof"], tmp_path)
    assert again.stdout == run.stdout.removeprefix(before.stdout)


def test_lp01_times_of_lines_add_up_and_brackets_are_blank(tmp_path: Path) -> None:
    run = lprof(["-v", "-q", str(case_path("LP-01"))], tmp_path)
    (section,) = read_table(run.stdout)
    brackets = [hits for _, hits, text in section.rows if text.strip() in (")", "}", "),")]
    assert brackets == [None, None]
    (result,) = [load_lines(tmp_path / "LP-01.py.lprof").profile]
    lines = sum(result.lines.values["inclusive"])
    assert lines == pytest.approx(result.calls.inclusive[0], rel=0.01)


def test_lp06_ten_runs_give_the_same_numbers(tmp_path: Path) -> None:
    for _ in range(10):
        assert wrong_hits(case_path("LP-06"), profile_case("LP-06", tmp_path)) == []


def test_lp08_the_clock_stops_when_the_frame_is_unwound(tmp_path: Path) -> None:
    script = case_path("LP-08")
    assert profile_case("LP-08", tmp_path).seconds(script.name, line_of(script, "RAISER")) < 0.1


def test_lp09_a_suspended_generator_costs_nothing(tmp_path: Path) -> None:
    script = case_path("LP-09")
    assert profile_case("LP-09", tmp_path).seconds(script.name, line_of(script, "YIELD")) < 0.05


def test_lp11_the_users_functions_are_shown(tmp_path: Path) -> None:
    run = lprof(["-v", "-q", str(case_path("LP-11"))], tmp_path)
    rows = [section.rows for section in read_table(run.stdout)]
    texts = ["\n".join(text for _, _, text in section) for section in rows]
    assert [re.findall(r"def (\w+)", text) for text in texts] == [["square"], ["fibo"]]


def test_lp13_nothing_of_equal_names_is_lost(tmp_path: Path) -> None:
    run = lprof(["-v", "-q", "-o", "r.lprof", str(case_path("LP-13"))], tmp_path)
    assert (run.status, run.stderr) == (0, "")
    result = load_lines(tmp_path / "r.lprof")
    assert result.hits("<string>")[4] == 3
    assert result.hits("<gen poly>")[3] == 1
    shown = [
        (section.file, line, hits, text.strip())
        for section in read_table(run.stdout)
        for line, hits, text in section.rows
        if hits
    ]
    assert ("<gen poly>", 3, 1, "y = x * x * x") in shown
    assert sum(hits for file, line, hits, _ in shown if (file, line) == ("<string>", 4)) == 3
    assert "Could not find file <string>" in run.stdout


def test_lp14_one_section_and_no_function_is_kept_alive(tmp_path: Path) -> None:
    script = case_path("LP-14")
    run = lprof(["-q", "-o", "r.lprof", str(script)], tmp_path)
    names = [name for _, name, _ in load_lines(tmp_path / "r.lprof").functions()]
    assert sorted(names) == ["outer", "outer.<locals>.inner"]
    (alive,) = re.findall(r"alive (\d+)", run.stderr)
    assert int(alive) <= 5


def test_lp15_two_million_hits_are_exact(tmp_path: Path) -> None:
    script = case_path("LP-15")
    run = lprof(["-q", "-o", "r.lprof", str(script)], tmp_path)
    assert run.status == 0
    (measured_ms,) = re.findall(r"^bare \d+ loop (\d+) calls \d+$", run.stdout, re.M)
    result = load_lines(tmp_path / "r.lprof")
    assert wrong_hits(script, result) == []
    shown = sum(result.seconds(script.name, line_of(script, mark)) for mark in ("LOOP", "BODY"))
    assert shown * 1000 < int(measured_ms) + 1


@pytest.mark.parametrize(("words", "status"), [([], 3), (["msg"], 1), (["none"], 0)])
def test_lp18_sys_exit(words: list[str], status: int, tmp_path: Path) -> None:
    script = case_path("LP-18")
    run = lprof(["-v", "-q", "-o", "r.lprof", str(script), *words], tmp_path)
    before = plain([str(script), *words], tmp_path)
    assert (run.status, before.status) == (status, status)
    assert run.stdout.startswith("working\natexit ran\nTimer unit: 1e-06 s\n")
    assert run.stderr == before.stderr
    assert ("stopped by user" in run.stderr) is (words == ["msg"])
    assert wrong_hits(script, load_lines(tmp_path / "r.lprof")) == []


def test_lp19_an_uncaught_exception(tmp_path: Path) -> None:
    script = case_path("LP-19")
    run = lprof(["-v", "-q", "-o", "r.lprof", str(script)], tmp_path)
    before = plain([str(script)], tmp_path)
    assert (run.status, run.stderr) == (1, before.stderr)
    assert run.stderr.count("Traceback") == 1
    assert run.stdout.startswith("hook saw ZeroDivisionError\nTimer unit: 1e-06 s\n")
    assert wrong_hits(script, load_lines(tmp_path / "r.lprof")) == []


def test_lp20_os_exit(tmp_path: Path) -> None:
    script = case_path("LP-20")
    run = lprof(["-q", "-o", "r.lprof", str(script)], tmp_path)
    assert_as_stated("LP-20", run)
    assert wrong_hits(script, load_lines(tmp_path / "r.lprof")) == []
    assert sorted(os.listdir(tmp_path)) == ["r.lprof"]


@pytest.mark.parametrize(
    ("words", "status"), [([], -signal.SIGINT), (["term"], -signal.SIGTERM), (["handler"], 9)]
)
def test_lp21_signals(words: list[str], status: int, tmp_path: Path) -> None:
    script = case_path("LP-21")
    run = lprof(["-q", "-o", "r.lprof", str(script), *words], tmp_path)
    before = plain([str(script), *words], tmp_path)
    assert (run.status, run.stdout) == (status, before.stdout)
    assert run.stderr.count("Traceback") == (0 if words else 1)
    result = load_lines(tmp_path / "r.lprof")
    wait = line_of(script, "WAIT")
    assert result.hits(script.name)[wait] == 1
    assert 0.2 < result.seconds(script.name, wait) < 5
    if words != ["term"]:
        assert run.stdout.count("cleanup") == 1
        assert wrong_hits(script, result) == []


def test_lp22_arguments_are_the_scripts(tmp_path: Path) -> None:
    words = ["-v", "-o", "out.txt", "--help", "--", "-m", "x", "", "a b", "-h"]
    script = case_path("LP-22")
    run = lprof(["-q", "-o", "r.lprof", str(script), *words], tmp_path)
    assert (run.status, run.stdout) == (0, plain([str(script), *words], tmp_path).stdout)
    assert repr(words) in run.stdout
    assert wrong_hits(script, load_lines(tmp_path / "r.lprof")) == []
    run = lprof(["-q", "-c", "import sys; print(sys.argv)", "one", "-v"], tmp_path)
    assert run.stdout == "['-c', 'one', '-v']\n"
    assert sorted(os.listdir(tmp_path)) == ["lprof-command.lprof", "r.lprof"]


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """The folder of LP-23, copied: what is written there must not stay in the sources."""
    shutil.copytree(CASES / "LP-23", tmp_path / "here")
    return tmp_path / "here"


def test_lp23_modules(packages: Path) -> None:
    run = lprof(["-q", "-m", "app", "--size", "4"], packages)
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout == plain(["-m", "app", "--size", "4"], packages).stdout
    assert run.stdout.splitlines() == [
        "app app.__main__ True ['--size', '4']",
        "path0 is cwd True",
        "main has area True",
        "area 16",
    ]
    result = load_lines(packages / "app.lprof")
    assert wrong_hits(packages / "app" / "__main__.py", result) == []
    assert {file for file, _, _ in result.functions()} == {str(packages / "app" / "__main__.py")}
    run = lprof(["-q", "-m", "nspkg.job"], packages)
    assert (run.status, run.stdout) == (0, "nspkg.job nspkg True 6\n")


@pytest.mark.parametrize(("flag", "value"), [("-P", ""), ("", "1")])
def test_lp23_the_current_folder_stays_out_when_asked(
    packages: Path, flag: str, value: str
) -> None:
    env = {"PYTHONSAFEPATH": value} if value else {}
    flags = [flag] if flag else []
    run = plain([*flags, "-m", "proftrace.cli.lprof", "-q", "-m", "nspkg.job"], packages, env)
    before = plain([*flags, "-m", "nspkg.job"], packages, env)
    assert (run.status, run.stdout) == (before.status, "") == (1, "")
    assert before.stderr in run.stderr
    assert "No module named" in run.stderr


def test_lp26_the_result_is_where_the_user_was(tmp_path: Path) -> None:
    shutil.copy(case_path("LP-26"), tmp_path / "LP-26.py")
    run = lprof(["-v", "LP-26.py"], tmp_path)
    assert run.status == 0
    assert "here = os.getcwd()" in run.stdout
    assert sorted(os.listdir(tmp_path)) == ["LP-26.py", "LP-26.py.lprof"]
    assert wrong_hits(case_path("LP-26"), load_lines(tmp_path / "LP-26.py.lprof")) == []
    run = lprof(["-q", "-o", "named.lprof", "LP-26.py"], tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["LP-26.py", "LP-26.py.lprof", "named.lprof"]


def test_lp29_cells_of_a_notebook_show_the_text_that_ran(tmp_path: Path) -> None:
    run = lprof(["-v", "-q", str(case_path("LP-29"))], tmp_path)
    assert run.status == 0
    assert run.stdout.startswith("cell one 6\ncell two 8\n")
    found = [
        [(line, hits, text.strip()) for line, hits, text in section.rows if hits]
        for section in read_table(run.stdout)
    ]
    assert found == [
        [(2, 5, "for i in range(n):"), (3, 4, text), (4, 1, "return int(acc)")]
        for text in ("acc += i  # old", "acc += i + 0.5  # new")
    ]


def test_lp30_daemon_threads_at_the_end(tmp_path: Path) -> None:
    script = case_path("LP-30")
    for _ in range(20):
        run = lprof(["-q", "-o", "r.lprof", str(script)], tmp_path)
        assert (run.status, run.stdout, run.stderr) == (0, "main leaves\n", "")
        hits = load_lines(tmp_path / "r.lprof").hits(script.name)
        loop, inner = hits[line_of(script, "LOOP")], hits[line_of(script, "INNER")]
        assert inner >= 1
        assert abs(loop - inner) <= 4


def test_lp32_six_sections(tmp_path: Path) -> None:
    run = lprof(["-v", "-q", str(case_path("LP-32"))], tmp_path)
    sections = read_table(run.stdout)
    assert len(sections) == 6
    assert len({section.first_line for section in sections}) == 6
    names = [section.name for section in sections]
    assert sorted(names) == ["A.run", "B.run", "B.run", "make.<locals>.run", "run", "run"]


def test_vw06_times_add_up(tmp_path: Path) -> None:
    script = case_path("VW-06")
    result = profile_case("VW-06", tmp_path)
    times = {
        mark: result.seconds(script.name, line_of(script, mark)) for mark in ("A", "B", "CALL")
    }
    # The program sleeps 0.1 s and 0.2 s; a busy machine makes that longer, never shorter.
    assert 0.095 < times["A"] < 1
    assert 0.19 < times["B"] < 1
    assert times["CALL"] >= times["A"] + times["B"]
    run = lprof(["show", "r.lprof"], tmp_path)
    for part in run.stdout.split("\nTotal time: ")[1:]:
        header, _, *rows = part[part.index("Line #") :].splitlines()
        end = header.index("  Line Contents")
        shares = [float(row[end - 8 : end]) for row in rows if row[end - 8 : end].strip()]
        assert sum(shares) == pytest.approx(100, abs=0.5) or not shares
    never = next(s for s in read_table(run.stdout) if s.name == "never_called")
    assert [hits for _, hits, _ in never.rows] == [None] * len(never.rows)


def test_a_kill_leaves_no_torn_file(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("import time\nprint('up', flush=True)\ntime.sleep(60)\n")
    command = [str(COMMANDS / "lprof"), "-o", "r.lprof", "s.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.kill()
    time.sleep(0.01)
    if (tmp_path / "r.lprof").exists():
        load_lines(tmp_path / "r.lprof")
