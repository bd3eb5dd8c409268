"""What lprof says of suspensions, single hits and calls, on whole programs."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from pathlib import Path

from case_runs import HAS_GIL, lprof
from proftrace.model.load import load_profile
from proftrace.model.profile import NO_FUNCTION, REGIME_COLD, REGIME_HOT, Profile

REGIME_BUSY = REGIME_HOT if HAS_GIL else REGIME_COLD
WITHOUT_GIL = 4  # why code stays cold there

MILLISECOND = 1_000_000


def record(folder: Path, program: str, *options: str) -> Profile:
    """Run a program under lprof and return what was recorded."""
    script = folder / "app.py"
    script.write_text(textwrap.dedent(program))
    run = lprof([*options, "-o", "out.lprof", "app.py"], folder)
    assert run.status == 0, run.stderr
    return load_profile(str(folder / "out.lprof"))


def line_values(profile: Profile, name: str) -> dict[int, int]:
    """Return a value of each line that ran, by line number, over all functions."""
    values: Counter[int] = Counter()
    for row, line in enumerate(profile.lines.line):
        values[line] += profile.lines.values[name][row]
    return values


def function_name(profile: Profile, function: int) -> str:
    if function == NO_FUNCTION:
        return ""
    return profile.strings[profile.functions.qualname[function]]


def calls_by_edge(profile: Profile) -> dict[tuple[str, int, str], int]:
    """Return how often (caller, line, callee) was called."""
    edges = profile.edges
    return {
        (
            function_name(profile, edges.caller[row]),
            edges.line[row],
            function_name(profile, edges.callee[row]),
        ): edges.calls[row]
        for row in range(len(edges))
    }


def assert_sane(profile: Profile) -> None:
    """Assert what holds for every profile of a clock."""
    assert profile.lines.line
    for row in range(len(profile.lines)):
        values = {name: column[row] for name, column in profile.lines.values.items()}
        assert all(value >= 0 for value in values.values())
        assert values["min"] <= values["max"]
        assert sum(profile.lines.histogram(row)) <= values["hits"]
    for row in range(len(profile.calls)):
        assert profile.calls.exclusive[row] >= 0
        assert profile.calls.inclusive[row] >= 0


def test_every_hit_is_in_the_histogram(tmp_path: Path) -> None:
    profile = record(
        tmp_path,
        """\
        def f(n):
            total = 0
            for i in range(n):
                total += max(
                    i,
                    1,
                )
            with open(__file__) as file:
                total += len(
                    file.read())
            return total if n == 0 else f(0)
        profile(f)(100)
        f(7)
        """,
    )
    assert_sane(profile)
    timed = {line: sum(profile.lines.histogram(row)) for row, line in enumerate(profile.lines.line)}
    assert timed == line_values(profile, "hits")


def test_a_line_on_which_nothing_began_has_no_durations_of_hits(tmp_path: Path) -> None:
    profile = record(
        tmp_path,
        """\
        @profile
        def generate():
            yield 1
            yield 2

        generator = generate()
        try:
            generator.throw(KeyError)  # time, on the line of `def`, but no statement
        except KeyError:
            pass
        list(generate())
        """,
    )
    assert_sane(profile)
    assert line_values(profile, "hits") == {1: 0, 3: 1, 4: 1}
    assert line_values(profile, "inclusive")[1] > 0
    assert line_values(profile, "max")[1] == 0


def test_awaiting_is_not_running(tmp_path: Path) -> None:
    profile = record(
        tmp_path,
        """\
        import asyncio
        import time

        @profile
        async def wait(k):
            await asyncio.sleep(0.01)
            time.sleep(0.001)
            return k

        @profile
        async def main():
            return await asyncio.gather(*(wait(k) for k in range(20)))

        asyncio.run(main())
        """,
    )
    assert_sane(profile)
    waited, ran = line_values(profile, "await"), line_values(profile, "inclusive")
    # All twenty wait at the same time, and each for itself.
    assert waited[6] >= 20 * 10 * MILLISECOND
    assert waited[7] == 0
    assert ran[7] >= 20 * MILLISECOND
    assert waited[12] >= 10 * MILLISECOND
    calls = {function_name(profile, f): row for row, f in enumerate(profile.calls.function)}
    assert profile.calls.calls[calls["wait"]] == 20
    assert profile.calls.yields[calls["wait"]] == 20
    assert profile.calls.yields[calls["main"]] >= 1


def test_closed_and_abandoned_generators_waited_for_nothing(tmp_path: Path) -> None:
    profile = record(
        tmp_path,
        """\
        import time

        @profile
        def items():
            yield 1
            yield 2

        kept = []
        for i in range(5):
            generator = items()
            next(generator)
            time.sleep(0.01)
            if i % 2:
                generator.close()
            else:
                kept.append(generator)
        """,
    )
    assert line_values(profile, "await") == {5: 0}
    assert line_values(profile, "hits") == {5: 5}


def test_a_generator_driven_by_several_threads(tmp_path: Path) -> None:
    profile = record(
        tmp_path,
        """\
        import threading
        import time

        @profile
        def items():
            for i in range(9):
                yield i

        generator = items()
        for _ in range(9):
            thread = threading.Thread(target=next, args=(generator,))
            thread.start()
            thread.join()
            time.sleep(0.002)
        list(generator)
        """,
    )
    assert_sane(profile)
    hits, waited = line_values(profile, "hits"), line_values(profile, "await")
    assert hits == {6: 10, 7: 9}
    assert waited[7] >= 18 * MILLISECOND
    assert profile.calls.yields[0] == 9


def test_calls_by_line(tmp_path: Path) -> None:
    profile = record(
        tmp_path,
        """\
        @profile
        def fib(n):
            if n < 2:
                return n
            return fib(n - 1) + fib(n - 2)

        @profile
        def leaf():
            pass

        @profile
        def main():
            for _ in range(10):
                leaf(); leaf()
            leaf()
            fib(5)

        main()
        leaf()
        """,
    )
    assert_sane(profile)
    assert calls_by_edge(profile) == {
        ("", 0, "main"): 1,
        ("", 0, "leaf"): 1,
        ("main", 14, "leaf"): 20,
        ("main", 15, "leaf"): 1,
        ("main", 16, "fib"): 1,
        ("fib", 5, "fib"): 14,
    }
    names = [function_name(profile, function) for function in profile.calls.function]
    edges = profile.edges
    for row, callee in enumerate(edges.callee):
        function = list(profile.calls.function).index(callee)
        assert edges.inclusive[row] <= profile.calls.inclusive[function], names[function]
        assert edges.exclusive[row] <= profile.calls.exclusive[function], names[function]


def test_calls_from_hot_code(tmp_path: Path) -> None:
    """Code turns hot at its 2,000th line event or so: the caller does, the callees do not."""
    profile = record(
        tmp_path,
        """\
        @profile
        def rare(i):
            return i

        def between(i):
            return rare(i)

        @profile
        def main(n):
            for i in range(n):
                if i % 100 == 0:
                    rare(i)
                elif i % 100 == 1:
                    between(i)

        main(20_000)
        """,
    )
    assert calls_by_edge(profile) == {
        ("", 0, "main"): 1,
        ("main", 12, "rare"): 200,
        ("main", 14, "rare"): 200,
    }


def test_greenlets_have_the_right_hits(tmp_path: Path) -> None:
    profile = record(
        tmp_path,
        """\
        import greenlet

        @profile
        def ping(n):
            for i in range(n):
                other.switch()
            return n

        @profile
        def pong():
            while True:
                main.switch()
                helper()

        @profile
        def helper():
            main.switch()

        main = greenlet.getcurrent()
        other = greenlet.greenlet(pong)
        ping(100)
        """,
    )
    assert_sane(profile)
    assert line_values(profile, "hits") == {
        5: 101, 6: 100, 7: 1, 11: 50, 12: 50, 13: 50, 17: 50,
    }  # fmt: skip


def test_no_part_takes_longer_than_the_whole(tmp_path: Path) -> None:
    """Also where samples and the clock measured the same code, and the probes' own time is out."""
    profile = record(
        tmp_path,
        """\
        @profile
        def leaf(n):
            for i in range(n):
                n += i & 1
            return n

        @profile
        def fails(n):
            try:
                leaf(2)
                raise KeyError(n)
            except KeyError:
                return leaf(3)

        @profile
        def main():
            for i in range(20000):
                fails(i)
            leaf(500_000)

        main()
        """,
    )
    calls, lines, edges = profile.calls, profile.lines, profile.edges
    inclusive = dict(zip(calls.function, calls.inclusive, strict=True))
    own = dict(zip(calls.function, calls.exclusive, strict=True))
    assert all(own[function] <= inclusive[function] for function in own)
    for row in range(len(lines)):
        assert lines.values["exclusive"][row] <= lines.values["inclusive"][row]
        assert lines.values["inclusive"][row] <= inclusive[lines.function[row]]
    for row in range(len(edges)):
        callee = edges.callee[row]  # the probes' time is only estimated for a single way of calling
        assert edges.exclusive[row] <= edges.inclusive[row]
        assert edges.inclusive[row] <= 1.002 * inclusive[callee]


