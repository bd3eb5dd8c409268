"""Hits of hot code, with the change of the regime forced at every possible event."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from case_runs import LineResult, Run, load_lines, lprof
from proftrace.model.load import load_profile, load_profiles
from proftrace.model.profile import REGIME_HOT

pytestmark = pytest.mark.hot

ZOO = Path(__file__).resolve().parents[2] / "programs" / "hits_zoo.py"
AFTER = "PROFTRACE_TEST_HOT_AFTER"


def record(source: str, folder: Path, *options: str, after: int = 0) -> Run:
    """Run a program under `lprof`, hot after so many events of each function."""
    (folder / "program.py").write_text(source)
    words = ["-q", *options, "-o", "r.lprof", "program.py"]
    return lprof(words, folder, {AFTER: str(after)} if after else {AFTER: ""})


def hits_of(source: str, folder: Path, *options: str, after: int = 0) -> Counter[int]:
    run = record(source, folder, *options, after=after)
    assert (run.status, run.stderr) == (0, "")
    return load_lines(folder / "r.lprof").hits("program.py")


def hot_functions(folder: Path) -> list[bool]:
    """Tell for each function whether it was hot at the end."""
    return [regime == REGIME_HOT for regime in load_profile(str(folder / "r.lprof")).calls.regime]


# Each operand, each block, each way out of a function.
RAISES = """\
class Bad(Exception):
    pass

left = 0

class Operand:
    def turn(self, *args):
        global left
        left -= 1
        if left == 0:
            raise Bad
        return self
    __add__ = __getitem__ = __call__ = __enter__ = turn
    def __getattr__(self, name):
        return self.turn()
    def __bool__(self):
        self.turn()
        return True
    def __exit__(self, *error):
        self.turn()
    def __iter__(self):
        self.turn()
        yield self
        self.turn()
        yield self
    def __hash__(self):
        self.turn()
        return 1

@profile
def operands(a, b):
    c = a + b + a
    d = [a[b], a(b, c),
         a.x.y]
    if a and b:
        d += [a + 1]
    for i in range(3):
        with a as e, b:
            f = {a: b + c,
                 b: a.z + e}
    for g in a:
        try:
            c = g(a) if a else b
        finally:
            h = [x + y
                 for x in a
                 for y in b if y]
    while i:
        i -= bool(a.i)
    return a + (b +
                c)

@profile
def attempt(n):
    global left
    left = n
    try:
        operands(Operand(), Operand())
        return True
    except Bad:
        return False

def main():
    n = 1
    while not attempt(n):
        n += 1

main()
"""

SUSPENDED = """\
import asyncio

@profile
def numbers(n):
    got = 0
    for i in range(n):
        try:
            got = yield i + (got or 0)
        except KeyError:
            got = yield -1
        finally:
            n = n
    return got

@profile
def delegate(n):
    first = yield from numbers(n)
    yield first
    try:
        yield from numbers(n)
    except ValueError:
        yield 7

def drive():
    kept = []
    for n in range(7):
        list(delegate(n))
        g = delegate(n)
        for step in range(n):
            next(g)
        kept.append(g)
        g = delegate(5)
        next(g), g.send(3), g.throw(KeyError), next(g), g.close()
        g = delegate(2)
        next(g), next(g), next(g), next(g)
        g.throw(ValueError)
        try:
            next(g)
        except StopIteration:
            pass
        try:
            numbers(2).throw(KeyError)
        except KeyError:
            pass
        numbers(2).close()
    for g in kept:
        g.close()

@profile
async def ticks(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i

@profile
async def worker(n):
    total = 0
    async for i in ticks(n):
        total += i
        if i == 5:
            await asyncio.sleep(0)
            raise ValueError
    return [x async for x in ticks(n) if x]

async def main():
    for n in range(4):
        await asyncio.gather(*(worker(n + k) for k in range(6)), return_exceptions=True)
        agen = ticks(4)
        await agen.asend(None)
        await agen.asend(None)
        await agen.aclose()

drive()
asyncio.run(main())
"""

RECURSIVE = """\
@profile
def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1,
                         1)
    inner = ackermann(m, n - 1)
    return ackermann(m - 1, inner)

