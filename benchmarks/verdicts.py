"""Whether the pytest plugin says the same each time: python -m benchmarks.verdicts --runs 10.

Each published case for a pytest plugin (tests/cases/PT-*) runs so often alone and on two workers of
xdist, and so do the functions of `no_leaks` that leak and that do not. One line each is printed: in
how many runs the tests failed that have to fail, and which others did. Exit status 1 when a verdict
was another. `--python` names other interpreters that have the package, pytest and pytest-xdist.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from benchmarks.suites import build_corpus

CASES = Path(__file__).resolve().parents[1] / "tests" / "cases"
WORKERS: Mapping[str, tuple[str, ...]] = {"alone": (), "-n 2": ("-n", "2")}
PLAIN = ("-p", "no:memray", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Case:
    """What is run, and what has to come of it."""

    name: str
    options: tuple[str, ...]
    failed: frozenset[str]
    n_tests: int
    env: Mapping[str, str]


def _case(name: str, failed: Sequence[str], n_tests: int, *options: str, **env: str) -> Case:
    return Case(name, options, frozenset(failed), n_tests, env)


LEAKY = [f"test_leaky[{number}]" for number in range(4)]
OVER = ["TestBox.test_over", "TestChild.test_over", "UTest.test_over"]
PUBLISHED = (
    _case("PT-01", [], 8),
    _case("PT-02", ["test_one_mb", "test_small_objects", "test_c_block", "test_incref"], 7),
    _case("PT-04", ["test_limit[over]"], 9, "--memtrace"),
    _case("PT-05", LEAKY, 12, "--memtrace"),
    _case("PT-08", OVER, 8),
    _case("PT-10", ["test_own_thread"], 4, PT_THREAD_KW="{'current_thread_only': True}"),
    _case("PT-11", ["test_together"], 6, "--memtrace"),
)
LINES = (
    "plain -> 0",
    "collect-only -> 0",
    "nocapture -> 0",
    "maxfail -> 0",
    "deselect all -> 5",
    "junit -> 0 valid xml",
)


def run_pytest(python: str, folder: Path, words: Sequence[str], env: Mapping[str, str]) -> Path:
    """Run the tests in a folder and return the report."""
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    subprocess.run(
        [python, "-m", "pytest", *PLAIN, f"--junitxml={report}", *words],
        cwd=folder, check=False, stdin=subprocess.DEVNULL, capture_output=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **env},
    )  # fmt: skip
    return report


def differences(report: Path, failed: frozenset[str], n_tests: int) -> list[str]:
    """Return what of a report is not as it has to be."""
    if not report.exists():
        return ["pytest ended early"]
    found = set[str]()
    cases = list(ElementTree.parse(report).iter("testcase"))
    for case in cases:
        if any(child.tag in ("failure", "error") for child in case):
            found.add(".".join([*case.attrib["classname"].split(".")[1:], case.attrib["name"]]))
    wrong = [f"{name} passed" for name in sorted(failed - found)]
    wrong += [f"{name} failed" for name in sorted(found - failed)]
    if len(cases) != n_tests:
        wrong.append(f"{len(cases)} of {n_tests} tests were reported")
    return wrong


def published(python: str, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each published case, in each way that it runs, and what was wrong."""
    for case in PUBLISHED:
        copy = folder / case.name
        if not copy.exists():
            shutil.copytree(CASES / case.name, copy)
        for way, words in WORKERS.items():
            report = run_pytest(python, copy, [*case.options, *words], case.env)
            yield f"{case.name} {way}", differences(report, case.failed, case.n_tests)
    yield "PT-09 alone", _command_lines(python, folder)


def _command_lines(python: str, folder: Path) -> list[str]:
    copy = folder / "PT-09"
    if not copy.exists():
        shutil.copytree(CASES / copy.name, copy)
    env = {**os.environ, "PY": python, "ADDOPTS": "--memtrace -p no:memray"}
    done = subprocess.run(
        ["bash", "lines.sh"], cwd=copy, env=env, check=False, capture_output=True, text=True
    )
    lines = done.stdout.splitlines()
    return [line for line in lines if line not in LINES] or (
        [] if len(lines) == len(LINES) else [f"{len(lines)} of {len(LINES)} lines"]
    )


def corpus(python: str, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the two halves of the corpus of `no_leaks`, and what was wrong."""
    target = folder / "corpus"
    if not target.exists():
        build_corpus(folder, python)
    report = run_pytest(python, target, ["-q"], {})
    if not report.exists():
        yield "no_leaks", ["pytest ended early"]
        return
    names: dict[bool, list[tuple[str, bool]]] = {True: [], False: []}
    for case in ElementTree.parse(report).iter("testcase"):
        failed = any(child.tag in ("failure", "error") for child in case)
        names["test_leaking" in case.attrib["classname"]].append((case.attrib["name"], failed))
    for leaks, title in ((True, "functions that leak"), (False, "that do not")):
        wrong = [f"{name} {'failed' if failed else 'passed'}" for name, failed in names[leaks]
                 if failed is not leaks]  # fmt: skip
        yield f"no_leaks: {len(names[leaks])} {title}", wrong


def judge(python: str, runs: int, what: str) -> bool:
    """Run everything so often, print the table, and tell whether all of it was right."""
    right: Counter[str] = Counter()
    wrong: dict[str, Counter[str]] = {}
    version = subprocess.run(
        [python, "-c", "import platform; print(platform.python_version())"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="proftrace-bench-") as folder:
        for run in range(1, runs + 1):
            for part in (published, corpus):
                if what not in ("all", part.__name__):
                    continue
                for name, found in part(python, Path(folder)):
                    right[name] += not found
                    wrong.setdefault(name, Counter()).update(found)
            n_wrong = sum(map(len, wrong.values()))
            print(f"{version}: run {run}, {n_wrong} wrong so far", file=sys.stderr, flush=True)
    for name, found_wrong in wrong.items():
        marks = "".join(f"  {text} ({count}x)" for text, count in found_wrong.items())
        print(f"{version:8}{name:40}{right[name]:3} of {runs} right{marks}", flush=True)
    return not any(wrong.values())


def main() -> None:
    """Judge as often as asked with each interpreter."""
    parser = argparse.ArgumentParser(prog="benchmarks.verdicts")
    parser.add_argument("--runs", type=int, default=10, help="default 10")
    parser.add_argument("--python", action="append", metavar="PATH", help="default this one")
    parser.add_argument("--only", choices=("published", "corpus"), default="all")
    options = parser.parse_args()
    results = [
        judge(python, options.runs, options.only) for python in options.python or [sys.executable]
    ]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