def test_a_line_is_not_charged_what_it_costs_to_count_its_callee(tmp_path: Path) -> None:
    """Probes, exceptions and signals in hot code are no time of the cold line that waits for it."""
    profile = record(
        tmp_path,
        """\
        @profile
        def hot(n):
            empty = {}
            total = 0
            for i in range(n):
                try:
                    if i & 1:
                        empty[0]
                    else:
                        empty[1]
                except KeyError:
                    total += 1
            return total

        @profile
        def cold():
            hot(1_000_000)

        cold()
        """,
    )
    functions = {
        function_name(profile, function): row for row, function in enumerate(profile.calls.function)
    }
    with_callee = line_values(profile, "inclusive")[17]
    own = line_values(profile, "exclusive")[17]
    error = profile.calls.inclusive_error[functions["hot"]]
    of_callee = profile.calls.inclusive[functions["hot"]]
    assert with_callee > of_callee / 2
    assert own < with_callee / 20 + 2 * error
    assert with_callee - of_callee < with_callee / 10 + 3 * error


def test_everything_that_ran_has_an_error(tmp_path: Path) -> None:
    """Also a line of hot code that ran between two samples, and one that ran once by the clock."""
    profile = record(
        tmp_path,
        """\
        @profile
        def hot(n):
            total = 0
            for i in range(n):
                if i % 1000 == 999:
                    total += 1
            return total

        @profile
        def cold():
            first = 1
            hot(2_500)
            return first

        cold()
        """,
    )
    values = profile.lines.values
    ran = [row for row, hits in enumerate(values["hits"]) if hits > 0]
    assert {profile.lines.line[row] for row in ran} == {3, 4, 5, 6, 7, 11, 12, 13}
    for row in ran:
        assert values["exclusive_error"][row] > 0
        assert values["inclusive_error"][row] > 0
    assert all(error > 0 for error in profile.calls.exclusive_error)
    assert all(error > 0 for error in profile.calls.inclusive_error)


