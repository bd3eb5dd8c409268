"""One run of one program: python -m benchmarks.accuracy_worker PROGRAM SECONDS [LIBRARY].

Prints a JSON object: rounds, ns (of the least round), mean (ns of a round), and by line what the
mode knows: "samples" of plain code with LIBRARY (truth.c), or "hits" and "time" of line_profiler.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, perf_counter_ns
from types import CodeType, ModuleType

from benchmarks import instrument
from benchmarks.accuracy_programs import PROGRAMS


def repeat(work: Callable[[], object], seconds: float) -> dict[str, float]:
    """Repeat the work for so long; return how many rounds, the least and the mean ns of one."""
    until = perf_counter() + seconds
    rounds, best, total = 0, sys.maxsize, 0
    while rounds == 0 or perf_counter() < until:
        start = perf_counter_ns()
        work()
        took = perf_counter_ns() - start
        best = min(best, took)
        total += took
        rounds += 1
    return {"rounds": rounds, "ns": best, "mean": total / rounds}


def load_library(path: Path) -> ModuleType:
    """Import truth.c's library."""
    spec = importlib.util.spec_from_file_location("truth", path)
    assert spec is not None and spec.loader is not None
    return importlib.util.module_from_spec(spec)


def by_line(code: CodeType, counts: list[int]) -> dict[int, int]:
    """Return counts by code unit as counts by line."""
    lines: Counter[int] = Counter()
    for start, end, line in code.co_lines():
        if line is not None:
            lines[line] += sum(counts[start // 2 : end // 2])
    return dict(lines)


def line_profiler_lines() -> dict[str, dict[int, int]]:
    """Return what line_profiler counted, times in ns."""
    stats = instrument.decorate.get_stats()  # type: ignore[attr-defined]
    (rows,) = [rows for rows in stats.timings.values() if rows]
    return {
        "hits": {line: hits for line, hits, _ in rows},
        "time": {line: round(time * stats.unit * 1e9) for line, _, time in rows},
    }


def main() -> None:
    """Run and print."""
    work, code = PROGRAMS[sys.argv[1]]
    seconds = float(sys.argv[2])
    found: dict[str, dict[int, int]] = {}
    if len(sys.argv) > 3:
        truth = load_library(Path(sys.argv[3]))
        truth.start(code)
        took = repeat(work, seconds)
        found["samples"] = by_line(code, truth.stop())
    else:
        took = repeat(work, seconds)
        if instrument.MODE == "line_profiler":
            found = line_profiler_lines()
    print(json.dumps({**took, **found}))


if __name__ == "__main__":
    main()
