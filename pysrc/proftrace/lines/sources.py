"""The source texts of profiled code, read when it is registered.

They go into the result, so that a report needs no source files: a notebook cell, a script that was
changed meanwhile or a folder that is gone are all the same to it. A text that is not what ran is
left out.
"""

from __future__ import annotations

import os
import stat
import sys
import time

from proftrace import _lines
from proftrace.lines.matching import CompiledTexts, is_plausible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import CodeType

    type Namespace = Mapping[str, object] | None

# File systems take the time from a clock that goes in steps of up to 10 ms.
CLOCK_STEP_NS = 50_000_000
# The files of `python -c` and `python -`.
TEXT_NAMES = ("<string>", "<stdin>")
_BOM = b"\xef\xbb\xbf"


class SourceTexts:
    """Finds source texts and gives each of them to the result once."""

    def __init__(
        self, start_folder: str, command_text: str | None, script: str | None = None
    ) -> None:
        """Keep what the program may change: its folder, its own text, the time of the start.

        `start_folder` is where relative file names start, `command_text` the program's if it
        is in no file, `script` the path of the script, whose text is read before it runs.
        """
        self._start_folder = start_folder
        self._command_text = command_text
        self._start_ns = time.time_ns()
        self._compiled = CompiledTexts()
        self._files: dict[str, tuple[tuple[int, ...], str]] = {}
        self._ids_of_texts: dict[tuple[str, str], int] = {}
        self._script = None if script is None else os.path.join(start_folder, script)
        self._script_text = None if self._script is None else self._read(self._script)[0]

    def id_of(self, code: CodeType, namespace: Namespace) -> int:
        """Return the id of the text that `code` was compiled from, 0 if it is not to be had.

        `namespace`: the globals that it runs with, if they are known.
        """
        name = code.co_filename
        for text, is_certain in self._candidates(name, namespace):
            if is_certain and is_plausible(code, text):
                return self._add(name, text)
            if self._compiled.has(text, code):
                return self._add(name, text)
        return 0

    def _candidates(self, name: str, namespace: Namespace) -> Iterator[tuple[str, bool]]:
        """Yield texts of this name, each with whether a superficial look at it will do."""
        if name.startswith("<"):
            cached = _text_from_linecache(name)
            if cached is not None:
                yield cached, True
            if name in TEXT_NAMES and _is_main(namespace) and self._command_text:
                yield self._command_text, True
            return
        if self._script_text is not None and os.path.join(self._start_folder, name) == self._script:
            yield self._script_text, True
        text, is_unchanged = self._read(name)
        if text is not None:
            yield text, is_unchanged
        cached = _text_from_linecache(name)
        if cached is not None:
            yield cached, text is None and name not in self._files
        if namespace is not None and namespace.get("__file__") == name:
            loaded = _text_from_loader(namespace)
            if loaded is not None:
                yield loaded, text is None

    def _add(self, name: str, text: str) -> int:
        """Hand over a text, once for each file and text."""
        key = (name, text)
        if key not in self._ids_of_texts:
            self._ids_of_texts[key] = _lines.add_source(_encode(name), _encode(text))
        return self._ids_of_texts[key]

    def _read(self, name: str) -> tuple[str | None, bool]:
        """Return the text of a file, and whether the file is as it was at the start.

        A relative name is also looked for in the folder of the start.
        """
        for path in (name, f"{self._start_folder}/{name}"):
            try:
                status = os.stat(path)
                if not stat.S_ISREG(status.st_mode):
                    continue  # reading a pipe would take the program away from the interpreter
                mark = (status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns)
                if path not in self._files or self._files[path][0] != mark:
                    with open(path, "rb") as file:
                        self._files[path] = (mark, decode_source(file.read()))
                # Nobody can set the time of change, not even back to what it was.
                is_unchanged = status.st_ctime_ns < self._start_ns - CLOCK_STEP_NS
                return self._files[path][1], is_unchanged
            except (OSError, ValueError):
                continue
        return None, False


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


def _text_from_loader(namespace: Mapping[str, object]) -> str | None:
    """Ask the loader of a module that has no file of its own, such as one in a zip file."""
    get_source = getattr(namespace.get("__loader__"), "get_source", None)
    if get_source is None:
        return None
    try:
        text = get_source(namespace.get("__name__"))
    except Exception:  # whatever a loader of the program does
        return None
    return text if isinstance(text, str) else None


def _is_main(namespace: Namespace) -> bool:
    return namespace is not None and namespace.get("__name__") == "__main__"


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
