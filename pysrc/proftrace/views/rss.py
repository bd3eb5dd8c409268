"""RSS explained: what the memory that a process really takes consists of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proftrace.model.profile import Process
from proftrace.model.usage import Usage, UsageHistory

TERMS = ("live heap", "allocator slack", "pymalloc slack", "file mappings", "profiler")
EQUATION = "RSS = " + " + ".join(TERMS)


@dataclass(frozen=True, slots=True)
class Explained:
    """The terms that add up to the RSS of a moment, in bytes.

    `live_heap` is the program's anonymous memory that is in use: live blocks as far as they were
    touched, with the allocator's heads and roundings, stacks, static data, and what was allocated
    before the recording. `allocator_slack` is free inside malloc's heap, `pymalloc_slack` in
    pymalloc's arenas. `file_mappings` are libraries, files and shared memory. `is_estimate`: the
    allocator does not tell what it holds free, so that is what the recording does not account for.
    """

    usage: Usage
    live_heap: int
    allocator_slack: int
    pymalloc_slack: int
    file_mappings: int
    profiler: int
    is_estimate: bool

    @property
    def terms(self) -> Mapping[str, int]:
        """The terms by their names in TERMS."""
        values = (
            self.live_heap,
            self.allocator_slack,
            self.pymalloc_slack,
            self.file_mappings,
            self.profiler,
        )
        return dict(zip(TERMS, values, strict=True))


def explain(history: UsageHistory) -> tuple[Explained, Explained]:
    """Return the moment at which the process was largest, and its end."""
    first = history.moments[0] if history.moments else history.peak
    before = max(0, _program_anonymous(first) - _recorded(first) - _arena_slack(first))
    return _explain(history.peak, before), _explain(history.end, before)


def _program_anonymous(usage: Usage) -> int:
    return usage.anonymous - min(usage.own_anonymous, usage.anonymous)


def _arena_slack(usage: Usage) -> int:
    if usage.arena_touched is None or usage.arena_used is None:
        return 0
    return usage.arena_touched - usage.arena_used


def _recorded(usage: Usage) -> int:
    """Return what was live as recorded, with objects in the place of their arenas."""
    return usage.live_bytes - usage.arena_bytes + (usage.arena_used or 0)


def _explain(usage: Usage, before: int) -> Explained:
    mapped = usage.file + usage.shared
    own_mapped = min(usage.own_shared, mapped)
    anonymous = _program_anonymous(usage)
    pymalloc = min(_arena_slack(usage), anonymous)
    rest = anonymous - pymalloc
    if usage.heap_free is None:
        allocator = max(0, rest - _recorded(usage) - before)
    else:
        allocator = min(usage.heap_free, rest)
    return Explained(
        usage=usage,
        live_heap=rest - allocator,
        allocator_slack=allocator,
        pymalloc_slack=pymalloc,
        file_mappings=mapped - own_mapped,
        profiler=own_mapped + usage.anonymous - anonymous,
        is_estimate=usage.heap_free is None,
    )


@dataclass(frozen=True, slots=True)
class Together:
    """Several processes when their RSS was largest in sum, `time_ns` after the first one's start.

    Pages that processes share are in the memory of each, so the sum is the most that it was.
    """

    time_ns: int
    n_processes: int
    rss: int
    anonymous: int


def largest_together(processes: Sequence[Process]) -> Together | None:
    """Return the moment at which the processes that ran took most; None when that is not known."""
    looks: list[tuple[int, int, Usage | None]] = []
    for number, process in enumerate(processes):
        if process.usage is None or not process.usage.moments:
            continue
        for moment in process.usage.moments:
            looks.append((process.start_mono_ns + 1000 * moment.time_us, number, moment))
        looks.append((looks[-1][0] + 1, number, None))  # it has ended
    start = min((process.start_mono_ns for process in processes), default=0)
    running: dict[int, Usage] = {}
    largest: Together | None = None
    for time_ns, number, usage in sorted(looks, key=lambda look: look[:2]):
        if usage is None:
            del running[number]
            continue
        running[number] = usage
        rss = sum(one.rss for one in running.values())
        if largest is None or rss > largest.rss:
            anonymous = sum(one.anonymous for one in running.values())
            largest = Together(time_ns - start, len(running), rss, anonymous)
    return largest
