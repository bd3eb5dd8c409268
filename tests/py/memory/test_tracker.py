"""`Tracker`: what it records, what it refuses, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import proftrace
from case_runs import bytearray_bytes
from proftrace import Tracker, load
from proftrace.errors import (
    CaptureFileError,
    OutputError,
    OutputExistsError,
    ProftraceError,
    TrackerError,
)
from proftrace.model.profile import Profile

SIZE = 50_000


def make(n: int, size: int = SIZE) -> list[bytearray]:
    return [bytearray(size) for _ in range(n)]


def blocks(profile: Profile, metric: str, function: str = "make") -> tuple[int, int]:
    """Return (blocks, bytes) of what a function allocated directly, of blocks as large as SIZE."""
    count = size = 0
    table, strings = profile.samples, profile.strings
    for row, stack in enumerate(table.stack):
        frame = profile.stacks.frame[stack]
        if not stack or strings[profile.functions.name[profile.frames.function[frame]]] != function:
            continue
        n = table.values[f"{metric}_blocks"][row]
        total = table.values[f"{metric}_bytes"][row]
        if n and total // n >= SIZE:
            count, size = count + n, size + total
    return count, size


def made_bytes(profile: Profile) -> int:
    """Return what `make` allocated, where its small objects are in the same rows."""
    table, strings = profile.samples, profile.strings
    names = [strings[name] for name in profile.functions.name]
    frames = [profile.stacks.frame[stack] for stack in table.stack]
    return sum(
        table.values["total_bytes"][row]
        for row, frame in enumerate(frames)
        if table.stack[row] and names[profile.frames.function[frame]] == "make"
    )


def amount(n: int, size: int = SIZE) -> tuple[int, int]:
    return n, n * bytearray_bytes(size)


def run(program: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(program)
    return subprocess.run(
        [sys.executable, "program.py", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


# ---- recording ----------------------------------------------------------------------------------


def test_it_records_what_happens_inside_and_nothing_else(tmp_path: Path) -> None:
    before = make(3)
    with Tracker(tmp_path / "a.bin") as tracker:
        kept = make(5)
        make(7)
        before.clear()
    after = make(2)
    profile = load(tmp_path / "a.bin")
    assert blocks(profile, "total") == amount(12)
    assert blocks(profile, "leaked") == amount(5)
    assert not profile.warnings
    assert tracker.path == str(tmp_path / "a.bin")
    assert len(kept) + len(after) == 7


def test_frames_of_the_tracker_are_not_in_it(tmp_path: Path) -> None:
    with Tracker(tmp_path / "a.bin", python_allocators=True):
        kept = make(1)
    assert kept
    profile = load(tmp_path / "a.bin")
    files = {profile.strings[file] for file in profile.functions.file}
    assert not [file for file in files if "proftrace/memory" in file]


def test_native_stacks_and_objects_on_request(tmp_path: Path) -> None:
    with Tracker(tmp_path / "a.bin", native=True, python_allocators=True):
        kept = [object() for _ in range(300)]
    profile = load(tmp_path / "a.bin")
    assert any(profile.functions.native)
    assert sum(profile.samples.values["leaked_blocks"]) >= len(kept)


def test_each_start_is_a_new_capture(tmp_path: Path) -> None:
    tracker = Tracker(tmp_path / "a.bin", overwrite=True)
    for n in (4, 9):
        tracker.start()
        make(n)
        tracker.stop()
        assert blocks(load(tracker.path), "total") == amount(n)


def test_pause_leaves_out_what_is_new_and_still_sees_what_goes(tmp_path: Path) -> None:
    with Tracker(tmp_path / "a.bin") as tracker:
        first = make(5)
        tracker.pause()
        tracker.pause()
        hidden = make(20)
        first.clear()
        tracker.resume()
        last = make(2)
    profile = load(tracker.path)
    assert blocks(profile, "total") == amount(7)
    assert blocks(profile, "leaked") == amount(2)
    assert len(hidden) + len(last) == 22


def test_blocks_that_move_while_it_is_paused_are_gone(tmp_path: Path) -> None:
    with Tracker(tmp_path / "a.bin") as tracker:
        growing = make(1)
        tracker.pause()
        growing[0].extend(bytes(10 * SIZE))
        tracker.resume()
    assert blocks(load(tracker.path), "leaked") == (0, 0)


def test_a_block_from_before_that_moves_is_new(tmp_path: Path) -> None:
    growing = make(1)
    with Tracker(tmp_path / "a.bin") as tracker:
        growing[0].extend(bytes(10 * SIZE))
    name = "test_a_block_from_before_that_moves_is_new"
    assert blocks(load(tracker.path), "leaked", name)[0] == 1


def test_a_snapshot_shows_what_is_live_now_and_is_not_recorded(tmp_path: Path) -> None:
    with Tracker(tmp_path / "a.bin") as tracker:
        kept = make(3)
        first = tracker.snapshot()
        kept += make(4)
        del kept[:2]
        second = tracker.snapshot()
    assert blocks(first, "leaked") == amount(3)
    assert blocks(second, "leaked") == amount(5)
    assert not first.warnings
    assert blocks(load(tracker.path), "total") == amount(7)
    profile = load(tracker.path)
    files = {profile.strings[file] for file in profile.functions.file}
    assert not [file for file in files if "/model/" in file]


def test_marks_are_in_the_capture_in_their_order(tmp_path: Path) -> None:
    with Tracker(tmp_path / "a.bin") as tracker:
        tracker.mark("loaded")
        kept = make(2)
        tracker.mark("täglich\udc80")
    profile = load(tracker.path)
    assert [profile.strings[label] for label in profile.marks.labels] == ["loaded", "täglich?"]
    assert max(profile.marks.blocks) >= len(kept)


def test_memrays_names_are_taken(tmp_path: Path) -> None:
    destination = SimpleNamespace(path=tmp_path / "b.bin", overwrite=True)
    (tmp_path / "b.bin").write_text("what was there")
    for tracker in (
        Tracker(file_name=tmp_path / "a.bin", native_traces=True, memory_interval_ms=5),
        Tracker(destination=destination, trace_python_allocators=True),
        Tracker(destination=str(tmp_path / "c.bin"), follow_fork=True),
        Tracker(tmp_path / "d.bin", file_format=SimpleNamespace(name="ALL_ALLOCATIONS")),
        Tracker(tmp_path / "e.bin", file_format=SimpleNamespace(name="AGGREGATED_ALLOCATIONS")),
    ):
        with tracker:
            make(2)
        assert made_bytes(load(tracker.path, native=False)) // SIZE == 2


def test_the_path_stays_where_it_was_meant(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    tracker = Tracker("a.bin")
    monkeypatch.chdir(tmp_path / "elsewhere")
    with tracker:
        pass
    assert (tmp_path / "a.bin").is_file()


def test_threads_from_before_have_their_stacks_and_names(tmp_path: Path) -> None:
    go, done = threading.Event(), threading.Event()
    kept: list[bytearray] = []

    def early() -> None:
        go.wait()
        kept.extend(make(6))
        done.set()

    thread = threading.Thread(target=early, name="früher Vogel")
    thread.start()
    with Tracker(tmp_path / "a.bin"):
        go.set()
        done.wait()
        thread.join()
    profile = load(tmp_path / "a.bin")
    assert blocks(profile, "leaked") == amount(6)
    names = {profile.strings[name] for name in profile.threads.name}
    assert "früher Vogel" in names
    parents = [
        profile.strings[profile.functions.name[profile.frames.function[profile.stacks.frame[row]]]]
        for row in profile.stacks.parent
        if row
    ]
    assert "early" in parents


# ---- what it refuses ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, TypeError),
        ({"path": "a", "file_name": "b"}, TypeError),
        ({"path": ""}, ValueError),
        ({"path": "a\0b"}, ValueError),
        ({"path": b"a"}, TypeError),
        ({"path": 7}, TypeError),
        ({"path": "a", "sample": -1}, ValueError),
        ({"path": "a", "sample": 0}, ValueError),
        ({"path": "a", "sample": "64k"}, TypeError),
        ({"path": "a", "sample": True}, TypeError),
        ({"path": "a", "interval_ms": 0}, ValueError),
        ({"path": "a", "interval_ms": 1.5}, TypeError),
        ({"path": "a", "native": 1}, TypeError),
        ({"path": "a", "native_traces": "yes"}, TypeError),
        ({"path": "a", "file_format": "AGGREGATED"}, TypeError),
        ({"path": "a", "no_such": True}, TypeError),
    ],
)
def test_bad_arguments_are_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: Any, arguments: dict[str, Any], error: type[Exception]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error) as caught:
        Tracker(**arguments)
    assert len(str(caught.value).splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_text("what was there")
    ran = False
    with pytest.raises(OutputExistsError, match="overwrite=True"), Tracker(path):
        ran = True
    assert not ran
    assert path.read_text() == "what was there"
    assert issubclass(OutputExistsError, FileExistsError)
    assert issubclass(OutputExistsError, OutputError)
    with Tracker(path, overwrite=True):
        pass
    assert not load(path).warnings


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_no_file_is_not_replaced(tmp_path: Path, overwrite: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, reason in [(tmp_path, "it is a folder"), (pipe, "it is not a regular file")]:
        with pytest.raises(OutputError, match=f"^cannot write {path}: {reason}$") as caught:
            Tracker(path, overwrite=overwrite).start()
        assert not isinstance(caught.value, OutputExistsError)
    assert pipe.is_fifo()
    assert [one.name for one in tmp_path.iterdir()] == ["pipe"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="No such file"), Tracker(tmp_path / "no" / "a.bin"):
        pass
    with Tracker(tmp_path / "a.bin"):
        make(1)


@pytest.mark.parametrize("name", ["a.bin", "b.bin"])
def test_one_recording_at_a_time(tmp_path: Path, name: str) -> None:
    with Tracker(tmp_path / "a.bin") as outer:
        inner = Tracker(tmp_path / name, overwrite=True)
        with pytest.raises(TrackerError, match="already"), inner:
            pass
        inner.stop()
        assert outer.is_active
        assert not inner.is_active
        with pytest.raises(TrackerError, match="already"):
            outer.start()
        make(3)
    assert issubclass(TrackerError, RuntimeError)
    assert issubclass(TrackerError, ProftraceError)
    assert blocks(load(outer.path), "total") == amount(3)


def test_a_stop_of_another_tracker_leaves_the_end_of_memtrace_run_alone(tmp_path: Path) -> None:
    program = "import proftrace; proftrace.Tracker('b.bin').stop(); keep = bytearray(50_000)"
    (tmp_path / "program.py").write_text(program)
    words = [sys.executable, "-m", "proftrace.cli.memtrace", "run", "-q", "-o", "a.bin"]
    subprocess.run([*words, "program.py"], cwd=tmp_path, check=True)
    assert load(tmp_path / "a.bin").header["end_of_script"] == 1


def test_stopping_twice_and_marks_without_a_recording(tmp_path: Path) -> None:
    tracker = Tracker(tmp_path / "a.bin")
    tracker.stop()
    tracker.pause()
    tracker.resume()
    for call in (lambda: tracker.mark("x"), tracker.snapshot):
        with pytest.raises(TrackerError, match="not recording"):
            call()
    tracker.start()
    with pytest.raises(TypeError):
        tracker.mark(7)  # type: ignore[arg-type]
    tracker.stop()
    tracker.stop()
    assert "stopped" in repr(tracker)


def test_an_exception_goes_through_and_ends_the_recording(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Tracker(tmp_path / "a.bin"):
        make(2)
        print(1 / 0)
    assert blocks(load(tmp_path / "a.bin"), "total") == amount(2)


def test_load_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_text("no capture")
    for path in (tmp_path / "a.bin", tmp_path / "missing"):
        with pytest.raises(CaptureFileError):
            load(path)
    assert set(proftrace.__all__) >= {"Tracker", "load", "profile"}


def test_memtrace_run_is_a_recording_already(tmp_path: Path) -> None:
    program = """
