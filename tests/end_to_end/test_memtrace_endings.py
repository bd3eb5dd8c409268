"""However a process ends, and whatever its signal handlers do: the capture is readable and true."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from case_runs import BUFFER, COMMANDS, Row, Run, buffers, bytearray_bytes, csv_rows, memtrace
from proftrace.model.load import load_profile

MEMTRACE = str(COMMANDS / "memtrace")
# SIGKILL at so many random moments; tests/c/capture/test_kill.c does it a thousand times.
KILLS = int(os.environ.get("PROFTRACE_TEST_KILLS", "12"))


def compile_library(folder: Path, source: str) -> Path:
    """Compile C code into a library, in the folder."""
    library = folder / "libtest.so"
    (folder / "test.c").write_text(source)
    compiler = shutil.which("cc") or "gcc"
    command = [compiler, "-O1", "-shared", "-fPIC", "test.c", "-o", str(library), "-lpthread"]
    subprocess.run(command, cwd=folder, check=True)
    return library


def rows_of(capture: Path, function: str, *options: str) -> list[Row]:
    """Return the rows whose innermost frame is this function."""
    rows = csv_rows(capture, *(options or ("--all",)))
    return [row for row in rows if row.stack and row.stack[0][0] == function]


# ---- signals that end the process ---------------------------------------------------------------

ALLOCATE_FOR_EVER = """
import sys
keep = bytearray(3_333_333)
print("ready", flush=True)
while True:
    [bytearray(1000) for _ in range(100)]
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGINT])
def test_a_signal_ends_the_program_as_ever_and_closes_the_capture(
    tmp_path: Path, number: signal.Signals
) -> None:
    for run in range(4):
        process = subprocess.Popen(
            [MEMTRACE, "run", "-q", "-f", "-o", "out.bin", "-c", ALLOCATE_FOR_EVER],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.01 * run)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == -number
        # Python tells of a KeyboardInterrupt; nothing else is said.
        assert (b"KeyboardInterrupt" in errors) == (number == signal.SIGINT)
        assert b"memtrace" not in errors
        assert sorted(os.listdir(tmp_path)) == ["out.bin"]
        profile = load_profile(str(tmp_path / "out.bin"))
        assert list(profile.warnings) == []
        assert bytearray_bytes(3_333_333) in profile.samples.values["total_bytes"]


def test_handlers_of_the_program_are_called_and_seen_as_ever(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "numbers = [signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGXCPU]\n"
        "print([signal.getsignal(n) for n in numbers])\n"
        "def handler(number, frame):\n"
        "    keep.append(bytearray(2_222_222)); print('caught', number)\n"
        "keep = []\n"
        "print(signal.signal(signal.SIGTERM, handler))\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "os.kill(os.getpid(), signal.SIGHUP)\n"
        "print(signal.sigtimedwait([], 0)); sys.exit(9)\n"
    )
    plain = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    result = memtrace(["run", "-q", "-o", "out.bin", "-c", program], tmp_path)
    assert (result.status, result.stdout, result.stderr) == (9, plain.stdout, plain.stderr)
    assert bytearray_bytes(2_222_222) in [
        row.size for row in rows_of(tmp_path / "out.bin", "handler")
    ]


# ---- handlers that run all the time -------------------------------------------------------------

# malloc may not be called from a handler that interrupted the C library's own. So this library is
# preloaded behind the capture's, notes who is in there, and its handler allocates at all other
# times: also in the middle of a hook.
C_HANDLER = r"""
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
static volatile int n_handled, jumps_on;
static sigjmp_buf target;
static __thread volatile int inside __attribute__((tls_model("initial-exec")));
void *__libc_malloc(size_t n), *__libc_calloc(size_t n, size_t each);
void *__libc_realloc(void *block, size_t n), *__libc_memalign(size_t to, size_t n);
void __libc_free(void *block);
#define WITHIN(type, call) inside++; type result = call; inside--; return result
void *malloc(size_t n) { WITHIN(void *, __libc_malloc(n)); }
void *calloc(size_t n, size_t each) { WITHIN(void *, __libc_calloc(n, each)); }
void *realloc(void *block, size_t n) { WITHIN(void *, __libc_realloc(block, n)); }
void *memalign(size_t to, size_t n) { WITHIN(void *, __libc_memalign(to, n)); }
void free(void *block) { inside++; __libc_free(block); inside--; }
static void on_alarm(int number) {
    (void)number;
    if (!inside) {
        void *volatile block = calloc(1, 123456);
        free(block);
        n_handled++;
    }
    if (jumps_on) siglongjmp(target, 1);
}
void start(int interval_us) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, interval_us}, {0, interval_us}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}
int handled(void) { return n_handled; }
/* Jumps out of our mmap hook, then returns to Python. */
void jump_out(void) {
    if (sigsetjmp(target, 1) == 0) {
        jumps_on = 1;
        for (;;) munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
    }
    jumps_on = 0;
}
"""


