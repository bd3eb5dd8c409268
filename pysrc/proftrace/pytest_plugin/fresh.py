"""Runs a test again within one report of it: its function-scoped fixtures are new each time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest

_between_key = pytest.StashKey[bool]()
_watch_key = pytest.StashKey["_Watch"]()


def tear_down(item: pytest.Item) -> None:
    """Tear down what belongs to this test alone, through the hooks that do it at its end."""
    assert item.parent is not None
    # The next test as pytest names it is what may stay: here the class or module itself.
    item.ihook.pytest_runtest_teardown(item=item, nextitem=item.parent)
    _forget(item)


def _forget(item: pytest.Item) -> None:
    """Let go the values of fixtures and the instance of the class."""
    if isinstance(item, pytest.Function):
        if isinstance(item.parent, pytest.Class):
            item.__dict__.pop("_instance", None)
            item.__dict__.pop("_obj", None)
        item._initrequest()


def set_up(item: pytest.Item) -> None:
    """Set the test up again: a new instance of its class, new fixtures."""
    _forget(item)
    if isinstance(item, pytest.Function):
        assert item.obj  # makes the instance, which a tear-down of unittest takes for granted
    item.ihook.pytest_runtest_setup(item=item)
    _report(item, "setup")


def call(item: pytest.Item) -> None:
    """Run the test, with all that other plugins do around it; `passed` tells how it went."""
    item.ihook.pytest_runtest_call(item=item)
    if passed(item):
        _report(item, "call")


def _report(item: pytest.Item, when: Literal["setup", "call"]) -> None:
    """Let plugins make the report of a phase that went well; nobody is told of it.

    Fixtures look at what comes of it: `tmp_path` removes its folder or does not.
    """
    phase: pytest.CallInfo[None] = pytest.CallInfo.from_call(lambda: None, when)
    item.stash[_between_key] = True
    try:
        item.ihook.pytest_runtest_makereport(item=item, call=phase)
    finally:
        item.stash[_between_key] = False


def is_between(item: pytest.Item) -> bool:
    """Tell whether the report that is being made is one of those that nobody sees."""
    return item.stash.get(_between_key, False)


def passed(item: pytest.Item) -> bool:
    """Tell whether a test that raised nothing has passed: unittest keeps its failures aside, and a
    subtest that fails has a report of its own."""
    watch = item.stash.get(_watch_key, None)
    return not getattr(item, "_excinfo", None) and (watch is None or not watch.failed)


@contextmanager
def watched(item: pytest.Item) -> Iterator[None]:
    """Look at the reports that come while the test is at work: those of its subtests."""
    watch = item.stash[_watch_key] = _Watch()
    item.config.pluginmanager.register(watch)
    try:
        yield
    finally:
        item.config.pluginmanager.unregister(watch)


class _Watch:
    """Notices a report of a failure."""

    failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note."""
        self.failed = self.failed or report.failed


@contextmanager
def silenced(item: pytest.Item) -> Iterator[None]:
    """Keep reports of subtests that pass to ourselves: the first run has told them."""
    session, real = item.session, item.session.gethookproxy
    session.gethookproxy = lambda path: _Silent(real(path))  # type: ignore[assignment, method-assign, return-value]  # taken back below
    try:
        yield
    finally:
        del session.gethookproxy


class _Silent:
    """The hooks of a test, but for what tells of a success."""

    def __init__(self, hooks: object) -> None:
        self._hooks = hooks

    def __getattr__(self, name: str) -> object:
        return getattr(self._hooks, name)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Pass on a failure only."""
        if report.failed:
            self._hooks.pytest_runtest_logreport(report=report)  # type: ignore[attr-defined]


class Sections:
    """What a test printed and logged, as its report shows it: once, however often it ran."""

    def __init__(self, item: pytest.Item) -> None:
        self._sections: list[object] = item._report_sections  # type: ignore[assignment]
        self._kept = list(self._sections)

    def restore(self) -> None:
        """Take out what was added since."""
        self._sections[:] = self._kept
