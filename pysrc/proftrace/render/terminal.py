"""What the terminal can do: width, colours, characters; and text measured in its columns."""

from __future__ import annotations

import os
import shutil
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TextIO

UNLIMITED = 10_000  # columns: what is no terminal is as wide as its lines

type ColorChoice = Literal["auto", "always", "never"]

_STYLES = {"bold": "1", "dim": "2", "red": "1;31", "yellow": "33", "green": "32", "head": "1;36"}
_BAR_UNICODE = " ▏▎▍▌▋▊▉"
_PROBE = "█▏⋮…Σ·"


@dataclass(frozen=True, slots=True)
class Terminal:
    """How to write for one output stream: `width` columns, with colours, beyond ASCII."""

    width: int = 80
    color: bool = False
    unicode: bool = True

    def style(self, text: str, name: str) -> str:
        """Return the text in a style; as it is when there are no colours."""
        if not self.color or not name or not text.strip():
            return text
        return f"\x1b[{_STYLES[name]}m{text}\x1b[0m"

    def bar(self, share: float, width: int) -> str:
        """Return a bar of `width` columns, filled by `share` (0 .. 1)."""
        share = min(max(share, 0.0), 1.0)
        if not self.unicode:
            return ("#" * round(share * width)).ljust(width)
        eighths = round(share * width * 8)
        if share and not eighths:
            eighths = 1
        full, rest = divmod(eighths, 8)
        return ("█" * full + _BAR_UNICODE[rest].strip()).ljust(width)

    def symbol(self, fancy: str, plain: str) -> str:
        """Return a character that the terminal has."""
        return fancy if self.unicode else plain

    def cut(self, text: str, width: int) -> str:
        """Return the text in at most `width` columns, with a mark where it was cut."""
        if display_width(text) <= width:
            return text
        mark = self.symbol("…", ">")
        room = width - 1
        kept = []
        for char in text:
            room -= _char_width(char)
            if room < 0:
                break
            kept.append(char)
        return "".join(kept) + mark

    def cut_left(self, text: str, width: int) -> str:
        """Return the text in at most `width` columns, its end kept: of a path that is the name."""
        if display_width(text) <= width:
            return text
        return self.symbol("…", "<") + self.cut(text[::-1], width)[-2::-1]


def terminal_of(
    stream: TextIO, color: ColorChoice = "auto", environ: Mapping[str, str] = os.environ
) -> Terminal:
    """Return what can be written to a stream; one that is no terminal is as wide as need be."""
    width = shutil.get_terminal_size().columns if stream.isatty() or "COLUMNS" in environ else 0
    return Terminal(
        width=max(width, 40) if width else UNLIMITED,
        color=_wants_color(stream, color, environ),
        unicode=_has_characters(stream, _PROBE),
    )


def _wants_color(stream: TextIO, color: ColorChoice, environ: Mapping[str, str]) -> bool:
    """The first that has an opinion decides: option, PYTHON_COLORS, NO_COLOR, FORCE_COLOR, TERM."""
    if color != "auto":
        return color == "always"
    if environ.get("PYTHON_COLORS") in ("0", "1"):
        return environ["PYTHON_COLORS"] == "1"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR") or environ.get("CLICOLOR_FORCE", "0") != "0":
        return True
    return environ.get("TERM") != "dumb" and stream.isatty()


def _has_characters(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def display_width(text: str) -> int:
    """Return how many columns a text takes."""
    return len(text) if text.isascii() else sum(map(_char_width, text))
