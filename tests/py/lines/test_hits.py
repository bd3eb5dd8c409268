"""Hits are how often a statement began, whatever events the interpreter sends."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from case_runs import load_lines, lprof, plain
from statement_counts import count_statements

PROGRAMS = Path(__file__).parents[2] / "programs"
ZOO = PROGRAMS / "hits_zoo.py"
LAYOUTS = PROGRAMS / "hits_layouts.txt"


def hits_of(source: str, folder: Path) -> Counter[int]:
    """Run a program under lprof; return the hits by line."""
    script = folder / "program.py"
    script.write_text(source)
    run = lprof(["-q", "-o", "r.lprof", str(script)], folder)
    assert (run.status, run.stderr) == (0, "")
    return load_lines(folder / "r.lprof").hits("program.py", nested=False)


def test_every_statement_of_the_zoo_is_counted_as_often_as_it_began(tmp_path: Path) -> None:
    source = ZOO.read_text()
    wanted = count_statements(source, str(ZOO))
    hits = hits_of(source, tmp_path)
    text = source.splitlines()
    wrong = [
        f"{line}: {hits[line]} instead of {count}: {text[line - 1]}"
        for line, count in sorted(wanted.items())
        if hits[line] != count
    ]
    assert len(wanted) > 180
    assert wrong == []


# The lines inside a statement, which the oracle does not count: the number behind `#` is wanted.
INSIDE = """\
def call(*args, **kwargs):
    return args

@profile
def f(n):
    for i in range(n):      # 4
        call(               # 3
            i,              # 3
            call(           # 3
                i),         # 3
            k=[             # 3
                i,          # 3
            ],
        )
    squares = [             # 1
        i * i               # 3
        for i in range(n)   # 4
        if i >= 0           # 3
    ]
    pairs = {               # 1
        i: j                # 6
        for i in range(n)   # 4
        for j in range(2)   # 9
    }
    if (n == 1 or           # 1
            n == 3):        # 1
        n = (call()         # 1
             and            # 0
             call() or      # 0
             7)             # 1
    text = f'''
    {n} {call(              # 1
        n)}'''              # 1
    return (                # 1
        n)                  # 1

f(3)
"""


def test_lines_inside_a_statement_count_for_themselves(tmp_path: Path) -> None:
    hits = hits_of(INSIDE, tmp_path)
    wrong = [
        f"{number}: {hits[number]}: {line}"
        for number, line in enumerate(INSIDE.splitlines(), 1)
        if "# " in line and hits[number] != int(line.rpartition("# ")[2])
    ]
    assert wrong == []


@pytest.mark.parametrize("hot_after", ["", "1", "4"])
def test_every_layout_of_a_statement_is_counted_alike_on_all_versions(
    hot_after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if hot_after:
        monkeypatch.setenv("PROFTRACE_TEST_HOT_AFTER", hot_after)
    # Since 3.14 the compiler has a word to say to a `return` in `finally`.
    monkeypatch.setenv("PYTHONWARNINGS", "ignore::SyntaxWarning")
    rows = LAYOUTS.read_text().splitlines()
    hits = hits_of("\n".join(row[5:] for row in rows), tmp_path)
    wrong = [
        f"{number}: {hits[number]} instead of {row}"
        for number, row in enumerate(rows, 1)
        if hits[number] != int(row[:5].strip() or 0)
    ]
    assert wrong == []


SPREAD = """\
@profile
def f(n):
    return max(
        n,
        2)
for n in range(5000):
    f(n)
"""


def test_raw_hits_are_line_events_of_all_code_however_hot(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(SPREAD)
    run = lprof(["--raw-hits", "-qv", "--style=classic", str(script)], tmp_path)
    assert (run.status, run.stderr) == (0, "")
    rows = [line.split() for line in run.stdout.splitlines()]
    hits = {int(row[0]): int(row[1]) for row in rows if len(row) > 5 and row[0].isdigit()}
    assert hits == {3: 10000, 4: 5000, 5: 5000}


RECURSION = """\
@profile
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)

