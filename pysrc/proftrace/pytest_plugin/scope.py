"""What of a capture is the test's own: pytest, its plugins and threads of others allocate too."""

from __future__ import annotations

import os
import sys
import threading
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from proftrace.model.profile import Profile
from proftrace.views.call_tree import Place
from proftrace.views.origin import Origin, origin_of

_HERE = os.path.dirname(os.path.abspath(__file__))
_TRACKER = os.path.join(os.path.dirname(_HERE), "memory")
_RECORDING = os.path.join(_HERE, "recording.py")
_FRESH = os.path.join(_HERE, "fresh.py")
# Below these frames runs what is the test's; below the others its fixtures.
_BODY_FRAMES = {
    (_RECORDING, "run_test_body"),
    (_RECORDING, "run_async_test_body"),
    (_RECORDING, "settle"),
}
_FIXTURE_FRAMES = {(_FRESH, "set_up"), (_FRESH, "tear_down")}
_TEST_TOOLS = ("_pytest", "pluggy", "pytest_asyncio", "anyio.pytest_plugin", "xdist", "execnet")

# What a stack says: it is in the body of the test, in its fixtures; its innermost frame is ours; it
# belongs to a worker of xdist; its innermost frame, library calls aside, is the user's or a tool's.
_BODY, _FIXTURE, _OURS, _WORKER, _USER, _TOOL = 1, 2, 4, 8, 16, 32
_OTHER, _NATIVE = 64, 128  # of a function: neither user code nor a tool; native code


def thread_ids() -> list[int]:
    """Return the kernel's ids of the threads of this process."""
    return [int(name) for name in os.listdir("/proc/self/task")]


@dataclass(frozen=True, slots=True)
class Scope:
    """Who runs the test: its thread, and the threads that were there before it (`background`).

    `loose`: the test has no frame that all its code runs below, as with an event loop.
    """

    own_tid: int
    background: Mapping[int, str]  # kernel ids and names
    loose: bool

    @classmethod
    def of_calling_thread(cls, *, loose: bool) -> Self:
        """Return the scope of a test that the calling thread is about to run."""
        own = threading.get_native_id()
        names = {one.native_id: one.name for one in threading.enumerate()}
        others = {tid: names.get(tid, "") for tid in thread_ids() if tid != own}
        return cls(own, others, loose)


@dataclass(frozen=True, slots=True)
class Counted:
    """What counts as the test's: without its fixtures (`setup`), in all threads or in its own."""

    current_thread_only: bool = False
    setup: bool = False


@dataclass(slots=True)
class Site:
    """A place that allocates: bytes and blocks, its stack inside the test, innermost frame first,
    and the names of its threads."""

    places: tuple[Place, ...]
    bytes: int = 0
    blocks: int = 0
    threads: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class View:
    """The samples of a profile that are the test's, each with its stack inside the test."""

    profile: Profile
    scope: Scope
    counted: Counted
    flags: array[int]  # by row of the stack table
    function_flags: array[int]

    def samples(self) -> Iterator[int]:
        """Yield the rows of the sample table that count."""
        samples, tids = self.profile.samples, self.profile.threads.tid
        for row, (stack, thread) in enumerate(zip(samples.stack, samples.thread, strict=True)):
            if self._counts(self.flags[stack], tids[thread] if thread < len(tids) else 0):
                yield row

    def _counts(self, flags: int, tid: int) -> bool:
        if flags & (_OURS | _TOOL):
            return False
        if tid == self.scope.own_tid:
            if flags & _BODY or (self.counted.setup and flags & _USER):
                return True
            # What a test leaves to the event loop runs outside of its own frames.
            return self.scope.loose and bool(flags & _USER) and not flags & _FIXTURE
        return not self.counted.current_thread_only and not flags & _WORKER

    def is_background(self, sample: int) -> bool:
        """Tell whether a sample is of a thread that ran before the test began."""
        thread = self.profile.samples.thread[sample]
        tids = self.profile.threads.tid
        return thread < len(tids) and tids[thread] in self.scope.background

    def places(self, sample: int) -> tuple[Place, ...]:
        """Return the stack of a sample inside the test, innermost frame first: down to the test's
        body, or else, for a fixture, to the tool that calls it."""
        profile = self.profile
        row = profile.samples.stack[sample]
        found: list[Place] = []
        n_own = -1  # frames above the first of a tool's
        while row:
            frame = profile.stacks.frame[row]
            place = _place(profile, frame)
            if (place.file, place.name.rpartition(".")[2]) in _BODY_FRAMES:
                return tuple(found)
            if n_own < 0 and self.function_flags[profile.frames.function[frame]] & _TOOL:
                n_own = len(found)
            found.append(place)
            row = profile.stacks.parent[row]
        return tuple(found if n_own <= 0 else found[:n_own])

    def thread_name(self, sample: int) -> str:
        """Return the name of the thread that allocated, or its number."""
        threads = self.profile.threads
        row = self.profile.samples.thread[sample]
        if row >= len(threads):
            return ""
        tid = threads.tid[row]
        # A thread names itself in a capture when it starts; those from before it are known here.
        name = self.profile.strings[threads.name[row]] or self.scope.background.get(tid)
        return name or f"thread {tid}"

    def by_place(self, amounts: Mapping[int, tuple[int, int]]) -> dict[tuple[Place, ...], Site]:
        """Add up bytes and blocks of samples by their stacks."""
        sites: dict[tuple[Place, ...], Site] = {}
        for sample, (size, blocks) in amounts.items():
            places = self.places(sample)
            site = sites.setdefault(places, Site(places))
            site.bytes += size
            site.blocks += blocks
            site.threads.add(self.thread_name(sample))
        return sites


