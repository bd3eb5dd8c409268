"""Runs a test again within one report of it: its function-scoped fixtures are new each time."""

from __future__ import annotations

import pytest


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
        item._initrequest()
    item.ihook.pytest_runtest_setup(item=item)


def call(item: pytest.Item) -> None:
    """Run the test, with all that other plugins do around it."""
    item.ihook.pytest_runtest_call(item=item)


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