def run_behind(library: Path, program: str, folder: Path) -> Run:
    """Record a program into which a library is preloaded, behind ours."""
    words = ["run", "-q", "-o", "out.bin", "-c", program]
    return memtrace(words, folder, {"LD_PRELOAD": str(library)})


def test_a_handler_in_c_that_allocates_at_10_khz(tmp_path: Path) -> None:
    library = compile_library(tmp_path, C_HANDLER)
    program = (
        "import ctypes, sys\n"
        f"lib = ctypes.CDLL({str(library)!r})\n"
        "def work(n):\n"
        "    for _ in range(n): bytearray(5000)\n"
        "def deep(n): return work(200) if n == 0 else deep(n - 1)\n"
        "lib.start(100)\n"
        "rounds = 0\n"
        "while lib.handled() < 2000:\n"
        "    deep(30); rounds += 1\n"
        "lib.start(0)\n"
        "print(rounds)\n"
    )
    result = run_behind(library, program, tmp_path)
    assert (result.status, result.stderr) == (0, "")
    assert list(load_profile(str(tmp_path / "out.bin")).warnings) == []
    # The handler's own blocks, by calloc, have the stacks that they interrupted.
    rows = [row for row in rows_of(tmp_path / "out.bin", "work") if row.allocator == BUFFER]
    blocks = 200 * int(result.stdout)
    assert [(sum(row.blocks for row in rows), sum(row.size for row in rows))] == [
        (blocks, blocks * bytearray_bytes(5000))
    ]
    # Every stack is whole: work, 31 times deep, the module.
    assert {len(row.stack) for row in rows} == {33}


