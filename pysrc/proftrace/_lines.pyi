"""The line tracer in C (csrc/python/lines_module.c)."""

from collections.abc import Sequence
from types import CodeType

CLOCK: str

def start(
    output: bytes,
    temporary: bytes,
    report: Sequence[bytes] | None,
    environ: Sequence[bytes],
    quiet: bool,
    /,
) -> None: ...
def register(code: CodeType, source: int, /) -> None: ...
def is_registered(code: object, /) -> bool: ...
def add_source(file: bytes, text: bytes, /) -> int: ...
def add_meta(key: str, value: bytes, /) -> None: ...
def finish() -> None: ...
