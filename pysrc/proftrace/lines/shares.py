"""The accuracy program A7: a loop of sixteen kinds of line, as cheap as lines get.

`lprof -o FILE -m proftrace.lines.shares` profiles it. With `--watch` the loop runs as plain code,
without a single event, and is only sampled: what FILE says then is the truth to compare with.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from time import perf_counter

CONSTANT = 7


class Point:
    """Something to store an attribute in."""

    def __init__(self) -> None:
        self.value = 1


def helper(value: int) -> int:
    """Something to call that is not profiled."""
    more = value + 1
    return more * 2


def mixed(n: int, point: Point, table: dict[int, int], items: list[int], text: str) -> int:
    """Run the loop."""
    total = 0
    for i in range(n):
        low = i & 255
        scaled = low * 2 + i
        point.value = scaled
        constant = CONSTANT
        table[low] = i
        known = table.get(low, 0)
        count = len(items)
        label = "%d" % low
        copied = [item for item in items]
        called = helper(low)
        real = low * 1.5
        triple = (scaled, low, i)
        place = text.find("y")
        ordered = sorted(items)
        total = total + 1 + count - count
    return total


def one_round(loop: Callable[[int, Point, dict[int, int], list[int], str], int]) -> int:
    """Run the loop, or what a tool has made of it, for some milliseconds."""
    return loop(2000, Point(), {}, [3, 1, 2], "xxxxxxxxxxy")


def share_error(measured: Mapping[int, float], truth: Mapping[int, float]) -> float:
    """Return the total variation distance of two distributions of time over lines, in per cent."""
    whole, true_whole = sum(measured.values()) or 1, sum(truth.values()) or 1
    return 50 * sum(
        abs(measured.get(line, 0) / whole - truth.get(line, 0) / true_whole)
        for line in measured.keys() | truth.keys()
    )


def main() -> None:
    """Run the loop for some seconds, in a process that lprof runs."""
    parser = argparse.ArgumentParser(prog="python -m proftrace.lines.shares")
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    if options.watch:
        from proftrace import _lines

        _lines.watch(mixed.__code__)
    else:
        from proftrace.lines.decorator import profile

        profile(mixed)
    until = perf_counter() + options.seconds
    while perf_counter() < until:
        one_round(mixed)


if __name__ == "__main__":
    main()