@profile
def even(n):
    return n == 0 or odd(
        n - 1)

@profile
def odd(n):
    return n != 0 and \\
        even(n - 1)

@profile
def walk(tree):
    for child in tree:
        yield from walk(child)
    yield len(tree)

@profile
def fails(n):
    try:
        if n == 0:
            raise ValueError
        fails(n - 1)
    finally:
        n += 1

ackermann(2, 3)
even(60)
list(walk([[[], [[]]], [[[], []], []]]))
for n in range(6):
    try:
        fails(n)
    except ValueError:
        pass
"""

THREADS = """\
import threading

barrier = threading.Barrier(4)

@profile
def work(n, k):
    total = 0
    for i in range(n):
        if i == k:
            barrier.wait()
        total += inner(
            i) + 1
    return total

@profile
def inner(i):
    lock.acquire()
    i += 1
    lock.release()
    return i

lock = threading.Lock()
threads = [threading.Thread(target=work, args=(400, 7 * k)) for k in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""

PROGRAMS = {
    "zoo": ZOO.read_text(),
    "raises": RAISES,
    "suspended": SUSPENDED,
    "recursive": RECURSIVE,
    "threads": THREADS,
}


@pytest.fixture(scope="module")
def clock_hits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Counter[int]]:
    """The hits of each program when nothing is ever hot."""
    result = {}
    for name, source in PROGRAMS.items():
        folder = tmp_path_factory.mktemp(name)
        result[name] = hits_of(source, folder, "--clock")
        assert not any(hot_functions(folder))
    return result


@pytest.mark.parametrize("after", [1, 2, 3, 4, 5, 7, 10, 13, 21, 34, 55, 89])
@pytest.mark.parametrize("name", PROGRAMS)
def test_hits_do_not_depend_on_when_code_gets_hot(
    name: str, after: int, clock_hits: dict[str, Counter[int]], tmp_path: Path
) -> None:
    hits = hits_of(PROGRAMS[name], tmp_path, after=after)
    assert hits == clock_hits[name]
    assert any(hot_functions(tmp_path))
    assert after > 4 or all(hot_functions(tmp_path))


# Threads that are still running when the result is written, at many different places.
RUNNING = """\
import os, sys, threading, time

@profile
def spin(n):
    while n:
        n += 1
        if n % 3:
            n = len(
                str(n)) + n
        wait(n)

def wait(n):
    if n > limit:
        entered.release()
        time.sleep(100)

@profile
def nap(n):
    for i in range(n):
        a = i
        if i == n - 1:
            entered.release()
            time.sleep(
                a + 100)
            a = 2
        a = 1
    return a

@profile
def outer(n):
    x = n
    nap(x)
    x = 3
    return x

limit = 900
entered = threading.Semaphore(0)
for target, n in ((spin, 1), (nap, 300), (outer, 300)):
    threading.Thread(target=target, args=(n,), daemon=True).start()
for _ in range(3):
    entered.acquire()
time.sleep(0.1)
{end}
"""


@pytest.mark.parametrize("after", [0, 1, 5, 100])
@pytest.mark.parametrize(
    "end",
    [
        "",
        "os._exit(0)",
        "os.kill(os.getpid(), 15)\ntime.sleep(5)",
        "os.execv(sys.executable, [sys.executable, '-c', ''])",
    ],
)
def test_frames_that_still_run_are_counted_up_to_where_they_stand(
    end: str, after: int, tmp_path: Path
) -> None:
    options = [] if after else ["--clock"]
    record(RUNNING.replace("{end}", end), tmp_path, *options, after=after)
    # A Python that it becomes goes on with the session, and puts what was counted into its result.
    hits = Counter[int]()
    for profile in load_profiles(str(tmp_path / "r.lprof")):
        hits += LineResult(profile).hits("program.py")
    assert [hits[line] for line in range(19, 28)] == [600, 600, 600, 2, 2, 2, 0, 598, 0]
    assert [hits[line] for line in range(31, 35)] == [1, 1, 0, 0]
    turns = hits[6]
    assert turns > 10
    assert [hits[line] for line in (5, 7, 10)] == [turns, turns, turns]
    assert 0 < hits[8] < turns
    assert hits[9] == 2 * hits[8]  # an argument of the call, then an operand beside it


