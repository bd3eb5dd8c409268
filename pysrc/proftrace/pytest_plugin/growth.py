"""Which sites of a repeated test grow: a leak grows for ever, a cache until it is full.

The runs of a test are looked at in spans: each of the repeats, and behind them spans that double
the number of runs, for tests that seem to leak. What grows at every repeat and in every span leaks.
A table that is made larger when it is full grows at few of the repeats, and at least once while the
number of runs becomes four times as large: CPython's dicts double, its sets take four times the
room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from proftrace.model.profile import Profile
from proftrace.pytest_plugin.markers import LeakLimit, NoLeaks
from proftrace.pytest_plugin.scope import Scope, Site, view
from proftrace.pytest_plugin.verdicts import beyond, by_size, is_reported
from proftrace.views.call_tree import Place
from proftrace.views.growth import live_at_marks

# So many doublings tell a table that grows now and then from one that grew once: two spans in
# which the number of runs becomes four times as large.
_DOUBLINGS_FOR_TABLES = 4


@dataclass(slots=True)
class Spans:
    """How often the test had run at each mark: the first is the end of the warm-up, then there is
    one for each repeat, and one for each doubling. Then come, if they are set, the marks before
    and after a time without the test (`idle`), and behind the clearing of caches (`cleared`)."""

    repeat: int
    runs: list[int] = field(default_factory=list)
    n_doublings: int = 0
    idle: tuple[int, int] | None = None
    cleared: int | None = None


@dataclass(slots=True)
class Growth:
    """A site that grows: its live bytes at the marks. `background`: a thread that ran before the
    test does it. After the verdict `site.bytes` is the growth a call."""

    site: Site
    series: list[int]
    background: bool
    merged: bool  # all stacks that end at this place


def suspects(profile: Profile, scope: Scope, request: NoLeaks, spans: Spans) -> list[Growth]:
    """Return what has grown so far, whether or not at every repeat."""
    found = _series(profile, scope, request)
    return [growth for growth in found if _has_grown(growth.series, request, spans)]


def leaks(profile: Profile, scope: Scope, request: NoLeaks, spans: Spans) -> list[Growth]:
    """Return what leaks, the largest first."""
    found = []
    for growth in suspects(profile, scope, request, spans):
        if not (
            _grew_throughout(growth.series, request, spans) and _is_no_cache(growth, request, spans)
        ):
            continue
        if spans.idle and growth.background:
            before, after = spans.idle
            if growth.series[after] > growth.series[before]:
                continue  # that thread grows without the test as well
        growth.site.bytes = (growth.series[request.repeat] - growth.series[0]) // request.repeat
        if is_reported(growth.site, request.filter_fn):
            found.append(growth)
    return _without_repetition(sorted(found, key=lambda growth: -growth.site.bytes))


def _grew_throughout(series: Sequence[int], request: NoLeaks, spans: Spans) -> bool:
    """Tell whether a site grew in every span, or as a table does: now and then, and never back."""
    last = spans.repeat + spans.n_doublings
    least = min(_steps(series)[:last])
    if least > 0:
        return True
    return (
        least >= -request.per_call
        and spans.n_doublings >= _DOUBLINGS_FOR_TABLES
        and series[last] > series[last - 2] > series[last - 4]
    )


def _is_no_cache(growth: Growth, request: NoLeaks, spans: Spans) -> bool:
    """Tell whether it is still there when the caches with a bound are empty."""
    if spans.cleared is None:
        return True
    n_runs = spans.runs[spans.repeat + spans.n_doublings] - spans.runs[0]
    kept = growth.series[spans.cleared] - growth.series[0]
    return kept >= max(1, request.per_call * n_runs // 2)


def left_by_last_run(profile: Profile, scope: Scope, limit: LeakLimit) -> list[Site]:
    """Return the sites that the last repeat left with more than the limit allows."""
    shown = view(profile, scope, limit.counted)
    live = live_at_marks(profile)
    amounts = {
        sample: (live[sample][-1] - live[sample][-2], 0)
        for sample in shown.samples()
        if sample in live
    }
    return beyond(limit, by_size(shown.by_place(amounts).values()))


def _steps(series: Sequence[int]) -> list[int]:
    return [after - before for before, after in pairwise(series)]


def _has_grown(series: Sequence[int], request: NoLeaks, spans: Spans) -> bool:
    """Tell whether a site grew by the limit in the repeats, and still does by half of it: what is
    left of a free list, or freed there, is not always the test's own."""
    if series[spans.repeat] - series[0] < max(1, request.per_call * spans.repeat):
        return False
    last = spans.repeat + spans.n_doublings
    first = max(spans.repeat, last - 2)
    n_runs = spans.runs[last] - spans.runs[first]
    return last == first or series[last] - series[first] >= max(1, request.per_call * n_runs // 2)


def _without_repetition(found: Sequence[Growth]) -> list[Growth]:
    """Leave out a place whose stacks are reported one by one."""
    stacks = {growth.site.places[:1] for growth in found if not growth.merged}
    return [growth for growth in found if not (growth.merged and growth.site.places[:1] in stacks)]


def _series(profile: Profile, scope: Scope, request: NoLeaks) -> list[Growth]:
    """Return the live bytes at the marks by stack, and by innermost place: a leak may be reached
    over another way each time."""
    shown = view(profile, scope, request.counted)
    live = live_at_marks(profile)
    table: dict[tuple[bool, bool, tuple[Place, ...]], Growth] = {}
    for sample in shown.samples():
        values = live.get(sample)
        if values is None:
            continue
        background, places = shown.is_background(sample), shown.places(sample)
        for merged, key in ((False, places), (True, places[:1])):
            growth = table.get((background, merged, key))
            if growth is None:
                growth = Growth(Site(places), [0] * len(profile.marks), background, merged)
                table[background, merged, key] = growth
            growth.site.threads.add(shown.thread_name(sample))
            growth.series = [a + b for a, b in zip(growth.series, values, strict=True)]
    return list(table.values())
