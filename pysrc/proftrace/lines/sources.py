"""The source texts of profiled code, read when it is registered.

They go into the result, so that a report needs no source files: a notebook cell, a script that was
changed meanwhile or a folder that is gone are all the same to it.
"""

from __future__ import annotations

import sys

from proftrace import _lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FunctionType

_BOM = b"\xef\xbb\xbf"


class SourceTexts:
    """Finds source texts and gives each of them to the result once."""

    def __init__(self, start_folder: str, command_text: str | None) -> None:
        """Keep where relative file names start and the text of `python -c`, if there is one."""
        self._start_folder = start_folder
        self._command_text = command_text
        self._ids_of_files: dict[str, int] = {}
        self._ids_of_texts: dict[tuple[str, str], int] = {}

    def id_of(self, code: CodeType, function: FunctionType | None) -> int:
        """Return the id of the text that `code` was compiled from, 0 if it is not to be had."""
        name = code.co_filename
        text = _text_from_linecache(name)
        if text is None and name in self._ids_of_files:
            return self._ids_of_files[name]
        if text is not None:
            return self._add(name, text)
        text = self._read(name)
        if text is None and function is not None and function.__globals__.get("__file__") == name:
            text = _text_from_loader(function.__globals__)
        if text is None and name == "<string>" and _is_main(function):
            return self._add(name, self._command_text) if self._command_text else 0
        source = 0 if text is None else self._add(name, text)
        if not name.startswith("<"):
            self._ids_of_files[name] = source
        return source

    def _add(self, name: str, text: str) -> int:
        """Hand over a text, once for each file and text."""
        key = (name, text)
        if key not in self._ids_of_texts:
            self._ids_of_texts[key] = _lines.add_source(_encode(name), _encode(text))
        return self._ids_of_texts[key]

    def _read(self, name: str) -> str | None:
        """Return the text of a file, also if it was named relative to the folder of the start."""
        if name.startswith("<"):
            return None
        for path in (name, f"{self._start_folder}/{name}"):
            try:
                with open(path, "rb") as file:
                    return decode_source(file.read())
            except (OSError, ValueError):
                continue
        return None


def decode_source(data: bytes) -> str:
    """Return the text of a source file as the compiler reads it; what cannot be decoded, as U+FFFD.

    The encoding comment is read by `tokenize` only if there is one: it is a costly import.
    """
    encoding = "utf-8"
    if data.startswith(_BOM):
        data = data[len(_BOM) :]
    elif any(b"coding" in line for line in data.split(b"\n", 2)[:2]):
        encoding = _declared_encoding(data)
    text = data.decode(encoding, "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _declared_encoding(data: bytes) -> str:
    import tokenize

    lines = iter(data.splitlines(True))
    try:
        return tokenize.detect_encoding(lambda: next(lines, b""))[0]
    except SyntaxError:
        return "utf-8"


def _text_from_linecache(name: str) -> str | None:
    """Return what `linecache` holds under this name; notebook cells are only there."""
    linecache = sys.modules.get("linecache")
    entry = getattr(linecache, "cache", {}).get(name)
    if not isinstance(entry, tuple) or len(entry) != 4:
        return None
    lines = entry[2]
    try:
        return "".join(lines)
    except TypeError:
        return None


def _text_from_loader(namespace: dict[str, object]) -> str | None:
    """Ask the loader of a module that has no file of its own, such as one in a zip file."""
    get_source = getattr(namespace.get("__loader__"), "get_source", None)
    if get_source is None:
        return None
    try:
        text = get_source(namespace.get("__name__"))
    except Exception:  # whatever a loader of the program does
        return None
    return text if isinstance(text, str) else None


def _is_main(function: FunctionType | None) -> bool:
    return function is not None and function.__globals__.get("__name__") == "__main__"


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