import time
start = time.perf_counter_ns()
fib(15)
print(time.perf_counter_ns() - start)
"""


def test_recursion_is_counted_and_its_time_is_not_added_up_twice(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(RECURSION)
    run = lprof(["--clock", "-q", "-o", "r.lprof", "program.py"], tmp_path)
    assert (run.status, run.stderr) == (0, "")
    result = load_lines(tmp_path / "r.lprof")
    assert result.hits("program.py") == {3: 1973, 4: 987, 5: 986}
    calls = result.profile.calls
    assert list(calls.calls) == [1973]
    (total,) = calls.inclusive
    for line in (3, 4, 5):  # added up over all calls, line 5 would have ten times the time of all
        assert 0 < result.seconds("program.py", line) * 1e9 <= total
    # The clock of the program is not the processor's, which is measured against it in one run.
    assert total <= int(run.stdout) * 1.001


@pytest.mark.parametrize("last_line", [200, 3000])
def test_long_functions_and_high_line_numbers_are_counted(last_line: int, tmp_path: Path) -> None:
    body = "\n".join(f"    a{n % 7} = n + {n}" for n in range(last_line))
    source = f"@profile\ndef f(n):\n{body}\n\nfor i in range(3):\n    f(i)\n"
    assert hits_of(source, tmp_path) == {n + 3: 3 for n in range(last_line)}


THREADS = """\
import _thread, threading, time

def spin(n):
    for _ in range(n):
        n = n

started = threading.Event()
def early():
    started.wait()
    spin(1000)
threads = [threading.Thread(target=early)]
threads[0].start()
profile(spin)
started.set()
threads += [threading.Thread(target=spin, args=(5000,)) for _ in range(8)]
for thread in threads[1:]:
    thread.start()
for thread in threads:
    thread.join()
done = _thread.allocate_lock()
done.acquire()
def raw():
    spin(1000)
    done.release()
_thread.start_new_thread(raw, ())
done.acquire()
for _ in range(50):
    thread = threading.Thread(target=spin, args=(10,))
    thread.start()
    thread.join()
"""


def test_threads_of_every_kind_are_counted_exactly(tmp_path: Path) -> None:
    iterations = 1000 + 8 * 5000 + 1000 + 50 * 10
    assert hits_of(THREADS, tmp_path) == {4: iterations + 60, 5: iterations}


MIDWAY = """\
def loop(n):
    for i in range(n):
        if i == 5:
            profile(loop)
            profile(loop)
        last = i
    return last

loop(10)
loop(10)
"""


def test_a_function_that_profiles_itself_is_counted_from_then_on(tmp_path: Path) -> None:
    assert hits_of(MIDWAY, tmp_path) == {2: 5 + 11, 3: 4 + 10, 4: 1, 5: 2, 6: 5 + 10, 7: 2}


COVERED = """\
import sys
seen = []
tool = sys.monitoring
tool.use_tool_id(tool.COVERAGE_ID, "another")
tool.register_callback(tool.COVERAGE_ID, tool.events.LINE, lambda code, line: seen.append(line))

@profile
def f(n):
    for i in range(n):
        n = n
    return n

tool.set_local_events(tool.COVERAGE_ID, f.__code__, tool.events.LINE)
f(3)
sys.settrace(lambda *args: None)
f(3)
sys.settrace(None)
print(len(seen))
"""


def test_other_tools_and_trace_functions_do_not_disturb(tmp_path: Path) -> None:
    assert hits_of(COVERED, tmp_path) == {9: 8, 10: 6, 11: 2}


BUSY = """\
import sys
for tool in {ids}:
    sys.monitoring.use_tool_id(tool, "other")
"""


def test_ids_of_other_tools_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BUSY.format(ids=(4, 3)))
    source = "import sys\nprint([sys.monitoring.get_tool(tool) for tool in (2, 3, 4)])\n"
    (tmp_path / "program.py").write_text(source)
    run = lprof(["-q", "program.py"], tmp_path, {"PYTHONPATH": str(tmp_path)})
    assert (run.status, run.stdout) == (0, "['lprof', 'other', 'other']\n")


def test_without_a_free_id_there_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BUSY.format(ids=(2, 3, 4)))
    (tmp_path / "program.py").write_text("print('not reached')")
    run = lprof(["program.py"], tmp_path, {"PYTHONPATH": str(tmp_path)})
    assert (run.status, run.stdout) == (1, "")
    assert run.stderr == (
        "lprof: cannot profile: other tools use the ids 2, 3 and 4 of sys.monitoring; "
        "stop one of them\n"
    )
    assert plain(["program.py"], tmp_path).status == 0
