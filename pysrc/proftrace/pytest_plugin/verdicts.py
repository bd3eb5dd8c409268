"""What the captures say about a test: how much it held, and what it leaked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from proftrace.model.profile import Profile
from proftrace.pytest_plugin.markers import LeakLimit, LeaksFilterFunction, Stack, StackFrame
from proftrace.pytest_plugin.scope import Counted, Scope, Site, view
from proftrace.views.call_tree import Place


@dataclass(frozen=True, slots=True)
class Held:
    """What a test held at its peak, in all and by site, largest first."""

    bytes: int
    sites: Sequence[Site]


def held_at_peak(profile: Profile, scope: Scope, counted: Counted) -> Held:
    """Return what was the test's at the moment when most memory was allocated."""
    return _held(profile, scope, counted, "peak")


def left_at_end(profile: Profile, scope: Scope, counted: Counted) -> Held:
    """Return what is left at the end of a recording."""
    return _held(profile, scope, counted, "leaked")


def _held(profile: Profile, scope: Scope, counted: Counted, metric: str) -> Held:
    sites = _sites(profile, scope, counted, metric)
    return Held(sum(site.bytes for site in sites), sites)


def leaks_over(profile: Profile, scope: Scope, limit: LeakLimit) -> list[Site]:
    """Return the sites with more left at the end than the limit allows, largest first."""
    return beyond(limit, _sites(profile, scope, limit.counted, "leaked"))


def beyond(limit: LeakLimit, sites: Iterable[Site]) -> list[Site]:
    """Return those of some sites that a limit does not allow, in their order."""
    return [
        site for site in sites if site.bytes > limit.limit and is_reported(site, limit.filter_fn)
    ]


def _sites(profile: Profile, scope: Scope, counted: Counted, metric: str) -> list[Site]:
    shown = view(profile, scope, counted)
    sizes = profile.samples.values[metric + "_bytes"]
    blocks = profile.samples.values[metric + "_blocks"]
    amounts = {row: (sizes[row], blocks[row]) for row in shown.samples() if sizes[row] > 0}
    return by_size(shown.by_place(amounts).values())


def by_size(sites: Iterable[Site]) -> list[Site]:
    """Return the sites, largest first."""
    return sorted(sites, key=lambda site: -site.bytes)


def is_reported(site: Site, filter_fn: LeaksFilterFunction | None) -> bool:
    """Ask the user's filter about a site."""
    return filter_fn is None or bool(filter_fn(stack_of(site.places)))


def stack_of(places: Sequence[Place]) -> Stack:
    """Return a stack as filter functions get it."""
    return Stack(tuple(StackFrame(place.name, place.file, place.line) for place in places))