def test_greenlets_that_are_suspended_when_code_gets_busy_cost_no_hit(tmp_path: Path) -> None:
    profile = record(
        tmp_path,
        """\
        from greenlet import greenlet, getcurrent

        @profile
        def work(n):
            for i in range(n):
                getcurrent().parent.switch(i)
            return n

        @profile
        def main():
            for g in all_of_them:
                while not g.dead:
                    g.switch()

        all_of_them = [greenlet(work) for _ in range(20)]
        for g in all_of_them:
            g.switch(1000)
        main()
        """,
    )
    assert line_values(profile, "hits") == {
        5: 20 * 1001, 6: 20 * 1000, 7: 20, 11: 21, 12: 20 * 1001, 13: 20 * 1000,
    }  # fmt: skip
    assert set(profile.calls.reason) == {10 if HAS_GIL else WITHOUT_GIL}


def test_an_exception_thrown_into_a_delegation_begins_nothing(tmp_path: Path) -> None:
    profile = record(
        tmp_path,
        """\
        def inner():
            for i in range(2):
                try:
                    yield i
                except ValueError:
                    pass

        @profile
        def outer():
            for k in range(3):
                yield from inner()

        for n in range(5):
            numbers = outer()
            next(numbers)
            next(numbers)
            numbers.throw(ValueError)
            for number in numbers:
                pass
        """,
    )
    assert line_values(profile, "hits") == {10: 5 * 4, 11: 5 * 3}


