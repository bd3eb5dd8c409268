"""The texts of failures: what, how much, where, and what was allowed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proftrace.pytest_plugin.growth import Growth
from proftrace.pytest_plugin.markers import LeakLimit, MemoryLimit, NoLeaks
from proftrace.pytest_plugin.scope import Site
from proftrace.pytest_plugin.verdicts import Held
from proftrace.units import format_bytes, format_bytes_si, format_count, printable
from proftrace.views.call_tree import NO_FRAME, Place
from proftrace.views.origin import Origin, origin_of

_MOST_SITES = 10
_LEAST_SHARE = 0.01  # of the largest: what is smaller explains nothing


def exact(size: int) -> str:
    """Return a size for people and for comparison: "976.6 KiB (1000001 bytes)"."""
    return format_bytes(size) if size < 1024 else f"{format_bytes(size)} ({size} bytes)"


@dataclass(frozen=True, slots=True)
class Texts:
    """How sites are shown: files relative to `root`, and the innermost `n_frames` of a stack."""

    root: Path
    n_frames: int

    def too_much(self, limit: MemoryLimit, held: Held) -> str:
        """Return the failure of limit_memory."""
        size = f"{format_bytes_si(held.bytes)} ({format_bytes(held.bytes)})"
        who, its = ("test and its fixtures", "their") if limit.counted.setup else ("test", "its")
        head = f"limit_memory: the {who} held {size} at {its} peak, the limit is {limit.text}"
        return "\n".join([head, *self._sites(held.sites, "at the peak")])

    def increased(self, before: int, held: Held) -> str:
        """Return the failure of --memtrace-fail-on-increase."""
        head = (
            f"limit_memory: the test held {exact(held.bytes)} at its peak,"
            f" {exact(before)} when it passed last"
        )
        return "\n".join([head, *self._sites(held.sites, "at the peak")])

    def leaked(self, limit: LeakLimit, sites: Sequence[Site]) -> str:
        """Return the failure of limit_leaks."""
        head = (
            f"limit_leaks: {exact(sites[0].bytes)} leaked at {self.place(sites[0])}"
            f"{_more(sites)}, the limit is {limit.text} at a place"
        )
        return "\n".join([head, *self._sites(sites, "leaked")])

    def grew(self, request: NoLeaks, found: Sequence[Growth], n_runs: int) -> str:
        """Return the failure of no_leaks."""
        sites = [growth.site for growth in found]
        head = (
            f"no_leaks: {self.place(sites[0])}{_more(sites)} grows by"
            f" {exact(sites[0].bytes)} a call, {request.text} is the limit"
            f" ({request.warmup} runs to warm up, {request.repeat} repeats, {n_runs} runs in all)"
        )
        return "\n".join([head, *self._sites(sites, "a call")])

    def place(self, site: Site) -> str:
        """Return where a site is: the innermost frame of the program, or of anything."""
        for place in site.places:
            if origin_of(place.file, native=place.native) is Origin.PROGRAM:
                return self.frame(place)
        return self.frame(site.places[0]) if site.places else NO_FRAME

    def frame(self, place: Place) -> str:
        """Return a frame as "file:line in function"."""
        file = self._file(place.file)
        where = f"{file}:{place.line}" if place.line else file or "?"
        return f"{printable(where)} in {printable(place.name)}"

    def _file(self, file: str) -> str:
        root = str(self.root)
        return file[len(root) + 1 :] if file.startswith(root + os.sep) else file

    def _sites(self, sites: Sequence[Site], what: str) -> list[str]:
        lines = []
        least = sites[0].bytes * _LEAST_SHARE if sites else 0
        shown_sites = [site for site in sites[:_MOST_SITES] if site.bytes >= least]
        for site in shown_sites:
            blocks = f" in {format_count(site.blocks)} blocks" if site.blocks > 1 else ""
            lines.append(f"  {exact(site.bytes)} {what}{blocks}{_threads(site)}:")
            shown = site.places[: self.n_frames] if self.n_frames else site.places
            lines += [f"    {self.frame(place)}" for place in shown] or [f"    {NO_FRAME}"]
            if len(shown) < len(site.places):
                lines.append(f"    ... {len(site.places) - len(shown)} more frames")
        rest = len(sites) - len(shown_sites)
        if rest:
            lines.append(f"  ... and {format_count(rest)} more place{'s' if rest > 1 else ''}")
        return lines


def _more(sites: Sequence[Site]) -> str:
    if len(sites) == 1:
        return ""
    return f" (and at {format_count(len(sites) - 1)} more place{'s' if len(sites) > 2 else ''})"


def _threads(site: Site) -> str:
    """Name the threads of a site, unless it is the main one alone."""
    names = sorted(name for name in site.threads if name)
    if not names or names == ["MainThread"]:
        return ""
    shown = ", ".join(map(printable, names[:3])) + (", ..." if len(names) > 3 else "")
    return f" by {shown}"