import proftrace
try:
    with proftrace.Tracker("b.bin"): print("ran")
except RuntimeError as error:
    print(type(error).__name__)
"""
    (tmp_path / "program.py").write_text(program)
    words = [sys.executable, "-m", "proftrace.cli.memtrace", "run", "-q", "-o", "a.bin"]
    done = subprocess.run(
        [*words, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "TrackerError\n", "")
    assert not (tmp_path / "b.bin").exists()


# ---- what it leaves behind ----------------------------------------------------------------------

LEFT = """
import os, sys, threading
from proftrace import Tracker
def state():
    maps = {tuple(line.split()[i] for i in (0, 1, -1)) for line in open("/proc/self/maps")
            if line.rstrip().endswith(".so") or "python" in line.split()[-1]}
    # (SigQ counts what waits for all processes of the user.)
    signals = [line for line in open("/proc/self/status")
               if line.startswith("Sig") and not line.startswith("SigQ")]
    return sorted(os.listdir("/proc/self/fd")), sorted(os.listdir("/proc/self/task")), maps, signals
import bisect, ctypes
options = eval(sys.argv[1])
Tracker("a.bin").start  # what is imported is there
before = state()
with Tracker("a.bin", **options):
    kept = [bytearray(5000) for _ in range(1000)]
after = state()
assert before == after, (before, after)
assert sorted(os.listdir()) == ["a.bin", "program.py"]
print(len(threading.enumerate()))
"""


@pytest.mark.parametrize("options", ["{}", "{'native': True, 'python_allocators': True}"])
def test_nothing_is_left_behind(tmp_path: Path, options: str) -> None:
    done = run(LEFT, tmp_path, options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


ALLOCATORS = """
import tracemalloc
from proftrace import Tracker, load
def count(name, function):
    with Tracker(name, python_allocators=True): kept = function()
    return sum(load(name).samples.values["total_blocks"]), kept
