"""Runs a test again within one report of it: its function-scoped fixtures are new each time."""

from __future__ import annotations

from typing import Literal

import pytest

_between_key = pytest.StashKey[bool]()


def tear_down(item: pytest.Item) -> None:
    """Tear down what belongs to this test alone, through the hooks that do it at its end."""
    assert item.parent is not None
    # The next test as pytest names it is what may stay: here the class or module itself.
    item.ihook.pytest_runtest_teardown(item=item, nextitem=item.parent)


def set_up(item: pytest.Item) -> None:
    """Set the test up again: a new instance of its class, new fixtures."""
    if isinstance(item, pytest.Function):
        if isinstance(item.parent, pytest.Class):
            item.__dict__.pop("_instance", None)
            item.__dict__.pop("_obj", None)
            assert item.obj  # makes the instance, which a tear-down of unittest takes for granted
        item._initrequest()
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
    """Tell whether a test that raised nothing has passed: unittest keeps its failures aside."""
    return not getattr(item, "_excinfo", None)


class Sections:
    """What a test printed and logged, as its report shows it: once, however often it ran."""

    def __init__(self, item: pytest.Item) -> None:
        self._sections: list[object] = item._report_sections  # type: ignore[assignment]
        self._kept = list(self._sections)

    def restore(self) -> None:
        """Take out what was added since."""
        self._sections[:] = self._kept
