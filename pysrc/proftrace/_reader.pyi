class ReadError(Exception):
    """A file cannot be read; args are the reason, without the file's name, and a kind:

    "cannot-open", "not-a-file", "empty", "not-a-capture", "cut", "too-new", "byte-order",
    "damaged" or "no-memory".
    """

    args: tuple[str, str]

def read_log(path: str, start: int = 0, show_native: bool = True, /) -> dict[str, object]:
    """Return the columns of the log that starts there; "next_log" is where another one does."""

def symbolize_log(path: str, start: int, descriptor: int, /) -> dict[str, object]:
    """Write a log with the names of its native code to a descriptor; return what came of it."""

def append_log(path: str, start: int, descriptor: int, /) -> int:
    """Write the log that starts there, with what its ring holds, to a descriptor; return where the
    next one starts, 0 if there is none."""