def many(): return [object() for _ in range(5000)]
first, kept = count("a.bin", many)
tracemalloc.start()
second, kept = count("b.bin", many)
def stop_it():
    tracemalloc.stop()
    return many()
third, kept = count("c.bin", stop_it)
fourth, kept = count("d.bin", many)
tracemalloc.start()
def with_it():
    tracemalloc.take_snapshot()
    return many()
fifth, kept = count("e.bin", with_it)
tracemalloc.stop()
sixth, kept = count("f.bin", many)
assert first >= 5000 and second >= 5000 and fourth >= 5000 and fifth >= 5000 and sixth >= 5000
print("fine")
"""


def test_other_tools_may_wrap_pythons_allocators_too(tmp_path: Path) -> None:
    done = run(ALLOCATORS, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


# ---- endings ------------------------------------------------------------------------------------

ENDING = """
import os, signal, sys
from proftrace import Tracker
def make(n): return [bytearray(50_000) for _ in range(n)]
tracker = Tracker("a.bin")
tracker.start()
kept = make(11)
{ending}
"""


@pytest.mark.parametrize(
    ("ending", "status", "warns"),
    [
        ("", 0, False),
        ("sys.exit(3)", 3, False),
        ("os._exit(4)", 4, False),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, False),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, True),
        ("import ctypes; ctypes.string_at(1)", -signal.SIGSEGV, True),
        ("os.abort()", -signal.SIGABRT, False),
        ("os.execv('/bin/true', ['true'])", 0, True),
    ],
)
def test_a_process_that_ends_inside_leaves_a_readable_capture(
    tmp_path: Path, ending: str, status: int, *, warns: bool
) -> None:
    done = run(ENDING.format(ending=ending), tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")
    profile = load(tmp_path / "a.bin")
    assert blocks(profile, "total") == amount(11)
    if ending != "sys.exit(3)" and ending:
        assert blocks(profile, "leaked") == amount(11)
    assert bool(profile.warnings) is warns


FORK = """
import os, sys
from proftrace import Tracker, load
from proftrace.errors import TrackerError
def make(n): return [bytearray(50_000) for _ in range(n)]
with Tracker("a.bin", follow_fork=sys.argv[1] == "follow") as tracker:
    kept = make(2)
    pid = os.fork()
    if pid == 0:
        kept = make(5)
        if sys.argv[1] != "follow":
            with Tracker("child.bin"):
                kept = make(7)
    else:
        assert os.waitpid(pid, 0)[1] == 0
        kept += make(3)