def test_the_calibration_is_in_the_file_and_nowhere_else(tmp_path: Path) -> None:
    profile = record(
        tmp_path,
        """\
        import gc
        import sys

        @profile
        def f():
            pass

        f()
        seen = [thing for thing in gc.get_objects() if callable(thing)]
        names = {getattr(getattr(t, "__code__", None), "co_filename", "") for t in seen}
        assert "<lprof>" not in names
        """,
    )
    facts = json.loads(profile.meta["calibration"])
    assert facts["ns"]["line"] > 0
    assert facts["ns"]["global"] > 0
    assert facts["ns"]["line, large"] >= facts["ns"]["line"]
    assert facts["ns"]["instruction"] > 0
    assert facts["ns"]["instruction, large"] >= facts["ns"]["instruction"]
    assert facts["spread"] > 0
    assert facts["slowness"][0] <= 1 <= facts["slowness"][1]
    assert [function_name(profile, function) for function in profile.calls.function] == ["f"]
    assert profile.calls.exclusive_error[0] > 0
    assert profile.calls.inclusive_error[0] > 0


SLOW_AND_QUICK = """\
def slow(data):
    for _ in range(1500):
        sum(data)
        sum(data)

def quick():
    total = 0
    for i in range(3000):
        total += i

def both(data, n):
    for _ in range(n):
        sum(data)

profile(slow)(range(1000))
profile(quick)()
profile(both)(range(1000), 4000)
both((), 20000)
"""


def test_busy_code_of_slow_lines_stays_with_the_clock(tmp_path: Path) -> None:
    """There the clock costs nothing and is truer; the answer is asked for again."""
    profile = record(tmp_path, SLOW_AND_QUICK)
    names = [function_name(profile, function) for function in profile.calls.function]
    regimes = dict(zip(names, profile.calls.regime, strict=True))
    assert regimes == {"slow": REGIME_COLD, "quick": REGIME_BUSY, "both": REGIME_BUSY}
    hits = line_values(profile, "hits")
    assert (hits[2], hits[3], hits[4]) == (1501, 1500, 1500)
    assert (hits[8], hits[9]) == (3001, 3000)
    assert (hits[12], hits[13]) == (24002, 24000)
    shown = lprof(["show", "--stats", "out.lprof"], tmp_path)
    assert shown.status == 0
    if HAS_GIL:
        assert shown.stderr == ""
        assert "its lines take long, which the clock sees best" in shown.stdout
    else:
        assert "timed by the clock (this interpreter runs threads without a GIL)" in shown.stdout


def test_slow_code_says_what_keeps_it_cold_besides(tmp_path: Path) -> None:
    program = "import sys\nsys.settrace(lambda *event: None)\n" + SLOW_AND_QUICK
    profile = record(tmp_path, program)
    assert set(profile.calls.regime) == {REGIME_COLD}
    # A trace function is set.
    assert set(profile.calls.reason) == {6 if HAS_GIL else WITHOUT_GIL}


def test_slow_events_make_no_slow_code(tmp_path: Path) -> None:
    """CPython before 3.13.3 takes microseconds for an event far from the start of its function."""
    body = "".join(f"    x{i} = n\n" for i in range(800))
    profile = record(tmp_path, f"@profile\ndef f(n):\n{body}for n in range(600):\n    f(n)\n")
    assert set(profile.calls.regime) == {REGIME_BUSY}
    assert set(line_values(profile, "hits").values()) == {600}


def test_the_callers_of_slow_code_have_its_clock(tmp_path: Path) -> None:
    """So a generator takes no longer than the loop that drives it, and each call has its time."""
    profile = record(
        tmp_path,
        """\
        @profile
        def slow(n):
            for i in range(n):
                sum(range(1000))
                yield i

        @profile
        def drive(n):
            for _ in slow(n):
                pass

        drive(3000)
        """,
    )
    calls = profile.calls
    rows = {function_name(profile, function): row for row, function in enumerate(calls.function)}
    assert set(calls.regime) == {REGIME_COLD}
    error = calls.inclusive_error[rows["slow"]] + calls.inclusive_error[rows["drive"]]
    assert calls.inclusive[rows["slow"]] <= calls.inclusive[rows["drive"]] + error
    (through,) = [
        profile.edges.inclusive[row]
        for row, callee in enumerate(profile.edges.callee)
        if callee == calls.function[rows["slow"]]
    ]
    assert abs(through - calls.inclusive[rows["slow"]]) <= error
    assert line_values(profile, "hits") == {3: 3001, 4: 3000, 5: 3000, 9: 3001, 10: 3000}
