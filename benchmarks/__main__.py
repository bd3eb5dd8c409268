"""python -m benchmarks [--quick] [--only PART] [--page FILE]: one line of JSON a figure."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from benchmarks import accuracy, bounded, lines, memory, suites, tracker
from benchmarks.figures import Figure
from benchmarks.report import page

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
SOURCES = {
    "lprof": lines.figures,
    "accuracy": accuracy.figures,
    "memtrace": memory.figures,
    "tracker": tracker.figures,
    "pytest": suites.figures,
    "bounded": bounded.figures,
}


def main() -> None:
    """Measure, print, and write the page when everything was measured at full length."""
    parser = argparse.ArgumentParser(prog="benchmarks")
    parser.add_argument(
        "--quick", action="store_true", help="fewer samples; the page is not written"
    )
    parser.add_argument("--only", choices=sorted(SOURCES), help="one part")
    parser.add_argument("--page", type=Path, help=f"where to write the page (default {PAGE.name})")
    options = parser.parse_args()
    # One core for all: workers take turns anyway, and cores of a virtual machine differ.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="proftrace-bench-") as folder:
        for name, source in SOURCES.items():
            if options.only in (None, name):
                for figure in source(Path(folder), quick=options.quick):
                    print(figure.as_json(), flush=True)
                    figures.append(figure)
    whole = not options.quick and options.only is None
    if options.page or whole:
        (options.page or PAGE).write_text(page(figures))


if __name__ == "__main__":
    main()
