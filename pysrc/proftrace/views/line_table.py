"""The line table: a line profile by function, in the order in which functions were registered."""

from __future__ import annotations

import inspect
import io
import math
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest

from proftrace.model.profile import (
    AWAIT,
    EXCLUSIVE,
    EXCLUSIVE_ERROR,
    HITS,
    INCLUSIVE,
    INCLUSIVE_ERROR,
    MAX,
    MIN,
    RAW_HITS,
    REGIME_HOT,
    SAMPLES,
    Metric,
    Profile,
)
from proftrace.views.logical_lines import LogicalLines, logical_lines

# Code that has no block of its own under its first line, unlike `def` and `lambda`.
_EXPRESSIONS = ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")
# Without any of these inspect would look for a block in all that follows.
_STARTS_BLOCK = re.compile(r"@|\b(?:def|class|lambda)\b")


type FunctionKey = tuple[str, int, str, str | None]


@dataclass(frozen=True, slots=True)
class LineValues:
    """What one line cost, in all calls: `hits` statements began, times are in nanoseconds.

    An error is one standard deviation of its time. `shortest`, `longest` and `histogram` (bucket k:
    hits of [2^k, 2^(k+1)) ns) are of the hits that were timed one by one, by the clock; `samples`
    found the line running.
    """

    hits: int
    inclusive: int
    exclusive: int
    suspended: int
    shortest: int = 0
    longest: int = 0
    samples: int = 0
    exclusive_error: int = 0
    inclusive_error: int = 0
    histogram: tuple[int, ...] = ()

    def __add__(self, other: LineValues) -> LineValues:
        pairs = zip_longest(self.histogram, other.histogram, fillvalue=0)
        both_timed = self.histogram and other.histogram
        return LineValues(
            self.hits + other.hits,
            self.inclusive + other.inclusive,
            self.exclusive + other.exclusive,
            self.suspended + other.suspended,
            min(self.shortest, other.shortest) if both_timed else self.shortest + other.shortest,
            max(self.longest, other.longest),
            self.samples + other.samples,
            combine_errors(self.exclusive_error, other.exclusive_error),
            combine_errors(self.inclusive_error, other.inclusive_error),
            tuple(one + another for one, another in pairs),
        )


@dataclass(frozen=True, slots=True)
class Call:
    """One way in which functions call each other; times are of the callee, called from there, in
    nanoseconds. `other` is None for code that is not profiled; `calls` is 0 when only samples saw
    it. `line` is the caller's, and `text` what stands there ("" when that is not known). `calls` of
    an `estimated` one are not all counted; see `views/call_counts.py`."""

    other: FunctionKey | None
    line: int
    calls: int
    inclusive: int
    exclusive: int
    text: str = ""
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: one line, or the lines of one statement as one."""

    line: int
    last: int
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """How a profile is read: `raw_hits` are the LINE events that the interpreter delivered (a
    function that was counted without events for a while has none); with `raw_times`, a cheap line
    from which more was taken out than it had keeps its time below zero; `statements` puts the lines
    of a statement together."""

    raw_hits: bool = False
    raw_times: bool = False
    statements: bool = False


def combine_errors(one: int, other: int) -> int:
    """Return the standard deviation of a sum of independent values, out of theirs."""
    return round(math.hypot(one, other))


@dataclass(frozen=True)  # without slots: sums over its lines are kept once they were asked for
class FunctionLines:
    """One section of the table.

    `inclusive` is the time in the function, callees included, in nanoseconds; of calls within
    calls of the same function only the outermost counts; `error` is one standard deviation of it.
    `source` is the function's text, one item
    a line from `first_line` on and without line ends; None if it is not known. `lines` has the
    lines that ran, by number, ascending. `regimes` says how it was timed: by the "clock" at each
    line, by "samples", or first the one and then the other. `statements` are (last line, text) of
    those statements that are one row, by their first line; `loops` are lines with a whole loop on
    them. `callers` and `callees` are the dearest first.
    """

    file: str
    name: str
    first_line: int
    calls: int
    inclusive: int
    source: Sequence[str] | None
    lines: Mapping[int, LineValues]
    regimes: tuple[str, ...] = ()
    statements: Mapping[int, tuple[int, str]] = field(default_factory=dict)
    loops: frozenset[int] = frozenset()
    callers: Sequence[Call] = ()
    callees: Sequence[Call] = ()
    error: int = 0

    def rows(self) -> Iterator[Row]:
        """Yield what the table shows, line by line: the lines that ran when there is no text."""
        if self.source is None:
            yield from (Row(line, line, "") for line in self.lines)
            return
        line, end = self.first_line, self.first_line + len(self.source)
        while line < end:
            last, text = self.statements.get(line, (line, self.source[line - self.first_line]))
            yield Row(line, last, text)
            line = last + 1

    def text_of(self, line: int) -> str:
        """Return what stands on a line, or the statement that goes over it, without indentation;
        "" when that is not known."""
        for first, (last, text) in self.statements.items():
            if first <= line <= last:
                return text.strip()
        index = line - self.first_line
        if self.source is None or not 0 <= index < len(self.source):
            return ""
        return self.source[index].strip()

    def share(self, line: int) -> float:
        """Return a line's part of the function's time, in percent."""
        values = self.lines.get(line)
        return 100 * values.inclusive / self.total if values and self.total else 0.0

    @cached_property
    def total(self) -> int:
        """The time of the function, callees included, in nanoseconds: the sum of its lines' times.

        When it calls itself, the times of its lines overlap and their sum would be more than the
        outermost call took; then it is that call's time.
        """
        return min(self.inclusive, sum(values.inclusive for values in self.lines.values()))

    @cached_property
    def hits(self) -> int:
        """The sum of the lines' hits; 0: the function never ran."""
        return sum(values.hits for values in self.lines.values())


