"""What fixtures hold, for tests whose limit counts them: limit_memory(..., setup=True).

Each fixture is recorded by itself while it is set up, whichever test needs it first. So a test has
the same verdict in any order, alone, and beside others that use its fixtures too.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pytest

from proftrace import _capture
from proftrace.memory.tracker import Tracker
from proftrace.model.load import load_profile
from proftrace.model.profile import Profile
from proftrace.pytest_plugin.recording import temporary_folder
from proftrace.pytest_plugin.scope import Counted, Scope
from proftrace.pytest_plugin.verdicts import Held, by_size, held_at_peak, left_at_end

# The two functions of unittest that set up a test; it calls them where pytest calls the test.
_UNITTEST_SETUPS = ("setUp", "asyncSetUp")
_PLUGIN = "memtrace-fixtures"


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a fixture held while it was set up, and what is left of it: in all threads, and as far
    as the thread of the test has allocated it."""

    peak: tuple[Held, Held]
    left: tuple[Held, Held]


class _Recording:
    """The recording of one set-up, from its making to its end."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._scope = Scope.of_calling_thread(loose=True)
        self._tracker = Tracker(path, python_allocators=True, overwrite=True)
        self._tracker.start()

    def finish(self) -> _Kept:
        """Return what was held."""
        self._tracker.stop()
        try:
            return _kept_of(load_profile(self._path), self._scope)
        finally:
            self.discard()

    def discard(self) -> None:
        """Remove the capture."""
        self._tracker.stop()
        with suppress(FileNotFoundError):
            os.unlink(self._path)


class Fixtures:
    """Records fixtures: all but function-scoped ones, and these where a test wants it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._n_recorded = 0
        self._kept: dict[object, _Kept] = {}  # by fixture, in the order of their set-up
        self._of_test: list[_Kept] = []  # the set-ups of unittest

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Record a fixture while it is set up."""
        __tracebackhide__ = True
        if _capture.is_on():
            return (yield)  # in a run of the test that is repeated, or inside another fixture
        if fixturedef.scope == "function" and not wants_fixtures(request.node):
            return (yield)
        recording = self._start()
        try:
            result = yield
        except BaseException:
            recording.discard()
            raise
        self._kept.pop(fixturedef, None)
        self._kept[fixturedef] = recording.finish()
        return result

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[object]) -> None:
        """Forget a fixture that is gone."""
        self._kept.pop(fixturedef, None)

    def _start(self) -> _Recording:
        self._n_recorded += 1
        name = f"fixture-{self._n_recorded}.bin"
        return _Recording(os.path.join(temporary_folder(self._config), name))

    @contextmanager
    def unittest_setups(self, item: pytest.Item) -> Iterator[None]:
        """Record `setUp` of a unittest test, which runs right before the test itself."""
        self._of_test.clear()
        instance = getattr(item, "instance", None)
        replaced = []
        if isinstance(item, pytest.Function) and hasattr(instance, "setUp"):
            for name in _UNITTEST_SETUPS:
                function = getattr(instance, name, None)
                if function is not None and name not in vars(instance):
                    setattr(instance, name, self._recorded(function))
                    replaced.append(name)
        try:
            yield
        finally:
            for name in replaced:
                vars(instance).pop(name, None)

    def _recorded[**P, R](self, function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
            __tracebackhide__ = True
            recording = self._start()
            try:
                result = function(*args, **kwargs)
            except BaseException:
                recording.discard()
                raise
            self._of_test.append(recording.finish())
            return result

        @functools.wraps(function)
        async def recorded_async(*args: P.args, **kwargs: P.kwargs) -> object:
            __tracebackhide__ = True
            recording = self._start()
            try:
                result = await function(*args, **kwargs)  # type: ignore[misc]  # a coroutine function
            except BaseException:
                recording.discard()
                raise
            self._of_test.append(recording.finish())
            return result

        return recorded_async if inspect.iscoroutinefunction(function) else recorded  # type: ignore[return-value]  # as async as it was

    def highest(self, item: pytest.Item, held: Held, counted: Counted) -> Held:
        """Return the highest moment from the first fixture of a test to its end: while one is set
        up those before it are there, and while the test runs (`held`) all are."""
        info = getattr(item, "_fixtureinfo", None)
        lists = getattr(info, "name2fixturedefs", {}).values()
        definitions = {one for found in lists for one in found}
        steps = [kept for one, kept in self._kept.items() if one in definitions] + self._of_test
        which = int(counted.current_thread_only)
        before: list[Held] = []
        moments = []
        for kept in steps:
            moments.append(_together([*before, kept.peak[which]]))
            before.append(kept.left[which])
        return max([*moments, _together([*before, held])], key=lambda moment: moment.bytes)


def _kept_of(profile: Profile, scope: Scope) -> _Kept:
    whose = Counted(False, True), Counted(True, True)
    return _Kept(
        (held_at_peak(profile, scope, whose[0]), held_at_peak(profile, scope, whose[1])),
        (left_at_end(profile, scope, whose[0]), left_at_end(profile, scope, whose[1])),
    )


def _together(parts: Sequence[Held]) -> Held:
    sites = by_size(site for held in parts for site in held.sites)
    return Held(sum(held.bytes for held in parts), sites)


def wants_fixtures(item: object) -> bool:
    """Tell whether a limit on the memory of a test counts its fixtures too."""
    return isinstance(item, pytest.Item) and any(
        mark.kwargs.get("setup") is True for mark in item.iter_markers("limit_memory")
    )


def install(config: pytest.Config) -> None:
    """Record fixtures from here on."""
    if not config.pluginmanager.has_plugin(_PLUGIN):
        config.pluginmanager.register(Fixtures(config), _PLUGIN)


def _of_run(config: pytest.Config) -> Fixtures | None:
    found = config.pluginmanager.get_plugin(_PLUGIN)
    return found if isinstance(found, Fixtures) else None


def held_with_test(item: pytest.Item, profile: Profile, scope: Scope, counted: Counted) -> Held:
    """Return what a test held at its peak, with its fixtures if they count."""
    held = held_at_peak(profile, scope, Counted(counted.current_thread_only))
    fixtures = _of_run(item.config) if counted.setup else None
    return held if fixtures is None else fixtures.highest(item, held, counted)


@contextmanager
def unittest_setups(item: pytest.Item) -> Iterator[None]:
    """Record `setUp` of a unittest test, which runs right before the test itself."""
    fixtures = _of_run(item.config) if wants_fixtures(item) else None
    if fixtures is None:
        yield
        return
    with fixtures.unittest_setups(item):
        yield