def test_a_handler_in_python_that_allocates_at_10_khz(tmp_path: Path) -> None:
    program = (
        "import signal\n"
        "count = 0\n"
        "def handler(number, frame):\n"
        "    global count; count += 1; bytearray(7000)\n"
        "signal.signal(signal.SIGALRM, handler)\n"
        "signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)\n"
        "rounds = 0\n"
        "def work():\n"
        "    bytearray(5000)\n"
        "while count < 1500:\n"
        "    work(); rounds += 1\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "print(rounds, count)\n"
    )
    result = memtrace(["run", "-q", "-o", "out.bin", "-c", program], tmp_path)
    assert (result.status, result.stderr) == (0, "")
    rounds, count = map(int, result.stdout.split())
    for function, size, wanted in (("work", 5000, rounds), ("handler", 7000, count)):
        rows = rows_of(tmp_path / "out.bin", function)
        found = sum(row.blocks for row in rows if row.size // row.blocks == bytearray_bytes(size))
        assert found == wanted


def test_a_jump_out_of_a_hook_leaves_the_recording_as_it_was(tmp_path: Path) -> None:
    library = compile_library(tmp_path, C_HANDLER)
    program = (
        "import ctypes\n"
        f"lib = ctypes.CDLL({str(library)!r})\n"
        "def work(): return bytearray(9000)\n"
        "def deep(n): return work() if n == 0 else deep(n - 1)\n"
        "lib.start(200)\n"
        "for i in range(500):\n"
        "    lib.jump_out(); deep(i % 50)\n"
        "lib.start(0)\n"
    )
    result = run_behind(library, program, tmp_path)
    assert (result.status, result.stderr) == (0, "")
    assert list(load_profile(str(tmp_path / "out.bin")).warnings) == []
    rows = [
        row
        for row in rows_of(tmp_path / "out.bin", "work")
        if row.size // row.blocks == bytearray_bytes(9000)
    ]
    assert sum(row.blocks for row in rows) == 500
    assert {len(row.stack) for row in rows} == set(range(3, 53))


# ---- crashes ------------------------------------------------------------------------------------

ENDINGS = {
    "segv": ("ctypes.string_at(0)", -signal.SIGSEGV, False),
    "segv-faulthandler": ("faulthandler.enable(); ctypes.string_at(0)", -signal.SIGSEGV, False),
    "abort": ("os.abort()", -signal.SIGABRT, True),
    "exit": ("os._exit(7)", 7, True),
    "thread": ("threading.Thread(target=os._exit, args=(8,)).start(); time.sleep(60)", 8, True),
    "kill": ("os.kill(os.getpid(), 9)", -signal.SIGKILL, False),
    "raise": ("signal.raise_signal(signal.SIGTERM); time.sleep(60)", -signal.SIGTERM, True),
    "alarm": ("signal.alarm(1); time.sleep(60)", -signal.SIGALRM, True),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_every_block_up_to_the_end_is_there(tmp_path: Path, name: str) -> None:
    ending, status, closed = ENDINGS[name]
    program = (
        "import ctypes, faulthandler, os, signal, sys, threading, time\n"
        "keep = [bytearray(1_200_000 + i) for i in range(50)]\n"
        "for i in range(20_000): bytearray(600 + i % 100)\n"
        "last = bytearray(2_345_678)\n" + ending
    )
    plain = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    result = memtrace(["run", "-q", "-o", "out.bin", "-c", program], tmp_path)
    assert (result.status, result.stdout) == (status, plain.stdout)
    addresses = re.compile("0x[0-9a-f]+")  # of threads; since 3.14 of the C stack's frames too
    assert addresses.sub("", result.stderr) == addresses.sub("", plain.stderr)
    assert plain.returncode == status
    profile = load_profile(str(tmp_path / "out.bin"))
    assert len(profile.warnings) == (0 if closed else 1)
    assert Path(tmp_path / "out.bin.ring").exists() == (not closed)
    sizes = [row.size for row in csv_rows(tmp_path / "out.bin", "--leaks")]
    assert bytearray_bytes(2_345_678) in sizes
    rows = [row for row in csv_rows(tmp_path / "out.bin", "--all") if row.stack]
    kept = [row for row in rows if row.stack[0][2] == 2 and row.size > 1_000_000]
    assert (sum(row.blocks for row in kept), sum(row.size for row in kept)) == (
        50,
        sum(bytearray_bytes(1_200_000 + i) for i in range(50)),
    )
    loop = buffers([row for row in rows if row.stack[0][2] == 3])
    assert (sum(row.blocks for row in loop), sum(row.size for row in loop)) == (
        20_000,
        sum(bytearray_bytes(600 + i % 100) for i in range(20_000)),
    )


KILLED = """
import os, sys
progress = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
live = [None] * 64
i = 0
def step(size):
    return bytearray(size)
while True:
    live[i % 64] = step(600 + i % 1000)
    i += 1
    os.pwrite(progress, b"%12d" % i, 0)
"""


def test_a_kill_at_any_moment_leaves_a_prefix_of_the_truth(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(KILLED)
    progress = tmp_path / "progress"
    choose = random.Random(20)
    for run in range(KILLS):
        progress.unlink(missing_ok=True)
        process = subprocess.Popen(
            [MEMTRACE, "run", "-q", "-f", "-o", "out.bin", "app.py", "progress"], cwd=tmp_path
        )
        wanted = choose.randrange(8_000)
        while not progress.exists() or int(progress.read_bytes() or b"0") < wanted:
            time.sleep(0.0005)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        done = int(progress.read_bytes())
        rows = buffers(rows_of(tmp_path / "out.bin", "step"))
        blocks = sum(row.blocks for row in rows)
        # One more may have been made than was told of.
        assert done <= blocks <= done + 1, f"run {run}"
        assert sum(row.size for row in rows) == sum(
            bytearray_bytes(600 + i % 1000) for i in range(blocks)
        )
        live = buffers(rows_of(tmp_path / "out.bin", "step", "--leaks"))
        assert min(done, 64) <= sum(row.blocks for row in live) <= 65


# ---- the end of the interpreter -----------------------------------------------------------------


def test_daemon_threads_that_allocate_at_exit(tmp_path: Path) -> None:
    program = (
        "import atexit, threading, time\n"
        "def work():\n"
        "    while True: [bytearray(700 + i) for i in range(100)]\n"
        "for _ in range(4): threading.Thread(target=work, daemon=True).start()\n"
        "late = []\n"
        "atexit.register(lambda: late.append(bytearray(4_444_444)))\n"
        "time.sleep(0.05)\n"
        "print('done')\n"
    )
    for _ in range(6):
        result = memtrace(["run", "-q", "-f", "-o", "out.bin", "-c", program], tmp_path)
        assert (result.status, result.stdout, result.stderr) == (0, "done\n", "")
        assert sorted(os.listdir(tmp_path)) == ["out.bin"]
        profile = load_profile(str(tmp_path / "out.bin"))
        assert list(profile.warnings) == []
        assert bytearray_bytes(4_444_444) in profile.samples.values["leaked_bytes"]


def test_a_thread_made_by_c_that_calls_python(tmp_path: Path) -> None:
    library = compile_library(
        tmp_path,
        "#include <pthread.h>\n#include <stdlib.h>\n"
        "static void *run(void *call) {\n"
        "    void *volatile raw = malloc(1300001);\n"
        "    ((void (*)(void))call)();\n"
        "    free(raw);\n"
        "    return NULL;\n"
        "}\n"
        "void in_thread(void *call) {\n"
        "    pthread_t thread;\n"
        "    pthread_create(&thread, NULL, run, call);\n"
        "    pthread_join(thread, NULL);\n"
        "}\n",
    )
    program = (
        "import ctypes\n"
        f"lib = ctypes.CDLL({str(library)!r})\n"
        "keep = []\n"
        "def called(): keep.append(bytearray(1_400_000))\n"
        "call = ctypes.CFUNCTYPE(None)(called)\n"
        "for _ in range(20): lib.in_thread(call)\n"
    )
    result = memtrace(["run", "-q", "-o", "out.bin", "-c", program], tmp_path)
    assert (result.status, result.stderr) == (0, "")
    rows = rows_of(tmp_path / "out.bin", "called", "--leaks")
    big = [row for row in rows if row.size >= bytearray_bytes(1_400_000)]
    assert sum(row.blocks for row in big) == 20
    assert sum(row.size for row in big) == 20 * bytearray_bytes(1_400_000)
    # With what CPython allocates in such a thread before it runs anything (3.15: 16 bytes).
    rows = [row for row in csv_rows(tmp_path / "out.bin", "--all") if not row.stack]
    assert sum(1_300_001 <= row.size < 1_301_000 for row in rows) == 20


def test_subinterpreters_are_recorded(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "try: import _interpreters as api\n"
        "except ImportError: import _xxsubinterpreters as api\n"
        "code = 'def inner(): return bytearray(1_500_000)\\nkeep = [inner() for _ in range(2)]'\n"
        "kept = []\n"
        "for i in range(30):\n"
        "    interpreter = api.create()\n"
        "    kept.append(interpreter)  # 3.12 destroys one that nobody knows\n"
        "    api.run_string(interpreter, code)\n"
        "    if i % 2: api.destroy(kept.pop())\n"
        "print('done')\n"
    )
    result = memtrace(["run", "-q", "-o", "out.bin", "-c", program], tmp_path)
    assert (result.status, result.stdout) == (0, "done\n")
    assert list(load_profile(str(tmp_path / "out.bin")).warnings) == []
    rows = rows_of(tmp_path / "out.bin", "inner")
    assert (
        sum(row.blocks for row in rows if row.size // row.blocks == bytearray_bytes(1_500_000))
        == 60
    )
    leaks = rows_of(tmp_path / "out.bin", "inner", "--leaks")
    assert (
        sum(row.blocks for row in leaks if row.size // row.blocks == bytearray_bytes(1_500_000))
        == 30
    )