OTHERS = """\
import sys

@profile
def f(n):
    for i in range(n):
        if i == n // 2:
            change()
        n = n
    return n

def trace(frame, event, arg):
    return trace

def claim():
    sys.monitoring.use_tool_id(1, "another")
    sys.monitoring.register_callback(1, sys.monitoring.events.PY_START, lambda *args: None)
    sys.monitoring.set_events(1, sys.monitoring.events.PY_START | sys.monitoring.events.LINE)

def release():
    sys.monitoring.set_events(1, 0)
    sys.monitoring.free_tool_id(1)

def profile_it():
    import cProfile
    profiler.append(cProfile.Profile())
    profiler[0].enable()

profiler = []
changes = [lambda: None, {changes}]
while changes:
    change = changes.pop(0)
    f(400)
"""


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ("lambda: sys.settrace(trace)", 6),
        ("lambda: sys.setprofile(trace)", 6),
        ("lambda: sys.settrace(trace), lambda: sys.settrace(None)", 0),
        ("claim", 5),
        ("claim, release", 0),
        ("claim, release, claim", 5),
        ("profile_it", 5),
        ("profile_it, lambda: profiler[0].disable()", 0),
        ("sys.monitoring.restart_events", 0),
    ],
)
@pytest.mark.parametrize("after", [1, 7, 100])
def test_other_tools_make_code_cold_and_cost_no_hit(
    changes: str, reason: int, after: int, tmp_path: Path
) -> None:
    """`reason` is enum cold_reason: 5 is another tool, 6 a trace function, 0 that it is hot."""
    calls = changes.count(", ") + 8
    source = OTHERS.replace("{changes}", changes + ", lambda: None" * 6)
    hits = hits_of(source, tmp_path, after=after)
    assert hits == {5: 401 * calls, 6: 400 * calls, 7: calls, 8: 400 * calls, 9: calls}
    (regime,) = hot_functions(tmp_path)
    assert regime == (reason == 0)
    assert list(load_profile(str(tmp_path / "r.lprof")).calls.reason) == [reason]


MANY = """\
source = '''
def f{n}(x):
    y = x
    for i in range(3):
        y += i
        if y % 2:
            y -= 1
    return y
'''
functions = []
for n in range(2000):
    names = {}
    exec(compile(source.replace("{n}", str(n)), f"many{n}.py", "exec"), names)
    functions.append(profile(names[f"f{n}"]))
for _ in range(4):
    for f in functions:
        f(2)
"""


def test_two_thousand_functions_get_hot(tmp_path: Path) -> None:
    run = record(MANY, tmp_path, after=20)
    assert (run.status, run.stderr) == (0, "")
    result = load_lines(tmp_path / "r.lprof")
    assert hot_functions(tmp_path) == [True] * 2000
    assert list(result.profile.calls.calls) == [4] * 2000
    for n in (0, 1, 999, 1999):
        hits = result.hits(f"many{n}.py")
        assert [hits[line] for line in range(3, 9)] == [4, 16, 12, 12, 4, 4]


REPLACED = """\
@profile
def f(n):
    for i in range(n):
        if i == 10:
            f.__code__ = g.__code__
    return n

def g(n):
    return -n

f(50)
f(50)
profile(f)
f(50)
"""


def test_replaced_code_keeps_its_hits(tmp_path: Path) -> None:
    for after in (1, 4, 25):
        hits = hits_of(REPLACED, tmp_path, after=after)
        assert hits == {3: 51, 4: 50, 5: 1, 6: 1, 9: 2}
