"""Sampled programs: nothing of the sampler reaches them, and time is where it was spent.

The programs print what they can see of the process; a plain run has to print the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from case_runs import LineResult, load_lines, lprof, plain
from proftrace.model.load import load_profiles
from proftrace.model.profile import REGIME_HOT

pytestmark = pytest.mark.hot

HOT = {"PROFTRACE_TEST_HOT_AFTER": "200"}

# What every program starts with; `work` gets hot in its first call.
HEAD = """\
import sys, os, time, signal, threading, ctypes
try:
    profile
except NameError:
    profile = lambda function: function

@profile
def work(n):
    total = 0
    for i in range(n):
        pair = [i, total & 255]
        total += len(pair)
    return total

def busy(milliseconds):
    end = time.process_time() + milliseconds / 1000
    while time.process_time() < end:
        work(500)

busy(30)
"""


def record(
    source: str, folder: Path, env: dict[str, str] | None = None, *, options: Sequence[str] = ()
) -> LineResult:
    """Run a program with and without `lprof`; both have to print the same and end alike."""
    (folder / "program.py").write_text(source)
    without = plain(["program.py"], folder)
    run = lprof(["-q", "-o", "r.lprof", *options, "program.py"], folder, HOT | (env or {}))
    assert (run.status, run.stdout, run.stderr) == (without.status, without.stdout, without.stderr)
    assert run.status == 0
    return load_lines(folder / "r.lprof")


def samples(result: LineResult) -> int:
    return sum(result.profile.lines.values["samples"])


def assert_sampled(result: LineResult) -> None:
    """Assert that all functions were hot and that samples found them."""
    assert list(result.profile.calls.regime) == [REGIME_HOT] * len(result.profile.calls.regime)
    assert samples(result) > 0


def share(result: LineResult, line: int) -> float:
    """Return the share of a line in the exclusive time of all lines."""
    lines = result.profile.lines
    exclusive = lines.values["exclusive"]
    return sum(exclusive[row] for row, number in enumerate(lines.line) if number == line) / sum(
        exclusive
    )


INTERRUPTIONS = """
import errno, select, socket
libc = ctypes.CDLL(None, use_errno=True)
SYS_FUTEX = {"x86_64": 202, "aarch64": 98}[os.uname().machine]

class Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("fraction", ctypes.c_long)]

class Poll(ctypes.Structure):
    _fields_ = [("fd", ctypes.c_int), ("events", ctypes.c_short), ("found", ctypes.c_short)]

def after(milliseconds):
    now = time.clock_gettime_ns(time.CLOCK_REALTIME) + milliseconds * 1000000
    return Time(now // 1000000000, now % 1000000000)

end, other_end = socket.socketpair()
libc.setsockopt(end.fileno(), socket.SOL_SOCKET, 20, ctypes.byref(Time(0, 1000)), 16)
SO_RCVTIMEO = end.getsockopt(socket.SOL_SOCKET, 20, 16)
epoll = libc.epoll_create1(0)
semaphore = ctypes.create_string_buffer(64)
libc.sem_init(semaphore, 0, 0)
word = ctypes.c_int(1)
room = ctypes.create_string_buffer(64)
poll = Poll(end.fileno(), 1, 0)
CALLS = {
    "nanosleep": lambda: libc.nanosleep(ctypes.byref(Time(0, 500000)), None),
    "select": lambda: libc.select(0, None, None, None, ctypes.byref(Time(0, 500))),
    "poll": lambda: libc.poll(ctypes.byref(poll), 1, 1),
    "epoll_wait": lambda: libc.epoll_wait(epoll, room, 1, 1),
    "recv": lambda: libc.recv(end.fileno(), room, 1, 0),
    "sem_timedwait": lambda: libc.sem_timedwait(semaphore, ctypes.byref(after(1))),
    "futex": lambda: libc.syscall(
        SYS_FUTEX, ctypes.byref(word), 0, 1, ctypes.byref(Time(0, 500000)), None, 0),
}
interrupted = dict.fromkeys(CALLS, 0)

@profile
def call_all(rounds):
    for i in range(rounds):
        for name, call in CALLS.items():
            if call() < 0 and ctypes.get_errno() == errno.EINTR:
                interrupted[name] += 1
        work(3000)
        os.urandom(100000)

running = True

@profile
def spin():
    spins = 0
    while running:
        spins += 1
        if spins & 1023 == 0:
            time.sleep(0.0001)

threads = [threading.Thread(target=spin), *(
    threading.Thread(target=call_all, args=(40,)) for _ in range(2))]
for thread in threads:
    thread.start()
call_all(40)
for thread in threads[1:]:
    thread.join()
running = False
threads[0].join()
print(interrupted)
"""


@pytest.mark.parametrize("clocks", ["", "perf", "ticks"])
def test_no_system_call_is_cut_short(tmp_path: Path, clocks: str) -> None:
    result = record(
        HEAD + INTERRUPTIONS, tmp_path, {"PROFTRACE_TEST_SAMPLING": clocks} if clocks else {}
    )
    assert_sampled(result)


HANDLERS = """
from collections import Counter
got = Counter()
ours = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGINT}
before = {number: signal.getsignal(number) for number in ours}
for number in ours:
    signal.signal(number, lambda number, frame: got.update([signal.Signals(number).name
                  if number in list(signal.Signals) else number]))
