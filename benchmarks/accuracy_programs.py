"""The programs whose times are judged: each has one profiled function that does the work."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType

from benchmarks.instrument import profile
from benchmarks.line_programs import BODIES, CODE, MATRIX, TEXT, matmul, nbody, tokenize, words
from proftrace.lines import shares

plain_mixed = shares.mixed
mixed = profile(plain_mixed)


def plain(function: Callable[..., object]) -> CodeType:
    """Return the code of a function, whatever a tool has wrapped around it."""
    code = getattr(function, "__wrapped__", function).__code__
    assert isinstance(code, CodeType)
    return code


# Name: (the work, its function's code). One round of the work takes some milliseconds.
PROGRAMS: dict[str, tuple[Callable[[], object], CodeType]] = {
    "mixed": (lambda: shares.one_round(mixed), plain_mixed.__code__),
    "tokenize": (lambda: tokenize(CODE), plain(tokenize)),
    "words": (lambda: words(TEXT), plain(words)),
    "matmul": (lambda: matmul(MATRIX, MATRIX), plain(matmul)),
    "nbody": (lambda: nbody([list(body) for body in BODIES], 40), plain(nbody)),
}
