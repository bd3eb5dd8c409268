"""The size of a process while it was recorded: what was in memory, and whose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """The process at a moment, `time_us` after the start of the recording; sizes in bytes.

    `anonymous`, `file` and `shared` are in memory, by what stands behind them, and add up to the
    RSS. `own_anonymous` and `own_shared` of them are ours. `heap` is what malloc has taken
    from the system, `heap_free` what of that it holds free (None: it does not tell);
    `arena_touched` what pymalloc has used of its arenas so far, `arena_used` what live objects take
    of that (None: not known). `live_bytes` were live as recorded, `arena_bytes` of them arenas.
    """

    time_us: int
    anonymous: int
    file: int
    shared: int
    own_anonymous: int
    own_shared: int
    heap: int | None
    heap_free: int | None
    arenas: int | None
    arena_touched: int | None
    arena_used: int | None
    live_bytes: int
    live_blocks: int
    mapped_bytes: int
    arena_bytes: int

    @property
    def rss(self) -> int:
        """All of it that is in memory."""
        return self.anonymous + self.file + self.shared


@dataclass(frozen=True, slots=True)
class UsageHistory:
    """A process while it was recorded: when it was largest, at the end of its script (or of the
    recording), and all moments that were kept; `n_taken` is how often it was looked at."""

    peak: Usage
    end: Usage
    n_taken: int
    moments: Sequence[Usage]


def usage_from_row(row: Mapping[str, int]) -> Usage:
    """Return the moment that a row of a log tells of."""
    return Usage(
        time_us=row["time_us"],
        anonymous=row.get("anonymous", 0),
        file=row.get("file", 0),
        shared=row.get("shared", 0),
        own_anonymous=row.get("own_anonymous", 0),
        own_shared=row.get("own_shared", 0),
        heap=row.get("heap"),
        heap_free=row.get("heap_free"),
        arenas=row.get("arenas"),
        arena_touched=row.get("arena_touched"),
        arena_used=row.get("arena_used"),
        live_bytes=row["live_bytes"],
        live_blocks=row["live_blocks"],
        mapped_bytes=row["mapped_bytes"],
        arena_bytes=row["arena_bytes"],
    )
