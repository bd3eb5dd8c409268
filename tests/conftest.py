"""What holds for every test: nothing is skipped, signals have their default actions, and the width
of a terminal is not set.

Some tests have no object where threads run without a GIL (see LEFT_OUT): there they are left out,
and the summary says how many of which file, and why (tools/dev/stages.py reads it).
"""

from __future__ import annotations

import os
import signal
import sysconfig
from collections import Counter
from collections.abc import Generator
from typing import Protocol

import pytest

Reports = Generator[None, pytest.TestReport, pytest.TestReport]
Collects = Generator[None, pytest.CollectReport, pytest.CollectReport]

HAS_GIL = not sysconfig.get_config_var("Py_GIL_DISABLED")
# By mark.
LEFT_OUT = {
    "hot": "threads run without a GIL here, so that no code gets hot",
}
n_left_out: dict[str, int] = {}  # by file and mark


class Worker(Protocol):
    """A worker of pytest-xdist, when it has ended."""

    workeroutput: dict[str, dict[str, int]]


def pytest_configure(config: pytest.Config) -> None:
    """Take back what `nohup`, the `&` of a shell or a worker of pytest-xdist has set: programs
    would inherit it."""
    os.environ.pop("COLUMNS", None)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for mark, reason in LEFT_OUT.items():
        config.addinivalue_line("markers", f"{mark}: left out without a GIL ({reason})")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what does not exist on this interpreter."""
    out = {
        item: f"{item.nodeid.partition('::')[0]} {mark}"
        for mark in LEFT_OUT
        for item in items
        if not HAS_GIL and item.get_closest_marker(mark)
    }
    if not out:
        return
    items[:] = [item for item in items if item not in out]
    config.hook.pytest_deselected(items=list(out))
    n_left_out.update(Counter(out.values()))
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = n_left_out


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Worker) -> None:
    """Hear from a worker what it left out, which is the same in each."""
    n_left_out.update(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out, and why."""
    for key, n_tests in sorted(n_left_out.items()):
        name, _, mark = key.rpartition(" ")
        terminalreporter.write_line(f"left out: {name}: {n_tests} ({LEFT_OUT[mark]})")


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return why a test was skipped."""
    where = report.longrepr
    return str(where[2]) if isinstance(where, tuple) else str(where)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Reports:
    """Turn a skip into a failure: `make test` installs what every test needs, so a test that does
    not run is a test that nobody would miss."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"a skip is a failure in this project: {reason_of(report)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Collects:
    """Do the same for a module that skips itself while it is collected."""
    report = yield
    if report.skipped:
        report.outcome = "failed"
        report.longrepr = f"a skip is a failure in this project: {reason_of(report)}"
    return report