if pid == 0:
    with Tracker("again.bin"):
        kept = make(9)
    os._exit(0)
print(pid)
"""


@pytest.mark.parametrize("mode", ["follow", "not"])
def test_fork_with_a_tracker_running(tmp_path: Path, mode: str) -> None:
    done = run(FORK, tmp_path, mode)
    assert (done.returncode, done.stderr) == (0, "")
    child = tmp_path / (f"a.bin.{done.stdout.strip()}" if mode == "follow" else "child.bin")
    assert blocks(load(tmp_path / "a.bin"), "total") == amount(5)
    assert blocks(load(child), "total") == amount(5 if mode == "follow" else 7)
    assert blocks(load(tmp_path / "again.bin"), "total") == amount(9)
    names = {"a.bin", "again.bin", "program.py", child.name}
    assert set(os.listdir(tmp_path)) == names


NOTEBOOK = """
import code
shell = code.InteractiveInterpreter()
for cell in ['''
from proftrace import Tracker, load
def make(n): return [bytearray(50_000) for _ in range(n)]
''', '''
with Tracker("cell.bin", overwrite=True) as tracker:
    kept = make(4)
''', '''
with Tracker("cell.bin", overwrite=True) as tracker:
    kept = make(6)
''', '''
values = load("cell.bin").samples.values
print(max(values["leaked_bytes"]) // 50_000)
''']:
    shell.runcode(compile(cell, "<cell>", "exec"))
