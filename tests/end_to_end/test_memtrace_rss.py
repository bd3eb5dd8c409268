"""RSS explained: what a program really takes, in terms that add up, at any moment."""

from __future__ import annotations

import ctypes.util
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from case_runs import COMMANDS, memtrace
from native_programs import build
from proftrace.model.load import load_profile
from proftrace.model.profile import Profile
from proftrace.views.rss import EQUATION, explain

MIB = 1 << 20
TERMS = ("live_heap", "allocator_slack", "pymalloc_slack", "file_mappings", "profiler")
C = (
    "import ctypes, gc, mmap, os, time\n"
    "c = ctypes.CDLL(None)\n"
    "c.malloc.restype, c.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]\n"
    "c.free.argtypes = [ctypes.c_void_p]\n"
    "c.realloc.restype, c.realloc.argtypes = c.malloc.restype, [ctypes.c_void_p, ctypes.c_size_t]\n"
    "c.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]\n"
    "def make(size, n):\n"
    "    blocks = [c.malloc(size) for _ in range(n)]\n"
    "    for block in blocks:\n"
    "        c.memset(block, 1, size)\n"
    "    return blocks\n"
)


def run(
    folder: Path, text: str, *options: str, env: dict[str, str] | None = None, status: int = 0
) -> Path:
    (folder / "program.py").write_text(text)
    done = memtrace(["run", "-f", "-q", "-o", "out.bin", *options, "program.py"], folder, env)
    assert (done.status, done.stderr) == (status, "")
    return folder / "out.bin"


def rss_of(path: Path) -> dict[str, Any]:
    done = memtrace(["stats", "--json", path.name], path.parent)
    assert done.status == 0, done.stderr
    rss: dict[str, Any] = json.loads(done.stdout)["rss"]
    for moment in (rss["peak"], rss["end"]):
        assert sum(moment[term] for term in TERMS) == moment["rss"]
        assert moment["anonymous"] + moment["file"] + moment["shared"] == moment["rss"]
        assert all(moment[term] >= 0 for term in TERMS)
    assert rss["peak"]["rss"] >= rss["end"]["rss"]
    assert rss["peak"]["rss"] == max(look["rss"] for look in rss["timeline"])
    return rss


def end_of(folder: Path, text: str, *options: str, env: dict[str, str] | None = None) -> Any:
    return rss_of(run(folder, text, *options, env=env))["end"]


def grown(folder: Path, text: str, field: str, *options: str) -> float:
    """Return in MiB by how much more a program has at its end than one that does nothing."""
    return (end_of(folder, C + text, *options)[field] - end_of(folder, C, *options)[field]) / MIB


# ---- programs that hold what is known -----------------------------------------------------------

ANONYMOUS = (
    "a = mmap.mmap(-1, 40 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
    "for at in range(0, 30 << 20, 4096): a[at] = 1\n"  # a quarter is never touched
)
SHARED = "s = mmap.mmap(-1, 20 << 20)\nfor at in range(0, 20 << 20, 4096): s[at] = 1\n"
FILE = (
    "open('big', 'wb').write(b'z' * (24 << 20))\n"
    "f = mmap.mmap(os.open('big', os.O_RDONLY), 0, prot=mmap.PROT_READ)\n"
    "for at in range(0, 24 << 20, 4096): f[at]\n"
)


@pytest.mark.parametrize(
    ("program", "field", "size", "term"),
    [
        (ANONYMOUS, "anonymous", 30, "live_heap"),
        (SHARED, "shared", 20, "file_mappings"),
        (FILE, "file", 24, "file_mappings"),
    ],
    ids=["anonymous", "shared", "file"],
)
def test_mappings_are_where_they_belong(
    tmp_path: Path, program: str, field: str, size: int, term: str
) -> None:
    before, after = end_of(tmp_path, C), end_of(tmp_path, C + program)
    for name in "anonymous", "file", "shared":
        expected = size if name == field else 0
        assert abs((after[name] - before[name]) / MIB - expected) < 1, name
    assert abs((after[term] - before[term]) / MIB - size) < 1


