"""Limits that count the fixtures of a test too (`setup=True`), seen from outside, with pytest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plugin_runs import run_pytest, write_suite

# The name of a test says what has to come of it; each fixture keeps 2 MB.
SUITE = """
import asyncio
import pytest
import pytest_asyncio
import unittest

limit_memory, limit_leaks = pytest.mark.limit_memory, pytest.mark.limit_leaks
no_leaks = pytest.mark.no_leaks
MB = 1_000_000
KEEP = []

@pytest.fixture(scope="session")
def of_session():
    yield bytearray(2 * MB)

@pytest.fixture(scope="module")
def of_module(of_session):
    return bytearray(2 * MB)

@pytest.fixture
def own():
    return bytearray(2 * MB)

@pytest.fixture
def brief():
    bytearray(6 * MB)
    return bytearray(100)

@pytest.fixture
def leaky():
    KEEP.append(bytearray(50_000))

@pytest.fixture
def tidy():
    kept = [bytearray(50_000)]
    yield kept
    kept.clear()

@pytest_asyncio.fixture
async def of_loop():
    await asyncio.sleep(0)
    return bytearray(2 * MB)

@limit_memory("3 MB", setup=True)
def test_passes_without_fixtures(): bytearray(2 * MB)

@limit_memory("1 MB")
def test_passes_as_fixtures_do_not_count(own, of_module, of_session): bytearray(100)

@limit_memory("3 MB", setup=True)
def test_passes_with_its_own(own): bytearray(100)

@limit_memory("3 MB", setup=True)
def test_fails_with_its_own(own): bytearray(2 * MB)

@limit_memory("3 MB", setup=True)
def test_passes_with_the_session(of_session): pass

@limit_memory("3 MB", setup=True)
def test_fails_with_module_and_session(of_module): pass

@limit_memory("3 MB", setup=True)
def test_fails_with_module_and_session_again(of_module): pass

@limit_memory("5 MB", setup=True)
def test_passes_with_module_and_session(of_module, of_session): pass

@limit_memory("5 MB", setup=True)
def test_fails_with_three(of_module, own): pass

@limit_memory("5 MB", setup=True)
def test_fails_while_a_fixture_is_set_up(brief): pass

@limit_memory("7 MB", setup=True)
def test_passes_one_after_the_other(brief): bytearray(5 * MB)

@limit_memory("1 MB")
@limit_memory("7 MB", setup=True)
def test_fails_the_narrow_one(own): bytearray(2 * MB)

@limit_memory("1 MB", setup=True)
@limit_memory("7 MB")
def test_fails_the_wide_one(own): bytearray(100)

@pytest.mark.parametrize("n", [1, 4])
@limit_memory("5 MB", setup=True)
def test_parameter(n, own): bytearray(n * MB)

@limit_memory("3 MB", setup=True)
@pytest.mark.asyncio
async def test_passes_async(of_loop): bytearray(100)

@limit_memory("3 MB", setup=True)
@pytest.mark.asyncio
async def test_fails_async(of_loop):
    await asyncio.sleep(0)
    bytearray(2 * MB)

class TestBox:
    @classmethod
    def setup_class(cls): cls.kept = bytearray(2 * MB)
    def setup_method(self): self.mine = bytearray(2 * MB)
    @limit_memory("5 MB", setup=True)
    def test_passes(self): pass
    @limit_memory("3 MB", setup=True)
    def test_fails(self): pass
    @limit_memory("3 MB", setup=True)
    def test_fails_again(self): pass

class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls): cls.kept = bytearray(2 * MB)
    def setUp(self): self.mine = bytearray(2 * MB)
    @limit_memory("5 MB", setup=True)
    def test_passes(self): pass
    @limit_memory("3 MB", setup=True)
    def test_fails(self): pass
    @limit_memory("1 MB")
    def test_passes_as_set_up_does_not_count(self): pass

class Loop(unittest.IsolatedAsyncioTestCase):
    def setUp(self): self.kept = bytearray(2 * MB)
    async def asyncSetUp(self): self.mine = bytearray(2 * MB)
    @limit_memory("5 MB", setup=True)
    async def test_passes(self): await asyncio.sleep(0)
    @limit_memory("3 MB", setup=True)
    async def test_fails(self): await asyncio.sleep(0)

@limit_leaks("10 KB")
def test_passes_as_the_leak_is_the_fixtures(leaky): pass

@limit_leaks("10 KB", setup=True)
def test_fails_for_the_leak_of_a_fixture(leaky): pass

@limit_leaks("10 KB", setup=True)
def test_passes_what_a_fixture_lets_go(tidy, own, of_session): pass

@no_leaks(setup=True)
def test_fails_for_the_growth_of_a_fixture(leaky): pass

