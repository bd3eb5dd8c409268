"""What the pytest plugin does to tests of every kind, seen from outside, with pytest itself."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from case_runs import HAS_GIL, memtrace, plain
from plugin_runs import QUIET, copy_corpus, run_pytest, write_suite

HEAD = """
import asyncio
import pytest
import sys
import unittest
KEEP = []
limit_memory, limit_leaks = pytest.mark.limit_memory, pytest.mark.limit_leaks
no_leaks = pytest.mark.no_leaks
"""


def ours_loaded(folder: Path, body: str, *words: str) -> set[str]:
    """Return which of our modules a run of a test has loaded at its end."""
    (folder / "conftest.py").write_text(
        "def pytest_unconfigure():\n    import sys\n"
        "    print('loaded', *[m for m in sys.modules if m.startswith('proftrace')])\n"
    )
    write_suite(folder, HEAD + body)
    done = plain(["-m", "pytest", *QUIET, *words], folder)
    assert done.status == 0, done.stdout
    return set(re.findall(r"^loaded (.*)$", done.stdout, re.MULTILINE)[-1].split())


def test_nothing_of_ours_is_loaded_before_it_is_used(tmp_path: Path) -> None:
    assert ours_loaded(tmp_path, "def test_one(): pass\n") == {
        "proftrace",
        "proftrace.pytest_plugin",
    }
    for body, words in (
        ("def test_one(): pass\n", ["--memtrace"]),
        ("@no_leaks()\ndef test_one(): pass\n", []),
    ):
        assert "proftrace._capture" in ours_loaded(tmp_path, body, *words)


# The name of a test says what has to come of it.
KINDS = """
class TestInClass:
    def setup_method(self):
        self.items = [bytearray(2_000_000)]

    @limit_memory("1 MB")
    def test_passes_setup_does_not_count(self):
        assert self.items

    @limit_memory("1 MB")
    def test_fails_in_class(self):
        assert bytearray(2_000_000)

    @no_leaks()
    def test_passes_new_instance_for_each_run(self):
        assert len(self.items) == 1
        self.items.append(bytearray(1000))


@no_leaks()
class TestAllOfAClass(unittest.TestCase):
    def setUp(self):
        self.items = []

    def test_passes(self):
        self.items.append(bytearray(1000))
        self.assertEqual(len(self.items), 1)

    def test_fails(self):
        KEEP.append(bytearray(1000))


