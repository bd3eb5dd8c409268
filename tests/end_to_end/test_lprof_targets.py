"""Code that is profiled without a decorator: -p, --all, --include, --exclude."""

from __future__ import annotations

from pathlib import Path

import pytest

from case_runs import Run, case_path, load_lines, lprof, plain, wrong_hits

MAIN = """\
import sys
import pkg
from pkg._impl import Sub

def work(n):
    add = lambda x: x + 1
    def inner(y):
        return add(y) + 1
    total = 0
    for i in range(n):
        total += inner(i)
    return total

print(work(5), pkg.helper(4), Sub().k())
"""
IMPL = """\
def helper(n):
    return sum(
        x * 2
        for x in range(n))

class Base:
    def m(self):
        return 1

class Sub(Base):
    def k(self):
        return self.m()
"""
MAIN_CODE = {"<module>", "work", "work.<locals>.inner", "work.<locals>.<lambda>"}
IMPL_CODE = {"<module>", "Base", "Sub", "helper", "helper.<locals>.<genexpr>", "Sub.k", "Base.m"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.py").write_text(MAIN)
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("from ._impl import helper\n")
    (tmp_path / "pkg" / "_impl.py").write_text(IMPL)
    (tmp_path / "site-packages").mkdir()
    return tmp_path


def profiled(folder: Path, *words: str, env: dict[str, str] | None = None) -> set[str]:
    """Return the names of what was profiled; the output has to be that of a plain run."""
    run = lprof(["-q", "-o", "r.lprof", *words], folder, env)
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout == "20 12 1\n"
    return {name for _, name, _ in load_lines(folder / "r.lprof").functions()}


@pytest.mark.parametrize("after", ["", "1", "3"])
def test_all_has_the_top_level_and_what_is_nested(folder: Path, after: str) -> None:
    names = profiled(folder, "--all", "main.py", env={"PROFTRACE_TEST_HOT_AFTER": after})
    assert names == MAIN_CODE | IMPL_CODE
    result = load_lines(folder / "r.lprof")
    main = {1: 1, 2: 1, 3: 1, 5: 1, 6: 6, 7: 1, 8: 5, 9: 1, 10: 6, 11: 5, 12: 1, 14: 1}
    assert result.hits("main.py") == main
    impl = {6: 2, 7: 1, 8: 1, 10: 2, 11: 1, 12: 1}  # a class: its statement, and its body
    assert {line: n for line, n in result.hits("_impl.py").items() if line > 4} == impl
    assert result.hits("_impl.py")[3] == 4  # the generator expression's items


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("main.py", MAIN_CODE),
        ("./main.py", MAIN_CODE),
        ("main", MAIN_CODE),
        ("work", MAIN_CODE - {"<module>"}),
        ("main.work", MAIN_CODE - {"<module>"}),
        ("pkg", IMPL_CODE),
        ("pkg/", IMPL_CODE),
        ("pkg._impl", IMPL_CODE),
        ("pkg._impl.Base", {"Base", "Base.m"}),
        ("pkg._impl.Sub.k", {"Sub.k"}),
        ("pkg._impl.Sub.m", {"Base.m"}),
        ("pkg.helper", {"helper", "helper.<locals>.<genexpr>"}),
        ("pkg.__init__", {"<module>"}),
        ("work,pkg.helper", MAIN_CODE - {"<module>"} | {"helper", "helper.<locals>.<genexpr>"}),
        ("work, pkg._impl.Sub.k", MAIN_CODE - {"<module>"} | {"Sub.k"}),
    ],
)
def test_a_target_means_all_that_is_in_it(folder: Path, target: str, expected: set[str]) -> None:
    assert profiled(folder, "-p", target, "main.py") == expected