def test_what_malloc_holds_free_is_its_slack(tmp_path: Path) -> None:
    program = "b = make(1000, 60_000)\nfor x in b[::2]: c.free(x)\n"
    # 30,000 chunks of 1008 bytes lie free between others.
    assert abs(grown(tmp_path, program, "allocator_slack") - 30_000 * 1008 / MIB) < 0.5
    assert abs(grown(tmp_path, "b = make(1000, 60_000)\n", "allocator_slack")) < 0.5


def test_what_pymalloc_holds_free_is_its_slack(tmp_path: Path) -> None:
    program = "o = [bytes(100) for _ in range(300_000)]\ndel o[::2]\n"
    size = -(-sys.getsizeof(bytes(100)) // 16) * 16
    slack = 150_000 * size / MIB
    assert abs(grown(tmp_path, program, "pymalloc_slack") - slack) < 1.5
    traced = grown(tmp_path, program, "pymalloc_slack", "--trace-python-allocators")
    assert abs(traced - slack) < 1.5
    full = "o = [bytes(100) for _ in range(300_000)]\n"
    assert abs(grown(tmp_path, full, "pymalloc_slack")) < 1.5
    assert abs(grown(tmp_path, full, "live_heap") - 300_000 * (size + 8) / MIB) < 2.5


def test_the_profiler_has_a_term_of_its_own(tmp_path: Path) -> None:
    program = "b = make(40, 400_000)\n"
    plain, summed = end_of(tmp_path, C + program), end_of(tmp_path, C + program, "--aggregate")
    assert plain["profiler"] < 4 * MIB
    # The table of live blocks: 24 bytes each, half empty at most.
    assert 400_000 * 24 < summed["profiler"] - plain["profiler"] < 400_000 * 24 * 3
    assert abs(summed["live_heap"] - plain["live_heap"]) < 2 * MIB


def test_memory_that_was_there_for_a_while_is_in_the_peak(tmp_path: Path) -> None:
    program = C + "b = bytearray(60 << 20)\ntime.sleep(0.2)\ndel b\ntime.sleep(0.1)\n"
    rss = rss_of(run(tmp_path, program))
    assert rss["peak"]["rss"] - rss["end"]["rss"] > 55 * MIB
    assert rss["peak"]["recorded_live_bytes"] > 60 * MIB
    assert rss["end"]["recorded_live_bytes"] < 10 * MIB


@pytest.mark.parametrize(
    ("ending", "options"),
    [
        ("c.free(b)", []),
        ("c.free(c.realloc(b, 100))", []),
        ("a = None", []),
        ("del o", ["--trace-python-allocators"]),
        ("c.free(b)", ["--aggregate"]),
    ],
    ids=["free", "realloc", "munmap", "object", "free, sums"],
)
def test_what_is_seen_while_a_block_is_given_back_is_of_before(
    tmp_path: Path, ending: str, options: list[str]
) -> None:
    library = tmp_path / "slow_release.so"
    build("slow_release.c", library)
    made = {
        "a": "a = mmap.mmap(-1, 60 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
        "for at in range(0, 60 << 20, 4096): a[at] = 1\n",
        "d": "o = bytes(range(1, 64)) * (1 << 20)\n",
        "c": "(b,) = make(60 << 20, 1)\n",
    }[ending[0]]
    program = f"{C}{made}{ending}\nx = [bytearray(1000) for _ in range(100)]\ntime.sleep(0.05)\n"
    path = run(tmp_path, program, *options, env={"LD_PRELOAD": str(library)})
    rss = rss_of(path)
    assert rss["peak"]["rss"] - rss["end"]["rss"] > 55 * MIB
    assert rss["peak"]["recorded_live_bytes"] > 60 * MIB
    # The call takes ten intervals, and nothing of the block is gone before its end.
    usage = load_profile(str(path)).usage
    assert usage is not None
    full = [one for one in usage.moments if one.rss - usage.end.rss > 59 * MIB]
    assert len(full) >= 5
    assert min(one.live_bytes for one in full) > 60 * MIB
    assert rss["end"]["recorded_live_bytes"] < 10 * MIB


def test_a_large_block_is_looked_at_though_the_helper_gets_no_time(tmp_path: Path) -> None:
    program = C + (
        "import signal\n"
        "children = open(f'/proc/self/task/{os.getpid()}/children').read()\n"
        "helper = int(children)\n"
        "os.kill(helper, signal.SIGSTOP)\n"
        "time.sleep(0.05)\n"
        "b = bytearray(60 << 20)\n"
        "time.sleep(0.05)\n"
        "x = [bytearray(1000) for _ in range(10)]\n"
        "del b\n"
        "os.kill(helper, signal.SIGCONT)\n"
    )
    rss = rss_of(run(tmp_path, program))
    assert rss["peak"]["rss"] - rss["end"]["rss"] > 55 * MIB
    assert rss["peak"]["recorded_live_bytes"] > 60 * MIB


@pytest.mark.parametrize("options", [[], ["--trace-python-allocators"], ["--aggregate"]])
def test_an_arena_that_is_being_given_back_is_not_read(tmp_path: Path, options: list[str]) -> None:
    """CPython has it in its list until the call is over; the look after it came before that."""
    library = tmp_path / "slow_release.so"
    build("slow_release.c", library, "-DLARGE=((size_t)1 << 20)")
    program = "for i in range(3):\n    o = [bytes(100) for _ in range(30_000)]\n    del o\n"
    rss = rss_of(run(tmp_path, program, *options, env={"LD_PRELOAD": str(library)}))
    assert rss["num_looks"] > 10


def test_interpreters_that_come_and_go_have_tables_of_their_own(tmp_path: Path) -> None:
    """The next one often lies where one has ended, and pymalloc's tables of that have gone."""
    program = """
import sys
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    execute = interpreters.exec
else:
    import _xxsubinterpreters as interpreters
    execute = interpreters.run_string
for _ in range(8):
    one = interpreters.create()
    execute(one, "import json; x = [bytearray(600 + n) for n in range(300)]; json.dumps(x and 1)")
    interpreters.destroy(one)
"""
    assert rss_of(run(tmp_path, program))["num_looks"] > 1


def test_the_size_is_looked_at_while_nothing_is_allocated(tmp_path: Path) -> None:
    program = C + (
        "a = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
        "for part in range(8):\n"
        "    c.memset(ctypes.addressof(ctypes.c_char.from_buffer(a)) + (part << 23), 1, 8 << 20)\n"
        "    time.sleep(0.15)\n"
    )
    rss = rss_of(run(tmp_path, program))
    sizes = [look["anonymous"] // (8 * MIB) for look in rss["timeline"]]
    steps = len(set(sizes))
    assert steps >= 8, "each step was seen"
    assert rss["num_looks"] >= 20
    times = [look["time_ms"] for look in rss["timeline"]]
    assert times == sorted(times)


# ---- other programs, other allocators -----------------------------------------------------------


def test_a_program_that_does_nothing_is_explained_too(tmp_path: Path) -> None:
    rss = rss_of(run(tmp_path, "pass\n"))
    assert 5 * MIB < rss["end"]["rss"] < 60 * MIB
    assert rss["num_looks"] >= 1


@pytest.mark.parametrize(
    ("library", "tells"),
    [("jemalloc", True), ("mimalloc", False), ("tcmalloc", None)],
)
def test_other_allocators(tmp_path: Path, library: str, tells: bool | None) -> None:
    path = ctypes.util.find_library(library)
    assert path is not None, f"lib{library} is not installed"
    program = C + "b = make(1000, 60_000)\nfor x in b[::2]: c.free(x)\n"
    env = {"LD_PRELOAD": path}
    end = end_of(tmp_path, program, env=env)
    assert end["allocator_slack"] > 20 * MIB
    assert end["live_heap"] > 28 * MIB
    if tells is not None:
        assert end["allocator_slack_is_estimate"] is not tells
    text = memtrace(["stats", "out.bin"], tmp_path).stdout
    assert ("does not tell what it holds free" in text) is end["allocator_slack_is_estimate"]


@pytest.mark.parametrize("mode", [["--aggregate"], ["--ring", "256 KiB"], ["--sample", "64 KiB"]])
def test_bounded_captures_know_it_as_well(tmp_path: Path, mode: list[str]) -> None:
    program = C + ANONYMOUS + "b = [make(500, 2000) for _ in range(20)]\ntime.sleep(0.1)\n"
    rss = rss_of(run(tmp_path, program, *mode))
    assert rss["end"]["anonymous"] > 50 * MIB
    assert rss["num_looks"] >= 5


def test_a_killed_program_is_explained_up_to_its_last_look(tmp_path: Path) -> None:
    program = C + ANONYMOUS + "time.sleep(0.1)\nb = make(100, 10)\nos.kill(os.getpid(), 9)\n"
    rss = rss_of(run(tmp_path, program, status=-signal.SIGKILL))
    assert rss["end"]["anonymous"] > 30 * MIB


# ---- nothing of it is seen ----------------------------------------------------------------------


def test_the_program_sees_no_thread_no_file_and_no_child(tmp_path: Path) -> None:
    program = (
        "import os, time, threading, warnings\n"
        "warnings.simplefilter('error')\n"
        "time.sleep(0.05)\n"
        "x = [bytearray(1000) for _ in range(1000)]\n"
        "assert len(os.listdir('/proc/self/task')) == 1\n"
        "assert threading.active_count() == 1\n"
        "files = [int(fd) for fd in os.listdir('/proc/self/fd')]\n"
        "assert [fd for fd in files if 2 < fd < 1000] == [3], files\n"  # that of listdir
        "try:\n"
        "    os.wait()\n"
        "except ChildProcessError:\n"
        "    pass\n"
        "else:\n"
        "    raise AssertionError\n"
        "pid = os.fork()\n"  # Python warns where there is another thread
        "if pid == 0:\n"
        "    time.sleep(0.05)\n"
        "    y = [bytearray(1000) for _ in range(1000)]\n"
        "    os._exit(0)\n"
        "assert os.wait() == (pid, 0)\n"
    )
    run(tmp_path, program)
    run(tmp_path, program, "--follow-fork")


def assert_ends(process_id: str) -> None:
    """Wait until a process is gone, or waits for nothing but its parent's look at it."""
    latest = time.monotonic() + 30
    while time.monotonic() < latest:
        try:
            text = Path(f"/proc/{process_id}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return
        if text.rpartition(")")[2].split()[0] == "Z":
            return
    pytest.fail("it is still there")


@pytest.mark.parametrize(
    "ending",
    ["pass", "os._exit(0)", "os.kill(os.getpid(), 9)", "os.execv('/bin/sleep', ['sleep', '1'])"],
)
def test_nothing_is_left_behind(tmp_path: Path, ending: str) -> None:
    program = (
        "import os, time\ntime.sleep(0.5)\nx = bytearray(100_000)\n"
        "children = open(f'/proc/self/task/{os.getpid()}/children').read()\n"
        f"open('helper', 'w').write(children)\n{ending}\n"
    )
    (tmp_path / "program.py").write_text(program)
    command = [str(COMMANDS / "memtrace"), "run", "-q", "-o", "out.bin", "program.py"]
    process = subprocess.Popen(command, cwd=tmp_path)
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    if "exec" in ending:
        while os.readlink(f"/proc/{process.pid}/exe").rpartition("/")[2] not in (
            "sleep",
            "busybox",
        ):
            pass
        assert Path(children).read_text() == ""
    process.wait()
    (helper,) = (tmp_path / "helper").read_text().split()
    assert_ends(helper)
    assert load_profile(str(tmp_path / "out.bin")).usage is not None


def test_an_exec_that_nobody_could_see_ends_the_helper_too(tmp_path: Path) -> None:
    number = {"x86_64": 59, "aarch64": 221}[platform.machine()]
    program = C + (
        "import time\ntime.sleep(0.05)\n"
        "words = (ctypes.c_char_p * 3)(b'sleep', b'60', None)\n"
        f"c.syscall({number}, b'/bin/sleep', words, None)\n"
    )
    (tmp_path / "program.py").write_text(program)
    command = [str(COMMANDS / "memtrace"), "run", "-q", "-o", "out.bin", "program.py"]
    process = subprocess.Popen(command, cwd=tmp_path)
    folder = Path(f"/proc/{process.pid}")
    while (folder / "comm").read_text() != "sleep\n":
        assert process.poll() is None
    for helper in (folder / f"task/{process.pid}/children").read_text().split():
        assert_ends(helper)
    assert process.poll() is None, "the helper stayed as long as the program"
    process.kill()
    process.wait()
    assert load_profile(str(tmp_path / "out.bin")).usage is not None


def test_a_pipe_of_the_program_ends_with_it(tmp_path: Path) -> None:
    program = "import os\nprint('done', flush=True)\nos.kill(os.getpid(), 9)\n"
    (tmp_path / "program.py").write_text(program)
    # Reads to the end of the pipe: no other process may have it open.
    done = subprocess.run(
        [str(COMMANDS / "memtrace"), "run", "-q", "-o", "out.bin", "program.py"],
        cwd=tmp_path, stdout=subprocess.PIPE, timeout=20, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (-9, b"done\n")


# ---- what is said -------------------------------------------------------------------------------


def test_stats_ends_with_the_equation(tmp_path: Path) -> None:
    path = run(tmp_path, C + "b = make(1000, 1000)\n")
    lines = memtrace(["stats", path.name], tmp_path).stdout.rstrip("\n").splitlines()
    assert EQUATION == (
        "RSS = live heap + allocator slack + pymalloc slack + file mappings + profiler"
    )
    assert lines[-3].strip() == EQUATION
    for line in lines[-2:]:
        whole, _, parts = line.replace(",", "").partition(" = ")
        assert int(whole) == sum(map(int, parts.split(" + ")))
    profile: Profile = load_profile(str(path))
    assert profile.usage is not None
    peak, end = explain(profile.usage)
    assert sum(peak.terms.values()) == peak.usage.rss
    assert sum(end.terms.values()) == end.usage.rss


def test_processes_are_explained_one_by_one_and_together(tmp_path: Path) -> None:
    text = (
        "import os, time\n"
        "for size in (20, 40):\n"
        "    if os.fork() == 0:\n"
        "        kept = bytearray(size << 20)\n"
        "        time.sleep(0.2)\n"
        "        more = bytearray(1 << 20)\n"  # what it was like meanwhile is written now
        "        os._exit(0)\n"
        "for _ in range(2):\n"
        "    os.wait()\n"
    )
    path = run(tmp_path, text, "--follow-fork")
    names = [one.name for one in sorted(tmp_path.glob(f"{path.name}*"))]
    assert len(names) == 3
    lines = memtrace(["stats", *names], tmp_path).stdout.rstrip("\n").splitlines()
    assert sum(line.strip() == EQUATION for line in lines) == 3
    assert lines[-1].strip().startswith("all of them at their largest")
    found = json.loads(memtrace(["stats", "--json", *names], tmp_path).stdout)["rss"]
    for process in found["processes"]:
        for moment in process["peak"], process["end"]:
            assert sum(moment[term] for term in TERMS) == moment["rss"]
    peaks = [process["peak"]["rss"] for process in found["processes"]]
    together = found["together"]
    assert max(peaks) <= together["rss"] <= sum(peaks)
    assert together["num_processes"] == 3
    assert together["rss"] > 60 * MIB


def test_a_followed_child_that_allocates_nothing_is_explained_too(tmp_path: Path) -> None:
    library = tmp_path / "silent.so"
    (tmp_path / "silent.c").write_text(
        "#include <sys/wait.h>\n#include <unistd.h>\n"
        "int silent(void) { pid_t pid = fork(); if (pid == 0) _exit(7);\n"
        "    int status; waitpid(pid, &status, 0); return WEXITSTATUS(status); }\n"
    )
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "silent.c"], check=True)
    text = f"import ctypes\nassert ctypes.CDLL({str(library)!r}).silent() == 7\n"
    path = run(tmp_path, text, "--follow-fork")
    (child,) = tmp_path.glob(f"{path.name}.*")
    end = rss_of(child)["end"]
    assert end["rss"] > 2 * MIB
    assert not end["allocator_slack_is_estimate"]


def test_what_came_after_the_last_event_is_seen_at_the_end(tmp_path: Path) -> None:
    program = C + (
        "a = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
        "place = ctypes.addressof(ctypes.c_char.from_buffer(a))\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    c.memset(place, 1, 64 << 20)\n"
        "    os._exit(0)\n"
        "assert os.wait() == (pid, 0)\n"
    )
    path = run(tmp_path, program, "--follow-fork")
    (child,) = tmp_path.glob(f"{path.name}.*")
    rss = rss_of(child)
    assert rss["end"]["anonymous"] > 64 * MIB
    assert rss["peak"]["anonymous"] > 64 * MIB


def test_old_captures_have_no_such_section() -> None:
    logs = Path(__file__).parents[1] / "logs"
    for version in "v1", "v2":
        assert load_profile(str(logs / version / "memory.bin")).usage is None