busy(60)
print(sorted(got), [number for number in before.values() if number is not signal.SIG_DFL
                    and number is not signal.SIG_IGN])
for number in sorted(ours):
    os.kill(os.getpid(), number)
work(1000)
print(sorted(map(str, got.items())))
"""

TIMERS = """
ticks = dict.fromkeys(["SIGALRM", "SIGVTALRM", "SIGPROF"], 0)
def tick(number, frame):
    ticks[signal.Signals(number).name] += 1
for name in ticks:
    signal.signal(getattr(signal, name), tick)
for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
    signal.setitimer(timer, 0.01, 0.01)
while min(ticks.values()) < 3:
    work(1000)
for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
    assert signal.setitimer(timer, 0)[1] == 0.01
signal.alarm(1)
print("all of them", signal.alarm(0))
"""

MASKS = """
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
busy(150)
print(signal.sigpending(), signal.sigtimedwait(signal.valid_signals(), 0))
print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
busy(30)
"""

CHILDREN = """
import subprocess, warnings
warnings.simplefilter("error", DeprecationWarning)

def shown():
    with open("/proc/self/status") as file:
        lines = [line.split() for line in file]
    with open("/proc/self/timers") as file:
        timers = file.read()
    kept = ("SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:", *COUNTED)
    return [line for line in lines if line[0] in kept], timers, sorted(os.listdir("/proc/self/fd"))

@profile
def forks():
    for i in range(300):
        work(10)
        if i % 100 == 99:
            child = os.fork()
            if child == 0:
                print(i, shown(), signal.getsignal(signal.SIGURG), flush=True)
                work(3000)
                os._exit(7)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)

forks()
busy(30)
show = ["grep", "-E", "Sig(Pnd|Blk|Ign|Cgt)|ShdPnd", "/proc/self/status"]
print(subprocess.run(show, capture_output=True, text=True).stdout, flush=True)
os.waitpid(os.posix_spawnp("grep", show, os.environ), 0)
print(subprocess.run([sys.executable, "-c", "import signal; print(signal.pthread_sigmask(0, []))"],
                     capture_output=True, text=True).stdout)
"""

# 3.13.5 counts the threads in os.fork after these hooks, which give pending calls their turn.
FORK_HOOKS = """
import warnings
warnings.simplefilter("error", DeprecationWarning)
n_threads = set()

def settle():
    for i in range(200):
        str(i)
    n_threads.add(len(os.listdir("/proc/self/task")))

os.register_at_fork(after_in_parent=settle)
for i in range(20):
    work(10)
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
busy(30)
print(n_threads)
"""

DESCRIPTORS = """
print(sorted(os.listdir("/proc/self/fd")), os.open("/dev/null", os.O_RDONLY))
busy(30)
os.closerange(3, 65536)
busy(60)
print(sorted(os.listdir("/proc/self/fd")), os.open("/dev/null", os.O_RDONLY))
print(threading.active_count(), [thread.name for thread in threading.enumerate()])
"""

LOWEST_NUMBERS = """
go_on, all_began = True, threading.Barrier(9)
def waits():
    work(20), all_began.wait()
    while go_on:
        work(20), time.sleep(0.0005)
threads = [threading.Thread(target=waits) for _ in range(8)]
for thread in threads:
    thread.start()
all_began.wait()
numbers = set()
for i in range(40_000):
    number = os.open("/dev/null", os.O_RDONLY)
    numbers.add(number)
    os.close(number)
    if i % 8 == 0:
        work(20)
go_on = False
for thread in threads:
    thread.join()
