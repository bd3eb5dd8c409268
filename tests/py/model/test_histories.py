"""Random histories of several threads against a model that keeps everything and looks again."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from log_writer import (
    ALLOCATIONS,
    END_OF_SCRIPT,
    FREE,
    MARK,
    MMAP,
    MUNMAP,
    PYMALLOC_FREE,
    UNFREE,
    Event,
    LogWriter,
    RingSlot,
    ring,
)
from proftrace.model.load import load_profile
from proftrace.model.profile import Profile

N_NODES = 5
PAGE = 4096
MAPPED = 0x7F0000000000

type Site = tuple[int, int, int]  # node, thread, allocator
type Amounts = dict[Site, tuple[int, int]]  # bytes and blocks


@dataclass
class Model:
    """What is live, the plain way: blocks by address, mappings page by page."""

    blocks: dict[int, tuple[Site, int]] = field(default_factory=dict)
    pages: dict[int, tuple[Site, int, int]] = field(default_factory=dict)  # site, mapping, bytes
    freed: dict[int, tuple[int, object]] = field(default_factory=dict)
    n_mappings: int = 0
    totals: defaultdict[Site, list[int]] = field(
        default_factory=lambda: defaultdict(lambda: [0, 0])
    )
    peak: Amounts = field(default_factory=dict)
    peak_bytes: int = 0
    leaks: Amounts | None = None

    def live(self) -> Amounts:
        amounts: defaultdict[Site, list[int]] = defaultdict(lambda: [0, 0])
        for site, size in self.blocks.values():
            amounts[site][0] += size
            amounts[site][1] += 1
        mappings = set()
        for site, mapping, size in self.pages.values():
            amounts[site][0] += size
            mappings.add((site, mapping))
        for site, _ in mappings:
            amounts[site][1] += 1
        return {site: (a, b) for site, (a, b) in amounts.items()}

    def unmap(self, address: int, size: int) -> dict[int, tuple[Site, int, int]]:
        first, behind = address // PAGE, -(-(address + size) // PAGE)
        return {p: self.pages.pop(p) for p in range(first, behind) if p in self.pages}

    def apply(self, thread: int, event: Event) -> None:
        if event.kind in ALLOCATIONS:
            site = (event.node, thread, event.kind)
            self.totals[site][0] += event.size
            self.totals[site][1] += 1
            if event.kind == MMAP:
                self.unmap(event.address, event.size)
                self.n_mappings += 1
                for start in range(0, event.size, PAGE):
                    left = min(PAGE, event.size - start)
                    self.pages[(event.address + start) // PAGE] = (site, self.n_mappings, left)
            else:
                self.blocks[event.address] = (site, event.size)
        elif event.kind in (FREE, PYMALLOC_FREE):
            self.freed[thread] = (event.address, self.blocks.pop(event.address, None))
        elif event.kind == MUNMAP:
            self.freed[thread] = (event.address, self.unmap(event.address, event.size))
        elif event.kind == UNFREE:
            address, what = self.freed.pop(thread, (None, None))
            if address == event.address and isinstance(what, dict):
                self.pages.update(what)
            elif address == event.address and what is not None:
                self.blocks[event.address] = what
        elif event.address == END_OF_SCRIPT:
            self.leaks = self.live()
        live = self.live()
        if (now := sum(size for size, _ in live.values())) > self.peak_bytes:
            self.peak, self.peak_bytes = live, now


def random_event(random: Random, freed: int | None) -> Event:
    """One event; few addresses and pages, so that events meet. UNFREE comes only right behind its
    free, as the recorder writes it."""
    choice = random.random()
    address = 0x1000 + 16 * random.randrange(12)
    page = MAPPED + PAGE * random.randrange(12)
    if freed is not None and choice < 0.3:
        return Event(UNFREE, freed)
    if choice < 0.5:
        kind = random.choice([1, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14])
        size = random.choice([0, 1, 100, 5 << 30, random.randrange(5000)])
        return Event(kind, address, size, random.randrange(N_NODES))
    if choice < 0.65:
        size = random.randrange(1, 5 * PAGE)
        return Event(MMAP, page, size, random.randrange(N_NODES))
    if choice < 0.8:
        return Event(MUNMAP, page, random.randrange(1, 6 * PAGE))
    if choice < 0.82:
        return Event(MARK, END_OF_SCRIPT)
    return Event(random.choice([FREE, PYMALLOC_FREE]), address)


@dataclass
class History:
    """Events in the order in which they happened, and the log that tells it."""

    log: LogWriter
    model: Model
    tail: dict[int, list[Event]]


def random_history(random: Random, n_threads: int, length: int, *, cut: bool) -> History:
    log, model = LogWriter(), Model()
    nodes = [0]
    while len(nodes) < N_NODES:
        number = len(nodes)
        nodes.append(log.node(nodes[-1], log.code(f"f{number}", "a.py", number)))
    for thread in range(n_threads):
        log.thread(thread, 100 + thread)
    log.flush_dict()
    open_blocks: dict[int, list[Event]] = {thread: [] for thread in range(n_threads)}
    freed: dict[int, int | None] = {}
    alone = random.randrange(length) if n_threads > 1 else length
    for moment in range(length):
        thread = 0 if moment < alone else random.randrange(n_threads)
        event = random_event(random, freed.get(thread))
        freed[thread] = event.address if event.kind in (FREE, PYMALLOC_FREE, MUNMAP) else None
        if event.kind != UNFREE:
            # Another thread's undo would otherwise bring back what has been replaced since.
            freed = {key: value for key, value in freed.items() if key == thread}
        seq = 0 if moment < alone else moment + 1
        stored = Event(event.kind, event.address, event.size, nodes[event.node], seq)
        model.apply(thread, event)
        open_blocks[thread].append(stored)
        if random.random() < 0.1:
            flush = random.randrange(n_threads)
            if open_blocks[flush]:
                log.events(flush, open_blocks[flush])
                open_blocks[flush] = []
    for thread in random.sample(range(n_threads), n_threads):
        if open_blocks[thread] and not cut:
            log.events(thread, open_blocks[thread])
    if not cut:
        log.end()
    return History(log, model, {t: events for t, events in open_blocks.items() if events})


def amounts(profile: Profile, prefix: str) -> Amounts:
    """The values of the profile that are not zero, by (depth of the stack, thread, allocator)."""
    depth = [0] * len(profile.stacks)
    for row in range(1, len(depth)):
        depth[row] = depth[profile.stacks.parent[row]] + 1
    samples = profile.samples
    found = {}
    for row in range(len(samples)):
        value = (
            samples.values[f"{prefix}_bytes"][row],
            samples.values[f"{prefix}_blocks"][row],
        )
        if value != (0, 0):
            key = (
                depth[samples.stack[row]],
                profile.threads.tid[samples.thread[row]] - 100,
                samples.allocator[row],
            )
            assert key not in found
            found[key] = value
    return found


def check(profile: Profile, model: Model) -> None:
    assert amounts(profile, "total") == {site: (a, b) for site, (a, b) in model.totals.items()}
    assert profile.totals["peak_bytes"] == model.peak_bytes
    assert amounts(profile, "peak") == model.peak
    leaks = model.live() if model.leaks is None else model.leaks
    assert amounts(profile, "leaked") == leaks
    assert profile.totals["leaked_bytes"] == sum(size for size, _ in leaks.values())
    live_blocks = sum(blocks for _, blocks in model.live().values())
    assert profile.totals["n_allocations"] - profile.totals["n_frees"] == live_blocks


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32), n_threads=st.integers(1, 4), length=st.integers(1, 80))
@pytest.mark.parametrize("cut", [False, True])
def test_peak_leaks_and_totals_are_exact(
    tmp_path: Path, cut: bool, seed: int, n_threads: int, length: int
) -> None:
    history = random_history(Random(seed), n_threads, length, cut=cut)
    path = tmp_path / "log"
    path.write_bytes(history.log.data())
    tail = tmp_path / "log.ring"
    if cut:
        slots = [
            RingSlot(thread, events, history.log.ordinals.get(thread, 0))
            for thread, events in history.tail.items()
        ]
        tail.write_bytes(ring(slots))
    check(load_profile(str(path)), history.model)
