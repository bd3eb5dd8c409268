"""Line results from the text of a program, for the tests of the line table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType

from log_writer import LogWriter, function_record, line_record

LINE_RESULTS = 2

type Timings = list[tuple[int, int, int]]
"""What line_profiler keeps of a function: (line, hits, nanoseconds)."""


def functions_of(text: str, file: str) -> Iterator[CodeType]:
    """Yield the code of each function in a program, in the order of the text."""
    pending = [compile(text, file, "exec")]
    while pending:
        code = pending.pop(0)
        nested = [const for const in code.co_consts if isinstance(const, CodeType)]
        pending = nested + pending
        if code.co_name != "<module>":
            yield code


def code_of(text: str, file: str, qualname: str) -> CodeType:
    """Return the code of the function of this name."""
    return next(code for code in functions_of(text, file) if code.co_qualname == qualname)


def write_line_log(
    path: Path,
    file: str,
    text: str | None,
    functions: Mapping[CodeType, Timings],
    program: str = "program.py",
    *,
    pid: int = 4242,
) -> Path:
    """Write a result file of functions that are all in `file`; `text` None: not recorded."""
    log = LogWriter(content=LINE_RESULTS, pid=pid)
    log.meta("program", program)
    if text is not None:
        log.source(1, file, text)
    records = []
    for code, timings in functions.items():
        number = log.code(code.co_name, file, code.co_firstlineno, qualname=code.co_qualname)
        total = sum(time for _, _, time in timings)
        calls = max((hits for _, hits, _ in timings), default=0)
        records.append(function_record(number, int(text is not None), calls, total, total))
        records += [line_record(number, line, hits, time, time) for line, hits, time in timings]
    log.lines(*records)
    log.end()
    path.write_bytes(log.data())
    return path