"""


def test_a_cell_of_a_notebook_can_be_run_again(tmp_path: Path) -> None:
    done = run(NOTEBOOK, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "6\n", "")


SERVER = """
import http.server, os, threading, urllib.request
from proftrace import Tracker, load
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = traced() if self.path == "/traced" else make(1)[0]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments): pass
def make(n): return [bytearray(50_000) for _ in range(n)]
def work(): return make(3)[0]
lock = threading.Lock()
def traced():
    with lock, Tracker("a.bin", overwrite=True):
        return work()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
thread = threading.Thread(target=server.serve_forever, daemon=True)
thread.start()
url = f"http://127.0.0.1:{server.server_port}/"
def fetch(path): return len(urllib.request.urlopen(url + path).read())
fetch(""), fetch("traced")
threads = len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))
clients = [threading.Thread(target=lambda: [fetch(path) for path in ("", "traced") * 10])
           for _ in range(4)]
[client.start() for client in clients]
[client.join() for client in clients]
server.shutdown()
server.server_close()
profile = load("a.bin")
names = profile.strings
print(profile.warnings, sorted(os.listdir()))
"""


def test_around_one_function_of_a_running_server(tmp_path: Path) -> None:
    done = run(SERVER, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "() ['a.bin', 'program.py']\n"
    assert blocks(load(tmp_path / "a.bin"), "total", "make")[0] >= 3


# ---- many of them -------------------------------------------------------------------------------

STORM = """
import os, random, sys, threading
from proftrace import Tracker, load
from proftrace.errors import TrackerError
N = int(sys.argv[1])
options = eval(sys.argv[2])
stop = False
wrong = []
def allocate():
    kept = []
    while not stop:
        kept.append(bytearray(random.choice((20, 700, 5000, 300_000))))
        if len(kept) > 50:
            kept.clear()
def short():
    while not stop:
        thread = threading.Thread(target=lambda: bytearray(5000))
        thread.start()
        thread.join()
def make(n): return [bytearray(50_000) for _ in range(n)]
started = refused = 0
count_lock = threading.Lock()
def track(k):
    global started, refused
    path = f"{k}.bin"
    for i in range(N // 4):
        tracker = Tracker(path, overwrite=True, **options)
        try:
            tracker.start()
        except TrackerError:
            with count_lock: refused += 1
            continue
        kept = make(3)
        try:
            with Tracker(path, overwrite=True): wrong.append("nested")
        except TrackerError:
            pass
        tracker.stop()
        with count_lock: started += 1
        if i % 10 == 0:
            values, n = load(path, native=False), 0
            wrong.extend(values.warnings)
            table = values.samples
            for row, stack in enumerate(table.stack):
                frame = values.frames.function[values.stacks.frame[stack]]
                name = values.strings[values.functions.name[frame]]
                size = table.values["leaked_bytes"][row]
                if stack and name == "make": n += size // 50_000
            if n != 3: wrong.append(n)
def state():
    with open("/proc/self/statm") as file: pages = int(file.read().split()[0])
    with open("/proc/self/maps") as file: return pages >> 8, len(file.readlines())
others = [threading.Thread(target=f) for f in (allocate, allocate, short)]
[thread.start() for thread in others]
for k in range(8): track(0) if k == 0 else None
base = state()
trackers = [threading.Thread(target=track, args=(k,)) for k in range(4)]
[thread.start() for thread in trackers]
[thread.join() for thread in trackers]
after = state()
stop = True
[thread.join() for thread in others]
assert not wrong, wrong[:5]
assert started > N // 4, (started, refused)
# Stacks of threads and pools of malloc come and go; 1,000 logs would be 800 MiB in 9,000 mappings.
assert after[0] - base[0] < 700 and after[1] - base[1] < 200, (base, after)
print("fine")
"""


@pytest.mark.parametrize(
    ("n", "options"),
    [("1000", "{}"), ("200", "{'native': True, 'python_allocators': True, 'follow_fork': True}")],
)
def test_a_thousand_starts_from_several_threads_while_others_allocate(
    tmp_path: Path, n: str, options: str
) -> None:
    done = run(STORM, tmp_path, n, options)
    assert (done.returncode, done.stdout, done.stderr[-2000:]) == (0, "fine\n", "")
