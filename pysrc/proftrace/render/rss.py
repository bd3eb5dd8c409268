"""RSS explained, as the last section of the statistics and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from proftrace.model.profile import Profile
from proftrace.model.usage import Usage, UsageHistory
from proftrace.units import format_bytes, format_count, format_time, printable
from proftrace.views.rss import EQUATION, Explained, explain, largest_together
from proftrace.views.selection import Selection


def has_rss(profile: Profile) -> bool:
    """Tell whether the size of the process, or of one of the processes, is known."""
    return profile.usage is not None or any(one.usage is not None for one in profile.processes)


def rss_lines(profile: Profile) -> Iterator[str]:
    """Yield the lines of the section; the last ones are the equation and its numbers.

    Several processes come one by one, and then what they took together.
    """
    at_end = Selection.LEAKS.title(profile).removeprefix("live ")
    if profile.usage is not None:
        yield from _history_lines(profile.usage, at_end)
        return
    for process in profile.processes:
        if process.usage is not None:
            yield f"process {process.pid} {shortened(printable(process.command))}".rstrip()
            yield from (f"    {line}" for line in _history_lines(process.usage, at_end))
    together = largest_together(profile.processes)
    if together is not None:
        count = format_count(together.n_processes)
        yield (
            f"all of them at their largest, after {format_time(together.time_ns)}: "
            f"{format_bytes(together.rss)} in {count} process"
            f"{'es' if together.n_processes > 1 else ''} "
            f"(anonymous {format_bytes(together.anonymous)}; what they share counts in each)"
        )


def _history_lines(history: UsageHistory, at_end: str) -> Iterator[str]:
    peak, end = explain(history)
    moments = (
        (f"at its largest, after {format_time(1000 * peak.usage.time_us)}", peak),
        (at_end, end),
    )
    for title, explained in moments:
        usage = explained.usage
        yield (
            f"{title}: {format_bytes(usage.rss)} (anonymous {format_bytes(usage.anonymous)}, "
            f"file {format_bytes(usage.file)}, shared {format_bytes(usage.shared)})"
        )
        yield f"    {_accounts(usage)}"
    if peak.is_estimate:
        yield (
            "this allocator does not tell what it holds free: its slack is what the recording does "
            "not account for"
        )
    yield EQUATION
    for _, explained in moments:
        numbers = " + ".join(format_count(value) for value in explained.terms.values())
        yield f"{format_count(explained.usage.rss)} = {numbers}"


def _accounts(usage: Usage) -> str:
    parts = [f"recorded as live: {format_bytes(usage.live_bytes)}"]
    if usage.heap is not None and usage.heap_free is not None:
        parts.append(
            f"malloc has taken {format_bytes(usage.heap)}, {format_bytes(usage.heap_free)} are free"
        )
    if usage.arena_touched is not None and usage.arena_used is not None:
        parts.append(
            f"pymalloc has used {format_bytes(usage.arena_touched)} of {usage.arenas} arenas, "
            f"objects take {format_bytes(usage.arena_used)}"
        )
    return "; ".join(parts)


def rss_json(profile: Profile) -> dict[str, object] | None:
    """Return the terms at both moments, and the size of the process over time; of several
    processes those of each, and what they took together."""
    if profile.usage is not None:
        return _history_json(profile.usage)
    if not has_rss(profile):
        return None
    together = largest_together(profile.processes)
    return {
        "equation": EQUATION,
        "processes": [
            {"pid": process.pid, **_history_json(process.usage)}
            for process in profile.processes
            if process.usage is not None
        ],
        "together": together
        and {
            "time_ms": together.time_ns / 1_000_000,
            "num_processes": together.n_processes,
            "rss": together.rss,
            "anonymous": together.anonymous,
        },
    }


def _history_json(history: UsageHistory) -> dict[str, object]:
    peak, end = explain(history)
    return {
        "equation": EQUATION,
        "num_looks": history.n_taken,
        "peak": _moment(peak),
        "end": _moment(end),
        "timeline": [
            {
                "time_ms": usage.time_us / 1000,
                "rss": usage.rss,
                "anonymous": usage.anonymous,
                "file": usage.file,
                "shared": usage.shared,
            }
            for usage in history.moments
        ],
    }


def _moment(explained: Explained) -> dict[str, object]:
    usage = explained.usage
    return {
        "time_ms": usage.time_us / 1000,
        "rss": usage.rss,
        **{name.replace(" ", "_"): value for name, value in explained.terms.items()},
        "allocator_slack_is_estimate": explained.is_estimate,
        "anonymous": usage.anonymous,
        "file": usage.file,
        "shared": usage.shared,
        "recorded_live_bytes": usage.live_bytes,
        "recorded_mapped_bytes": usage.mapped_bytes,
        "malloc_taken": usage.heap,
        "malloc_free": usage.heap_free,
        "pymalloc_arenas": usage.arenas,
        "pymalloc_touched": usage.arena_touched,
        "pymalloc_used": usage.arena_used,
    }


def shortened(text: str, most: int = 80) -> str:
    """Return a command line as it fits a line."""
    return text if len(text) <= most else text[: most - 3] + "..."
