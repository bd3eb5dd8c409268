"""The stages of `make test`: each runs one kind of check and tells how many ran.

A stage fails when something in it fails, and also when a test file of its kind ran nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tools.dev.console import LOGS, ROOT, run, say, tail
from tools.dev.environment import Environment, warnings_are_errors
from tools.dev.system import find_chromium

SANITIZE = ("-Db_sanitize=address,undefined", "-Db_lundef=false")
# A traced error ends the test with a status of its own; leaks of a test program are errors too.
SANITIZER_VARIABLES = {
    "ASAN_OPTIONS": "abort_on_error=0:exitcode=99:detect_leaks=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=99",
}

END_TO_END = "tests/end_to_end/**/test_*.py"
# Those that look at samples, times or the size of the process: other tests would be in the way.
MEASURING = {
    "test_lprof_accounting.py",
    "test_lprof_check.py",
    "test_lprof_suspensions.py",
    "test_memtrace_rss.py",
    "test_sampling.py",
    "test_sampling_limits.py",
}
WORKERS = min(2, os.cpu_count() or 1)


@dataclass(slots=True)
class Outcome:
    """What a stage did: `problems` are lines for the terminal, empty when all is well."""

    passed: int
    failed: int
    problems: list[str]
    log: Path

    @property
    def good(self) -> bool:
        return not self.failed and not self.problems and self.passed > 0


@dataclass(frozen=True, slots=True)
class Stage:
    """A name for the table and what to run."""

    name: str
    action: Callable[[Environment], Outcome]


def fresh_log(name: str) -> Path:
    """Return the path of a stage's log, emptied."""
    LOGS.mkdir(parents=True, exist_ok=True)
    path = LOGS / name
    path.write_text("")
    return path


def tracked_files(*patterns: str) -> list[Path]:
    """Return the project's files that match, leaving out what builds and environments hold."""
    hidden = {"build", "out", "node_modules"}
    found = {path for pattern in patterns for path in ROOT.glob(pattern)}
    return sorted(
        path
        for path in found
        if not any(part in hidden or part.startswith(".") for part in path.relative_to(ROOT).parts)
    )


def c_files() -> list[Path]:
    # The cases are copies of what came with bug reports: they stay as they are.
    folders = "csrc/**", "tests/c/**", "tests/programs/**", "fuzz"
    return tracked_files(*(f"{folder}/*.[ch]" for folder in folders))


def lint(environment: Environment) -> Outcome:
    """Run the linters, the formatters' checks and the type checker: one count each."""
    log = fresh_log("lint.log")
    # Its cache does not see that a module was added beside those it knows.
    mypy = [environment.tool("mypy"), "--strict", "--no-incremental"]
    commands: list[tuple[str, list[object]]] = [
        ("ruff check", [environment.tool("ruff"), "check", "."]),
        *format_commands(environment, check=True),
        ("mypy --strict", mypy),
    ]
    scripts = tracked_files("pysrc/**/*.js")
    if scripts:  # node checks one file a call
        each = 'for script; do node --check "$script" || exit 1; done'
        commands.append(("node --check", ["sh", "-c", each, "sh", *scripts]))
    failed = [
        title
        for title, command in commands
        if run(title, command, environment=environment.variables, log=log.name, check=False)
    ]
    problems = [f"{title} failed" for title in failed]
    return Outcome(len(commands) - len(failed), len(failed), problems, log)


def format_commands(environment: Environment, *, check: bool) -> list[tuple[str, list[object]]]:
    """Return the formatters' commands, that rewrite the sources or tell whether they would."""
    ruff: list[object] = [environment.tool("ruff"), "format", "."]
    clang: list[object] = [environment.tool("clang-format")]
    clang += ["--dry-run", "-Werror"] if check else ["-i"]
    title = "clang-format --dry-run" if check else "clang-format -i"
    return [
        ("ruff format --check" if check else "ruff format", [*ruff, *(["--check"] * check)]),
        (title, [*clang, *c_files()]),
    ]


