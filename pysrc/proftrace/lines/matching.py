"""Whether a text is the one that a code object was compiled from.

A report must not show other text than what ran. Files change while a program runs, and code may be
compiled under the name of a file that holds something else.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType


# At most twice as many: the top level of a module can have thousands, each in a long text.
_NAMES_LOOKED_FOR = 50


def is_plausible(code: CodeType, text: str) -> bool:
    """Tell whether `text` has the names of `code` and something at each place of its instructions.

    Cheap, and enough where nothing hints at a change: it finds another file of the same name.
    """
    lines = _lines_of(text)
    last = code.co_firstlineno
    try:
        for first, end, column, end_column in set(code.co_positions()):
            if not first or first < 0:
                continue
            line = lines[first - 1]
            if end != first:
                last = max(last, end or first)
            elif column is not None and end_column is not None and end_column > column:
                if not line.isascii():
                    line = line.encode("utf-8", "surrogatepass").decode("latin-1")
                # A blank has the number of a byte; further to the right than the line is no text.
                if line[column] <= " " or line[end_column - 1] <= " ":
                    return False
            last = first if first > last else last
    except IndexError:
        return False
    block = "\n".join(lines[max(code.co_firstlineno, 1) - 1 : last])
    # What starts with "_" may be mangled or the compiler's; other alphabets may be normalised.
    names = (*code.co_varnames, *code.co_names)
    return all(
        name in block
        for name in names[:: 1 + len(names) // _NAMES_LOOKED_FOR]
        if name.isascii() and name.isidentifier() and not name.startswith("_")
    )


_split: tuple[str, list[str]] = ("", [""])  # the last text, and its lines


def _lines_of(text: str) -> list[str]:
    """Return the lines of a text; thousands of code objects of one file are asked about in turn."""
    global _split
    if _split[0] is not text:
        _split = (text, text.split("\n"))
    return _split[1]


class CompiledTexts:
    """Compiles texts again, to compare code with all that they make; each text once."""

    def __init__(self) -> None:
        """Start with nothing compiled."""
        self._codes_of_texts: dict[str, list[CodeType]] = {}

    def has(self, text: str, code: CodeType) -> bool:
        """Tell whether compiling `text` gives `code`."""
        if text not in self._codes_of_texts:
            self._codes_of_texts[text] = list(_compile(text, code.co_filename))
        return any(code == other for other in self._codes_of_texts[text])


def _compile(text: str, name: str) -> Iterator[CodeType]:
    import warnings  # part of every interpreter that warns; only a changed file gets here

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = compile(text, name, "exec", dont_inherit=True)
    except Exception:  # not Python any more
        return
    waiting = [module]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [inner for inner in code.co_consts if isinstance(inner, type(code))]
