"""Statistics as text in memray's order of sections, and as JSON with memray's keys and more."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from proftrace.model.profile import Arenas, Profile, PythonHeap
from proftrace.render.rss import has_rss, rss_json, rss_lines, shortened
from proftrace.units import count_of, format_bytes, format_count, format_share, printable
from proftrace.views.marks import Mark, marks_of
from proftrace.views.notes import about, estimate_notes
from proftrace.views.selection import Selection
from proftrace.views.statistics import Share, SizeClass, Statistics, statistics

SCHEMA_VERSION = 1
_BAR_WIDTH = 40
_NATIVE, _PYTHON_ALLOCATORS = 1, 2  # option flags of the file header


_MOST_GROWN = 5  # places below a mark


@dataclass(frozen=True, slots=True)
class StatsOptions:
    """`largest`: how many places and modules are listed; `json`: JSON instead of text; `bar`: the
    character that bars are made of."""

    largest: int = 5
    json: bool = False
    bar: str = "#"


def render_stats(profile: Profile, options: StatsOptions) -> str:
    """Return the statistics of everything that was allocated."""
    stats = statistics(profile)
    if options.json:
        return json.dumps(_as_json(profile, stats, options), indent=2) + "\n"
    return "\n".join(_text(profile, stats, options)) + "\n"


# ---- text ---------------------------------------------------------------------------------------


def _text(profile: Profile, stats: Statistics, options: StatsOptions) -> Iterator[str]:
    mark = about(profile)
    if mark:
        yield from _section("Estimates", estimate_notes(profile))
    if profile.kept != "all":
        yield from _section("Events in the capture", [_kept_events(profile)])
    yield from _section("Total allocations", [mark + format_count(stats.n_allocations)])
    yield from _section("Total memory allocated", [mark + _size(stats.total_bytes)])
    yield from _section("Peak memory usage", [mark + _size(stats.peak_bytes)])
    if not stats.n_allocations:
        yield "There were no allocations."
        return
    leaked = f"{mark}{_size(stats.leaked_bytes)} in {count_of(stats.leaked_blocks, 'block')}"
    yield from _section(Selection.LEAKS.title(profile).capitalize(), [leaked])
    marks = marks_of(profile)
    if marks:
        yield from _section("Marks of the program", _marks(marks, mark))
    yield from _section("Histogram of allocation sizes", _histogram(stats, options.bar))
    yield from _section("Allocator type distribution", _allocators(stats))
    yield from _python(profile, stats)
    top = f"Top {options.largest}"
    by_size, by_count = "(by size)", "(by number of allocations)"
    yield from _section(
        f"{top} largest allocating locations {by_size}",
        [
            f"{format_bytes(s.n_bytes):>10}  {printable(s.name)}"
            for s in _top(stats.places, options)
        ],
    )
    yield from _section(
        f"{top} largest allocating locations {by_count}",
        [
            f"{format_count(s.count):>10}  {printable(s.name)}"
            for s in _top(stats.places_by_count, options)
        ],
    )
    yield from _section(
        f"{top} allocating modules {by_size}", _modules(_top(stats.modules, options))
    )
    yield from _section(
        f"{top} allocating modules {by_count}", _modules(_top(stats.modules_by_count, options))
    )
    yield from _section("Threads", _threads(stats))
    if profile.processes:
        yield from _section("Processes", _processes(profile))
    if has_rss(profile):
        yield from _section("RSS", list(rss_lines(profile)))


def _marks(marks: Sequence[Mark], about_sign: str) -> list[str]:
    """What was live at each mark, and below it where that grew since the mark before."""
    lines = []
    for mark in marks:
        lines.append(f"{printable(mark.label)}: {about_sign}{_size(mark.live_bytes)} live")
        lines += [
            f"    +{format_bytes(growth.n_bytes):>10}  {printable(growth.name)}"
            for growth in mark.grown[:_MOST_GROWN]
        ]
    return lines


def _marks_json(marks: Sequence[Mark]) -> list[dict[str, object]]:
    return [
        {
            "label": printable(mark.label),
            "live_bytes": mark.live_bytes,
            "grown": [
                {"location": printable(growth.name), "size": growth.n_bytes}
                for growth in mark.grown
            ],
        }
        for mark in marks
    ]


def _kept_events(profile: Profile) -> str:
    """Say what is there of the events; sums, peak and leaks are of all of them."""
    of = f"of {format_count(profile.header['n_events'])}"
    if profile.kept == "ring":
        return f"the last {format_count(profile.header['n_events_kept'])} {of} (--ring)"
    return f"none {of}, sums by place only (--aggregate): no moments but the peak and the end"


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"{title}:"
    for line in lines:
        yield f"    {line}".rstrip()
    yield ""


def _size(n_bytes: int) -> str:
    if abs(n_bytes) < 1024:
        return format_bytes(n_bytes)
    return f"{format_bytes(n_bytes)} ({format_count(n_bytes)} bytes)"


def _top(shares: Sequence[Share], options: StatsOptions) -> Sequence[Share]:
    return shares[: options.largest]


def _histogram(stats: Statistics, bar: str) -> list[str]:
    """One line a class of sizes, with a bar; the counts sum to the number of allocations."""
    most = max(size.count for size in stats.sizes)
    width = len(format_count(most))
    lines = [f"min: {_size(stats.smallest_bytes)}"]
    for size in stats.sizes:
        length = -(-size.count * _BAR_WIDTH // most)
        count = f"{format_count(size.count):>{width}}"
        lines.append(f"{_edge(size)}  {count}  {bar * length}")
    lines.append(f"max: {_size(stats.largest_bytes)}")
    return lines


def _edge(size: SizeClass) -> str:
    """The edge above a class, a power of two: "<   64 KiB"."""
    number, unit = format_bytes(size.most + 1).replace(".0", "").split(" ")
    return f"< {number:>4} {unit:<3}"


def _allocators(stats: Statistics) -> list[str]:
    width = max(len(share.name) for share in stats.allocators)
    return [
        f"{share.name:<{width}}  {format_count(share.count):>10}  {format_bytes(share.n_bytes):>10}"
        for share in stats.allocators
    ]


def _python(profile: Profile, stats: Statistics) -> Iterator[str]:
    """What Python's own allocators did, as far as the capture tells."""
    if stats.python_heap is not None:
        yield from _section("Python's allocators", _python_heap(profile, stats.python_heap))
    elif stats.arenas is not None:
        amounts = (
            ("in all", stats.arenas.total),
            ("at the peak", stats.arenas.peak),
            (Selection.LEAKS.title(profile), stats.arenas.leaked),
        )
        yield from _section(
            "Arenas of pymalloc",
            [
                f"{format_bytes(n_bytes):>10}  {format_count(count):>6}  {when}"
                for when, (n_bytes, count) in amounts
            ],
        )


