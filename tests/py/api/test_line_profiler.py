"""LineProfiler in a program of its own: what it counts, when, and in which threads."""

from __future__ import annotations

import copy
import functools
import io
import pickle
import subprocess
import sys
import threading
import types
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from case_runs import plain, run
from proftrace import LineProfiler, LineStats, load_stats
from proftrace.errors import CaptureFileError


def make(name: str = "work") -> types.FunctionType:
    """Return a new function, with the text of this file: a loop of n rounds."""

    def work(n: int) -> int:
        total = 0
        for i in range(n):
            total += i
        return total

    return types.FunctionType(work.__code__.replace(co_name=name), globals(), name)


FIRST = make().__code__.co_firstlineno


def hits(stats: LineStats) -> dict[int, int]:
    """Return the hits by line, counted from the first line of `work`."""
    found: dict[int, int] = {}
    for (_, first, _), lines in stats.timings.items():
        for line, n, _ in lines:
            found[line - first] = found.get(line - first, 0) + n
    return found


def calls(*rounds: int) -> dict[int, int]:
    """The hits of calls of `work` with so many rounds each."""
    n, total = len(rounds), sum(rounds)
    return {1: n, 2: n + total, 3: total, 4: n} if rounds else {}


def test_it_counts_while_it_is_on() -> None:
    work = make()
    profiler = LineProfiler(work)
    work(1)
    assert hits(profiler.get_stats()) == {}
    with profiler:
        work(2)
        assert hits(profiler.get_stats()) == calls(2)
        with profiler:
            work(3)
        work(4)
    work(5)
    assert hits(profiler.get_stats()) == calls(2, 3, 4)
    profiler.enable()
    work(6)
    profiler.disable()
    work(7)
    assert hits(profiler.get_stats()) == calls(2, 3, 4, 6)


def test_counts_of_enabling() -> None:
    work = make()
    profiler = LineProfiler(work)
    assert profiler.enable_count == 0
    profiler.disable_by_count()
    profiler.enable_by_count()
    profiler.enable_by_count()
    assert profiler.enable_count == 2
    profiler.disable_by_count()
    work(1)
    profiler.disable_by_count()
    work(2)
    assert profiler.enable_count == 0
    assert hits(profiler.get_stats()) == calls(1)


@pytest.mark.parametrize("n", [10, 5000])
def test_several_count_for_themselves(n: int) -> None:
    work = make()
    first, second, third = LineProfiler(work), LineProfiler(work), LineProfiler(work)
    with first:
        work(n)
        with second:
            work(n + 1)
        work(n)
    with second:
        work(3)
    assert hits(first.get_stats()) == calls(n, n + 1, n)
    assert hits(second.get_stats()) == calls(n + 1, 3)
    assert hits(third.get_stats()) == {}


def test_a_decorated_function_stays_itself_and_counts_from_then_on() -> None:
    work, helper = make(), make("helper")
    profiler = LineProfiler()
    work(1)
    assert profiler(work) is work
    profiler.add_function(helper)
    work(2)
    helper(3)
    assert hits(profiler.get_stats()) == calls(2, 3)
    profiler.disable()
    work(4)
    assert hits(profiler.get_stats()) == calls(2, 3)


def test_threads_are_all_counted_and_switch_for_themselves() -> None:
    work = make()
    profiler = LineProfiler(work)
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with profiler:
            assert profiler.enable_count == 1
            inside.set()
            leave.wait(30)
            work(2)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(30)
    work(1)  # another thread has switched on
    assert profiler.enable_count == 0
    profiler.disable_by_count()
    work(3)
    leave.set()
    thread.join()
    work(4)
    assert hits(profiler.get_stats()) == calls(1, 3, 2)


def test_running() -> None:
    work = make()
    profiler = LineProfiler(work)
    names = {"work": work}
    assert profiler.runctx("out = work(2)", names, names) is profiler
    assert names["out"] == 1  # type: ignore[comparison-overlap]
    assert profiler.runcall(work, n=3) == 3
    with pytest.raises(TypeError):
        profiler.runcall(work)
    assert profiler.enable_count == 0
    sys.modules["__main__"].__dict__["made_work"] = work
    assert profiler.run("made_work(4)") is profiler
    del sys.modules["__main__"].__dict__["made_work"]
    assert hits(profiler.get_stats()) == calls(2, 3, 4)


class Thing:
    """Members of all kinds."""

    @property
    def size(self) -> int:
        return 1

    @staticmethod
    def make() -> int:
        return 2

    @classmethod
    def name(cls) -> int:
        return 3

    @functools.cached_property
    def cost(self) -> int:
        return 4

    def loop(self) -> Iterator[int]:
        yield 5

    class Inner:
        def deep(self) -> int:
            return 6

    borrowed = warnings.warn