def test_targets_add_up_and_an_empty_one_takes_them_back(folder: Path) -> None:
    words = ["-p", "work", "--prof-mod=pkg._impl.Sub.k"]
    assert profiled(folder, *words, "main.py") == MAIN_CODE - {"<module>"} | {"Sub.k"}
    assert profiled(folder, *words, "-p", "", "-p", "pkg._impl.Sub.k", "main.py") == {"Sub.k"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--all", "--exclude", "pkg"], MAIN_CODE),
        (["--all", "--exclude", "*/pkg/*"], MAIN_CODE),
        (["--all", "--exclude", "main.py"], IMPL_CODE),
        (["--include", "_impl.py"], IMPL_CODE),
        (["--include", "*/m*n.py"], MAIN_CODE),
        (["-p", "work", "--include", "pkg/_*", "--exclude", "_impl*"], MAIN_CODE - {"<module>"}),
    ],
)
def test_globs(folder: Path, words: list[str], expected: set[str]) -> None:
    names = profiled(folder, *words, "main.py")
    assert names == expected or names == expected | {"<module>"}


def test_imports_of_the_program_on_request(folder: Path) -> None:
    names = profiled(folder, "--prof-imports", "-p", "main.py", "main.py")
    assert names == MAIN_CODE | IMPL_CODE  # `import pkg` means all of it


def test_a_module_is_found_under_m(folder: Path) -> None:
    (folder / "pkg" / "__main__.py").write_text(MAIN)
    run = lprof(["-q", "-o", "r.lprof", "--all", "-m", "pkg"], folder)
    assert (run.status, run.stderr, run.stdout) == (0, "", "20 12 1\n")
    names = {name for _, name, _ in load_lines(folder / "r.lprof").functions()}
    assert names == MAIN_CODE | IMPL_CODE


def test_environments_below_the_folder_are_other_peoples(folder: Path) -> None:
    (folder / "site-packages" / "other.py").write_text("def f():\n    return 1\nf()\n")
    (folder / "main.py").write_text(
        "import sys; sys.path.append('site-packages')\n" + MAIN + "import other\n"
    )
    assert "f" not in profiled(folder, "--all", "main.py")
    assert "f" in profiled(folder, "--all", "--include", "other.py", "main.py")


def refused(folder: Path, *words: str) -> Run:
    before = sorted(folder.iterdir())
    run = lprof([*words, "main.py"], folder)
    assert (run.status, run.stdout) == (2, "")
    assert run.stderr.count("\n") == 1
    assert sorted(folder.iterdir()) == before
    return run


@pytest.mark.parametrize(
    "target", ["nope", "nope.f", "pkg.nope", "pkg._impl.nope", "main.nope", "nope.py", "no/such"]
)
def test_a_target_that_is_nowhere_is_said_before_the_program_runs(
    folder: Path, target: str
) -> None:
    assert target in refused(folder, "-p", target).stderr


def test_what_is_not_python_is_said(folder: Path) -> None:
    assert "is not written in Python" in refused(folder, "-p", "sys").stderr
    assert "patterns are for --include" in refused(folder, "-p", "pkg/*.py").stderr
    assert "--exclude" in refused(folder, "--exclude", "x").stderr


def test_a_target_that_did_not_run_is_said_at_the_end(folder: Path) -> None:
    (folder / "main.py").write_text("def never():\n    pass\nprint('ran')\n")
    run = lprof(["-o", "r.lprof", "-p", "never,pkg", "-p", "main", "main.py"], folder)
    assert (run.status, run.stdout) == (0, "ran\n")
    assert "lprof: -p never: nothing of it ran in this program" in run.stderr
    assert "lprof: -p pkg: nothing of it ran in this program" in run.stderr
    assert "-p main" not in run.stderr


def test_a_run_without_a_match_does_not_speak_of_decorators(folder: Path) -> None:
    (folder / "main.py").write_text("def never():\n    pass\n")
    run = lprof(["-v", "-o", "r.lprof", "-p", "never", "main.py"], folder)
    assert run.status == 0
    assert "-p never: nothing of it ran" in run.stderr
    assert "@profile" not in run.stderr


def test_code_that_ran_before_it_was_decorated_is_counted_from_then_on(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "def f():\n    return [\n        g() for _ in range(2)]\n"
        "def g(): return 1\n"
        "f(); f()\n"
        "profile(f); profile(g)\n"
        "f()\n"
    )
    (tmp_path / "other.py").write_text("")
    run = lprof(["-q", "-o", "r.lprof", "-p", "other", "m.py"], tmp_path)
    assert run.status == 0
    hits = load_lines(tmp_path / "r.lprof").hits("m.py")
    assert (hits[2], hits[4]) == (1, 2)


