class ReadError(Exception):
    """A file cannot be read; args are the reason, without the file's name, and a kind:

    "cannot-open", "not-a-file", "empty", "not-a-capture", "cut", "too-new", "byte-order",
    "damaged" or "no-memory".
    """

    args: tuple[str, str]

def read_log(path: str, /) -> dict[str, object]: ...