def test_classes_and_modules() -> None:
    profiler = LineProfiler()
    assert profiler.add_class(Thing) == 6
    assert profiler.add_class(Thing) == 0
    assert profiler.add_callable(len) == 0
    assert profiler.add_callable(Thing.make, guard=lambda _: True) == 0
    module = types.ModuleType("made")
    exec("def f():\n  return 1\nfrom textwrap import dedent\nimport json", vars(module))
    assert LineProfiler().add_module(module) == 1
    assert LineProfiler().add_module(module, scoping_policy="exact") == 1
    assert LineProfiler().add_module(module, scoping_policy={"func": "none"}) == 2
    with profiler:
        thing = Thing()
        assert (thing.size, thing.make(), thing.name(), thing.cost) == (1, 2, 3, 4)
        assert ([*thing.loop()], Thing.Inner().deep()) == ([5], 6)
    ran = {name for (_, _, name), lines in profiler.get_stats().timings.items() if lines}
    assert ran == {f"Thing.{name}" for name in ("size", "make", "name", "cost", "loop")} | {
        "Thing.Inner.deep"
    }


def test_what_is_no_function_gets_a_warning() -> None:
    profiler = LineProfiler()
    with pytest.warns(UserWarning, match="cannot profile len: it is not written in Python"):
        profiler.add_function(len)
    assert profiler.functions == []


def test_an_object_that_can_be_called_leads_to_its_call() -> None:
    class Caller:
        def __call__(self, n: int) -> int:
            return n + 1

    caller = Caller()
    profiler = LineProfiler()
    assert (profiler.add_callable(caller), profiler.add_callable(caller)) == (1, 0)
    assert profiler.runcall(caller, 1) == 2
    ((key, lines),) = profiler.get_stats().timings.items()
    assert key[2].endswith("Caller.__call__")
    assert [n for _, n, _ in lines] == [1]


def test_functions_are_what_was_found() -> None:
    work = make()
    profiler = LineProfiler()
    profiler.add_function(functools.partial(work, 1))
    profiler.add_callable(property(make("other")))
    assert [function.__name__ for function in profiler.functions] == ["work", "other"]  # type: ignore[attr-defined]


def test_results_can_be_pickled_and_copied() -> None:
    work = make()
    profiler = LineProfiler(work)
    profiler.runcall(work, 3)
    stats = profiler.get_stats()
    for other in (pickle.loads(pickle.dumps(stats)), copy.deepcopy(stats + stats)):
        n = len(other.profiles)
        assert hits(other) == {line: n * count for line, count in calls(3).items()}


def test_results_are_printed_stored_and_added_up(tmp_path: Path) -> None:
    work = make()
    first, second = LineProfiler(work), LineProfiler(work)
    first.runcall(work, 2)
    second.runcall(work, 3)
    first.dump_stats(tmp_path / "a.lprof")
    second.dump_stats(tmp_path / "b.lprof")
    both = load_stats(tmp_path / "a.lprof", tmp_path / "b.lprof")
    assert hits(both) == calls(2, 3)
    assert both == first.get_stats() + second.get_stats()
    assert both != first.get_stats()
    both.to_file(tmp_path / "c.lprof")
    assert LineStats.from_files(tmp_path / "c.lprof") == both
    stream = io.StringIO()
    first.print_stats(stream, output_unit=1e-3, stripzeros=True, summarize=True, sort=True)
    text = stream.getvalue()
    assert text.startswith("Timer unit: 0.001 s\n")
    assert "            total += i" in text
    assert text.rstrip().endswith("- make.<locals>.work")
    stream = io.StringIO()
    first.print_stats(stream, details=False, summarize=True)
    assert len(stream.getvalue().splitlines()) == 3
    stream = io.StringIO()
    first.print_stats(stream, rich=True)
    assert "total += i" in stream.getvalue()
    with pytest.raises(CaptureFileError):
        load_stats(tmp_path / "nope.lprof")


def test_the_map_of_code() -> None:
    work = make()
    profiler = LineProfiler(work)
    profiler.runcall(work, 2)
    lines = profiler.code_map[work.__code__]
    assert {line - FIRST: row["nhits"] for line, row in lines.items()} == calls(2)
    assert profiler.timer_unit == profiler.get_stats().unit == 1e-9


