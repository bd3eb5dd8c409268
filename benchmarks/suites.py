"""What `--memtrace` adds to a suite of 500 small tests, beside pytest-memray, and how well
`no_leaks` tells leaks from caches: python -m benchmarks.suites --runs 20 repeats the latter."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

from benchmarks.figures import Figure

GROUP = "pytest"
CORPUS = Path(__file__).resolve().parents[1] / "tests" / "programs" / "leaks"
TESTS = 500
ROUNDS = 5
QUICK_ROUNDS = 2
THIRD = 1 / 3
OURS, THEIRS = "--memtrace", "pytest-memray"
# Each plugin is measured without the other; "plain" has both, switched off.
MODES: dict[str, tuple[str, ...]] = {
    "plain": (),
    OURS: ("--memtrace", "-p", "no:memray"),
    THEIRS: ("--memray", "-p", "no:memtrace"),
}
SUITE = """
import pytest

@pytest.mark.parametrize("n", range({tests}))
def test_small(n):
    words = {{f"word {{i}}": [i, str(i)] for i in range(50)}}
    assert len(words) == 50
    assert bytearray(10_000 + n)
"""


def pytest_seconds(folder: Path, words: Sequence[str]) -> float:
    """Return how long pytest took for the suite in a folder."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def added_seconds(folder: Path, rounds: int) -> dict[str, float]:
    """Return what each plugin adds, from the least of interleaved runs."""
    folder.mkdir()
    (folder / "test_small.py").write_text(SUITE.format(tests=TESTS))
    (folder / "pytest.ini").write_text("[pytest]\n")
    best = dict.fromkeys(MODES, float("inf"))
    for _ in range(rounds):
        for mode, words in MODES.items():
            best[mode] = min(best[mode], pytest_seconds(folder, words))
    return {mode: best[mode] - best["plain"] for mode in (OURS, THEIRS)}


ASK_PATHS = (
    "from sysconfig import get_config_var, get_path\n"
    "print(get_config_var('EXT_SUFFIX'), get_path('include'))\n"
)


def build_corpus(folder: Path, python: str = sys.executable) -> Path:
    """Copy the functions that leak and those that do not, and build their extension module."""
    target = Path(shutil.copytree(CORPUS, folder / "corpus"))
    (target / "pytest.ini").write_text("[pytest]\n")
    asked = subprocess.run([python, "-c", ASK_PATHS], check=True, capture_output=True, text=True)
    suffix, include = asked.stdout.split()
    words = ["cc", "-shared", "-fPIC", "-O1", f"-I{include}", "leaky.c", "-o", f"leaky{suffix}"]
    subprocess.run(words, cwd=target, check=True)
    return target


def judge_corpus(corpus: Path) -> tuple[set[str], set[str], int, int]:
    """Return the leaks that were missed, the clean functions that failed, and how many of each
    there are."""
    report = corpus / "report.xml"
    words = ["-q", "-p", "no:memray", "-p", "no:cacheprovider", f"--junitxml={report}"]
    command = [sys.executable, "-m", "pytest", *words]
    subprocess.run(command, cwd=corpus, check=False, stdout=subprocess.DEVNULL)
    failed, passed = set[str](), set[str]()
    for case in ElementTree.parse(report).iter("testcase"):
        names = failed if case.find("failure") is not None else passed
        names.add(f"{case.attrib['classname']}.{case.attrib['name']}")
    leaking = {name for name in failed | passed if name.startswith("test_leaking.")}
    clean = (failed | passed) - leaking
    return leaking & passed, clean & failed, len(leaking), len(clean)


def corpus_figures(folder: Path, runs: int) -> Iterator[Figure]:
    """Yield precision and recall of `no_leaks` over some runs of the corpus: the worst of them."""
    corpus = build_corpus(folder)
    precision = recall = 1.0
    for run in range(1, runs + 1):
        missed, wrong, n_leaking, n_clean = judge_corpus(corpus)
        found = n_leaking - len(missed)
        precision = min(precision, found / max(1, found + len(wrong)))
        recall = min(recall, found / n_leaking)
        print(
            f"run {run}: {found} of {n_leaking} leaks found,",
            f"{len(wrong)} of {n_clean} others failed",
            *sorted(missed | wrong),
            file=sys.stderr,
            flush=True,
        )
    yield Figure(GROUP, f"no_leaks: share of leaks missed, worst of {runs} runs", OURS, 1 - recall,
                 "share", 0)  # fmt: skip
    yield Figure(GROUP, f"no_leaks: share of failures that are no leak, worst of {runs} runs", OURS,
                 1 - precision, "share", 0)  # fmt: skip


def figures(folder: Path, *, quick: bool) -> Iterator[Figure]:
    """Yield the figures of the pytest plugin."""
    added = added_seconds(folder / "suite", QUICK_ROUNDS if quick else ROUNDS)
    for tool, seconds in added.items():
        name = f"seconds added to {TESTS} small tests"
        yield Figure(GROUP, name, tool, seconds, "s")
    yield Figure(GROUP, "of what pytest-memray adds", OURS, added[OURS] / added[THEIRS], "x", THIRD)
    yield from corpus_figures(folder, 1 if quick else 3)


def main() -> None:
    """Judge the corpus as often as asked, and say what was wrong each time."""
    parser = argparse.ArgumentParser(prog="benchmarks.suites")
    parser.add_argument("--runs", type=int, default=20, help="default 20")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="proftrace-bench-") as folder:
        for figure in corpus_figures(Path(folder), options.runs):
            print(figure.as_json())


if __name__ == "__main__":
    main()
