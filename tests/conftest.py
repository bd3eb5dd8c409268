"""What holds for every test: nothing is skipped, signals have their default actions, and the width
of a terminal is not set."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator

import pytest

Reports = Generator[None, pytest.TestReport, pytest.TestReport]
Collects = Generator[None, pytest.CollectReport, pytest.CollectReport]


def pytest_configure() -> None:
    """Take back what `nohup`, the `&` of a shell or a worker of pytest-xdist has set: programs
    would inherit it."""
    os.environ.pop("COLUMNS", None)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