@no_leaks()
def test_passes_as_the_growth_is_the_fixtures(leaky): pass
"""


@pytest.mark.parametrize(
    "words", [(), ("-n", "2"), ("--memtrace",)], ids=["alone", "two workers", "all"]
)
def test_fixtures_count_where_it_is_wanted(tmp_path: Path, words: tuple[str, ...]) -> None:
    suite = run_pytest(write_suite(tmp_path, SUITE), *words)
    assert not suite.errors
    assert suite.passed >= {"test_parameter[1]"}
    assert set(suite.failed) >= {"test_parameter[4]"}
    for names, word in ((suite.passed, "test_passes"), (set(suite.failed), "test_fails")):
        own = {name for name in names if not name.startswith("test_parameter")}
        assert {name for name in own if word not in name} == set(), suite.output
    assert suite.n_tests == 30, suite.output
    text = suite.failed["test_fails_with_three"]
    assert text.startswith("limit_memory: the test and its fixtures held 6.0 MB (5.7 MiB) at")
    for name in "own", "of_module", "of_session":
        assert re.search(rf"test_it\.py:\d+ in {name}$", text, re.MULTILINE), text


@pytest.mark.parametrize(
    "name",
    [
        "test_passes_with_module_and_session",
        "test_fails_with_module_and_session_again",
        "TestBox::test_fails_again",
        "Case::test_fails",
    ],
)
def test_the_verdict_is_the_same_when_a_test_runs_alone(tmp_path: Path, name: str) -> None:
    write_suite(tmp_path, SUITE)
    suite = run_pytest(tmp_path, f"test_it.py::{name}")
    assert suite.n_tests == 1
    assert bool(suite.failed) == ("test_fails" in name), suite.output


def test_a_fixture_that_fails_is_what_it_is(tmp_path: Path) -> None:
    text = """
import pytest
limit_memory = pytest.mark.limit_memory

@pytest.fixture(scope="module")
def broken(): raise KeyError("no such thing")

@pytest.fixture
def skipped(): pytest.skip("not here")

@limit_memory("1 MB", setup=True)
def test_one(broken): pass

@limit_memory("1 MB", setup=True)
def test_two(broken): pass

@limit_memory("1 MB", setup=True)
def test_three(skipped): pass

@limit_memory("1 MB", setup=True)
def test_four(): bytearray(2_000_000)

@limit_memory("1 MB", setup="yes")
def test_five(): pass

import unittest
class Case(unittest.TestCase):
    def setUp(self): raise KeyError("nor such a thing")
    @limit_memory("1 MB", setup=True)
    def test_six(self): pass
"""
    suite = run_pytest(write_suite(tmp_path, text))
    assert set(suite.errors) == {"test_one", "test_two", "test_five"}
    assert suite.skipped == {"test_three"}
    assert set(suite.failed) == {"test_four", "Case.test_six"}
    assert suite.errors["test_five"] == "limit_memory: setup is True or False, not 'yes' (str)"
    for name, words in (("test_one", "no such thing"), ("test_two", "no such thing")):
        assert words in suite.errors[name]
        assert "proftrace" not in suite.errors[name]
        assert "contextlib" not in suite.errors[name]
    assert "nor such a thing" in suite.failed["Case.test_six"]
    assert "proftrace" not in suite.failed["Case.test_six"]


def test_what_threads_of_a_fixture_hold_counts_unless_only_one_thread_does(tmp_path: Path) -> None:
    text = """
import pytest, threading
KEEP = []

@pytest.fixture
def helped():
    thread = threading.Thread(target=lambda: KEEP.append(bytearray(2_000_000)))
    thread.start()
    thread.join()

@pytest.mark.limit_memory("1 MB", setup=True)
def test_fails(helped): pass

@pytest.mark.limit_memory("1 MB", setup=True, current_thread_only=True)
def test_passes(helped): pass
"""
    suite = run_pytest(write_suite(tmp_path, text))
    assert (set(suite.failed), suite.passed) == ({"test_fails"}, {"test_passes"})


def test_fixtures_of_other_runs_are_left_alone(tmp_path: Path) -> None:
    """Nothing is loaded, and a fixture may use the tracker itself."""
    text = """
import pytest, sys

@pytest.fixture(scope="session")
def own_tracker(tmp_path_factory):
    from proftrace import Tracker
    with Tracker(tmp_path_factory.mktemp("x") / "out.bin"):
        yield

def test_one(own_tracker):
    assert "proftrace.pytest_plugin.fixtures" not in sys.modules
"""
    suite = run_pytest(write_suite(tmp_path, text))
    assert suite.passed == {"test_one"}, suite.output
