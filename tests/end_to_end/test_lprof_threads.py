"""Threads that run, register and end profiled code at the same moment: no hit may be lost, with a
GIL or without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from case_runs import HAS_GIL, LineResult, line_of, load_lines, lprof
from proftrace.model.profile import REGIME_COLD, REGIME_HOT

HEAD = """\
import threading

THREADS = 8

def at_once(function, rounds=3):
    for _ in range(rounds):
        barrier = threading.Barrier(THREADS)
        def run():
            barrier.wait()
            function()
        threads = [threading.Thread(target=run) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
"""

# Every way in and out of a frame, in 3 x 8 threads of 5 calls with 60 turns each. The line of SUM
# is that of a generator expression too.
WAYS = """
@profile
def leaf(i):
    if i % 3:  # LEAF 7200
        return i  # RETURN 4800
    raise ValueError(i)  # RAISE 2400

@profile
def rows(n):
    for i in range(n):  # ROWS 7320
        yield i  # YIELD 7200

@profile
def down(n):
    if n == 0:  # DOWN 2520
        return 0  # BOTTOM 120
    return 1 + down(n - 1)  # DEEPER 2400

@profile
def work(n):
    total = 0  # WORK 120
    for i in rows(n):  # EACH 7320
        try:
            total += leaf(i)  # CALL 7200
        except ValueError:  # CAUGHT 2400
            total -= 1  # LESS 2400
    total += sum(x * 2 for x in range(n))  # SUM 240
    return total + down(20)  # END 120

def several():
    for _ in range(5):
        work(60)

at_once(several)
"""

# The first threads find the function that each of them decorates as nobody has seen it yet; what
# is nested in it is registered when it starts.
DECORATED = """
def make():
    @profile
    def outer(n):
        def inner(k):
            return k + 1  # INNER 48000
        for k in range(n):  # LOOP 52800
            inner(k)  # CALL 48000
    return outer

def several():
    for _ in range(200):
        make()(10)

at_once(several)
"""


def record(source: str, folder: Path, *options: str, hot_after: str = "") -> LineResult:
    (folder / "program.py").write_text(HEAD + source)
    env = {"PROFTRACE_TEST_HOT_AFTER": hot_after}
    run = lprof(["-q", *options, "-o", "r.lprof", "program.py"], folder, env)
    assert (run.status, run.stdout, run.stderr) == (0, "", "")
    return load_lines(folder / "r.lprof")


@pytest.mark.parametrize("options", [(), ("--clock",)])
@pytest.mark.parametrize("source", [WAYS, DECORATED], ids=["ways", "decorated"])
def test_no_hit_is_lost(source: str, options: tuple[str, ...], tmp_path: Path) -> None:
    result = record(source, tmp_path, *options)
    wanted = {}
    for number, line in enumerate((HEAD + source).splitlines(), start=1):
        if "  # " in line:
            wanted[number] = int(line.rpartition(" ")[2])
    hits = result.hits("program.py")
    assert {number: hits[number] for number in wanted} == wanted


BUSY = """
@profile
def busy():
    total = 0
    for i in range(20000):
        total += i

busy()
"""


def test_each_function_says_how_it_was_measured(tmp_path: Path) -> None:
    result = record(BUSY, tmp_path, hot_after="200")
    assert list(result.profile.calls.regime) == [REGIME_HOT if HAS_GIL else REGIME_COLD]
    shown = lprof(["show", "--stats", "r.lprof"], tmp_path).stdout
    why = "timed by the clock (this interpreter runs threads without a GIL)"
    assert (why in " ".join(shown.split())) == (not HAS_GIL)


# They are in the middle of a line when the program ends, at which the result is written.
UNJOINED = """
started = threading.Barrier(THREADS)

@profile
def first(n):
    return n - 1  # FIRST

@profile
def second(n):
    left = n
    while left:
        left = first(left)
    return left

@profile
def forever():
    started.wait()  # ONCE
    while True:
        second(3)

for _ in range(THREADS - 1):
    threading.Thread(target=forever, daemon=True).start()
started.wait()
"""


def test_threads_that_run_on_do_not_disturb_the_result(tmp_path: Path) -> None:
    for _ in range(5):
        result = record(UNJOINED, tmp_path)
        hits = result.hits("program.py")
        assert hits[line_of(tmp_path / "program.py", "ONCE")] == 7
