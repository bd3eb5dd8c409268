"""Which lines of a source text belong together: one statement, or the head of a compound one."""

from __future__ import annotations

import io
import tokenize
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

_LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}
_OPENING, _CLOSING = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class LogicalLines:
    """The statements of a text; empty when it cannot be read as Python.

    `last` has the last line of each statement that takes several, by its first; `loops` the lines
    with a whole loop on them; `comments` the column where a line's comment begins.
    """

    last: Mapping[int, int] = field(default_factory=dict)
    loops: frozenset[int] = frozenset()
    comments: Mapping[int, int] = field(default_factory=dict)

    def within(self, first: int, last: int) -> dict[int, int]:
        """Return the statements over several lines between two lines; one that begins before them,
        as around a lambda, is cut."""
        starts = list(self.last)
        begin = max(0, bisect_left(starts, first) - 1)
        cut = ((max(at, first), min(self.last[at], last)) for at in starts[begin:])
        return {
            start: end for start, end in takewhile(lambda one: one[0] <= last, cut) if start < end
        }

    def join(self, first: int, lines: Sequence[str]) -> str:
        """Return the lines of one statement as one, without its comments; `first` is the number of
        the first line."""
        text = ""
        for number, line in enumerate(lines, first):
            code = line[: self.comments.get(number)].rstrip().removesuffix("\\").rstrip()
            if not text:
                text = code
            elif code.strip():
                code = code.strip()
                tight = text[-1] in _OPENING or code[0] in _CLOSING
                text += code if tight else f" {code}"
        return text


def logical_lines(text: str) -> LogicalLines:
    """Return the statements of the text of a file."""
    last: dict[int, int] = {}
    loops: set[int] = set()
    comments: dict[int, int] = {}
    try:
        for tokens in _statements(text, comments):
            start, end = tokens[0].start[0], tokens[-1].end[0]
            if start < end:
                last[start] = end
            if _is_whole_loop(tokens):
                loops.add(start)
    except (SyntaxError, tokenize.TokenError):
        return LogicalLines()
    return LogicalLines(last, frozenset(loops), comments)


def _statements(text: str, comments: dict[int, int]) -> Iterator[list[tokenize.TokenInfo]]:
    """Yield the tokens of each logical line; note where comments begin."""
    tokens: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text, newline=None).readline):
        if token.type == tokenize.NEWLINE:
            if tokens:
                yield tokens
            tokens = []
        elif token.type == tokenize.COMMENT:
            comments[token.start[0]] = token.start[1]
        elif token.type not in _LAYOUT:
            tokens.append(token)


def _is_whole_loop(tokens: Sequence[tokenize.TokenInfo]) -> bool:
    """Tell whether a loop has its body behind its colon."""
    words = [token.string for token in tokens[:2]]
    begins = words[0] in ("for", "while") or words == ["async", "for"]
    return begins and tokens[-1].string != ":"
