"""Which functions are parts of an expression of another one: lambdas and generator expressions."""

from __future__ import annotations

from collections.abc import Sequence

from proftrace.views.line_table import FunctionLines

# Code that has no name of its own, as CPython calls it.
_UNNAMED = ("<lambda>", "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")


def outer_functions(
    sections: Sequence[FunctionLines],
) -> list[tuple[FunctionLines, list[FunctionLines]]]:
    """Return each function with the unnamed ones that stand in its lines, however deep.

    An unnamed function whose surroundings were not profiled is one for itself.
    """
    by_place: dict[tuple[str, str], list[FunctionLines]] = {}
    for section in sections:
        by_place.setdefault((section.file, section.name), []).append(section)
    inner: dict[int, list[FunctionLines]] = {}
    found: list[FunctionLines] = []
    for section in sections:
        outer = _outermost(section, by_place)
        if outer is section:
            found.append(section)
        else:
            inner.setdefault(id(outer), []).append(section)
    return [(section, inner.get(id(section), [])) for section in found]


def _outermost(
    section: FunctionLines, by_place: dict[tuple[str, str], list[FunctionLines]]
) -> FunctionLines:
    """Return the function that an unnamed one is shown in; of any other one itself."""
    name, outer = section.name, section
    while name.rpartition(".")[2] in _UNNAMED:
        name = name.rpartition(".")[0].removesuffix(".<locals>") or "<module>"
        outer = next(
            (one for one in by_place.get((section.file, name), ()) if _holds(one, section)), outer
        )
    return outer


def _holds(outer: FunctionLines, inner: FunctionLines) -> bool:
    if outer.source is None:
        return False
    return outer.first_line <= inner.first_line < outer.first_line + len(outer.source)