def test_switching_often_is_exact_also_where_code_is_hot() -> None:
    work = make()
    profiler = LineProfiler(work)
    for _ in range(30):
        work(700)
        with profiler:
            work(500)
    assert hits(profiler.get_stats()) == calls(*[500] * 30)


def test_code_that_nobody_listens_to_has_no_events() -> None:
    work, other = make(), make("other")
    profiler = LineProfiler(work)
    with LineProfiler(other):  # while one is on, there is an id
        ids = [n for n in range(6) if sys.monitoring.get_tool(n) == "lprof"]
        assert len(ids) == 1

        def events() -> int:
            return sys.monitoring.get_local_events(ids[0], work.__code__)

        assert events() == 0
        with profiler:
            work(10)
            assert events() != 0
        assert events() == 0
        with profiler:
            work(10000)
        assert events() == 0
    assert sys.monitoring.get_tool(ids[0]) is None


PROGRAM = """\
from proftrace import profile
@profile
def f(n):
    for i in range(n):
        n = n
f(3)
"""


@pytest.mark.parametrize(
    ("words", "env"),
    [
        ([], {"LPROF": "1"}),
        ([], {"LINE_PROFILE": "1"}),
        (["--line-profile"], {}),
    ],
)
def test_profile_in_a_plain_program(words: list[str], env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run([sys.executable, "program.py", *words], tmp_path, env)
    assert (done.status, done.stderr) == (0, "")
    assert "program.py:2 - f" in done.stdout
    names = sorted(path.name for path in tmp_path.iterdir() if path.name != "program.py")
    assert len(names) == 3
    assert names[0].startswith("profile_output")
    assert hits_of_file(tmp_path / "profile_output.lprof") == {4: 4, 5: 3}
    assert "        n = n" in (tmp_path / "profile_output.txt").read_text()


def hits_of_file(path: Path) -> dict[int, int]:
    return {line: n for lines in load_stats(path).timings.values() for line, n, _ in lines}


@pytest.mark.parametrize("env", [{}, {"LPROF": "0"}, {"LINE_PROFILE": ""}])
def test_profile_is_off_and_light_unless_asked_for(env: dict[str, str], tmp_path: Path) -> None:
    text = PROGRAM + "import sys\nprint(sorted(n for n in sys.modules if 'proftrace' in n))\n"
    (tmp_path / "program.py").write_text(text)
    done = run([sys.executable, "program.py"], tmp_path, env)
    modules = {"proftrace", "proftrace.lines", "proftrace.lines.decorator"}
    assert set(eval(done.stdout)) - {"_proftrace_editable_loader"} == modules
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]


def test_profile_is_switched_by_the_program(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "from proftrace import profile\n"
        "@profile\n"
        "def f1(): return 1\n"
        "profile.enable(output_prefix='custom')\n"
        "@profile\n"
        "def f2(): return 2\n"
        "profile.disable()\n"
        "@profile\n"
        "def f3(): return 3\n"
        "profile.enable()\n"
        "@profile\n"
        "def f4(): return 4\n"
        "f1(), f2(), f3(), f4()\n"
    )
    done = plain(["program.py"], tmp_path)
    assert done.status == 0, done.stderr
    timings = load_stats(tmp_path / "custom.lprof").timings
    assert {name for _, _, name in timings} == {"f2", "f4"}


def test_children_do_not_write_over_the_result(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        PROGRAM + "import os, multiprocessing\n"
        "if __name__ == '__main__':\n"
        "    if os.fork() == 0: raise SystemExit\n"
        "    os.wait()\n"
        "    worker = multiprocessing.get_context('spawn').Process(target=f, args=[1])\n"
        "    worker.start()\n"
        "    worker.join()\n"
    )
    done = run([sys.executable, "program.py"], tmp_path, {"LPROF": "1"})
    assert (done.status, done.stdout.count("program.py:2 - f")) == (0, 1), done.stderr
    assert hits_of_file(tmp_path / "profile_output.lprof")[4] == 4


def test_both_work_under_lprof(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "from proftrace import LineProfiler\n"
        "@profile\n"
        "def f(n):\n"
        "    return [n\n"
        "        for _ in range(n)]\n"
        "other = LineProfiler(f)\n"
        "f(1)\n"
        "with other: f(2)\n"
        "with profile: f(3)\n"
        "profile.add_function(f)\n"
        "other.dump_stats('inner.lprof')\n"
    )
    command = [str(Path(sys.executable).parent / "lprof"), "-q", "-o", "r.lprof", "program.py"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert hits_of_file(tmp_path / "r.lprof")[5] == 1 + 2 + 3 + 3
    assert hits_of_file(tmp_path / "inner.lprof")[5] == 2 + 1