def _python_heap(profile: Profile, heap: PythonHeap) -> list[str]:
    lines = [
        f"{name:<8}  {format_count(count):>10}  {format_bytes(n_bytes):>10}"
        for name, (n_bytes, count) in heap.domains.items()
    ]
    if heap.peak.arenas or heap.end.arenas:
        lines.append(_arenas_line("at the peak", heap.peak))
        lines.append(_arenas_line(Selection.LEAKS.title(profile), heap.end))
    return lines


def _arenas_line(when: str, arenas: Arenas) -> str:
    share = format_share(arenas.slack_bytes, arenas.arena_bytes)
    return (
        f"arenas {when}: {format_bytes(arenas.arena_bytes)} in {format_count(arenas.arenas)}, "
        f"{format_bytes(arenas.used_bytes)} used by {format_count(arenas.used_blocks)} objects, "
        f"{format_bytes(arenas.slack_bytes)} slack ({share} %)"
    )


def _modules(shares: Sequence[Share]) -> list[str]:
    return [
        f"{format_bytes(share.n_bytes):>10}  {format_count(share.count):>10} allocations  "
        f"{printable(share.name)}"
        for share in shares
    ]


def _threads(stats: Statistics) -> list[str]:
    return [
        f"{format_bytes(thread.n_bytes):>10}  {format_count(thread.count):>10} allocations  "
        f"{format_share(thread.peak_bytes, stats.peak_bytes):>5} % of the peak  "
        f"{printable(thread.name) or 'thread'} ({thread.tid})"
        for thread in stats.threads
    ]


def _processes(profile: Profile) -> list[str]:
    return [
        f"{format_bytes(process.total_bytes):>10}  {format_count(process.n_allocations):>10}"
        f" allocations  {format_bytes(process.peak_bytes):>10} at its peak"
        f"  {format_bytes(process.leaked_bytes):>10} live at its end"
        f"  {process.pid} {shortened(printable(process.command))}".rstrip()
        for process in profile.processes
    ]


# ---- JSON ---------------------------------------------------------------------------------------


