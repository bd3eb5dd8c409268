"""Statistics of everything a program allocated: sizes, allocators, places, modules, threads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from proftrace.model.profile import ALLOCATOR_NAMES, ARENA, Profile, PythonHeap
from proftrace.views.hotspots import NO_FRAME
from proftrace.views.selection import Selection
from proftrace.views.threads import thread_names


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
class ArenaShare:
    """Arenas of pymalloc among the allocations: (bytes, number) in all, at the peak, at the end."""

    total: tuple[int, int]
    peak: tuple[int, int]
    leaked: tuple[int, int]


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
    arenas: ArenaShare | None
    python_heap: PythonHeap | None


def statistics(profile: Profile) -> Statistics:
    """Return the statistics of a memory profile."""
    totals = profile.totals
    by_frame = _sums_by_frame(profile)
    places = _shares(_place_names(profile), by_frame)
    modules = _shares(_module_names(profile), by_frame)
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
        allocators=_most_first(_allocators(profile)),
        places=_largest_first(places),
        places_by_count=_most_first(places),
        modules=_largest_first(modules),
        modules_by_count=_most_first(modules),
        threads=_threads(profile),
        arenas=_arenas(profile),
        python_heap=profile.python_heap,
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


type _Sums = tuple[Sequence[int], Sequence[int]]


def _sums_by_frame(profile: Profile) -> _Sums:
    """Return bytes and number of all allocations by innermost frame; the last entry is none."""
    n_bytes, counts = [0] * (len(profile.frames) + 1), [0] * (len(profile.frames) + 1)
    frame_of = [len(profile.frames), *profile.stacks.frame[1:]]
    columns = zip(profile.samples.stack, *Selection.ALL.columns(profile), strict=True)
    for stack, size, count in columns:
        frame = frame_of[stack]
        n_bytes[frame] += size
        counts[frame] += count
    return n_bytes, counts


def _shares(names: Iterable[str], sums: _Sums) -> list[Share]:
    """Add up what has the same name; what has no allocation is left out."""
    shares: dict[str, tuple[int, int]] = {}
    for name, n_bytes, count in zip(names, *sums, strict=True):
        if count:
            known = shares.get(name, (0, 0))
            shares[name] = known[0] + n_bytes, known[1] + count
    return [Share(name, *amounts) for name, amounts in shares.items()]


def _largest_first(shares: list[Share]) -> list[Share]:
    return sorted(shares, key=lambda share: (-share.n_bytes, -share.count, share.name))


def _most_first(shares: list[Share]) -> list[Share]:
    return sorted(shares, key=lambda share: (-share.count, -share.n_bytes, share.name))


def _allocators(profile: Profile) -> list[Share]:
    kinds = max(profile.samples.allocator, default=0) + 1
    n_bytes, counts = [0] * kinds, [0] * kinds
    columns = zip(profile.samples.allocator, *Selection.ALL.columns(profile), strict=True)
    for kind, size, count in columns:
        n_bytes[kind] += size
        counts[kind] += count
    return _shares(
        (ALLOCATOR_NAMES.get(kind, str(kind)) for kind in range(kinds)), (n_bytes, counts)
    )


def _arenas(profile: Profile) -> ArenaShare | None:
    """Add up the arenas that are allocations like any other; None where there are none."""
    rows = [row for row, kind in enumerate(profile.samples.allocator) if kind == ARENA]
    if not rows:
        return None
    sums = []
    for selection in Selection.ALL, Selection.PEAK, Selection.LEAKS:
        sizes, blocks = selection.columns(profile)
        sums.append((sum(sizes[row] for row in rows), sum(blocks[row] for row in rows)))
    return ArenaShare(*sums)


def _place_names(profile: Profile) -> list[str]:
    """Name every frame "function:file:line"; the last entry is for none."""
    strings, functions = profile.strings, profile.functions
    places = [
        f"{profile.short_name(function)}:{strings[file]}:"
        for function, file in enumerate(functions.file)
    ]
    frames = zip(profile.frames.function, profile.frames.line, strict=True)
    return [*(f"{places[function]}{line}" for function, line in frames), NO_FRAME]


def _module_names(profile: Profile) -> list[str]:
    files = {file: module_of_file(profile.strings[file]) for file in set(profile.functions.file)}
    modules = [files[file] for file in profile.functions.file]
    return [*(modules[function] for function in profile.frames.function), NO_FRAME]


def _threads(profile: Profile) -> list[ThreadShare]:
    sums = [[0, 0, 0, 0] for _ in range(len(profile.threads))]
    sizes, blocks = Selection.ALL.columns(profile)
    peak, _ = Selection.PEAK.columns(profile)
    leaked, _ = Selection.LEAKS.columns(profile)
    columns = zip(profile.samples.thread, blocks, sizes, peak, leaked, strict=True)
    for thread, *values in columns:
        for k, value in enumerate(values):
            sums[thread][k] += value
    names = thread_names(profile)
    threads = [
        ThreadShare(tid, names[row], *sums[row]) for row, tid in enumerate(profile.threads.tid)
    ]
    return sorted(threads, key=lambda thread: (-thread.n_bytes, thread.tid))
