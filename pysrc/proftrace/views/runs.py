"""Which recordings are one run, a process and the children that it started; how long runs took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from proftrace.model.profile import Profile


def runs_of(profiles: Sequence[Profile]) -> list[list[Profile]]:
    """Return the recordings by run, in their order: one whose parent is among them, and was there
    when it began, belongs to its parent's run."""
    runs: list[list[Profile]] = []
    members: dict[int, list[tuple[Profile, int]]] = defaultdict(list)
    for profile in sorted(profiles, key=lambda profile: profile.header["start_mono_ns"]):
        header = profile.header
        parents = [
            number for parent, number in members[header["ppid"]] if _is_within(profile, parent)
        ]
        if parents:
            number = parents[-1]
            runs[number].append(profile)
        else:
            number = len(runs)
            runs.append([profile])
        members[header["pid"]].append((profile, number))
    return runs


def wall_time(profiles: Sequence[Profile]) -> int:
    """Return how long all runs took together, in nanoseconds: a child is within its parent's time.
    0 when that is not known of one of them."""
    times = [_length(run) for run in runs_of(profiles)]
    return sum(times) if min(times, default=0) > 0 else 0


def _length(run: Sequence[Profile]) -> int:
    start = min(profile.header["start_mono_ns"] for profile in run)
    return max(profile.header["last_mono_ns"] for profile in run) - start


def _is_within(child: Profile, parent: Profile) -> bool:
    start = child.header["start_mono_ns"]
    return parent.header["start_mono_ns"] <= start <= parent.header["last_mono_ns"]