_FIELDS: dict[str, Metric] = {
    "hits": HITS,
    "inclusive": INCLUSIVE,
    "exclusive": EXCLUSIVE,
    "suspended": AWAIT,
    "shortest": MIN,
    "longest": MAX,
    "samples": SAMPLES,
    "exclusive_error": EXCLUSIVE_ERROR,
    "inclusive_error": INCLUSIVE_ERROR,
}


def line_table(profiles: Sequence[Profile]) -> list[FunctionLines]:
    """Return the functions of all profiles, in the order in which they were registered."""
    return list(sections_by_key(profiles).values())


def sections_by_key(
    profiles: Sequence[Profile], reading: Reading | None = None
) -> dict[FunctionKey, FunctionLines]:
    """Return the functions of all profiles.

    Functions of the same file, first line and name are one, with their values added up, unless
    their texts differ: then the text shown would not be the text that ran.
    """
    reading = reading or Reading()
    sums: dict[FunctionKey, _Sum] = {}
    for profile in profiles:
        keys = function_keys(profile)
        for row, function in enumerate(profile.calls.function):
            sums.setdefault(keys[function], _Sum()).add(profile, row)
        _add_lines(profile, keys, sums, reading)
    texts = {text: _Text.of(text) for text in dict.fromkeys(key[3] for key in sums)}
    return {key: _section(key, one, texts[key[3]], reading) for key, one in sums.items()}


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of a file, taken apart once for all functions in it. `lines` None: not known."""

    lines: Sequence[str] | None
    layout: LogicalLines

    @staticmethod
    def of(text: str | None) -> _Text:
        if text is None:
            return _Text(None, LogicalLines())
        # Not splitlines: only what ends a line for Python may end one here.
        return _Text(io.StringIO(text, newline=None).readlines(), logical_lines(text))


@dataclass(slots=True)
class _Sum:
    """What is known of one function of all profiles."""

    calls: int = 0
    inclusive: int = 0
    error: int = 0
    regimes: set[str] = field(default_factory=set)
    lines: dict[int, LineValues] = field(default_factory=dict)

    def add(self, profile: Profile, row: int) -> None:
        """Add a row of the table of functions."""
        table = profile.calls
        self.calls += table.calls[row]
        self.inclusive += max(0, table.inclusive[row])
        self.error = combine_errors(self.error, table.inclusive_error[row])
        if table.regime[row] == REGIME_HOT or table.samples[row]:
            self.regimes.add("samples")

    def add_line(self, line: int, values: LineValues) -> None:
        """Add the values of a line."""
        self.lines[line] = self.lines[line] + values if line in self.lines else values


def function_keys(profile: Profile) -> dict[int, FunctionKey]:
    """Return what makes each profiled function the same as another one, by function id."""
    keys: dict[int, FunctionKey] = {}
    functions, strings = profile.functions, profile.strings
    for row, function in enumerate(profile.calls.function):
        source = profile.sources.get(profile.calls.source[row])
        keys[function] = (
            strings[functions.file[function]],
            functions.first_line[function],
            profile.function_name(function),
            source.text if source else None,
        )
    return keys


def _add_lines(
    profile: Profile,
    keys: Mapping[int, FunctionKey],
    sums: Mapping[FunctionKey, _Sum],
    reading: Reading,
) -> None:
    """Add the lines of one profile."""
    table = profile.lines
    fields = _FIELDS | {"hits": RAW_HITS} if reading.raw_hits else _FIELDS
    columns = {name: table.values[metric.name] for name, metric in fields.items()}
    for row, function in enumerate(table.function):
        # Taking out the tracer's own cost can leave a cheap line slightly below nothing.
        numbers = {name: max(0, column[row]) for name, column in columns.items()}
        if reading.raw_times:
            numbers |= {name: columns[name][row] for name in ("inclusive", "exclusive")}
        histogram = tuple(max(0, count) for count in table.histogram(row))
        values = LineValues(**numbers, histogram=histogram)
        if values == LineValues(0, 0, 0, 0):
            continue
        sums[keys[function]].add_line(table.line[row], values)


def _section(key: FunctionKey, found: _Sum, text: _Text, reading: Reading) -> FunctionLines:
    file, first_line, name, _ = key
    lines, regimes = dict(sorted(found.lines.items())), found.regimes
    if reading.raw_hits and "samples" in regimes:
        lines = {line: replace(one, hits=0) for line, one in lines.items()}
    # A result of the first writers has no histograms, and everything in it was timed by the clock.
    if lines and (not regimes or any(values.histogram for values in lines.values())):
        regimes = {"clock", *regimes}
    source = None
    if text.lines is not None:
        source = _block(text.lines, name, max(first_line, 1), max(lines, default=0))
    last_line = first_line + len(source or ()) - 1
    statements = {}
    if reading.statements and source:
        for first, last in text.layout.within(first_line, last_line).items():
            parts = source[first - first_line : last - first_line + 1]
            statements[first] = last, text.layout.join(first, parts)
    return FunctionLines(
        file,
        name,
        first_line,
        found.calls,
        found.inclusive,
        source,
        _one_a_statement(lines, statements),
        tuple(sorted(regimes)),
        statements,
        frozenset(line for line in text.layout.loops if first_line <= line <= last_line),
        error=found.error,
    )


def _one_a_statement(
    lines: Mapping[int, LineValues], statements: Mapping[int, tuple[int, str]]
) -> Mapping[int, LineValues]:
    """Return the lines with those of each statement put together, on its first one."""
    whole = dict(lines)
    for first, (last, _) in statements.items():
        parts = [whole.pop(line) for line in range(first, last + 1) if line in whole]
        if parts:
            began = lines[first].hits if first in lines else 0
            whole[first] = _together(parts, began or max(part.hits for part in parts))
    return dict(sorted(whole.items()))


def _together(parts: Sequence[LineValues], hits: int) -> LineValues:
    """Return a statement's values out of those of its lines. Single hits were timed line by line:
    of a whole statement there are no extremes, unless one line has it all."""
    if len(parts) == 1:
        return replace(parts[0], hits=hits)
    whole = sum(parts[1:], parts[0])
    return replace(whole, hits=hits, shortest=0, longest=0, histogram=())


def _block(lines: Sequence[str], name: str, first_line: int, last_line: int) -> list[str]:
    """Return the lines of a function out of those of its file, at least up to `last_line`.

    The end of a block is where inspect sees it, as line_profiler does it.
    """
    following = lines[first_line - 1 :]
    length = last_line - first_line + 1
    short_name = name.rpartition(".")[2]
    if short_name == "<module>":
        length = len(following)
    elif short_name not in _EXPRESSIONS and following and _STARTS_BLOCK.search(following[0]):
        try:
            length = max(length, len(inspect.getblock(following)))
        except (SyntaxError, tokenize.TokenError):
            # The text does not parse from here on: what ran is all that is known.
            length = max(length, 1)
    return [line.rstrip("\r\n") for line in following[: max(length, 1)]]