def _as_json(profile: Profile, stats: Statistics, options: StatsOptions) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "total_num_allocations": stats.n_allocations,
        "total_bytes_allocated": stats.total_bytes,
        "allocation_size_histogram": [
            {"min_bytes": size.least, "max_bytes": size.most, "count": size.count}
            for size in stats.sizes
        ],
        "allocator_type_distribution": {share.name: share.count for share in stats.allocators},
        "top_allocations_by_size": [
            {"location": printable(share.name), "size": share.n_bytes}
            for share in _top(stats.places, options)
        ],
        "top_allocations_by_count": [
            {"location": printable(share.name), "count": share.count}
            for share in _top(stats.places_by_count, options)
        ],
        "top_modules_by_allocation_size": _modules_json(_top(stats.modules, options)),
        "top_modules_by_allocation_count": _modules_json(_top(stats.modules_by_count, options)),
        "metadata": _metadata(profile, stats),
        "total_num_frees": stats.n_frees,
        "peak_bytes": stats.peak_bytes,
        "leaked_bytes": stats.leaked_bytes,
        "leaked_num_allocations": stats.leaked_blocks,
        "smallest_allocation_bytes": stats.smallest_bytes,
        "largest_allocation_bytes": stats.largest_bytes,
        "allocator_bytes": {share.name: share.n_bytes for share in stats.allocators},
        "python_allocators": _python_json(stats),
        "threads": [
            {
                "tid": thread.tid,
                "name": printable(thread.name),
                "num_allocations": thread.count,
                "total_bytes": thread.n_bytes,
                "peak_bytes": thread.peak_bytes,
                "leaked_bytes": thread.leaked_bytes,
            }
            for thread in stats.threads
        ],
        "processes": [
            {
                "pid": process.pid,
                "ppid": process.ppid,
                "command_line": printable(process.command),
                "capture": printable(process.path),
                "num_allocations": process.n_allocations,
                "total_bytes": process.total_bytes,
                "peak_bytes": process.peak_bytes,
                "leaked_bytes": process.leaked_bytes,
            }
            for process in profile.processes
        ],
        "marks": _marks_json(marks_of(profile)),
        "events_kept": profile.kept,
        "num_events": profile.header.get("n_events", 0),
        "num_events_kept": profile.header.get("n_events_kept", 0),
        "estimated": bool(profile.sample_bytes),
        "sample_bytes": profile.sample_bytes,
        "notes": estimate_notes(profile),
        "rss": rss_json(profile),
        "warnings": list(profile.warnings),
    }


def _python_json(stats: Statistics) -> dict[str, object] | None:
    heap = stats.python_heap
    if heap is None:
        return None
    return {
        "domains": {
            name: {"num_allocations": count, "total_bytes": n_bytes}
            for name, (n_bytes, count) in heap.domains.items()
        },
        **{
            f"arenas_at_{when}": {
                "num_arenas": arenas.arenas,
                "arena_bytes": arenas.arena_bytes,
                "used_bytes": arenas.used_bytes,
                "num_objects": arenas.used_blocks,
                "slack_bytes": arenas.slack_bytes,
            }
            for when, arenas in (("peak", heap.peak), ("end", heap.end))
        },
    }


def _modules_json(shares: Sequence[Share]) -> list[dict[str, object]]:
    return [
        {
            "module": printable(share.name),
            "num_allocations": share.count,
            "total_bytes": share.n_bytes,
        }
        for share in shares
    ]


def _metadata(profile: Profile, stats: Statistics) -> dict[str, object]:
    header, options = profile.header, profile.header["options"]
    started = header["start_wall_ns"]
    ended = started + header["last_mono_ns"] - header["start_mono_ns"]
    return {
        "start_time": _moment(started),
        "end_time": _moment(ended),
        "total_allocations": stats.n_allocations + stats.n_frees,
        "total_frames": len(profile.frames),
        "peak_memory": stats.peak_bytes,
        "command_line": printable(profile.command),
        "pid": header["pid"],
        "main_thread_id": profile.threads.tid[0] if len(profile.threads) else header["pid"],
        "python_allocator": profile.meta.get("pythonmalloc") or "pymalloc",
        "has_native_traces": bool(options & _NATIVE),
        "trace_python_allocators": bool(options & _PYTHON_ALLOCATORS),
        "file_format": header["version"],
    }


def _moment(nanoseconds: int) -> str:
    try:
        return str(datetime.fromtimestamp(nanoseconds // 1000 / 1e6, UTC))
    except (OverflowError, ValueError, OSError):  # a clock that was set to nonsense
        return f"{nanoseconds} ns since 1970"
