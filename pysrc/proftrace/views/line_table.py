"""The line table: a line profile by function, in the order in which functions were registered."""

from __future__ import annotations

import inspect
import io
import math
import tokenize
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
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

# Code that has no block of its own under its first line, unlike `def` and `lambda`.
_EXPRESSIONS = ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")


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


def combine_errors(one: int, other: int) -> int:
    """Return the standard deviation of a sum of independent values, out of theirs."""
    return round(math.hypot(one, other))


@dataclass(frozen=True, slots=True)
class FunctionLines:
    """One section of the table.

    `inclusive` is the time in the function, callees included, in nanoseconds; of calls within
    calls of the same function only the outermost counts. `source` is the function's text, one item
    a line from `first_line` on and without line ends; None if it is not known. `lines` has the
    lines that ran, by number, ascending. `regimes` says how it was timed: by the "clock" at each
    line, by "samples", or first the one and then the other.
    """

    file: str
    name: str
    first_line: int
    calls: int
    inclusive: int
    source: Sequence[str] | None
    lines: Mapping[int, LineValues]
    regimes: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """The time of the function, callees included, in nanoseconds: the sum of its lines' times.

        When it calls itself, the times of its lines overlap and their sum would be more than the
        outermost call took; then it is that call's time.
        """
        return min(self.inclusive, sum(values.inclusive for values in self.lines.values()))

    @property
    def hits(self) -> int:
        """The sum of the lines' hits; 0: the function never ran."""
        return sum(values.hits for values in self.lines.values())


type FunctionKey = tuple[str, int, str, str | None]


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
    profiles: Sequence[Profile], *, raw_hits: bool = False
) -> dict[FunctionKey, FunctionLines]:
    """Return the functions of all profiles; with `raw_hits`, hits are the LINE events that the
    interpreter delivered. A function that was counted without events for a while has none.

    Functions of the same file, first line and name are one, with their values added up, unless
    their texts differ: then the text shown would not be the text that ran.
    """
    calls: dict[FunctionKey, int] = {}
    inclusive: dict[FunctionKey, int] = {}
    lines: dict[FunctionKey, dict[int, LineValues]] = {}
    regimes: dict[FunctionKey, set[str]] = {}
    for profile in profiles:
        keys = function_keys(profile)
        for row, function in enumerate(profile.calls.function):
            key = keys[function]
            calls[key] = calls.get(key, 0) + profile.calls.calls[row]
            inclusive[key] = inclusive.get(key, 0) + max(0, profile.calls.inclusive[row])
            lines.setdefault(key, {})
            hot = profile.calls.regime[row] == REGIME_HOT or profile.calls.samples[row]
            regimes.setdefault(key, set()).update({"samples"} if hot else set())
        _add_lines(profile, keys, lines, _FIELDS | {"hits": RAW_HITS} if raw_hits else _FIELDS)
    if raw_hits:
        for key in (key for key, names in regimes.items() if "samples" in names):
            lines[key] = {line: replace(one, hits=0) for line, one in lines[key].items()}
    return {
        key: _section(key, calls[key], inclusive[key], rows, regimes[key])
        for key, rows in lines.items()
    }


def function_keys(profile: Profile) -> dict[int, FunctionKey]:
    """Return what makes each profiled function the same as another one, by function id."""
    keys: dict[int, FunctionKey] = {}
    functions, strings = profile.functions, profile.strings
    for row, function in enumerate(profile.calls.function):
        source = profile.sources.get(profile.calls.source[row])
        keys[function] = (
            strings[functions.file[function]],
            functions.first_line[function],
            strings[functions.qualname[function]] or strings[functions.name[function]],
            source.text if source else None,
        )
    return keys


def _add_lines(
    profile: Profile,
    keys: Mapping[int, FunctionKey],
    lines: dict[FunctionKey, dict[int, LineValues]],
    fields: Mapping[str, Metric],
) -> None:
    """Add the lines of one profile to `lines`."""
    table = profile.lines
    columns = {name: table.values[metric.name] for name, metric in fields.items()}
    for row, function in enumerate(table.function):
        # Taking out the tracer's own cost can leave a cheap line slightly below nothing.
        numbers = {name: max(0, column[row]) for name, column in columns.items()}
        values = LineValues(**numbers, histogram=tuple(table.histogram(row)))
        if values == LineValues(0, 0, 0, 0):
            continue
        section = lines[keys[function]]
        line = table.line[row]
        section[line] = section[line] + values if line in section else values


def _section(
    key: FunctionKey,
    calls: int,
    inclusive: int,
    lines: Mapping[int, LineValues],
    regimes: Set[str],
) -> FunctionLines:
    file, first_line, name, text = key
    # A result of the first writers has no histograms, and everything in it was timed by the clock.
    if lines and (not regimes or any(values.histogram for values in lines.values())):
        regimes = {"clock", *regimes}
    source = None if text is None else _block(text, name, max(first_line, 1), max(lines, default=0))
    return FunctionLines(
        file,
        name,
        first_line,
        calls,
        inclusive,
        source,
        dict(sorted(lines.items())),
        tuple(sorted(regimes)),
    )


def _block(text: str, name: str, first_line: int, last_line: int) -> list[str]:
    """Return the lines of a function in the text of its file, at least up to `last_line`.

    The end of a block is where inspect sees it, as line_profiler does it.
    """
    # Not splitlines: only what ends a line for Python may end one here.
    following = io.StringIO(text, newline=None).readlines()[first_line - 1 :]
    length = last_line - first_line + 1
    short_name = name.rpartition(".")[2]
    if short_name == "<module>":
        length = len(following)
    elif short_name not in _EXPRESSIONS:
        try:
            length = max(length, len(inspect.getblock(following)))
        except (SyntaxError, tokenize.TokenError):
            # The text does not parse from here on: what ran is all that is known.
            length = max(length, 1)
    return [line.rstrip("\r\n") for line in following[: max(length, 1)]]
