"""Runs a measured test: once as a rule, again when it seems to leak, often for no_leaks."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence

import pytest

from proftrace import _capture
from proftrace.model.profile import Profile
from proftrace.pytest_plugin import fixtures, fresh, growth, increase, messages, summary
from proftrace.pytest_plugin.caches import BoundedCaches
from proftrace.pytest_plugin.markers import LeakLimit, MemoryLimit, NoLeaks, Request, requests_of
from proftrace.pytest_plugin.options import Options, options_of
from proftrace.pytest_plugin.recording import (
    Recording,
    is_loose,
    marked_body,
    recorded_body,
    replaced_body,
    settle,
)
from proftrace.pytest_plugin.verdicts import Held, leaks_over

type Phase = Generator[None, object, object]

# A test that seems to leak runs on until one of these is reached. The seconds are the processor's:
# a busy machine shall not decide what is a leak.
_MOST_RUNS = 256
_MOST_CPU_SECONDS = 4.0
_MOST_SECONDS = 20.0
_MOST_BYTES = 64 << 20
_IDLE_SECONDS = (0.02, 1.0)

_busy_key = pytest.StashKey[bool]()
_warned_key = pytest.StashKey[bool]()


def measured(item: pytest.Item) -> Phase:
    """Run the call phase of a test and fail it when its memory is not as its markers want it."""
    if item.stash.get(_busy_key, False):
        return (yield)
    if _capture.is_on():
        _warn_once(item)
        return (yield)
    item.stash[_busy_key] = True
    try:
        requests = requests_of(item)
        repeated = next((one for one in requests if isinstance(one, NoLeaks)), None)
        with fresh.watched(item):
            if repeated is not None:
                return (yield from _Repeated(item, requests, repeated).run())
            return (yield from _Once(item, requests).run())
    finally:
        item.stash[_busy_key] = False


def _warn_once(item: pytest.Item) -> None:
    if not item.config.stash.get(_warned_key, False):
        item.config.stash[_warned_key] = True
        item.warn(
            pytest.PytestWarning(
                "memtrace: the memory of tests is not measured: this process is being recorded"
            )
        )


class _Measured:
    """What both ways of running a test have."""

    def __init__(self, item: pytest.Item, requests: Sequence[Request]) -> None:
        self.item = item
        self.options: Options = options_of(item.config)
        self.memory = [one for one in requests if isinstance(one, MemoryLimit)]
        self.leaks = [one for one in requests if isinstance(one, LeakLimit)]
        self.texts = messages.Texts(item.config.rootpath, self.options.stacks)
        self.recording = Recording(item, self.options, loose=is_loose(item))
        self.problems: list[str] = []
        self.held: Held | None = None  # that is remembered when the test passes

    def judge_memory(self, profile: Profile) -> None:
        """Compare the peak with the limits, and note it for the summary."""
        scope = self.recording.scope
        for limit in self.memory:
            held = fixtures.held_with_test(self.item, profile, scope, limit.counted)
            if held.bytes > limit.limit:
                self.problems.append(self.texts.too_much(limit, held))
            if self.held is None or held.bytes > self.held.bytes:
                self.held = held
        if self.held is not None:
            self._compare(self.held)
        summary.note(self.item, profile, self.recording, self.texts, self.memory)

    def _compare(self, held: Held) -> None:
        before = increase.previous(self.item) if self.options.fail_on_increase else None
        if before is not None and increase.is_more(held, before):
            self.problems.append(self.texts.increased(before, held))

    def verdict(self) -> None:
        """Fail the test when there is a reason."""
        if self.held is not None and not self.problems:
            increase.remember(self.item, self.held)
        if self.problems:
            __tracebackhide__ = True
            pytest.fail("\n".join(self.problems), pytrace=False)


class _Once(_Measured):
    """A test with limits, or one that is measured only."""

    def run(self) -> Phase:
        """Run the test; a leak over the limit has to come again in a second run."""
        try:
            result = yield from self._recorded()
            if not fresh.passed(self.item):
                return result
            profile = self.recording.load()
            self.judge_memory(profile)
            scope = self.recording.scope
            # What fixtures leave is known when they are torn down.
            if any(one.counted.setup or leaks_over(profile, scope, one) for one in self.leaks):
                self._judge_leaks(profile)
        finally:
            self.recording.stop()
            self.recording.discard()
        self.verdict()
        return result

    def _recorded(self) -> Phase:
        recording, collect = self.recording, bool(self.leaks)
        if isinstance(self.item, pytest.Function):
            with (
                fixtures.unittest_setups(self.item),
                replaced_body(
                    self.item, lambda body: recorded_body(body, recording, collect=collect)
                ),
            ):
                return (yield)
        recording.start()
        try:
            result = yield
            if collect:
                settle(recording.scope)
            return result
        finally:
            recording.stop()

    def _judge_leaks(self, profile: Profile) -> None:
        """Judge the leaks of a second run; those of the first if the test cannot run twice."""
        remark = ""
        try:
            with fresh.silenced(self.item):
                self._run_again()
            if not fresh.passed(self.item):
                return
            profile = self.recording.load()
        except Exception as error:
            remark = (
                "\n  (in the only run of the test: the second one, which tells leaks from caches,"
                f" ended with {type(error).__name__})"
            )
        for limit in self.leaks:
            sites = leaks_over(profile, self.recording.scope, limit)
            if sites:
                self.problems.append(self.texts.leaked(limit, sites) + remark)

    def _run_again(self) -> None:
        """Record a second run to the end of its fixtures: what filled a cache for the first time
        does not come again, and what a fixture frees is no leak."""
        item, recording = self.item, self.recording
        sections = fresh.Sections(item)
        fresh.tear_down(item)
        try:
            if any(limit.counted.setup for limit in self.leaks):
                recording.start()
                fresh.set_up(item)
            else:
                fresh.set_up(item)
                recording.start()
            with replaced_body(item, marked_body):
                fresh.call(item)
            if fresh.passed(item):
                try:
                    fresh.tear_down(item)
                    settle(recording.scope)
                finally:
                    recording.stop()
                    fresh.set_up(item)
        finally:
            recording.stop()
        sections.restore()


class _Repeated(_Measured):
    """A test with no_leaks."""

    def __init__(self, item: pytest.Item, requests: Sequence[Request], no_leaks: NoLeaks) -> None:
        super().__init__(item, requests)
        self.request = no_leaks
        self.spans = growth.Spans(no_leaks.repeat)
        self.n_runs = 0
        self.torn_down = False
        self.sections: fresh.Sections | None = None
        self.seconds = self.cpu_seconds = 0.0  # that the runs behind the first have taken

    def run(self) -> Phase:
        """Run the test as often as it takes, with new fixtures each time."""
        self.recording.start()
        try:
            if self.request.warmup == 0:
                self._mark()
            with replaced_body(self.item, marked_body):
                result = yield
            if not fresh.passed(self.item):
                return result
            self.sections = fresh.Sections(self.item)
            with fresh.silenced(self.item):
                if self._run_all():
                    self._judge()
        finally:
            self.recording.stop()
            if self.torn_down:
                fresh.set_up(self.item)
            if self.sections is not None and fresh.passed(self.item):
                self.sections.restore()
            self.recording.discard()
        self.verdict()
        return result

    def _run_all(self) -> bool:
        """Do the warm-up and the repeats; False when the test failed in one of them."""
        self._end_run()
        wanted = self.request.warmup + self.request.repeat
        while self.n_runs < wanted:
            if not self._run_again():
                return False
            self._end_run()
        return True

    def _run_again(self) -> bool:
        if not self.torn_down:
            self._tear_down()
        started, cpu_started = time.monotonic(), time.process_time()
        self.torn_down = False
        fresh.set_up(self.item)
        try:
            with replaced_body(self.item, marked_body):
                fresh.call(self.item)
        except BaseException as error:
            error.add_note(f"(in run {self.n_runs + 1} of the test, for no_leaks)")
            raise
        self.seconds += time.monotonic() - started
        self.cpu_seconds += time.process_time() - cpu_started
        return fresh.passed(self.item)

    def _tear_down(self) -> None:
        try:
            fresh.tear_down(self.item)
        finally:
            self.torn_down = True
        if self.sections is not None:
            self.sections.restore()

    def _end_run(self) -> None:
        """Tear down what the run had, and put a mark when the warm-up is over."""
        self._tear_down()
        self.n_runs += 1
        if self.n_runs >= self.request.warmup:
            self._mark()

    def _mark(self) -> int:
        """Put a mark, and return its number."""
        settle(self.recording.scope)
        self.recording.mark()
        self.spans.runs.append(self.n_runs)
        return len(self.spans.runs) - 1

    def _judge(self) -> None:
        recording, request, spans = self.recording, self.request, self.spans
        profile = recording.snapshot()
        self.judge_memory(profile)
        for limit in self.leaks:
            sites = growth.left_by_last_run(profile, recording.scope, limit)
            if sites:
                self.problems.append(self.texts.leaked(limit, sites))
        suspects = growth.suspects(profile, recording.scope, request, spans)
        if not suspects:
            return
        caches = BoundedCaches()
        if not self._run_on(suspects):
            return
        if any(suspect.background for suspect in suspects):
            self._idle()
        caches.clear_used()
        spans.cleared = self._mark()
        recording.stop()
        found = growth.leaks(recording.load(), recording.scope, request, spans)
        if found:
            self.problems.append(self.texts.grew(request, found, self.n_runs))

    def _run_on(self, suspects: Sequence[growth.Growth]) -> bool:
        """Double the number of runs while it takes little; False when the test failed."""
        spans = self.spans
        a_call = sum(one.series[-1] - one.series[0] for one in suspects if not one.merged)
        a_call //= spans.repeat
        while self._may_double(a_call):
            for _ in range(self.n_runs):
                if not self._run_again():
                    return False
                self._tear_down()
                self.n_runs += 1
            self._mark()
            spans.n_doublings += 1
        return True

    def _may_double(self, bytes_a_call: int) -> bool:
        """Tell whether twice as many runs stay below the limits of time and memory."""
        share = self.n_runs / (self.n_runs - 1) + 1
        return (
            2 * self.n_runs <= _MOST_RUNS
            and self.n_runs * bytes_a_call <= _MOST_BYTES
            and share * self.seconds <= _MOST_SECONDS
            and share * self.cpu_seconds <= _MOST_CPU_SECONDS
        )

    def _idle(self) -> None:
        """Let the time of the repeats pass without the test: what grows now, grows by itself."""
        least, most = _IDLE_SECONDS
        before = self._mark()
        time.sleep(min(max(self.seconds, least), most))
        self.spans.idle = (before, self._mark())
