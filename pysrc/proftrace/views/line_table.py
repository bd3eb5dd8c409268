"""The line table: a line profile by function, in the order in which functions were registered."""

from __future__ import annotations

import inspect
import io
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proftrace.model.profile import AWAIT, EXCLUSIVE, HITS, INCLUSIVE, Profile

# Code that has no block of its own under its first line, unlike `def` and `lambda`.
_EXPRESSIONS = ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")


@dataclass(frozen=True, slots=True)
class LineValues:
    """What one line cost, in all calls: `hits` statements began, times are in nanoseconds."""

    hits: int
    inclusive: int
    exclusive: int
    suspended: int

    def __add__(self, other: LineValues) -> LineValues:
        return LineValues(
            self.hits + other.hits,
            self.inclusive + other.inclusive,
            self.exclusive + other.exclusive,
            self.suspended + other.suspended,
        )


@dataclass(frozen=True, slots=True)
class FunctionLines:
    """One section of the table.

    `inclusive` is the time in the function, callees included, in nanoseconds; of calls within
    calls of the same function only the outermost counts. `source` is the function's text, one item
    a line from `first_line` on and without line ends; None if it is not known. `lines` has the
    lines that ran, by number, ascending.
    """

    file: str
    name: str
    first_line: int
    calls: int
    inclusive: int
    source: Sequence[str] | None
    lines: Mapping[int, LineValues]

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


type _Key = tuple[str, int, str, str | None]


def line_table(profiles: Sequence[Profile]) -> list[FunctionLines]:
    """Return the functions of all profiles.

    Functions of the same file, first line and name are one, with their values added up, unless
    their texts differ: then the text shown would not be the text that ran.
    """
    calls: dict[_Key, int] = {}
    inclusive: dict[_Key, int] = {}
    lines: dict[_Key, dict[int, LineValues]] = {}
    for profile in profiles:
        keys = _function_keys(profile)
        for row, function in enumerate(profile.calls.function):
            key = keys[function]
            calls[key] = calls.get(key, 0) + profile.calls.calls[row]
            inclusive[key] = inclusive.get(key, 0) + max(0, profile.calls.inclusive[row])
            lines.setdefault(key, {})
        _add_lines(profile, keys, lines)
    return [_section(key, calls[key], inclusive[key], lines[key]) for key in lines]


def _function_keys(profile: Profile) -> dict[int, _Key]:
    """Return what makes each profiled function the same as another one, by function id."""
    keys: dict[int, _Key] = {}
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
    profile: Profile, keys: Mapping[int, _Key], lines: dict[_Key, dict[int, LineValues]]
) -> None:
    """Add the lines of one profile to `lines`."""
    table = profile.lines
    columns = [table.values[metric.name] for metric in (HITS, INCLUSIVE, EXCLUSIVE, AWAIT)]
    for row, function in enumerate(table.function):
        hits, *times = (column[row] for column in columns)
        # Taking out the tracer's own cost can leave a cheap line slightly below nothing.
        values = LineValues(hits, *(max(0, time) for time in times))
        if values == LineValues(0, 0, 0, 0):
            continue
        section = lines[keys[function]]
        line = table.line[row]
        section[line] = section[line] + values if line in section else values


def _section(
    key: _Key, calls: int, inclusive: int, lines: Mapping[int, LineValues]
) -> FunctionLines:
    file, first_line, name, text = key
    source = None if text is None else _block(text, name, max(first_line, 1), max(lines, default=0))
    return FunctionLines(
        file, name, first_line, calls, inclusive, source, dict(sorted(lines.items()))
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
