"""One measured test: its capture, and what of it is the test's own."""

from __future__ import annotations

import functools
import gc
import hashlib
import inspect
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from proftrace.memory.tracker import Tracker
from proftrace.model.load import load_profile
from proftrace.model.profile import Profile
from proftrace.pytest_plugin.caches import clear_interpreter_caches, empty_free_lists
from proftrace.pytest_plugin.options import Options
from proftrace.pytest_plugin.scope import Scope, thread_ids

_LONGEST_NAME = 120  # of a capture: file systems take 255 bytes
_folder_key = pytest.StashKey[str]()


class Recording:
    """The capture of one test; started and stopped once."""

    def __init__(self, item: pytest.Item, options: Options, *, loose: bool) -> None:
        self.path = _capture_path(item, options)
        self.kept = bool(options.bin_path)
        self._native = options.native
        self.scope = Scope.of_calling_thread(loose=loose)
        self._tracker = Tracker(
            self.path, native=options.native, python_allocators=True, overwrite=True
        )

    def start(self) -> None:
        """Record from here on; the calling thread is the test's."""
        self.scope = Scope.of_calling_thread(loose=self.scope.loose)
        self._tracker.start()

    def stop(self) -> None:
        """End the recording; without one nothing happens."""
        self._tracker.stop()

    def mark(self) -> None:
        """Note what is live now."""
        self._tracker.mark("")

    def snapshot(self) -> Profile:
        """Return what was recorded up to now; the recording goes on."""
        return self._tracker.snapshot()

    def load(self) -> Profile:
        """Return what was recorded, after the stop."""
        return load_profile(self.path, native=self._native)

    def discard(self) -> None:
        """Remove the capture, unless the user wants it."""
        if not self.kept:
            with suppress(FileNotFoundError):
                os.unlink(self.path)


def recorded_body[**P, R](
    function: Callable[P, R], recording: Recording, *, collect: bool
) -> Callable[P, R]:
    """Return the test function, recorded from its first line to its return.

    With `collect` cyclic garbage goes before the end, so that it is no leak. An exception ends the
    recording as it is.
    """

    @functools.wraps(function)
    def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        recording.start()
        try:
            result = run_test_body(function, *args, **kwargs)
            if collect:
                settle(recording.scope)
        finally:
            recording.stop()
        return result

    @functools.wraps(function)
    async def recorded_async(*args: P.args, **kwargs: P.kwargs) -> object:
        __tracebackhide__ = True
        recording.start()
        try:
            result = await run_async_test_body(function, *args, **kwargs)
            if collect:
                settle(recording.scope)
        finally:
            recording.stop()
        return result

    return recorded_async if inspect.iscoroutinefunction(function) else recorded  # type: ignore[return-value]  # as async as it was


def marked_body[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Return the test function below a frame that tells its stacks from all others.

    Nothing passes through a free list from the outside into the test, nor out of it.
    """

    @functools.wraps(function)
    def marked(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        empty_free_lists()
        result = run_test_body(function, *args, **kwargs)
        empty_free_lists()
        return result

    @functools.wraps(function)
    async def marked_async(*args: P.args, **kwargs: P.kwargs) -> object:
        __tracebackhide__ = True
        empty_free_lists()
        result = await run_async_test_body(function, *args, **kwargs)
        empty_free_lists()
        return result

    return marked_async if inspect.iscoroutinefunction(function) else marked  # type: ignore[return-value]  # as async as it was


# The names of these three stand for "inside the test" in scope.py.


def run_test_body[**P, R](function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call the test."""
    __tracebackhide__ = True
    return function(*args, **kwargs)


async def run_async_test_body(
    function: Callable[..., object], *args: object, **kwargs: object
) -> object:
    """Await the test."""
    __tracebackhide__ = True
    return await function(*args, **kwargs)  # type: ignore[misc]  # a coroutine function


def settle(scope: Scope) -> None:
    """Let go what nothing refers to any more, and what the interpreter keeps for reuse.

    Threads that have ended for Python free their last memory a moment later: at most 50 ms are
    given to them.
    """
    clear_interpreter_caches()
    gc.collect()
    for _ in range(50):
        if len(thread_ids()) <= max(threading.active_count(), len(scope.background) + 1):
            return
        time.sleep(0.001)


@contextmanager
def replaced_body(item: pytest.Item, wrap: Callable[..., object]) -> Iterator[None]:
    """Put a wrapper around the function of a test, for one call of it.

    Items that are not functions (doctests, files) stay as they are.
    """
    if not isinstance(item, pytest.Function):
        yield
        return
    original = item.obj
    wrapped = wrap(original)
    item.obj = wrapped
    # unittest looks a coroutine function up on the instance, where pytest does not put it.
    instance = item.instance if _is_async_testcase(item, original) else None
    if instance is not None:
        setattr(instance, item.name, wrapped)
    try:
        yield
    finally:
        item.obj = original
        if instance is not None:
            delattr(instance, item.name)


def is_loose(item: pytest.Item) -> bool:
    """Tell whether code of a test may run outside of one call: of its event loop, say."""
    return not isinstance(item, pytest.Function) or inspect.iscoroutinefunction(item.obj)


def _is_async_testcase(item: pytest.Function, function: object) -> bool:
    import unittest

    return isinstance(item.instance, unittest.TestCase) and inspect.iscoroutinefunction(function)


def _capture_path(item: pytest.Item, options: Options) -> str:
    """Return where the capture of a test goes: a name of its own, whatever is in its id."""
    words = re.sub(r"[^A-Za-z0-9_.=-]+", "-", item.nodeid.replace("::", "."))
    digest = hashlib.sha256(item.nodeid.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    name = "-".join(filter(None, [words.strip("-.")[:_LONGEST_NAME], digest, worker])) + ".bin"
    return os.path.join(options.bin_path or temporary_folder(item.config), name)


def temporary_folder(config: pytest.Config) -> str:
    """Return the folder of captures that are not kept."""
    folder = config.stash.get(_folder_key, None)
    if folder is None:
        folder = config.stash[_folder_key] = tempfile.mkdtemp(prefix="memtrace-")
    return folder


def clean_up(config: pytest.Config) -> None:
    """Remove the folder of captures that are not kept."""
    folder = config.stash.get(_folder_key, None)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
        del config.stash[_folder_key]
