"""However a program ends, its result is written once, whole, and its status stays its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from case_runs import COMMANDS, LineResult, Run, load_lines, lprof, plain
from proftrace.model.load import load_profile

WORK = """\
import os, signal, sys
@profile
def work(n):
    for i in range(n):
        n = n
work(10)
"""


def program(folder: Path, ending: str) -> str:
    (folder / "program.py").write_text(WORK + ending)
    return "program.py"


def assert_result_is_whole(folder: Path, name: str = "r.lprof") -> None:
    """The file holds the work, and nothing else was left."""
    assert load_lines(folder / name).hits("program.py") == {4: 11, 5: 10}
    assert [path.name for path in folder.iterdir() if path.name.endswith(".tmp")] == []


def run_both(folder: Path, ending: str, *options: str) -> tuple[Run, Run]:
    """Return the run without and the run with lprof."""
    script = program(folder, ending)
    return plain([script], folder), lprof(["-q", "-o", "r.lprof", *options, script], folder)


ENDINGS = {
    "end": "",
    "exit": "sys.exit(3)",
    "exit with a text": "sys.exit('stopped')",
    "exception": "raise RuntimeError",
    "os._exit": "print('a', flush=True); os._exit(7)",
    "posix._exit": "import posix; posix._exit(7)",
    "os._exit by name": "os._exit(status=8)",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "SIGHUP": "os.kill(os.getpid(), signal.SIGHUP)",
    "SIGINT": "os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(10)",
    "SIGTERM in another thread": (
        "import threading\n"
        "threading.Thread(target=lambda: signal.raise_signal(signal.SIGTERM)).start()\n"
        "threading.Event().wait(10)"
    ),
    "handler": (
        "signal.signal(signal.SIGTERM, lambda *a: sys.exit(9))\n"
        "os.kill(os.getpid(), signal.SIGTERM)"
    ),
    "exec": "sys.stdout.flush(); os.execv('/bin/sh', ['sh', '-c', 'echo replaced; exit 4'])",
    "exec found in a path": "os.execvpe('sh', ['sh', '-c', 'exit $A'], {**os.environ, 'A': '5'})",
    "no folder": "d = __import__('tempfile').mkdtemp(); os.chdir(d); os.rmdir(d)",
    "closed streams": "sys.stdout.close(); sys.stderr.close(); os.close(1); os.close(2)",
    "no streams": "sys.stdout = sys.stderr = None",
    "daemon threads": (
        "import threading, time\n"
        "def forever():\n"
        "    while True:\n"
        "        time.sleep(0)\n"
        "for _ in range(4):\n"
        "    threading.Thread(target=profile(forever), daemon=True).start()\n"
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_status_and_output_stay_and_the_result_is_whole(ending: str, tmp_path: Path) -> None:
    before, run = run_both(tmp_path, "profile = globals().get('profile')\n" + ENDINGS[ending])
    if "profile(" not in ENDINGS[ending]:
        before = plain(["-c", "import builtins; builtins.profile = lambda f: f\n"
                        "exec(open('program.py').read())"], tmp_path)  # fmt: skip
        assert (run.status, run.stdout) == (before.status, before.stdout)
    profile = load_profile(str(tmp_path / "r.lprof"))
    assert len(profile.warnings) == ("exec" in ending)
    hits = LineResult(profile).hits("program.py")
    assert (hits[4], hits[5]) == (11, 10)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


def test_signals_of_the_start_stay_what_they_were(tmp_path: Path) -> None:
    source = (
        "print([signal.getsignal(n) is signal.SIG_DFL for n in (signal.SIGTERM, signal.SIGHUP)])"
    )
    assert run_both(tmp_path, source)[1].stdout == "[True, True]\n"
    script = program(tmp_path, "os.kill(os.getpid(), signal.SIGHUP); print('alive')")
    done = subprocess.run(
        ["nohup", str(COMMANDS / "lprof"), "-q", "-o", "r.lprof", script],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "alive\n")
    assert_result_is_whole(tmp_path)


FORKS = {
    "os._exit": "os._exit(0)",
    "sys.exit": "sys.exit(0)",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "exec": "os.execv('/bin/true', ['true'])",
    "more work": "work(5); [profile(eval('lambda: %d' % i)) for i in range(50)]; os._exit(0)",
}


@pytest.mark.parametrize("child", FORKS)
def test_a_forked_child_writes_nothing(child: str, tmp_path: Path) -> None:
    ending = (
        f"pid = os.fork()\nif pid == 0:\n    {FORKS[child]}\n"
        "status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
        "print(status, os.path.exists('r.lprof'))\n"
    )
    _, run = run_both(tmp_path, ending)
    assert run.stdout == f"{-15 if child == 'SIGTERM' else 0} False\n"
    assert_result_is_whole(tmp_path)


def test_a_failed_exec_changes_nothing(tmp_path: Path) -> None:
    ending = (
        "for path, words in (('/nowhere', ['x']), ('/', ['x']), ('/bin/true', [])):\n"
        "    try:\n"
        "        os.execv(path, words)\n"
        "    except (OSError, ValueError) as error:\n"
        "        print(type(error).__name__)\n"
        "work(1)"
    )
    _, run = run_both(tmp_path, ending)
    assert run.stdout == "FileNotFoundError\nPermissionError\nValueError\n"
    assert load_lines(tmp_path / "r.lprof").hits("program.py") == {4: 13, 5: 11}


def test_os_exit_looks_and_fails_like_the_real_one(tmp_path: Path) -> None:
    ending = (
        "import inspect\n"
        "print(os._exit.__name__, os._exit.__module__, inspect.signature(os._exit),\n"
        "      type(os._exit).__name__, os._exit.__doc__ == 'Exit to the system with specified '\n"
        "      'status, without normal exit processing.', inspect.signature(os.execve))\n"
        "for arguments in ((), (1, 2), ('x',)):\n"
        "    try:\n"
        "        os._exit(*arguments)\n"
        "    except TypeError as error:\n"
        "        print(error)\n"
    )
    (tmp_path / "shim.py").write_text("def profile(f): return f\n")
    script = program(tmp_path, ending)
    before = plain(["-c", "from shim import profile; exec(open('program.py').read())"], tmp_path)
    run = lprof(["-q", "-o", "r.lprof", script], tmp_path)
    assert run.stdout == before.stdout
    assert_result_is_whole(tmp_path)


def test_the_report_comes_last_and_once(tmp_path: Path) -> None:
    ending = "import atexit\natexit.register(print, 'program ends')\nprint('working')"
    script = program(tmp_path, ending)
    for options in ([], ["-q"]):
        run = lprof(["-v", *options, script], tmp_path)
        assert run.stdout.startswith("working\nprogram ends\nTimer unit: 1e-06 s\n")
        assert run.stdout.count("Function: work") == 1


@pytest.mark.parametrize("ending", ["os._exit", "SIGTERM", "exec", "SIGINT"])
def test_the_report_is_shown_at_other_ends_too(ending: str, tmp_path: Path) -> None:
    script = program(tmp_path, ENDINGS[ending])
    run = lprof(["-v", script], tmp_path)
    assert run.stdout.count("Function: work") == 1
    assert "     5        10" in run.stdout


def test_a_program_that_ignores_its_children_gets_its_report(tmp_path: Path) -> None:
    script = program(tmp_path, "signal.signal(signal.SIGCHLD, signal.SIG_IGN)")
    run = lprof(["-v", script], tmp_path)
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout.count("Function: work") == 1


def test_without_a_report_it_says_where_the_result_is(tmp_path: Path) -> None:
    script = program(tmp_path, "")
    run = lprof([script], tmp_path)
    assert run.stderr == f"lprof: wrote {tmp_path}/program.py.lprof\n"


def test_a_result_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    script = program(tmp_path, "os.rmdir('gone'); sys.exit(6)")
    run = lprof(["-v", "-o", "gone/r.lprof", script], tmp_path)
    assert run.status == 6
    assert run.stderr == (
        f"lprof: cannot write {folder}/r.lprof: its folder does not exist any more\n"
    )
    assert run.stdout == ""


def test_a_full_disk_leaves_no_torn_file(tmp_path: Path) -> None:
    ending = (
        "import resource\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    )
    run = lprof(["-o", "r.lprof", program(tmp_path, ending)], tmp_path)
    assert run.status == 0
    assert run.stderr == f"lprof: cannot write {tmp_path}/r.lprof: too large\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program.py"]


def test_killing_it_at_any_moment_leaves_a_whole_file_or_none(tmp_path: Path) -> None:
    script = program(tmp_path, "print('ready', flush=True)\nwhile True: work(1000)")
    for _ in range(10):
        process = subprocess.Popen(
            [str(COMMANDS / "lprof"), "-q", "-o", "r.lprof", script],
            cwd=tmp_path, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == -signal.SIGTERM
        process.stdout.close()
        hits = load_lines(tmp_path / "r.lprof").hits("program.py")
        assert 0 <= hits[4] - hits[5] <= hits[4]
        (tmp_path / "r.lprof").unlink()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["program.py"]


def test_the_target_gets_few_modules_and_no_foreign_ones(tmp_path: Path) -> None:
    source = "import sys; print(sorted(sys.modules))"
    before = set(eval(plain(["-c", source], tmp_path).stdout))
    during = set(eval(lprof(["-q", "-c", source], tmp_path).stdout))
    extra = {name for name in during - before if not name.startswith("proftrace")}
    assert extra <= {"__future__", "atexit", "opcode", "_opcode", "_opcode_metadata", "builtins"}


def test_importing_the_package_is_cheap() -> None:
    code = (
        "import sys; before = set(sys.modules); from proftrace import profile\n"
        "print(sorted(set(sys.modules) - before - {'__future__'}), profile(print) is print, "
        "repr(profile))"  # an editable install has imported __future__ itself
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout == (
        "['proftrace', 'proftrace.lines', 'proftrace.lines.decorator'] True "
        "<proftrace.profile, not running>\n"
    )


def test_a_link_or_a_pipe_is_written_through_and_stays(tmp_path: Path) -> None:
    script = program(tmp_path, "")
    (tmp_path / "link").symlink_to("r.lprof")
    (tmp_path / "r.lprof").touch()
    assert lprof(["-q", "-o", "link", script], tmp_path).status == 0
    assert (tmp_path / "link").is_symlink()
    assert_result_is_whole(tmp_path)
    content = (tmp_path / "r.lprof").read_bytes()
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", "pipe"], cwd=tmp_path, stdout=subprocess.PIPE) as reader:
        assert lprof(["-q", "-o", "pipe", script], tmp_path).status == 0
        assert reader.communicate()[0][:8] == content[:8]
    assert (tmp_path / "pipe").is_fifo()


def test_a_full_device_is_told_and_stays_a_device(tmp_path: Path) -> None:
    run = lprof(["-o", "/dev/full", program(tmp_path, "")], tmp_path)
    assert (run.status, run.stderr) == (
        0, "lprof: cannot write /dev/full: no space left on the device\n"
    )  # fmt: skip
    assert Path("/dev/full").is_char_device()
