"""Which functions and lines of two line profiles are the same, though they may have moved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import PurePath

from proftrace.views.line_table import FunctionKey, FunctionLines

_MOST_COMPARED = 1_000_000  # pairs of lines

type Pair[T] = tuple[T | None, T | None]


@dataclass(frozen=True, slots=True)
class LinePair:
    """A line before and after, by its number; None: it is not there. `text` has no indentation;
    `moved`: other lines that both have stand on the other side of it now."""

    before: int | None
    after: int | None
    text: str
    moved: bool = False


def match_functions(
    before: Sequence[FunctionKey], after: Sequence[FunctionKey]
) -> list[Pair[FunctionKey]]:
    """Return the functions of both sides, in the order of `after`, then what is gone.

    The same name in the same file is the same function, wherever it stands there; or in a file of
    the same name, when the program lies in another folder. Of several, the first is the first.
    """
    left, pairs = list(before), dict[FunctionKey, FunctionKey]()
    wanted = list(after)
    for description in (_exactly, _by_place, _by_file_name):
        waiting: dict[Hashable, list[FunctionKey]] = defaultdict(list)
        for key in sorted(left, key=_first_line):
            waiting[description(key)].append(key)
        for key in sorted(wanted, key=_first_line):
            if waiting[description(key)]:
                pairs[key] = waiting[description(key)].pop(0)
        taken = set(pairs.values())
        left = [key for key in left if key not in taken]
        wanted = [key for key in wanted if key not in pairs]
    return [*((pairs.get(key), key) for key in after), *((key, None) for key in left)]


def _exactly(key: FunctionKey) -> Hashable:
    file, first_line, name, _ = key
    return file, first_line, name


def _by_place(key: FunctionKey) -> Hashable:
    return key[0], key[2]


def _by_file_name(key: FunctionKey) -> Hashable:
    return PurePath(key[0]).name, key[2]


def _first_line(key: FunctionKey) -> int:
    return key[1]


def match_lines(before: FunctionLines | None, after: FunctionLines | None) -> list[LinePair]:
    """Return the lines of a function in both profiles, in the order of the text after, those that
    are gone where they stood. Without a text on one side, lines are matched by their distance from
    the first one."""
    if before is None or after is None:
        only = before or after
        assert only is not None
        lines = _lines(only)
        return [
            LinePair(line if before else None, line if after else None, text)
            for line, text in lines
        ]
    if before.source is None or after.source is None:
        return _by_distance(before, after)
    return _by_text(_lines(before), _lines(after))


def _lines(section: FunctionLines) -> list[tuple[int, str]]:
    """Return number and text of each line."""
    if section.source is None:
        return [(line, "") for line in section.lines]
    return [(line, text.strip()) for line, text in enumerate(section.source, section.first_line)]


def _by_distance(before: FunctionLines, after: FunctionLines) -> list[LinePair]:
    distances = {line - before.first_line for line in before.lines}
    distances |= {line - after.first_line for line in after.lines}
    pairs = []
    for distance in sorted(distances):
        lines = before.first_line + distance, after.first_line + distance
        text = before.text_of(lines[0]) or after.text_of(lines[1])
        pairs.append(LinePair(*lines, text))
    return pairs


def _by_text(before: list[tuple[int, str]], after: list[tuple[int, str]]) -> list[LinePair]:
    texts = [text for _, text in before], [text for _, text in after]
    if texts[0] == texts[1]:
        return [LinePair(a, b, text) for (a, text), (b, _) in zip(before, after, strict=True)]
    kept = _in_order(*texts)
    moved = _moved(texts, {a for a, _ in kept}, {b for _, b in kept})
    return list(_woven(before, after, dict(kept), moved))


def _in_order(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of lines that both have in the same order."""
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    middle = before[head : len(before) - tail], after[head : len(after) - tail]
    # Between long texts, a line that is there very often is no place to begin at.
    is_long = len(middle[0]) * len(middle[1]) > _MOST_COMPARED
    kept = [(k, k) for k in range(head)]
    for a, b, size in SequenceMatcher(None, *middle, autojunk=is_long).get_matching_blocks():
        kept += [(head + a + k, head + b + k) for k in range(size)]
    return kept + [(len(before) - k, len(after) - k) for k in range(tail, 0, -1)]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines at the start are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _moved(
    texts: tuple[Sequence[str], Sequence[str]], kept_before: set[int], kept_after: set[int]
) -> dict[int, int]:
    """Return lines that stand elsewhere now, by their position before: the same text among what did
    not keep its order. Lines without text are no line to follow."""
    waiting: dict[str, list[int]] = defaultdict(list)
    for position, text in enumerate(texts[1]):
        if position not in kept_after and text:
            waiting[text].append(position)
    moved = {}
    for position, text in enumerate(texts[0]):
        if position not in kept_before and waiting.get(text):
            moved[position] = waiting[text].pop(0)
    return moved


def _woven(
    before: Sequence[tuple[int, str]],
    after: Sequence[tuple[int, str]],
    kept: dict[int, int],
    moved: dict[int, int],
) -> Iterator[LinePair]:
    """Yield all lines once, in the order after; what is gone is in front of what took its place."""
    origin = {b: a for a, b in kept.items()} | {b: a for a, b in moved.items()}
    next_kept = [len(before)] * (len(after) + 1)
    for position in range(len(after) - 1, -1, -1):
        source = origin.get(position, -1)
        is_kept = kept.get(source) == position
        next_kept[position] = source if is_kept else next_kept[position + 1]
    gone_upto = 0
    for position, (line, text) in enumerate(after):
        yield from _gone(before, range(gone_upto, next_kept[position]), kept, moved)
        gone_upto = max(gone_upto, next_kept[position])
        found = origin.get(position)
        yield LinePair(None if found is None else before[found][0], line, text, found in moved)
    yield from _gone(before, range(gone_upto, len(before)), kept, moved)


def _gone(
    before: Sequence[tuple[int, str]],
    positions: range,
    kept: dict[int, int],
    moved: dict[int, int],
) -> Iterator[LinePair]:
    for position in positions:
        if position not in kept and position not in moved:
            line, text = before[position]
            yield LinePair(line, None, text)
