"""RSS explained, as the last section of the statistics and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from proftrace.model.profile import Profile
from proftrace.model.usage import Usage
from proftrace.units import format_bytes, format_count, format_time
from proftrace.views.rss import EQUATION, Explained, explain
from proftrace.views.selection import Selection


def rss_lines(profile: Profile) -> Iterator[str]:
    """Yield the lines of the section; the last ones are the equation and its numbers."""
    if profile.usage is None:
        return
    peak, end = explain(profile.usage)
    moments = (
        (f"at its largest, after {format_time(1000 * peak.usage.time_us)}", peak),
        (Selection.LEAKS.title(profile).removeprefix("live "), end),
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
    """Return the terms at both moments, and the size of the process over time."""
    if profile.usage is None:
        return None
    peak, end = explain(profile.usage)
    return {
        "equation": EQUATION,
        "num_looks": profile.usage.n_taken,
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
            for usage in profile.usage.moments
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
