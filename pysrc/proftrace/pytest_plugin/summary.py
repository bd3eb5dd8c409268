"""`--memtrace`: what the tests held, collected from all workers and shown at the end."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import pytest

from proftrace.model.profile import Profile
from proftrace.pytest_plugin import SUMMARY_PLUGIN, fixtures, fresh
from proftrace.pytest_plugin.markers import MemoryLimit
from proftrace.pytest_plugin.messages import Texts
from proftrace.pytest_plugin.options import options_of
from proftrace.pytest_plugin.recording import Recording
from proftrace.pytest_plugin.scope import Counted
from proftrace.units import format_bytes, format_count

_SITES_OF_A_TEST = 5
_SMALLEST_SHARE = 100  # a site with less than a hundredth of it all is not shown

# What a test held, in a form that xdist can send: peak, allocations, file, [[bytes, place]].
type Note = dict[str, object]

_note_key = pytest.StashKey[Note]()


def install(config: pytest.Config) -> None:
    """Measure every test of this run; UsageError when an option cannot be followed."""
    options_of(config)
    config.pluginmanager.register(_Summary(config), SUMMARY_PLUGIN)


def note(
    item: pytest.Item,
    profile: Profile,
    recording: Recording,
    texts: Texts,
    limits: Sequence[MemoryLimit],
) -> None:
    """Keep what the summary shows of a test."""
    if not item.config.pluginmanager.has_plugin(SUMMARY_PLUGIN):
        return
    counted = Counted(
        any(limit.counted.current_thread_only for limit in limits),
        any(limit.counted.setup for limit in limits),
    )
    held = fixtures.held_with_test(item, profile, recording.scope, counted)
    item.user_properties.append(("memtrace_peak_bytes", held.bytes))
    item.stash[_note_key] = {
        "peak": held.bytes,
        "allocations": profile.totals["n_allocations"],
        "file": recording.path if recording.kept else "",
        "sites": [
            [site.bytes, texts.place(site)]
            for site in held.sites[:_SITES_OF_A_TEST]
            if site.bytes * _SMALLEST_SHARE >= held.bytes
        ],
    }


class _Summary:
    """Sends the notes with the reports of the tests, and shows those that took most."""

    def __init__(self, config: pytest.Config) -> None:
        self._options = options_of(config)
        self._notes: dict[str, Note] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the note of a test into the report of its call."""
        report = yield
        found = item.stash.get(_note_key, None)
        if call.when == "call" and found is not None and not fresh.is_between(item):
            del item.stash[_note_key]
            # What stands in a report's dict travels from a worker to the controller.
            report.__dict__["memtrace"] = found
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the note out of a report, wherever the test ran."""
        found: Note | None = getattr(report, "memtrace", None)
        if found is not None:
            self._notes[report.nodeid] = found

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the tests that held most."""
        if self._options.hide_summary or not self._notes:
            return
        order = sorted(self._notes, key=lambda name: -_number(self._notes[name], "peak"))
        shown = order[: self._options.top] if self._options.top else order
        head = f"memtrace: {len(shown)} of {len(order)} tests, by memory at their peak"
        terminalreporter.write_sep("=", head)
        for name in shown:
            self._write_test(terminalreporter, name, self._notes[name])
        if self._options.bin_path:
            kept = sum(bool(found["file"]) for found in self._notes.values())
            terminalreporter.write_line(f"{kept} captures are in {self._options.bin_path}")

    def _write_test(self, out: pytest.TerminalReporter, name: str, found: Note) -> None:
        count = format_count(_number(found, "allocations"))
        size = format_bytes(_number(found, "peak"))
        out.write_line(f"{size:>11}  {name}  ({count} allocations)")
        sites = found["sites"]
        assert isinstance(sites, list)
        for size_of_site, place in sites:
            out.write_line(f"{format_bytes(size_of_site):>15}  {place}")


def _number(found: Note, name: str) -> int:
    value = found[name]
    assert isinstance(value, int)
    return value
