"""The session in the target: what it leaves behind, and how a capture begins and ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from case_runs import HAS_GIL, bytearray_bytes
from proftrace import _capture
from proftrace.model.load import load_profile

RUN = [sys.executable, "-m", "proftrace.cli.memtrace", "run"]


def run(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `memtrace run` with these arguments."""
    return subprocess.run(
        [*RUN, *arguments], capture_output=True, text=True, timeout=100, env=env, check=False
    )


def test_the_end_names_the_capture_on_stderr(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    result = run("-o", str(path), "-c", "print('out')")
    assert (result.returncode, result.stdout) == (0, "out\n")
    assert result.stderr == f"memtrace: wrote {path}\n"
    assert not path.with_suffix(".bin.ring").exists()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.bin"]


def test_quiet_says_nothing(tmp_path: Path) -> None:
    result = run("-q", "-o", str(tmp_path / "a.bin"), "-c", "")
    assert (result.returncode, result.stderr) == (0, "")


def test_an_existing_capture_is_kept_unless_forced(tmp_path: Path) -> None:
    path, ran = tmp_path / "a.bin", tmp_path / "ran"
    program = f"open({str(ran)!r}, 'a').write('x')"
    path.write_bytes(b"what was there")
    result = run("-o", str(path), "-c", program)
    assert result.returncode != 0
    assert str(path) in result.stderr and "-f" in result.stderr
    assert path.read_bytes() == b"what was there"
    assert not ran.exists()
    assert run("-f", "-o", str(path), "-c", program).returncode == 0
    assert load_profile(str(path)).totals["n_allocations"] > 0
    assert ran.read_text() == "x"


def test_a_missing_folder_is_told_before_the_program_runs(tmp_path: Path) -> None:
    result = run("-o", str(tmp_path / "no" / "a.bin"), "-c", "print('ran')")
    assert result.returncode != 0
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1


ENVIRONMENT = """
import json, os, subprocess, sys
names = "import os; print(sorted(os.environ), os.environ.get('LD_PRELOAD'))"
child = subprocess.run([sys.executable, "-c", names], capture_output=True, text=True)
maps = open("/proc/self/maps").read()
print(json.dumps([sorted(os.environ), os.environ.get("LD_PRELOAD"), child.stdout, child.stderr]))
"""


@pytest.mark.parametrize("preload", [None, "/lib/x86_64-linux-gnu/libm.so.6"])
def test_the_environment_is_as_without_us(tmp_path: Path, preload: str | None) -> None:
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    if preload is not None:
        env["LD_PRELOAD"] = preload
    plain = subprocess.run(
        [sys.executable, "-c", ENVIRONMENT], capture_output=True, text=True, env=env, check=True
    )
    traced = run("-q", "-o", str(tmp_path / "a.bin"), "-c", ENVIRONMENT, env=env)
    assert traced.stdout == plain.stdout
    assert json.loads(traced.stdout)[1] == preload


FINAL = """
import atexit, ctypes, sys, os
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
class Late:
    def __del__(self, malloc=libc.malloc):
        malloc(333_333)
late = Late()
late.me = late
atexit.register(lambda: kept.append(bytearray(222_222)))
kept = [bytearray(111_111)]
"""


def test_leaks_are_judged_after_the_exit_handlers_and_recording_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    assert run("-q", "-o", str(path), "-c", FINAL).returncode == 0
    profile = load_profile(str(path))
    values = profile.samples.values
    leaked = [size for size in values["leaked_bytes"] if 100_000 < size < 400_000]
    assert sorted(leaked) == [bytearray_bytes(111_111), bytearray_bytes(222_222)]
    assert any(333_333 <= size < 400_000 for size in values["total_bytes"])


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("os._exit(7)", 7),
        ("sys.exit(8)", 8),
        ("raise SystemExit(9)", 9),
        ("os.execv('/bin/sh', ['sh', '-c', 'exit 10'])", 10),
        ("os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("os.kill(os.getpid(), 15)", -signal.SIGTERM),
        ("os.abort()", -signal.SIGABRT),
        ("threading.Thread(target=time.sleep, args=(9,), daemon=True).start(); sys.exit(11)", 11),
    ],
)
def test_every_end_leaves_a_readable_capture(tmp_path: Path, ending: str, status: int) -> None:
    path = tmp_path / "a.bin"
    program = f"import os, sys, threading, time; b = bytearray(765_431); {ending}"
    assert run("-q", "-o", str(path), "-c", program).returncode == status
    profile = load_profile(str(path))
    assert bytearray_bytes(765_431) in profile.samples.values["leaked_bytes"]
    assert len(profile.warnings) == (1 if status in (10, -signal.SIGKILL) else 0)
    assert not Path(f"{path}.ring").exists() or status == -signal.SIGKILL