def test_a_signal_handler_that_raises_while_code_is_selected_is_heard(tmp_path: Path) -> None:
    # Thousands of code objects start while the timer fires: its exceptions belong to the program.
    lines = ["import signal", "class Tick(Exception): pass", "is_armed = False"]
    # It raises within the try only, however slow the machine is.
    lines += ["def tick(*a):", "    global is_armed", "    if is_armed:"]
    lines += ["        is_armed = False", "        raise Tick"]
    lines += ["signal.signal(signal.SIGALRM, tick)"]
    lines += ["signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)"]
    lines += ["heard = runs = 0", "while runs < 3000:", "    try:", "        is_armed = True"]
    lines += [
        "        exec(compile(f'def f{runs}():\\n  return 1\\nf{runs}()', 'made.py', 'exec'))"
    ]
    lines += ["        is_armed = False", "        runs += 1", "    except Tick:"]
    lines += ["        heard += 1"]
    lines += ["signal.setitimer(signal.ITIMER_REAL, 0)", "print(runs, heard > 0)"]
    (tmp_path / "m.py").write_text("\n".join(lines))
    run = lprof(["-q", "-o", "r.lprof", "--include", "made.py", "m.py"], tmp_path)
    assert (run.status, run.stdout) == (0, "3000 True\n"), run.stderr


CASES = ["LP-01", "LP-03", "LP-05", "LP-06", "LP-08", "LP-09", "LP-10", "LP-11", "LP-14", "LP-17"]
CASES += ["LP-25", "LP-26", "LP-31", "LP-32", "VW-06"]


@pytest.mark.parametrize("after", ["", "1"])
@pytest.mark.parametrize("name", CASES)
def test_cases_have_the_same_hits_when_everything_is_profiled(
    name: str, after: str, tmp_path: Path
) -> None:
    env = {"PROFTRACE_TEST_HOT_AFTER": after}
    run = lprof(["--all", "-q", "-o", "r.lprof", str(case_path(name))], tmp_path, env)
    before = plain([str(case_path(name))], tmp_path)
    assert (run.status, run.stdout) == (before.status, before.stdout)
    assert wrong_hits(case_path(name), load_lines(tmp_path / "r.lprof")) == []


def test_what_is_decorated_as_well_is_no_target_in_vain(folder: Path) -> None:
    (folder / "main.py").write_text("@profile\ndef work():\n    return 1\nwork()\n")
    run = lprof(["-q", "-o", "r.lprof", "-p", "work", "main.py"], folder)
    assert (run.status, run.stderr) == (0, "")
    assert names_of(folder) == {"work"}


def names_of(folder: Path) -> set[str]:
    return {name for _, name, _ in load_lines(folder / "r.lprof").functions()}


@pytest.mark.parametrize("runner", ["unittest", "pytest"])
def test_all_below_a_runner_is_the_code_that_it_runs(folder: Path, runner: str) -> None:
    (folder / "calc.py").write_text("def double(n):\n    return n * 2\n")
    (folder / "test_calc.py").write_text(
        "import unittest\nfrom calc import double\n"
        "class Test(unittest.TestCase):\n"
        "    def test_double(self):\n"
        "        self.assertEqual(double(2), 4)\n"
    )
    name = "test_calc" if runner == "unittest" else "test_calc.py"
    run = lprof(["-q", "--all", "-o", "r.lprof", "-m", runner, name], folder)
    assert run.status == 0, run.stderr
    assert names_of(folder) == {"<module>", "double", "Test", "Test.test_double"}


def test_all_of_a_module_that_has_the_name_of_a_runner(folder: Path) -> None:
    (folder / "timeit.py").write_text("def mine():\n    return 1\nmine()\n")
    run = lprof(["-q", "--all", "-o", "r.lprof", "-m", "timeit"], folder)
    assert (run.status, run.stderr) == (0, "")
    assert "mine" in names_of(folder)
