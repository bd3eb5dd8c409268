"""Systems and programs that allow less than samples need: hits are right, and the header says why
functions stayed with the clock."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from case_runs import COMMANDS, LineResult, Run, load_lines, lprof, run
from proftrace.model.profile import REGIME_COLD, REGIME_HOT

pytestmark = pytest.mark.hot

PROGRAMS = Path(__file__).parents[1] / "programs"
FORBID = PROGRAMS / "forbid.py"

PROGRAM = """\
import sys
@profile
def work(n):
    total = 0
    for i in range(n):
        if i % 3 == 0:
            total += i
    return total

def tracer(*event):
    return tracer

def claim():
    events = sys.monitoring.events
    sys.monitoring.use_tool_id(3, "another")
    sys.monitoring.register_callback(3, events.INSTRUCTION, lambda *event: None)
    sys.monitoring.set_local_events(3, work.__code__, events.INSTRUCTION)

{first}
for i in range(20):
    work(900)
"""
HITS = Counter({4: 20, 5: 20 * 901, 6: 20 * 900, 7: 20 * 300, 8: 20})


@contextmanager
def limit(which: int, value: int) -> Iterator[None]:
    """Start programs with a resource limit."""
    before = resource.getrlimit(which)
    resource.setrlimit(which, (value, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(which, before)


def lprof_without(calls: str, folder: Path) -> Run:
    """Run the program under a kernel that refuses some system calls."""
    lprof_command = [str(COMMANDS / "lprof"), "-q", "-o", "r.lprof", "program.py"]
    return run([sys.executable, str(FORBID), calls, *lprof_command], folder)


def lprof_forced(what: str, folder: Path) -> Run:
    return lprof(["-q", "-o", "r.lprof", "program.py"], folder, {"PROFTRACE_TEST_SAMPLING": what})


def lprof_elsewhere(_: str, folder: Path) -> Run:
    """Run the program as if its interpreter were of an unknown version."""
    variables = {"PROFTRACE_TEST_UNKNOWN_LAYOUT": "1"}
    return lprof(["-q", "-o", "r.lprof", "program.py"], folder, variables)


def lprof_plainly(_: str, folder: Path) -> Run:
    return lprof(["-q", "-o", "r.lprof", "program.py"], folder)


def header(folder: Path) -> str:
    """Return what `--stats` says above the functions, in one line."""
    shown = lprof(["show", "--stats", "r.lprof"], folder)
    assert shown.status == 0
    return " ".join(shown.stdout.partition("\n\n")[0].split())


def assert_regime(result: LineResult, regime: int) -> None:
    assert list(result.profile.calls.regime) == [regime]


FAILURES = [
    pytest.param(
        lprof_without,
        "perf_event_open,timer_create",
        "",
        "neither perf events nor timers of a thread's CPU time are allowed",
        id="no timer",
    ),
    pytest.param(lprof_without, "clone", "", "no thread can be started", id="no thread"),
    pytest.param(
        lprof_forced,
        "no-stack",
        "",
        "the interpreter's native stack cannot be followed",
        id="stack",
    ),
    pytest.param(
        lprof_elsewhere,
        "",
        "",
        "this version of Python is not known to this version of proftrace",
        id="layout",
    ),
    pytest.param(lprof_plainly, "", "claim()", "another tool listens to its events", id="tool"),
    pytest.param(
        lprof_plainly, "", "sys.settrace(tracer)", "a trace function was set", id="trace function"
    ),
    pytest.param(
        lprof_plainly, "", "sys.setprofile(tracer)", "a trace function was set", id="profiler"
    ),
    pytest.param(lprof_plainly, "", "import greenlet", "the program has greenlets", id="greenlets"),
]


@pytest.mark.parametrize(("start", "how", "first", "reason"), FAILURES)
def test_a_failure_ends_with_the_clock_the_right_hits_and_the_reason(
    start: Callable[[str, Path], Run], how: str, first: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.format(first=first))
    done = start(how, tmp_path)
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
    result = load_lines(tmp_path / "r.lprof")
    assert result.hits("program.py") == HITS
    assert_regime(result, REGIME_COLD)
    said = header(tmp_path)
    assert f"measured by: clock: {reason}" in said
    assert "the clock had to do for one busy function" in said


@pytest.mark.parametrize("calls", ["perf_event_open", "timer_create", "process_vm_readv"])
def test_one_of_the_means_is_enough(calls: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.format(first=""))
    done = lprof_without(calls, tmp_path)
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
    result = load_lines(tmp_path / "r.lprof")
    assert result.hits("program.py") == HITS
    assert_regime(result, REGIME_HOT)
    assert "measured by: count-and-sample" in header(tmp_path)


def test_where_no_signal_may_wait_the_kernel_sends_them_all_the_same(tmp_path: Path) -> None:
    """RLIMIT_SIGPENDING of 0: no timer can be had, and signals do not say whom they are from."""
    (tmp_path / "program.py").write_text(PROGRAM.format(first=""))
    with limit(resource.RLIMIT_SIGPENDING, 0):
        with_perf = lprof_plainly("", tmp_path)
        result, said = load_lines(tmp_path / "r.lprof"), header(tmp_path)
        without = lprof_without("perf_event_open", tmp_path)
    assert (with_perf.status, with_perf.stderr) == (without.status, without.stderr) == (0, "")
    assert result.hits("program.py") == HITS
    may_have_perf = "sampling: perf event, " in said
    assert may_have_perf or "neither perf events nor timers" in said
    assert_regime(result, REGIME_HOT if may_have_perf else REGIME_COLD)
    assert "neither perf events nor timers" in header(tmp_path)
    assert load_lines(tmp_path / "r.lprof").hits("program.py") == HITS


def test_no_clock_runs_while_the_native_stack_is_learned(tmp_path: Path) -> None:
    """A sample in between would be taken with what the learning is reading with."""
    library = tmp_path / "slow_reads.so"
    source = PROGRAMS / "slow_reads.c"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    (tmp_path / "program.py").write_text(PROGRAM.format(first=""))
    done = lprof(["-q", "-o", "r.lprof", "program.py"], tmp_path, {"LD_PRELOAD": str(library)})
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
    result = load_lines(tmp_path / "r.lprof")
    assert result.hits("program.py") == HITS
    assert_regime(result, REGIME_HOT)


LATE_GREENLETS = """\
@profile
def work(n, pause=None):
    total = 0
    for i in range(n):
        total += i
        if pause and i == 3:
            pause(i); total += 1
            total -= 1
    return total

