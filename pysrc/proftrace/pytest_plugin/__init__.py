"""The pytest plugin: limits on what a test allocates and leaks; see docs/pytest.md.

pytest imports this module in every run, so it loads nothing of ours before a marker or `--memtrace`
asks for it.
"""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator

    from proftrace.pytest_plugin.markers import LeaksFilterFunction as LeaksFilterFunction
    from proftrace.pytest_plugin.markers import Stack as Stack
    from proftrace.pytest_plugin.markers import StackFrame as StackFrame

__all__ = ["LeaksFilterFunction", "Stack", "StackFrame"]

MARKER_LINES = (
    "limit_memory(limit, *, current_thread_only=False, setup=False): fail the test if it holds more"
    ' memory than `limit` (such as "24 MB") at any moment',
    "limit_leaks(location_limit, *, filter_fn=None, current_thread_only=False, setup=False): fail"
    " the test if a place in the code leaks more than this",
    'no_leaks(warmup=2, repeat=5, per_call="16 B", *, filter_fn=None, current_thread_only=False,'
    " setup=False): run the test repeatedly, and fail it if a place in the code grows at every"
    " repeat",
)
SUMMARY_PLUGIN = "memtrace-summary"  # is there when every test is to be measured
MARKER_NAMES = tuple(line.partition("(")[0] for line in MARKER_LINES)


def __getattr__(name: str) -> object:
    """Load the public names when they are asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from proftrace.pytest_plugin import markers

    return getattr(markers, name)


def _count(text: str) -> int:
    """Return a whole number of at least 0, for argparse."""
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; each is an entry of the ini file too, under its name with underscores."""
    group = parser.getgroup("memtrace", "memory of tests")
    texts = {
        "memtrace": "Measure the memory of every test and show those that take most",
        "memtrace_native": "Record native stacks too (slower)",
        "memtrace_hide_summary": "Do not show the tests that take most memory",
        "memtrace_fail_on_increase": "Fail a test with limit_memory that takes more memory than"
        " when it passed last",
    }
    for name, text in texts.items():
        group.addoption("--" + name.replace("_", "-"), action="store_true", default=None, help=text)
        parser.addini(name, text, type="bool")
    counts = {
        "memtrace_top": ("How many tests to show (default 5, 0 = all)", "5"),
        "memtrace_stacks": ("How many frames to show of a stack (default 5)", "5"),
    }
    for name, (text, default) in counts.items():
        group.addoption(
            "--" + name.replace("_", "-"), type=_count, default=None, metavar="N", help=text
        )
        parser.addini(name, text, default=default)
    text = "Keep the capture of each measured test in this folder"
    group.addoption("--memtrace-bin-path", default=None, metavar="DIR", help=text)
    parser.addini("memtrace_bin_path", text, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known, and get ready when every test is to be measured."""
    for line in MARKER_LINES:
        config.addinivalue_line("markers", line)
    if config.getoption("memtrace") or config.getini("memtrace"):
        from proftrace.pytest_plugin import summary

        summary.install(config)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Get ready to record fixtures when the limit of a test counts them."""
    if any(
        mark.kwargs.get("setup")
        for item in session.items
        for mark in item.iter_markers("limit_memory")
    ):
        from proftrace.pytest_plugin import fixtures

        fixtures.install(session.config)


def _is_measured(item: pytest.Item) -> bool:
    """Tell whether a marker or `--memtrace` asks for the memory of this test."""
    return item.config.pluginmanager.has_plugin(SUMMARY_PLUGIN) or any(
        item.get_closest_marker(name) is not None for name in MARKER_NAMES
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a marker that cannot be followed, before anything of the test runs."""
    if _is_measured(item):
        from proftrace.pytest_plugin import markers

        markers.check(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Measure the test; outside of what every other plugin does in this phase."""
    if not _is_measured(item):
        return (yield)
    from proftrace.pytest_plugin import runs

    return (yield from runs.measured(item))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the captures that are not kept."""
    import sys

    if "proftrace.pytest_plugin.recording" in sys.modules:
        from proftrace.pytest_plugin import recording

        recording.clean_up(config)