print(numbers)
"""

SHORT_THREADS = """
for i in range(250):
    threads = [threading.Thread(target=work, args=(2000,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(sorted(os.listdir("/proc/self/fd")), threading.active_count())
"""

LIBRARIES = """
import _ctypes
running = True
loaded = 0

@profile
def load():
    global loaded
    while running:
        for name in ("libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1"):
            try:
                _ctypes.dlclose(_ctypes.dlopen(name, os.RTLD_NOW))
                loaded += 1
            except OSError:
                pass

threads = [threading.Thread(target=load) for _ in range(2)]
for thread in threads:
    thread.start()
busy(300)
while loaded < 300:
    time.sleep(0.001)
running = False
for thread in threads:
    thread.join()
print("done")
"""

FAULT_HANDLER = """
import faulthandler, tempfile
faulthandler.enable()
faulthandler.register(signal.SIGUSR1, file=sys.stdout, all_threads=False)

@profile
def deep(n):
    if n:
        return deep(n - 1) + 1
    busy(60)
    return 0

print(deep(300))
"""

END_AT_ONCE = """
busy(20)
print("before", flush=True)
os._exit(0)
"""

EXEC = """
busy(20)
os.execv(sys.executable, [sys.executable, "-c",
         "import signal; print(signal.sigpending(), open('/proc/self/timers').read())"])
"""


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(TIMERS, id="timers"),
        pytest.param(MASKS, id="masks"),
        pytest.param(DESCRIPTORS, id="descriptors"),
        pytest.param(LOWEST_NUMBERS, id="lowest numbers"),
        pytest.param(SHORT_THREADS, id="short threads"),
        pytest.param(LIBRARIES, id="libraries"),
        pytest.param(FAULT_HANDLER, id="fault handler"),
        pytest.param(END_AT_ONCE, id="_exit"),
        pytest.param("COUNTED = ()\n" + CHILDREN, id="children"),
        pytest.param(FORK_HOOKS, id="fork hooks"),
        pytest.param(HANDLERS, id="handlers"),
    ],
)
def test_the_program_sees_nothing_of_it(tmp_path: Path, source: str) -> None:
    assert_sampled(record(HEAD + source, tmp_path))


def test_a_child_that_is_not_followed_has_no_thread_of_ours(tmp_path: Path) -> None:
    source = 'COUNTED = ("Threads:",)\n' + CHILDREN
    assert_sampled(record(HEAD + source, tmp_path, options=["--no-follow"]))


def test_a_program_that_replaces_itself_has_nothing_left(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(HEAD + EXEC)
    without = plain(["program.py"], tmp_path)
    run = lprof(["-q", "-o", "r.lprof", "program.py"], tmp_path, HOT)
    assert (run.status, run.stdout, run.stderr) == (0, without.stdout, without.stderr)
    images = load_profiles(str(tmp_path / "r.lprof"))
    counts = sorted(samples(LineResult(image)) for image in images)
    assert len(counts) == 2
    assert counts[0] == 0 < counts[1]  # what came after is profiled too, and ran nothing hot


# ---- where time is ------------------------------------------------------------------------------

BLOCKED = """
import socket, select
left, right = socket.socketpair()
left.settimeout(0.002)
lock = threading.Lock()
lock.acquire()

@profile
def wait(n):
    for i in range(n):
        a = i * 2
        time.sleep(0.002)                  # SLEEPS
        b = [a, i]
        lock.acquire(timeout=0.002)        # LOCKS
        c = b[0] + a
        select.select([left], [], [], 0.002)  # SELECTS
        d = c - a

wait(200)
print("done")
"""


def line_with(source: str, mark: str) -> int:
    (number,) = [i for i, line in enumerate(source.splitlines(), 1) if line.endswith(f"# {mark}")]
    return number


def test_time_of_blocked_lines_is_theirs(tmp_path: Path) -> None:
    source = HEAD.replace("busy(30)", "") + BLOCKED
    result = record(source, tmp_path)
    assert samples(result) > 0
    waits = [line_with(source, mark) for mark in ("SLEEPS", "LOCKS", "SELECTS")]
    # Each sleeps for 2 ms at least, 200 times; 67 rounds are before it gets hot.
    for line in waits:
        assert result.seconds("program.py", line) >= 0.2
        assert share(result, line) > 0.2
    assert sum(share(result, line) for line in waits) > 0.8


ONE_WAIT = """
@profile
def wait(n):
    for i in range(n):
        a = i * 2
        if i == n - 5:
            time.sleep(0.3)  # SLEEPS
        b = [a, i]

wait(20_000)
print("done")
"""


def test_a_long_wait_is_known_and_not_estimated(tmp_path: Path) -> None:
    source = HEAD + ONE_WAIT
    result = record(source, tmp_path)
    line = line_with(source, "SLEEPS")
    lines = result.profile.lines
    (row,) = [row for row in range(len(lines)) if lines.line[row] == line]
    values = {name: lines.values[name][row] for name in ("hits", "exclusive", "exclusive_error")}
    assert values["hits"] == 1
    # Looks at random moments alone would leave a fifth of it or more in doubt.
    assert values["exclusive_error"] < values["exclusive"] / 10
    assert values["exclusive"] > 250_000_000


IN_THE_KERNEL = """
zeros = os.open("/dev/zero", os.O_RDONLY)

@profile
def read(n, size=4 << 20):
    for i in range(n):
        a = os.read(zeros, size)  # READS
        b = i * 2
        c = [b, i]  # without a: giving that back is the next read's

def until(milliseconds):
    end = time.process_time() + milliseconds / 1000
    while time.process_time() < end:
        read(20)
read(1000, 1)  # it is hot now, whatever a long read takes here
until(700)
print("done")
"""


@pytest.mark.parametrize("clocks", ["ticks", ""])
def test_time_in_the_kernel_is_the_callers(tmp_path: Path, clocks: str) -> None:
    source = HEAD + IN_THE_KERNEL
    env = {"PROFTRACE_TEST_SAMPLING": clocks} if clocks else {}
    result = record(source, tmp_path, env)
    assert_sampled(result)
    lines = result.profile.lines
    reads = line_with(source, "READS")
    near = {n: row for row, n in enumerate(lines.line) if reads - 1 <= n <= reads + 2}
    for what in ("samples", "exclusive"):
        taken = {n: lines.values[what][row] for n, row in near.items()}
        assert taken[reads] > 0.9 * sum(taken.values())


CALLERS = """
@profile
def callee(n):
    total = 0
    for i in range(n):
        total += i & 3
    return total

@profile
def often(n):
    for i in range(n):
        callee(1000)  # OFTEN

@profile
def seldom(n):
    for i in range(n):
        callee(1000)  # SELDOM
        work(300)

often(9000)
seldom(1000)
print("done")
"""


def test_inclusive_time_and_calls_go_to_the_callers(tmp_path: Path) -> None:
    source = HEAD + CALLERS
    result = record(source, tmp_path)
    profile = result.profile
    names = {
        row: profile.strings[profile.functions.qualname[row]] for row in profile.calls.function
    }
    edges = profile.edges
    calls: dict[str, int] = {}
    for row in range(len(edges.callee)):
        if names.get(edges.callee[row]) == "callee":
            caller = names.get(edges.caller[row], "")
            calls[caller] = calls.get(caller, 0) + edges.calls[row]
    assert sum(calls.values()) == 10000
    assert calls["often"] > calls["seldom"]
    often, seldom = (line_with(source, mark) for mark in ("OFTEN", "SELDOM"))
    assert result.seconds("program.py", often) > result.seconds("program.py", seldom) > 0
    # Most of it is the callee's, of whatever regime the caller was at the time.
    lines = result.profile.lines
    own = sum(
        lines.values["exclusive"][row] for row, line in enumerate(lines.line) if line == often
    )
    assert own / 1e9 < result.seconds("program.py", often) / 2


# ---- where it cannot be done ---------------------------------------------------------------------


def meta(result: LineResult, key: str) -> str:
    return str(result.profile.meta[key])


@pytest.mark.parametrize(
    ("forced", "reason"),
    [("none", "neither perf events nor timers"), ("no-stack", "native stack cannot be followed")],
)
def test_without_samples_the_reason_is_said(tmp_path: Path, forced: str, reason: str) -> None:
    result = record(HEAD, tmp_path, {"PROFTRACE_TEST_SAMPLING": forced})
    assert reason in json.loads(meta(result, "sampling"))["refused"]
    assert samples(result) == 0


def test_the_result_says_how_samples_were_taken(tmp_path: Path) -> None:
    sampling = json.loads(meta(record(HEAD, tmp_path), "sampling"))
    assert sampling["samples"] > 0
    assert sampling["mechanism"] in {"perf event and thread timer", "perf event", "thread timer"}