def view(profile: Profile, scope: Scope, counted: Counted) -> View:
    """Return what of a profile is the test's."""
    of_function = _function_flags(profile)
    return View(profile, scope, counted, _stack_flags(profile, of_function), of_function)


def _place(profile: Profile, frame: int) -> Place:
    functions, strings = profile.functions, profile.strings
    function = profile.frames.function[frame]
    return Place(
        profile.function_name(function),
        strings[functions.file[function]],
        profile.frames.line[frame],
        bool(functions.native[function]),
    )


def _stack_flags(profile: Profile, of_function: array[int]) -> array[int]:
    """Return for each stack what its frames say about it."""
    stacks, frames = profile.stacks, profile.frames
    flags = array("B", bytes(len(stacks)))
    for row in range(1, len(stacks)):
        own = of_function[frames.function[stacks.frame[row]]]
        above = flags[stacks.parent[row]]
        kept = above & (_BODY | _FIXTURE | _WORKER)
        if own & _NATIVE:
            kept = above
        elif own & _OTHER:
            kept |= above & (_USER | _TOOL)
        flags[row] = (kept | own) & ~(_OTHER | _NATIVE)
    return flags


def _function_flags(profile: Profile) -> array[int]:
    functions, strings = profile.functions, profile.strings
    tools = _tool_folders()
    worker = _module_folder("execnet")
    flags = array("B", bytes(len(functions)))
    for row in range(len(functions)):
        file = strings[functions.file[row]]
        name = strings[functions.name[row]]
        if functions.native[row]:
            flags[row] = _NATIVE
        elif (file, name) in _BODY_FRAMES:
            flags[row] = _BODY | _OURS
        elif (file, name) in _FIXTURE_FRAMES:
            flags[row] = _FIXTURE | _OURS
        elif _is_below(file, _HERE) or _is_below(file, _TRACKER):
            flags[row] = _OURS
        elif worker and _is_below(file, worker):
            flags[row] = _WORKER
        elif any(_is_below(file, folder) for folder in tools):
            flags[row] = _TOOL
        elif origin_of(file) in (Origin.PROGRAM, Origin.PACKAGE):
            flags[row] = _USER
        else:
            flags[row] = _OTHER
    return flags


def _is_below(file: str, folder: str) -> bool:
    return file == folder or file.startswith(folder + os.sep)


def _tool_folders() -> list[str]:
    return [folder for folder in map(_module_folder, _TEST_TOOLS) if folder]


def _module_folder(name: str) -> str:
    """Return the folder of a package that is loaded, or the file of a module; "" if it is not."""
    file: str | None = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        return ""
    return os.path.dirname(file) if os.path.basename(file) == "__init__.py" else file
