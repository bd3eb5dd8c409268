"""Children of the program are profiled too, and their results are in the one of the program."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from case_runs import COMMANDS, LineResult, lprof, plain
from proftrace.model.load import load_profiles

WORK = """\
import concurrent.futures, multiprocessing, os, signal, subprocess, sys, time
@profile
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total
if __name__ == "__main__":
    work(10)
"""
LOOP, BODY = 5, 6
# What the program does besides, and how often `work` is called with 100 in children.
WAYS = {
    "fork": (
        "for _ in range(3):\n    if os.fork() == 0:\n        work(100); os._exit(0)\n    os.wait()",
        3,
    ),
    "fork, and both go on": ("pid = os.fork()\nif pid: os.wait()\nelse: work(100)", 1),
    "fork in a profiled loop": (
        "@profile\n"
        "def forks():\n"
        "    for k in range(3):\n"
        "        if os.fork() == 0:\n"
        "            work(100)\n"
        "            os._exit(0)\n"
        "        os.wait()\n"
        "forks()",
        3,
    ),
    "fork in a fork": (
        "if os.fork() == 0:\n"
        "    if os.fork() == 0:\n"
        "        work(100); os._exit(0)\n"
        "    os.wait(); work(100); os._exit(0)\n"
        "os.wait()",
        2,
    ),
    **{
        f"pool by {method}": (
            f"with multiprocessing.get_context({method!r}).Pool(2) as pool:\n"
            "    assert pool.map(work, [100] * 4) == [4950] * 4",
            4,
        )
        for method in ("fork", "spawn", "forkserver")
    },
    "process by fork": (
        "p = multiprocessing.get_context('fork').Process(target=work, args=(100,))\n"
        "p.start(); p.join(); assert p.exitcode == 0",
        1,
    ),
    "executor": (
        "with concurrent.futures.ProcessPoolExecutor(\n"
        "        2, mp_context=multiprocessing.get_context('spawn')) as pool:\n"
        "    assert list(pool.map(work, [100] * 4)) == [4950] * 4",
        4,
    ),
}
STARTS = {
    "subprocess": "subprocess.run([sys.executable, __file__, 'child'], check=True)",
    "subprocess, own environment": (
        "subprocess.run([sys.executable, __file__, 'child'], env={**os.environ, 'X': '1'})"
    ),
    "subprocess, inherited files": (
        "subprocess.run([sys.executable, __file__, 'child'], close_fds=False)"
    ),
    "subprocess -m": "subprocess.run([sys.executable, '-u', '-m', 'program', 'child'])",
    "a shell": "subprocess.run(f'{sys.executable} {__file__} child', shell=True)",
    "os.system": "os.system(f'{sys.executable} {__file__} child')",
    "posix_spawn": (
        "os.posix_spawn(sys.executable, [sys.executable, __file__, 'child'], os.environ); os.wait()"
    ),
    "spawnv": "os.spawnv(os.P_WAIT, sys.executable, [sys.executable, __file__, 'child'])",
    "fork and exec": (
        "if os.fork() == 0: os.execv(sys.executable, [sys.executable, __file__, 'child'])\n"
        "os.wait()"
    ),
    "exec": "sys.stdout.flush(); os.execv(sys.executable, [sys.executable, __file__, 'child'])",
    "exec with an environment": (
        "os.execve(sys.executable, [sys.executable, __file__, 'child'], dict(os.environ))"
    ),
}


def hits(path: Path) -> Counter[int]:
    """Return the hits of program.py by line, over all processes of a result."""
    total: Counter[int] = Counter()
    for profile in load_profiles(str(path)):
        total += LineResult(profile).hits("program.py")
    return total


def run_program(
    folder: Path, rest: str, *options: str, after: str = "", words: tuple[str, ...] = ()
) -> None:
    """Run a program that is WORK and something else, and check that nothing else is left."""
    (folder / "program.py").write_text(WORK + "".join(f"    {line}\n" for line in rest.split("\n")))
    before = plain(["program.py"], folder) if not words else None
    env = {"PROFTRACE_TEST_HOT_AFTER": after}
    run = lprof(["-q", "-o", "r.lprof", *options, "program.py", *words], folder, env)
    assert (run.status, run.stderr) == (0, "")
    assert before is None or run.stdout == before.stdout or options
    names = {path.name for path in folder.iterdir()} - {"__pycache__"}
    assert names == {"program.py", "r.lprof"}


@pytest.mark.parametrize("after", ["", "1"])
@pytest.mark.parametrize("way", WAYS)
def test_children_of_all_kinds(way: str, after: str, tmp_path: Path) -> None:
    rest, n_calls = WAYS[way]
    (tmp_path / "program.py").touch()
    run_program_without_plain(tmp_path, rest, after)
    found = hits(tmp_path / "r.lprof")
    assert (found[BODY], found[LOOP]) == (10 + 100 * n_calls, 11 + 101 * n_calls)


def run_program_without_plain(folder: Path, rest: str, after: str) -> None:
    run_program(folder, rest, after=after, words=("x",))


@pytest.mark.parametrize("after", ["", "1"])
@pytest.mark.parametrize("way", STARTS)
def test_every_python_that_is_started(way: str, after: str, tmp_path: Path) -> None:
    rest = "if sys.argv[1:] != ['child']:\n" + "\n".join(
        f"    {line}" for line in STARTS[way].split("\n")
    )
    run_program(tmp_path, rest, after=after, words=("x",))
    assert hits(tmp_path / "r.lprof")[BODY] == 20


def test_children_are_not_followed_on_request(tmp_path: Path) -> None:
    rest, _ = WAYS["fork"]
    run_program(tmp_path, rest, "--no-follow", words=("x",))
    assert hits(tmp_path / "r.lprof")[BODY] == 10


def test_other_programs_find_the_environment_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import os, subprocess, sys\n"
        "os.environ['PYTHONPATH'] = '/x'\n"
        "subprocess.run(['env']); os.system('env'); sys.stdout.flush()\n"
        "show = 'import os; print(sorted(os.environ.items()))'\n"
        "subprocess.run([sys.executable, '-c', show])\n"
        "subprocess.run([sys.executable, '-I', '-c', show])\n"
    )
    before = plain(["program.py"], tmp_path)
    run = lprof(["-q", "program.py"], tmp_path)
    assert (run.status, run.stdout, before.stderr) == (0, before.stdout, "")
    assert "program.py.lprof" not in {path.name for path in tmp_path.glob("*.parts")}


def test_a_killed_child_loses_nothing_older_than_a_second(tmp_path: Path) -> None:
    rest = (
        "if os.fork() == 0:\n"
        "    work(100)\n"
        "    time.sleep(1.2)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "os.wait()"
    )
    run_program(tmp_path, rest, words=("x",))
    assert hits(tmp_path / "r.lprof")[BODY] == 110
    (profile,) = [p for p in load_profiles(str(tmp_path / "r.lprof")) if p.warnings]
    assert "it was killed, or is still running" in profile.warnings[0]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_child_that_ends_by_a_signal_loses_nothing(name: str, tmp_path: Path) -> None:
    rest = (
        "if os.fork() == 0:\n"
        "    sys.stderr = open(os.devnull, 'w')\n"
        "    work(100)\n"
        f"    os.kill(os.getpid(), signal.{name}); time.sleep(5)\n"
        "os.wait()"
    )
    run_program(tmp_path, rest, words=("x",))
    assert hits(tmp_path / "r.lprof")[BODY] == 110


def test_a_child_that_ends_after_the_program_adds_itself(tmp_path: Path) -> None:
    # It has saved before, while the program was there, and is in the result once all the same.
    rest = (
        "if os.fork() == 0:\n"
        "    work(100); time.sleep(1.5); work(100); os._exit(0)\n"
        "time.sleep(0.8)"
    )
    run_program(tmp_path, rest, words=("x",))
    # The run is over when its output is, which the child holds open.
    assert hits(tmp_path / "r.lprof")[BODY] == 210
    assert len(load_profiles(str(tmp_path / "r.lprof"))) == 2


def test_the_program_does_not_hear_of_our_threads_when_it_forks(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import os, warnings\n"
        "warnings.simplefilter('error')\n"
        "@profile\n"
        "def f():\n"
        "    for _ in range(5000): pass\n"
        "    if os.fork() == 0:\n"
        "        f2(); os._exit(0)\n"
        "    return os.wait()[1]\n"
        "def f2():\n"
        "    if os.fork() == 0: os._exit(0)\n"
        "    os.wait()\n"
        "assert [f() for _ in range(5)] == [0] * 5\n"
    )
    run = lprof(["-q", "-i", "0.02", "program.py"], tmp_path)
    assert (run.status, run.stderr) == (0, "")


def test_targets_are_found_in_children(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import multiprocessing\n"
        "def work(n):\n"
        "    return [\n"
        "        i for i in range(n)]\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(2) as pool:\n"
        "        pool.map(work, [3] * 4)\n"
    )
    run = lprof(["-q", "-o", "r.lprof", "-p", "work", "program.py"], tmp_path)
    assert (run.status, run.stderr) == (0, "")
    assert hits(tmp_path / "r.lprof")[4] > 0
    assert hits(tmp_path / "r.lprof")[3] == 4


def test_what_there_is_so_far_is_written_every_interval(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        WORK + "    print('ready', flush=True)\n    time.sleep(60)\n"
    )
    command = [str(COMMANDS / "lprof"), "-q", "-i", "0.1", "-o", "r.lprof", "program.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 30
        while not (tmp_path / "r.lprof").exists() or hits(tmp_path / "r.lprof")[BODY] != 10:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    assert hits(tmp_path / "r.lprof")[BODY] == 10
    shown = lprof(["show", "r.lprof"], tmp_path)
    assert shown.status == 0
    assert "it was killed, or is still running" in shown.stderr
    assert [path.name for path in tmp_path.glob("*.parts")] == []


@pytest.mark.parametrize("words", [["-i"], ["-lvi"], ["-i", "2"], ["-i2"], ["--output-interval=3"]])
def test_an_interval_may_be_left_out(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WORK + "    print(sys.argv)\n")
    run = lprof(["-q", *words, "program.py", "5"], tmp_path)
    assert run.status == 0
    assert run.stdout.startswith("['program.py', '5']\n")


@pytest.mark.parametrize("words", [["--output-interval=x"], ["-i-1"], ["--output-interval=inf"]])
def test_an_interval_that_is_none(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WORK)
    run = lprof([*words, "program.py"], tmp_path)
    assert (run.status, run.stdout) == (2, "")
    assert len(run.stderr.splitlines()) == 1


def test_leftovers_of_a_killed_run_are_removed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WORK)
    (tmp_path / "r.lprof.999999999.parts").mkdir()
    (tmp_path / "r.lprof.999999999.parts" / "1-1").touch()
    mine = tmp_path / f"r.lprof.{os.getpid()}.parts"
    mine.mkdir()
    run = lprof(["-q", "-o", "r.lprof", "program.py"], tmp_path)
    assert run.status == 0
    assert [path.name for path in tmp_path.glob("*.parts")] == [mine.name]


def test_setup_runs_first_and_is_not_recorded(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "prepare.py").write_text(
        "import beside\nprint('setup', __name__)\ndef f():\n    pass\nf()\n"
    )
    (tmp_path / "lib" / "beside.py").write_text("")
    (tmp_path / "program.py").write_text("import sys\nprint('program', 'beside' in sys.modules)\n")
    words = ["-q", "-o", "r.lprof", "--all", "-s", "lib/prepare.py", "program.py"]
    run = lprof(words, tmp_path)
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout == "setup __main__\nprogram True\n"
    result = LineResult(load_profiles(str(tmp_path / "r.lprof"))[0])
    assert {Path(file).name for file, _, _ in result.functions()} == {"program.py"}


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("1/0\n", 1, "ZeroDivisionError"),
        ("import sys; sys.exit(4)", 4, ""),
        ("(", 1, "SyntaxError"),
    ],
)
def test_a_failing_setup_ends_it(text: str, status: int, message: str, tmp_path: Path) -> None:
    (tmp_path / "prepare.py").write_text(text)
    (tmp_path / "program.py").write_text("print('program')\n")
    (tmp_path / "program.py.lprof").write_text("of a run before")
    run = lprof(["-v", "-s", "prepare.py", "program.py"], tmp_path)
    assert (run.status, run.stdout) == (status, "")
    assert message in run.stderr
    assert "proftrace" not in run.stderr
    assert "lprof" not in run.stderr
    assert (tmp_path / "program.py.lprof").read_text() == "of a run before"
    missing = lprof(["-s", "nope.py", "program.py"], tmp_path)
    assert (missing.status, len(missing.stderr.splitlines())) == (2, 1)


def test_processes_have_a_row_each_and_a_table_of_their_own(tmp_path: Path) -> None:
    rest, _ = WAYS["fork"]
    run_program(tmp_path, rest, words=("x",))
    shown = lprof(["show", "--processes", "r.lprof"], tmp_path)
    assert (shown.status, shown.stderr) == (0, "")
    header, first, *children = shown.stdout.splitlines()
    assert header.split()[:2] == ["pid", "parent"]
    assert len(children) == 3
    assert all(row.split()[1] == first.split()[0] for row in children)
    pid = children[0].split()[0]
    one = lprof(["show", "--pid", pid, "r.lprof"], tmp_path)
    assert [row.split()[1] for row in one.stdout.splitlines() if "total += i" in row] == ["100"]
    none = lprof(["show", "--pid", "1", "r.lprof"], tmp_path)
    assert (none.status, none.stdout, len(none.stderr.splitlines())) == (2, "", 1)


def test_the_starts_of_workers_are_no_code_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        WORK.replace("@profile\n", "") + "    for method in ('spawn', 'forkserver'):\n"
        "        with multiprocessing.get_context(method).Pool(1) as pool:\n"
        "            pool.map(work, [100])\n"
        "    exec('made = 1')\n"
    )
    run = lprof(["-q", "--all", "-o", "r.lprof", "program.py"], tmp_path)
    assert (run.status, run.stderr) == (0, "")
    shown = lprof(["show", "r.lprof"], tmp_path)
    assert (shown.status, shown.stderr) == (0, "")
    files = {line for line in shown.stdout.splitlines() if line.startswith("File:")}
    assert files == {f"File: {tmp_path}/program.py"}