def read_junit(paths: Iterable[Path]) -> tuple[int, int, list[str]]:
    """Return from JUnit files: how many passed, how many did not, and the names of the suites or
    modules that ran something."""
    passed = failed = 0
    ran = []
    for path in paths:
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            bad = any(case.find(tag) is not None for tag in ("failure", "error", "skipped"))
            passed, failed = passed + (not bad), failed + bad
            ran.append(f"{case.get('classname', '')} {case.get('name', '')}")
    return passed, failed, ran


def meson_tests(environment: Environment, name: str, *options: str) -> Outcome:
    """Build the C tests in a folder of their own and run them."""
    log = fresh_log(f"{name}.log")
    build = ROOT / "build" / f"{environment.build_name}-{name}"
    werror = str(warnings_are_errors()).lower()
    setup: list[object] = [environment.tool("meson"), "setup", build, "-Dtests=true"]
    setup += [f"-Dwerror={werror}", "-Dbuildtype=debugoptimized", "-Db_ndebug=false", *options]
    if (build / "build.ninja").exists():
        setup.append("--reconfigure")
    variables = environment.variables | SANITIZER_VARIABLES
    run(f"{name}: configured", setup, environment=variables, log=log.name)
    ninja = [environment.tool("ninja"), "-C", build]
    run(f"{name}: built", ninja, environment=variables, log=log.name)
    command = [environment.tool("meson"), "test", "-C", build, "--no-rebuild", "--print-errorlogs"]
    status = run(f"{name}: run", command, environment=variables, log=log.name, check=False)
    passed, failed, _ = read_junit([build / "meson-logs" / "testlog.junit.xml"])
    problems = [f"meson test ended with status {status}"] if status else []
    programs = tracked_files("tests/c/**/test_*.c")
    if "-Db_sanitize=none" not in options:  # see tests/c/capture/meson.build
        programs = [path for path in programs if path.parent.name != "capture"]
    written = len(programs)
    if passed + failed < written:
        problems.append(f"{written} test programs in tests/c, but only {passed + failed} ran")
    return Outcome(passed, failed, problems, log)


def c_tests(environment: Environment) -> Outcome:
    return meson_tests(environment, "c", "-Db_sanitize=none")


def c_tests_sanitized(environment: Environment) -> Outcome:
    return meson_tests(environment, "c-sanitized", *SANITIZE)


def pytest_stage(
    environment: Environment, name: str, files: list[Path], *, workers: int = WORKERS
) -> Outcome:
    """Run test files against the installed package; each must run at least one test.

    With several workers each takes whole files.
    """
    log = fresh_log(f"{name}.log")
    report = LOGS / f"{name}.xml"
    report.unlink(missing_ok=True)
    names = [path.relative_to(ROOT) for path in files]
    if not names:
        return Outcome(0, 0, [f"no test files for {name}"], log)
    variables = environment.variables | {"PROFTRACE_TEST_CHROMIUM": find_chromium() or ""}
    command: list[object] = [environment.python, "-m", "pytest", "-q", f"--junitxml={report}"]
    command += ["--continue-on-collection-errors"]
    if workers > 1:
        command += ["-n", workers, "--dist", "loadfile"]
    status = run(name, [*command, *names], environment=variables, log=log.name, check=False)
    problems = [f"pytest ended with status {status}"] if status else []
    if not report.exists():
        return Outcome(0, 0, problems, log)
    passed, failed, ran = read_junit([report])
    # See tests/conftest.py.
    counts = re.findall(r"^left out: (\S+): (\d+) ", log.read_text(), re.MULTILINE)
    left_out = {file for file, _ in counts}
    if counts:
        say(f"{name}: {sum(int(count) for _, count in counts)} tests left out; {log} says why")
    for path in names:
        module = ".".join(path.with_suffix("").parts)
        has_run = any(case.startswith((module + " ", module + ".")) for case in ran)
        if not has_run and str(path) not in left_out:
            problems.append(f"{path}: no test ran")
    return Outcome(passed, failed, problems, log)