def test_meta_says_what_ran(tmp_path: Path) -> None:
    script = tmp_path / 's p "q".py'
    script.write_text("")
    path = tmp_path / "a.bin"
    assert run("-q", "-o", str(path), str(script), "ä\n", "-x").returncode == 0
    meta = load_profile(str(path)).meta
    assert meta["program"] == str(script)
    assert json.loads(meta["argv"]) == [str(script), "ä\n", "-x"]
    assert meta["tool"] == "memtrace"
    assert meta["python"] == sys.version.split()[0]


# Without a GIL there is no such allocator, and each object is recorded by itself.
EACH_A_BLOCK = {"PYTHONMALLOC": "malloc"} if HAS_GIL else {}
CALLOC = 3 if HAS_GIL else 13
MALLOC_ONLY = """
kept, gone = [], []
for _ in range(5000):
    kept.append(bytes(67))
for _ in range(5000):
    gone.append(bytes(67))
gone.clear()
"""


def test_with_pythonmalloc_each_object_is_a_block(tmp_path: Path) -> None:
    script, path = tmp_path / "a.py", tmp_path / "a.bin"
    script.write_text(MALLOC_ONLY)
    env = {**os.environ, **EACH_A_BLOCK}
    assert run("-q", "-o", str(path), str(script), env=env).returncode == 0
    profile = load_profile(str(path))
    lines = {}
    for row, stack in enumerate(profile.samples.stack):
        frame = profile.stacks.frame[stack]
        file = profile.strings[profile.functions.file[profile.frames.function[frame]]]
        if stack and file == str(script) and profile.samples.allocator[row] == CALLOC:
            lines[profile.frames.line[frame]] = (
                profile.samples.values["leaked_blocks"][row],
                profile.samples.values["leaked_bytes"][row],
            )
    assert lines[4] == (5000, 5000 * sys.getsizeof(bytes(67)))
    assert lines.get(6, (0, 0)) == (0, 0)


def test_nothing_of_ours_is_left_in_the_program(tmp_path: Path) -> None:
    program = (
        "import os, sys, threading\n"
        "print(sorted(m for m in sys.modules if 'sitecustomize' in m))\n"
        "print(threading.active_count(), sys.gettrace(), sys.getprofile())\n"
        "print([os.readlink(f'/proc/self/fd/{f}') for f in os.listdir('/proc/self/fd')\n"
        "       if int(f) > 2 and os.path.exists(f'/proc/self/fd/{f}')])\n"
    )
    path = tmp_path / "a.bin"
    plain = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    traced = run("-q", "-o", str(path), "-c", program)
    assert traced.stdout.splitlines()[:2] == plain.stdout.splitlines()[:2]
    # One descriptor, out of the way of the program's own.
    assert traced.stdout.splitlines()[2].count(str(path)) == 1


def test_a_process_that_is_not_preloaded_cannot_record() -> None:
    assert not _capture.is_preloaded()
    assert not _capture.is_on()
    assert Path(_capture.library_path()).name == "libproftrace_capture.so"


def test_calls_without_a_capture_do_nothing() -> None:
    _capture.stop()
    _capture.mark_end_of_script()
    _capture.name_thread("x")
    assert _capture.flush() is False
    with pytest.raises(RuntimeError):
        _capture.verify_stacks()


def test_starting_twice_is_an_error(tmp_path: Path) -> None:
    program = (
        "from proftrace import _capture\n"
        "try: _capture.start('/nowhere', {})\n"
        "except RuntimeError as error: print(error)\n"
    )
    result = run("-q", "-o", str(tmp_path / "a.bin"), "-c", program)
    assert "already" in result.stdout
