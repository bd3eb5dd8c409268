"""A line profile as text for a page: see `render/payload.py` for the form.

    header = {"v", "strings", "texts", "columns": [[name, bytes], ...]}

Each text of a source file is there once, however many functions stand in it, and only the lines of
profiled functions. docs/lprof.md describes the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from proftrace.render.payload import CodedColumn, encode_payload, varints
from proftrace.units import printable
from proftrace.views.line_stats import FunctionStats
from proftrace.views.line_table import FunctionKey, LineValues

type Stats = Mapping[FunctionKey, FunctionStats]

_REGIMES = {"clock": 1, "samples": 2}


def encode_lines(stats: Stats, *, source: bool = True) -> str:
    """Return functions, lines and calls as base64 text, ready to stand in a page."""
    strings: dict[str, int] = {"": 0}
    texts = _Texts(stats if source else {})
    columns = [
        *_function_columns(stats, strings, texts),
        *_line_columns(stats),
        *_call_columns(stats),
        ("text_line", varints(texts.first_lines)),
    ]
    return encode_payload({"strings": list(strings), "texts": texts.texts}, columns)


class _Texts:
    """The lines of all functions, as runs of lines of a source file: each line is in one run."""

    def __init__(self, stats: Stats) -> None:
        self.texts: list[str] = []
        self.first_lines: list[int] = []
        self._runs: dict[FunctionKey, int] = {}
        by_file: dict[tuple[str, str | None], list[FunctionKey]] = {}
        for key, one in stats.items():
            if one.lines.source:
                by_file.setdefault((key[0], key[3]), []).append(key)
        for keys in by_file.values():
            self._add_file(sorted(keys, key=lambda key: stats[key].lines.first_line), stats)

    def number_of(self, key: FunctionKey) -> int:
        """Return the number of the run that holds a function's text, from 1; 0: there is none."""
        return self._runs.get(key, 0)

    def _add_file(self, keys: Sequence[FunctionKey], stats: Stats) -> None:
        run: list[str] = []
        first = 0
        for key in keys:
            section = stats[key].lines
            lines = section.source or ()
            offset = section.first_line - first
            if not run or offset > len(run):
                self._end(first, run)
                run, first, offset = list(lines), section.first_line, 0
            else:
                run += lines[max(0, len(run) - offset) :]
            self._runs[key] = len(self.texts) + 1
        self._end(first, run)

    def _end(self, first: int, run: Sequence[str]) -> None:
        if run:
            self.texts.append("\n".join(map(_printable_line, run)))
            self.first_lines.append(first)


def _printable_line(line: str) -> str:
    """Return a line so that it can be shown: tabs stay, other controls are escaped."""
    return line if line.isprintable() else "\t".join(map(printable, line.split("\t")))


def _numbers(values: Iterable[int]) -> bytes:
    """Return a column; sums beyond 64 bits, which only a damaged file has, are 0."""
    return varints(max(0, value) for value in values)


def _function_columns(stats: Stats, strings: dict[str, int], texts: _Texts) -> list[CodedColumn]:
    def number(text: str) -> int:
        return strings.setdefault(printable(text), len(strings))

    keys, all_stats = list(stats), list(stats.values())
    sections = [one.lines for one in all_stats]
    return [
        ("name", _numbers(number(section.name) for section in sections)),
        ("file", _numbers(number(section.file) for section in sections)),
        ("first_line", _numbers(section.first_line for section in sections)),
        ("calls", _numbers(section.calls for section in sections)),
        ("total", _numbers(section.total for section in sections)),
        ("total_error", _numbers(one.inclusive_error for one in all_stats)),
        ("self", _numbers(one.exclusive for one in all_stats)),
        ("self_error", _numbers(one.exclusive_error for one in all_stats)),
        ("yields", _numbers(one.yields for one in all_stats)),
        ("samples", _numbers(one.samples for one in all_stats)),
        ("discarded", _numbers(one.discarded for one in all_stats)),
        ("regimes", _numbers(sum(_REGIMES[name] for name in s.regimes) for s in sections)),
        ("reasons", _numbers(number(", ".join(one.reasons)) for one in all_stats)),
        ("text", _numbers(map(texts.number_of, keys))),
        ("length", _numbers(len(section.source or ()) for section in sections)),
        ("rows", _numbers(len(section.lines) for section in sections)),
    ]


def _line_columns(stats: Stats) -> list[CodedColumn]:
    rows: list[LineValues] = []
    steps: list[int] = []
    loops: list[int] = []
    for one in stats.values():
        lines = list(one.lines.lines)
        loops += [int(line in one.lines.loops) for line in lines]
        steps += [line - before for before, line in pairwise([0, *lines])]
        rows += one.lines.lines.values()
    return [
        ("l_step", _numbers(steps)),
        ("l_loop", _numbers(loops)),
        ("l_hits", _numbers(row.hits for row in rows)),
        ("l_total", _numbers(row.inclusive for row in rows)),
        ("l_total_error", _numbers(row.inclusive_error for row in rows)),
        ("l_self", _numbers(row.exclusive for row in rows)),
        ("l_self_error", _numbers(row.exclusive_error for row in rows)),
        ("l_await", _numbers(row.suspended for row in rows)),
        ("l_shortest", _numbers(row.shortest for row in rows)),
        ("l_longest", _numbers(row.longest for row in rows)),
        ("l_samples", _numbers(row.samples for row in rows)),
        ("l_buckets", _numbers(len(row.histogram) for row in rows)),
        ("buckets", _numbers(count for row in rows for count in row.histogram)),
    ]


def _call_columns(stats: Stats) -> list[CodedColumn]:
    """Return every call once; caller 0 is code that is not profiled, else it is a function + 1."""
    numbers = {key: number for number, key in enumerate(stats)}
    calls = [
        (callee, call) for callee, one in enumerate(stats.values()) for call in one.lines.callers
    ]
    return [
        ("c_caller", _numbers(0 if c.other is None else 1 + numbers[c.other] for _, c in calls)),
        ("c_callee", _numbers(callee for callee, _ in calls)),
        ("c_line", _numbers(call.line for _, call in calls)),
        ("c_calls", _numbers(call.calls for _, call in calls)),
        ("c_estimated", _numbers(int(call.estimated) for _, call in calls)),
        ("c_total", _numbers(call.inclusive for _, call in calls)),
        ("c_self", _numbers(call.exclusive for _, call in calls)),
    ]