work(5000)
import greenlet
main = greenlet.getcurrent()
waiting = [greenlet.greenlet(work) for _ in range(7)]
for one in waiting:
    one.switch(10, main.switch)
"""


def test_greenlets_that_come_after_code_got_busy_cost_no_hit(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(LATE_GREENLETS)
    done = lprof_plainly("", tmp_path)
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
    result = load_lines(tmp_path / "r.lprof")
    # All seven still stand in line 7.
    assert result.hits("program.py") == {3: 8, 4: 5001 + 28, 5: 5028, 6: 5028, 7: 7, 9: 1}
    assert_regime(result, REGIME_COLD)
    assert "the program has greenlets" in header(tmp_path)


UNHEARD = """\
import signal, time

@profile
def blocked(n):
    total = 0
    for i in range(n):
        total += i * i
    return total

@profile
def after(n):
    total = 0
    for i in range(n):
        total += i * i
    return total

def use(function, seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        function(3000)

use(blocked, 0.05)
use(after, 0.05)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
use(blocked, 0.9)
signal.pthread_sigmask(signal.SIG_SETMASK, [])
use(after, 0.1)
"""


@pytest.mark.parametrize("clocks", ["perf", "ticks", ""])
def test_time_is_charged_once_when_a_thread_blocks_signals_for_a_while(
    clocks: str, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(UNHEARD)
    done = lprof_forced(clocks, tmp_path)
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
    result = load_lines(tmp_path / "r.lprof")
    profile = result.profile
    spent = {
        profile.strings[profile.functions.qualname[function]]: profile.calls.exclusive[row]
        for row, function in enumerate(profile.calls.function)
    }
    assert spent["blocked"] > spent["after"]  # six times; it was half when that came twice
