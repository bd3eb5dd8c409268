"""PACKED blocks of a real capture, decoded from the specification, and by the reader."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from case_runs import HAS_GIL
from log_events import is_allocation, read_events
from proftrace.model.load import load_profile
from proftrace.model.profile import ARENA

PROGRAM = """
import threading

def work(n):
    rows = [bytes(600 + i % 50 * n) for i in range(2_000)]
    rows.append(bytearray(5_000))
    for i in range(300):
        rows[-1] += bytes(700)
    return rows[::-3]

kept = [work(n) for n in range(3)]
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_the_specification_and_the_reader_agree(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    command = [sys.executable, "-m", "proftrace.cli.memtrace", "run", "-q", "-o", str(path)]
    subprocess.run([*command, "-c", PROGRAM], check=True, timeout=100)
    events = read_events(path)
    profile = load_profile(str(path))
    # Arenas are told apart where Python's objects are events, as without a GIL.
    arenas = set() if HAS_GIL else {ARENA}
    allocations = [event for event in events if is_allocation(event) and event.kind not in arenas]
    assert len(allocations) > 13_000
    assert profile.totals["n_allocations"] == len(allocations)
    assert profile.totals["total_bytes"] == sum(event.size for event in allocations)
    assert profile.totals["largest_bytes"] == max(event.size for event in allocations)
    assert any(event.seq for event in events) and not events[0].seq
    # Stacks of different places.
    assert len({event.node for event in allocations}) > 10
    assert "work" in {profile.strings[name] for name in profile.functions.name}
