"""The published cases of a pytest plugin, run by pytest itself, alone and on two workers."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from case_runs import HAS_GIL, plain, run
from plugin_runs import QUIET, Suite, copy_case, run_pytest

WORKERS = [(), ("-n", "2")]
IDS = ["alone", "two-workers"]
either = pytest.mark.parametrize("workers", WORKERS, ids=IDS)


def size_in(text: str) -> int:
    """Return the bytes that the first line of a failure names."""
    found = re.search(r"\((\d+) bytes\)", text)
    assert found, text
    return int(found[1])


def marked_line(case: Path, file: str, mark: str) -> str:
    """Return "file:line" of a line that ends with a mark."""
    lines = (case / file).read_text().splitlines()
    (number,) = (k for k, line in enumerate(lines, 1) if re.search(rf"# {mark}\b", line))
    return f"{file}:{number}"


def assert_failed(suite: Suite, names: set[str], n_tests: int) -> None:
    assert set(suite.failed) == names, suite.output
    assert not suite.errors
    assert suite.n_tests == n_tests
    assert suite.status == (1 if names else 0)
    assert "INTERNALERROR" not in suite.output


@either
def test_pt01_caches_that_fill_on_the_first_call(tmp_path: Path, workers: tuple[str, ...]) -> None:
    assert_failed(run_pytest(copy_case("PT-01", tmp_path), *workers), set(), 8)


def test_pt01_each_test_alone(tmp_path: Path) -> None:
    case = copy_case("PT-01", tmp_path)
    names = run_pytest(case).passed
    for name in sorted(names):
        assert_failed(run_pytest(case, f"test_caches.py::{name}"), set(), 1)


def test_pt01_output_is_not_doubled(tmp_path: Path) -> None:
    suite = run_pytest(copy_case("PT-01", tmp_path), "-rP", "-k", "idempotent or regex")
    assert suite.output.count("body ran") == 1


# What is asked for; sys.getsizeof leaves the padding out.
PYLONG_BYTES = 32 if HAS_GIL else 48


def small_objects_bytes() -> int:
    """Return what the pairs of LEAK2 take: numbers that all share are not among them."""
    pairs = [(i, str(i)) for i in range(5000)]
    n_numbers = sum(int(text) is not i for i, text in pairs)
    of_pairs = sum(sys.getsizeof(pair) + sys.getsizeof(pair[1]) for pair in pairs)
    return sys.getsizeof(pairs) + of_pairs + n_numbers * PYLONG_BYTES


PT02_LEAKS = {
    "test_one_mb": ("LEAK1", 1_000_001),
    "test_small_objects": ("LEAK2", small_objects_bytes()),
    "test_c_block": ("LEAK3", 300_007),
    "test_incref": ("LEAK4", 200_033),
}


@either
def test_pt02_leaks_are_named_with_size_and_place(tmp_path: Path, workers: tuple[str, ...]) -> None:
    case = copy_case("PT-02", tmp_path)
    suite = run_pytest(case, *workers)
    assert_failed(suite, set(PT02_LEAKS), 7)
    for name, (mark, size) in PT02_LEAKS.items():
        text = suite.failed[name]
        assert marked_line(case, "test_leaks.py", mark) in text.splitlines()[0]
        assert size_in(text) == pytest.approx(size, rel=0.01)
        assert "the limit is 100 KB" in text


def test_pt02_each_leak_alone(tmp_path: Path) -> None:
    case = copy_case("PT-02", tmp_path)
    for name in PT02_LEAKS:
        assert_failed(run_pytest(case, f"test_leaks.py::{name}"), {name}, 1)


@either
def test_pt04_parameters_and_long_names(tmp_path: Path, workers: tuple[str, ...]) -> None:
    case = copy_case("PT-04", tmp_path)
    suite = run_pytest(case, "--memtrace-bin-path=kept", "--memtrace", *workers)
    assert_failed(suite, {"test_limit[over]"}, 9)
    assert "too long" not in suite.output
    kept = [path.name for path in (case / "kept").iterdir()]
    assert len(kept) == 9
    assert all(name.isascii() and len(name) < 200 for name in kept)


@pytest.mark.parametrize(
    "words",
    [(), ("-n", "2"), ("-n", "2", "--dist", "loadfile"), ("-n", "0")],
    ids=["alone", "two-workers", "by-file", "no-worker"],
)
def test_pt05_workers(tmp_path: Path, words: tuple[str, ...]) -> None:
    suite = run_pytest(copy_case("PT-05", tmp_path), "--memtrace", "--memtrace-top=0", *words)
    assert_failed(suite, {f"test_leaky[{i}]" for i in range(4)}, 12)
    assert "memtrace: 12 of 12 tests" in suite.output
    for i in range(8):
        assert len(re.findall(rf"test_fine\[{i}\]  \(", suite.output)) == 1


def test_pt05_every_worker_has_its_own_files(tmp_path: Path) -> None:
    case = copy_case("PT-05", tmp_path)
    words = ["-m", "pytest", *QUIET, "--memtrace-bin-path=kept", "-n", "2", "--dist", "each"]
    done = plain(words, case)
    assert done.status == 1
    assert "8 failed, 16 passed" in done.stdout
    assert len(list((case / "kept").iterdir())) == 24


@either
def test_pt08_the_closest_marker_holds(tmp_path: Path, workers: tuple[str, ...]) -> None:
    suite = run_pytest(copy_case("PT-08", tmp_path), *workers)
    assert_failed(suite, {"TestBox.test_over", "TestChild.test_over", "UTest.test_over"}, 8)


def test_pt09_unusual_command_lines(tmp_path: Path) -> None:
    case = copy_case("PT-09", tmp_path)
    lines = [
        "plain -> 0",
        "collect-only -> 0",
        "nocapture -> 0",
        "maxfail -> 0",
        "deselect all -> 5",
        "junit -> 0 valid xml",
    ]
    for options in ("--memtrace", ""):
        env = {"PY": sys.executable, "ADDOPTS": options}
        done = run(["bash", "lines.sh"], case, env)
        assert done.stdout.splitlines() == lines


@pytest.mark.parametrize("current", [True, False], ids=["current-thread", "all-threads"])
def test_pt10_other_threads(tmp_path: Path, *, current: bool) -> None:
    env = {"PT_THREAD_KW": "{'current_thread_only': True}" if current else "{}"}
    suite = run_pytest(copy_case("PT-10", tmp_path), env=env)
    if current:
        assert_failed(suite, {"test_own_thread"}, 4)
        assert "by Thread-" in suite.failed["test_own_thread"]
    else:
        # A thread that runs beside the tests counts, as docs/pytest.md says.
        assert {"test_quiet", "test_no_leak", "test_own_thread"} <= set(suite.failed)
        assert "by Thread-" in suite.failed["test_quiet"]


@either
def test_pt11_the_peak_is_what_is_limited(tmp_path: Path, workers: tuple[str, ...]) -> None:
    suite = run_pytest(copy_case("PT-11", tmp_path), "--memtrace", *workers)
    # Without a GIL a list that grows is copied: for a moment there are 8.4 MB and 7.5 MB.
    growing = set() if HAS_GIL else {"test_growing_list"}
    assert_failed(suite, {"test_together"} | growing, 6)
    assert "held 18.0 MB (17.2 MiB)" in suite.failed["test_together"].splitlines()[0]
    assert "memtrace: 5 of 6 tests" in suite.output