class TestAsyncCase(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.data = bytearray(2_000_000)

    @limit_memory("1 MB")
    async def test_fails(self):
        await asyncio.sleep(0)
        self.assertTrue(bytearray(2_000_000))

    @limit_memory("1 MB")
    async def test_passes(self):
        await asyncio.sleep(0)


@pytest.mark.asyncio
@limit_memory("1 MB")
async def test_fails_async():
    await asyncio.sleep(0)
    data = bytearray(2_000_000)
    await asyncio.sleep(0)
    assert data


@pytest.mark.asyncio
@no_leaks()
async def test_fails_async_leak():
    await asyncio.sleep(0)
    KEEP.append(bytearray(1000))


async def left_to_the_loop():
    KEEP.append(bytearray(1000))


@pytest.mark.asyncio
@no_leaks()
async def test_fails_async_leak_in_a_task():
    asyncio.get_running_loop().create_task(left_to_the_loop())
    await asyncio.sleep(0)


@pytest.mark.asyncio
@no_leaks()
async def test_passes_async():
    await asyncio.gather(*(asyncio.sleep(0) for _ in range(5)))


@limit_memory("1 MB")
@limit_leaks("10 kB")
@no_leaks(repeat=3)
def test_fails_for_three_reasons():
    KEEP.append(bytearray(3_000_000))


@limit_memory("1 MB")
@no_leaks()
def test_passes_two_markers():
    pass


@pytest.fixture
def basket():
    basket = []
    yield basket
    basket.clear()


@limit_leaks("10 kB")
def test_passes_what_the_fixture_frees(basket):
    basket.append(bytearray(500_000))
    assert len(basket) == 1


@limit_leaks("10 kB", filter_fn=lambda stack: "grow" not in stack.frames[0].function)
def test_passes_filtered():
    def grow():
        KEEP.append(bytearray(500_000))
    grow()


@no_leaks(filter_fn=lambda stack: all(frame.lineno > 0 for frame in stack.frames))
def test_fails_filtered_growth():
    KEEP.append(bytearray(500))


@pytest.mark.skip
@no_leaks()
def test_skips():
    raise AssertionError


@no_leaks()
def test_skips_inside():
    pytest.skip("not here")


@pytest.mark.xfail
@limit_memory("1 kB")
def test_skips_expected_failure():
    assert bytearray(100_000)


@limit_memory("1 kB")
def test_fails_by_itself():
    raise LookupError("its own", bytearray(100_000)[:1])


@no_leaks()
def test_fails_in_a_later_run():
    KEEP.append(1)
    test_fails_in_a_later_run.runs = getattr(test_fails_in_a_later_run, "runs", 0) + 1
    assert test_fails_in_a_later_run.runs < 4


@pytest.mark.parametrize("size", [100, 100_000])
@limit_memory("10 kB")
def test_parameter(size):
    assert len(bytearray(size)) == size


class TestSubtests(unittest.TestCase):
    @no_leaks()
    def test_passes(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertLess(i, 5)


@limit_leaks("1 kB")
def test_fails_and_cannot_run_twice():
    ONCE.append(bytearray(5000))
    assert len(ONCE) < 2


ONCE = []


@no_leaks(warmup=0, repeat=2)
def test_passes_without_warm_up():
    pass


@no_leaks(warmup=1, repeat=3)
def test_passes_and_runs_four_times(request):
    RUNS.append(1)


def test_passes_ran_four_times():
    assert len(RUNS) == 4


RUNS = []
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2", "--dist", "loadfile")], ids=["alone", "two"])
def test_tests_of_every_kind(tmp_path: Path, workers: tuple[str, ...]) -> None:
    suite = run_pytest(write_suite(tmp_path, HEAD + KINDS), *workers)
    assert not suite.errors
    for names, word in (
        (suite.passed, "test_passes"),
        (set(suite.failed), "test_fails"),
        (suite.skipped, "test_skips"),
    ):
        own = {name for name in names if not name.startswith("test_parameter")}
        assert {name for name in own if word not in name} == set(), suite.output
    assert "test_parameter[100]" in suite.passed
    assert "test_parameter[100000]" in suite.failed
    three = suite.failed["test_fails_for_three_reasons"]
    assert [line.split(":")[0] for line in three.splitlines() if "limit is" in line] == [
        "limit_memory",
        "limit_leaks",
    ]
    assert "no_leaks: test_it.py:" in three
    assert "its own" in suite.failed["test_fails_by_itself"]
    assert "limit_memory" not in suite.failed["test_fails_by_itself"].splitlines()[-1]
    assert "ended with AssertionError" in suite.failed["test_fails_and_cannot_run_twice"]
    assert "in run 4 of the test" in suite.failed["test_fails_in_a_later_run"]


BAD = """
RAN = []

@limit_memory("lots")
def test_one(): RAN.append(1)

@limit_memory("1 MB", limit_of=3)
def test_two(): RAN.append(1)

@no_leaks(repeat="five")
def test_three(): RAN.append(1)

@limit_memory()
def test_four(): RAN.append(1)

@no_leaks
def test_five(): pass

def test_none_of_them_ran(): assert not RAN
"""


def test_markers_that_cannot_be_followed_are_errors_of_their_tests(tmp_path: Path) -> None:
    suite = run_pytest(write_suite(tmp_path, HEAD + BAD))
    assert set(suite.errors) == {"test_one", "test_two", "test_three", "test_four"}
    assert suite.passed == {"test_five", "test_none_of_them_ran"}
    for name, text in suite.errors.items():
        assert len(text.splitlines()) == 1, (name, text)
    assert suite.errors["test_one"].startswith("limit_memory: 'lots' is not a size")


@pytest.mark.parametrize(
    ("words", "ini", "text"),
    [
        (["--memtrace-top=-1"], "", "invalid _count value: '-1'"),
        (["--memtrace-bin-path=test_it.py", "--memtrace"], "", "cannot make the folder"),
        (["--memtrace"], "memtrace_top = many", "memtrace_top is a whole number"),
        (["--memtrace"], "memtrace_bin_path = test_it.py/x", "cannot make the folder"),
    ],
)
def test_options_that_cannot_be_followed_end_the_run(
    tmp_path: Path, words: list[str], ini: str, text: str
) -> None:
    write_suite(tmp_path, "def test_one(): pass\n", ini)
    done = plain(["-m", "pytest", *QUIET, *words], tmp_path)
    assert done.status == 4
    assert text in done.stderr
    assert "Traceback" not in done.stderr


MANY = """
@pytest.mark.parametrize("size", range(1, 8))
def test_size(size):
    assert bytearray(size * 100_000)
"""


def test_the_summary_is_as_the_ini_file_wants_it(tmp_path: Path) -> None:
    ini = "memtrace = true\nmemtrace_top = 2\nmemtrace_bin_path = kept"
    write_suite(tmp_path, HEAD + MANY, ini)
    suite = run_pytest(tmp_path)
    assert "memtrace: 2 of 7 tests" in suite.output
    shown = re.findall(r"^ +([\d.]+ \w+)  test_it.py::test_size\[(\d)\]", suite.output, re.M)
    # The array and a few objects of the test's own, by version more or fewer.
    sizes = [(float(size.removesuffix(" KiB")), test) for size, test in shown]
    assert sizes == [(pytest.approx(683.6, abs=0.5), "7"), (pytest.approx(585.9, abs=0.5), "6")]
    assert "7 captures are in " in suite.output
    assert suite.properties["test_size[7]"]["memtrace_peak_bytes"].startswith("700")
    kept = sorted((tmp_path / "kept").glob("*size-7*.bin"))
    assert memtrace(["stats", str(kept[0])], tmp_path).status == 0
    assert "memtrace:" not in run_pytest(tmp_path, "--memtrace-hide-summary").output


def test_captures_are_kept_nowhere_else(tmp_path: Path) -> None:
    write_suite(tmp_path, HEAD + MANY)
    (tmp_path / "tmp").mkdir()
    suite = run_pytest(tmp_path, "--memtrace", env={"TMPDIR": str(tmp_path / "tmp")})
    assert suite.status == 0
    assert list((tmp_path / "tmp").glob("memtrace-*")) == []


def test_a_test_that_fails_by_chance_is_judged_at_each_run(tmp_path: Path) -> None:
    body = """
RUNS = []

@pytest.mark.flaky(reruns=3)
@limit_memory("1 MB")
def test_heavy_at_first():
    RUNS.append(1)
    assert bytearray(3_000_000 if len(RUNS) < 3 else 1000)

@pytest.mark.flaky(reruns=1)
@no_leaks()
def test_leaks_always():
    KEEP.append(bytearray(100))
"""
    write_suite(tmp_path, HEAD + body)
    done = plain(["-m", "pytest", *QUIET, "-rfR"], tmp_path)
    assert "1 failed, 1 passed, 3 rerun" in done.stdout, done.stdout
    assert "FAILED test_it.py::test_leaks_always" in done.stdout


def test_an_increase_fails_the_test(tmp_path: Path) -> None:
    body = """
import os

@limit_memory("10 MB")
def test_one():
    assert bytearray(int(os.environ["SIZE"]))
"""
    write_suite(tmp_path, HEAD + body)
    statuses = []
    for size in ("1000000", "1000100", "1100000", "1000000"):
        words = ["-m", "pytest", "--memtrace-fail-on-increase"]
        done = plain(words, tmp_path, {"SIZE": size})
        statuses.append(done.status)
        if done.status:
            assert re.search(r"976.\d KiB \(100\d{4} bytes\) when it passed last", done.stdout)
    assert statuses == [0, 0, 1, 0]


def test_a_process_that_is_recorded_already_is_left_alone(tmp_path: Path) -> None:
    write_suite(tmp_path, HEAD + "@no_leaks()\ndef test_one(): KEEP.append(bytearray(1000))\n")
    words = ["run", "-q", "-o", str(tmp_path / "out.bin"), "-m", "pytest", *QUIET]
    done = memtrace(words, tmp_path)
    assert done.status == 0, done.stdout + done.stderr
    assert "the memory of tests is not measured" in done.stdout


def test_doctests_are_measured(tmp_path: Path) -> None:
    text = '"""\n>>> len(bytearray(3_000_000))\n3000000\n"""\n'
    write_suite(tmp_path, text)
    suite = run_pytest(tmp_path, "--doctest-modules", "--memtrace")
    assert re.search(r"2\.9 MiB  test_it.py::test_it", suite.output), suite.output


def test_native_stacks(tmp_path: Path) -> None:
    body = "import zlib\n@limit_memory('1 kB')\ndef test_one(): zlib.compressobj()\n"
    suite = run_pytest(write_suite(tmp_path, HEAD + body), "--memtrace-native")
    assert "deflateInit2_" in suite.failed["test_one"]


def test_the_example_of_the_manual_fails_as_it_says(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "pytest.md").read_text()
    code, _ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    failures, summary = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    (tmp_path / "test_orders.py").write_text(code)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    suite = run_pytest(tmp_path, "--memtrace", "--memtrace-top=2")
    assert len(suite.failed) == 3
    heads = re.findall(r"^(?:limit_\w+|no_leaks): .*$", failures, re.MULTILINE)
    for head, text in zip(heads, suite.failed.values(), strict=True):
        # Sizes differ a little from one interpreter to the next; words and places do not.
        assert without_sizes(text.splitlines()[0]) == without_sizes(head)
    assert summary.splitlines()[0] in suite.output
    for line in summary.splitlines()[1:]:
        assert re.sub(r"^ +[\d.]+ \w+|\(.*", "", line).strip() in suite.output


def test_the_example_with_a_fixture_holds_what_it_says(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "pytest.md").read_text()
    _, code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    name = "test_lookup_fits_into_memory_with_its_table"
    assert run_pytest(write_suite(tmp_path, code)).passed == {name}
    suite = run_pytest(write_suite(tmp_path, code.replace("24 MB", "12 MB")))
    assert suite.failed[name].startswith("limit_memory: the test and its fixtures held ")
    assert suite.failed[name].endswith(" in table")
    assert run_pytest(write_suite(tmp_path, code.replace("24 MB", "12 MB").replace(
        ", setup=True", ""))).passed == {name}  # fmt: skip


def without_sizes(text: str) -> str:
    return re.sub(r"[\d.]+ (?:[KMG]i?)?B|\(\d+ bytes\)", "_", text)


# `python -m benchmarks.suites` runs both twenty times.


def test_no_leaks_finds_every_leak_of_the_corpus(tmp_path: Path) -> None:
    corpus = copy_corpus(tmp_path)
    suite = run_pytest(corpus, "--tb=line", "test_leaking.py")
    assert set(suite.failed) == functions_of(corpus / "test_leaking.py"), suite.output
    assert not suite.errors


# Without a GIL 3.13 makes classes and functions immortal once there was a second thread: these
# are leaks of the interpreter.
IMMORTAL = (
    {"test_class_made_at_each_call", "test_named_tuple_made_at_each_call"}
    if not HAS_GIL and sys.version_info < (3, 14)
    else set()
)


def test_no_leaks_passes_all_else_of_the_corpus(tmp_path: Path) -> None:
    corpus = copy_corpus(tmp_path)
    suite = run_pytest(corpus, "test_clean.py")
    assert set(suite.failed) == IMMORTAL, suite.output
    assert not suite.errors
    names = {name.partition("[")[0] for name in (*suite.passed, *suite.failed)}
    assert names == functions_of(corpus / "test_clean.py")


def functions_of(path: Path) -> set[str]:
    """Return the names of the tests in a file."""
    names = re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
    assert len(names) >= 12
    return set(names)
