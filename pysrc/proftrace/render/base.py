"""What renderers have in common: writing files safely."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from proftrace.errors import OutputError
from proftrace.render.place import check_output, is_stream
from proftrace.units import printable


def write_output(path: str, data: str | bytes, force: bool) -> None:
    """Write a report, whole or not at all: the file appears under its name when it is complete.

    Raise `OutputError` with one line when that is not possible; nothing is left behind then.
    """
    check_output(path, force)
    content = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    if path == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return
    try:
        if is_stream(path):
            with open(path, "wb") as stream:
                stream.write(content)
        else:
            _replace(path, content)
    except OSError as error:
        raise OutputError(f"cannot write {printable(path)}: {error.strerror}") from None


@contextmanager
def write_stepwise(path: str, force: bool) -> Iterator[int]:
    """Give a descriptor to write to; the file appears under its name when the block is left well.

    Raise `OutputError` as `write_output` does.
    """
    check_output(path, force)
    if path == "-":
        sys.stdout.flush()
        yield sys.stdout.fileno()
        return
    try:
        if is_stream(path):
            with open(path, "wb", buffering=0) as stream:
                yield stream.fileno()
        else:
            with _temporary(path) as descriptor:
                yield descriptor
    except OSError as error:
        raise OutputError(f"cannot write {printable(path)}: {error.strerror}") from None


def write_pieces(path: str, pieces: Iterable[str], force: bool) -> None:
    """Do what `write_output` does with a text that may be too long to have in memory at once."""
    if path == "-":
        check_output(path, force)
        sys.stdout.flush()
        for piece in pieces:
            sys.stdout.buffer.write(piece.encode("utf-8", "backslashreplace"))
        sys.stdout.flush()
        return
    with (
        write_stepwise(path, force) as descriptor,
        open(descriptor, "wb", closefd=False, buffering=1 << 20) as file,
    ):
        for piece in pieces:
            file.write(piece.encode("utf-8", "backslashreplace"))


def _replace(path: str, content: bytes) -> None:
    with _temporary(path) as descriptor, open(descriptor, "wb", closefd=False) as file:
        file.write(content)


@contextmanager
def _temporary(path: str) -> Iterator[int]:
    """Write beside the target and rename: a reader never sees half a file."""
    import tempfile

    folder = os.path.dirname(path) or "."
    descriptor, temporary = tempfile.mkstemp(prefix=".proftrace-", dir=folder)
    try:
        with open(descriptor, "wb", buffering=0) as file:
            yield file.fileno()
            os.fchmod(file.fileno(), 0o666 & ~_umask())
        os.replace(temporary, os.path.realpath(path))
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    """Temporary files are private; a report gets the permissions that any new file has."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
