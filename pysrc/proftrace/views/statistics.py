"""Statistics of everything a program allocated: sizes, allocators, places, modules, threads."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from proftrace.model.profile import ALLOCATOR_NAMES, Profile
from proftrace.views.hotspots import NO_FRAME
from proftrace.views.selection import Selection


@dataclass(frozen=True, slots=True)
class SizeClass:
    """How many allocations asked for `least` to `most` bytes, both included."""

    least: int
    most: int
    count: int


@dataclass(frozen=True, slots=True)
class Share:
    """Bytes and number of allocations that belong to something: a place, module or allocator."""

    name: str
    n_bytes: int
    count: int


@dataclass(frozen=True, slots=True)
class ThreadShare:
    """What a thread allocated in all, and what of it was live at the peak and at the end."""

    tid: int
    name: str
    count: int
    n_bytes: int
    peak_bytes: int
    leaked_bytes: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Sizes are as requested; lists are complete, largest first (`by_count`: most first)."""

    n_allocations: int
    n_frees: int
    total_bytes: int
    peak_bytes: int
    leaked_bytes: int
    leaked_blocks: int
    smallest_bytes: int
    largest_bytes: int
    sizes: Sequence[SizeClass]
    allocators: Sequence[Share]
    places: Sequence[Share]
    places_by_count: Sequence[Share]
    modules: Sequence[Share]
    modules_by_count: Sequence[Share]
    threads: Sequence[ThreadShare]


def statistics(profile: Profile) -> Statistics:
    """Return the statistics of a memory profile."""
    totals = profile.totals
    places = _shares(profile, _place_names(profile))
    modules = _shares(profile, _module_names(profile))
    leaked_blocks = sum(profile.samples.values[Selection.LEAKS.blocks_metric.name])
    return Statistics(
        n_allocations=totals["n_allocations"],
        n_frees=totals["n_frees"],
        total_bytes=totals["total_bytes"],
        peak_bytes=totals["peak_bytes"],
        leaked_bytes=totals["leaked_bytes"],
        leaked_blocks=leaked_blocks,
        smallest_bytes=totals["smallest_bytes"],
        largest_bytes=totals["largest_bytes"],
        sizes=size_classes(profile.size_histogram),
        allocators=_most_first(_shares(profile, _allocator_names(profile))),
        places=_largest_first(places),
        places_by_count=_most_first(places),
        modules=_largest_first(modules),
        modules_by_count=_most_first(modules),
        threads=_threads(profile),
    )


def size_classes(histogram: Sequence[int]) -> list[SizeClass]:
    """Return the classes from the smallest to the largest size that occurs, powers of two wide.

    Class k of the histogram holds the sizes with k significant bits; class 0 is 0 bytes alone.
    """
    used = [bits for bits, count in enumerate(histogram) if count]
    if not used:
        return []
    return [
        SizeClass(1 << bits - 1 if bits else 0, (1 << bits) - 1, histogram[bits])
        for bits in range(used[0], used[-1] + 1)
    ]


def module_of_file(file: str) -> str:
    """Return the module a file holds, as far as its path tells: "json.decoder" for
    ".../lib/python3.13/json/decoder.py", the bare name for a script."""
    if file.startswith("<"):
        return file[1:-1].removeprefix("frozen ") if file.endswith(">") else file
    inside = _LIBRARY.sub("", file)
    parts = [part for part in inside.split("/") if part]
    if inside == file:
        parts = parts[-2:] if parts[-1:] == ["__init__.py"] else parts[-1:]
    if parts[-1:] == ["__init__.py"] and len(parts) > 1:
        parts.pop()
    return ".".join(parts).removesuffix(".py")


_LIBRARY = re.compile(r"^.*/(?:site|dist)-packages/|^.*/lib(?:64)?/python3\.\d+t?/")


def _shares(profile: Profile, names: Iterable[str]) -> list[Share]:
    """Add up everything allocated by a name for every row of the sample table."""
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    sizes, blocks = Selection.ALL.columns(profile)
    for name, n_bytes, count in zip(names, sizes, blocks, strict=True):
        entry = sums[name]
        entry[0] += n_bytes
        entry[1] += count
    return [Share(name, n_bytes, count) for name, (n_bytes, count) in sums.items()]


def _largest_first(shares: list[Share]) -> list[Share]:
    return sorted(shares, key=lambda share: (-share.n_bytes, -share.count, share.name))


def _most_first(shares: list[Share]) -> list[Share]:
    return sorted(shares, key=lambda share: (-share.count, -share.n_bytes, share.name))


def _allocator_names(profile: Profile) -> list[str]:
    return [ALLOCATOR_NAMES.get(kind, str(kind)) for kind in profile.samples.allocator]


def _place_names(profile: Profile) -> list[str]:
    """Name the innermost frame of every sample "function:file:line"."""
    strings, functions = profile.strings, profile.functions

    def name(function: int, line: int) -> str:
        return f"{strings[functions.name[function]]}:{strings[functions.file[function]]}:{line}"

    return _by_frame(profile, name)


def _module_names(profile: Profile) -> list[str]:
    strings, functions = profile.strings, profile.functions
    modules: dict[str, str] = {}

    def name(function: int, line: int) -> str:
        file = strings[functions.file[function]]
        if file not in modules:
            modules[file] = module_of_file(file)
        return modules[file]

    return _by_frame(profile, name)


def _by_frame(profile: Profile, name: Callable[[int, int], str]) -> list[str]:
    """Apply `name(function, line)` to the innermost frame of every sample."""
    frames = profile.frames
    names = [name(*frame) for frame in zip(frames.function, frames.line, strict=True)]
    frame_of = profile.stacks.frame
    return [names[frame_of[stack]] if stack else NO_FRAME for stack in profile.samples.stack]


def _threads(profile: Profile) -> list[ThreadShare]:
    sums = [[0, 0, 0, 0] for _ in range(len(profile.threads))]
    sizes, blocks = Selection.ALL.columns(profile)
    peak, _ = Selection.PEAK.columns(profile)
    leaked, _ = Selection.LEAKS.columns(profile)
    columns = zip(profile.samples.thread, blocks, sizes, peak, leaked, strict=True)
    for thread, *values in columns:
        for k, value in enumerate(values):
            sums[thread][k] += value
    threads = [
        ThreadShare(tid, profile.strings[name], *sums[row])
        for row, (tid, name) in enumerate(
            zip(profile.threads.tid, profile.threads.name, strict=True)
        )
    ]
    return sorted(threads, key=lambda thread: (-thread.n_bytes, thread.tid))