def python_tests(environment: Environment) -> Outcome:
    files = tracked_files("tests/test_*.py", "tests/py/**/test_*.py")
    return pytest_stage(environment, "python", files)


def end_to_end_tests(environment: Environment) -> Outcome:
    files = [path for path in tracked_files(END_TO_END) if path.name not in MEASURING]
    return pytest_stage(environment, "end-to-end", files)


def measuring_tests(environment: Environment) -> Outcome:
    """Run the end-to-end tests that others would disturb, one after the other."""
    files = [path for path in tracked_files(END_TO_END) if path.name in MEASURING]
    return pytest_stage(environment, "measuring", files, workers=1)


def browser_tests(environment: Environment) -> Outcome:
    return pytest_stage(environment, "browser", tracked_files("tests/browser/**/test_*.py"))


def js_tests(environment: Environment) -> Outcome:
    """Run the page's scripts under node's own test runner."""
    log = fresh_log("js.log")
    files = tracked_files("tests/js/**/*.test.*js", "tests/js/**/test_*.*js")
    if not files:
        return Outcome(0, 0, ["no test files for js"], log)
    command: list[object] = ["node", "--test", "--test-reporter=tap", *files]
    status = run("js", command, environment=environment.variables, log=log.name, check=False)
    counts = dict(re.findall(r"^# (\w+) (\d+)$", tail(log, 20), re.MULTILINE))
    passed, total = int(counts.get("pass", 0)), int(counts.get("tests", 0))
    problems = [f"node ended with status {status}"] if status else []
    if total < len(files):
        problems.append(f"{len(files)} test files, but only {total} tests ran")
    return Outcome(passed, total - passed, problems, log)


MANY_STACKS = 1_000_000
STORM_ROUNDS = 150  # of three threads with 2,500 stacks or more each


def many_stacks(environment: Environment) -> Outcome:
    """Let memtrace compare a million stacks with the interpreter's own view."""
    log = fresh_log("stacks.log")
    capture = LOGS / "stacks.bin"
    command: list[object] = [environment.tool("memtrace"), "run", "-q", "-f", "--verify-stacks"]
    command += ["-o", capture, "tests/programs/stack_storm.py", STORM_ROUNDS]
    status = run("stacks", command, environment=environment.variables, log=log.name, check=False)
    capture.unlink(missing_ok=True)
    found = re.search(r"verified (\d+) stacks, (\d+) differences", log.read_text())
    n_stacks, n_differences = map(int, found.groups()) if found else (0, 0)
    problems = [f"memtrace ended with status {status}"] if status else []
    if n_stacks < MANY_STACKS:
        problems.append(f"{n_stacks} stacks were verified, wanted are {MANY_STACKS}")
    return Outcome(n_stacks - n_differences, n_differences, problems, log)


ALL = (
    Stage("lint and types", lint),
    Stage("C", c_tests),
    Stage("C, ASan and UBSan", c_tests_sanitized),
    Stage("Python", python_tests),
    Stage("JavaScript", js_tests),
    Stage("browser", browser_tests),
    Stage("end to end", end_to_end_tests),
    Stage("measuring", measuring_tests),
)
# What may differ between interpreters.
VERSION = (
    Stage("C", c_tests),
    Stage("Python", python_tests),
    Stage("end to end", end_to_end_tests),
    Stage("measuring", measuring_tests),
    Stage("verified stacks", many_stacks),
)
PYTHON_ONLY = (
    Stage("Python", python_tests),
    Stage("end to end", end_to_end_tests),
    Stage("measuring", measuring_tests),
)
LINT_ONLY = (Stage("lint and types", lint),)
