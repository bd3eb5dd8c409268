"""Line results from the text of a program, for the tests of the line table."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType

from log_writer import (
    LogWriter,
    call_record,
    function_details,
    function_record,
    line_details,
    line_record,
)

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


def random_line_log(path: Path, seed: int, n_functions: int = 12, n_files: int = 3) -> Path:
    """Write a result with functions of every kind: hot and cold, with errors, histograms, await,
    calls, some that never ran, and one without text."""
    rng = random.Random(seed)
    log = LogWriter(content=LINE_RESULTS, pid=seed)
    log.meta("program", f"/srv/app/run{seed}.py")
    log.meta("python", "3.13.0")
    bodies = [[3 + rng.randrange(12) for _ in range(n_functions)] for _ in range(n_files)]
    codes: list[tuple[int, int, int, int]] = []  # number, source, first line, lines
    for file, sizes in enumerate(bodies):
        name, lines = f"/srv/app/part{file}.py", list[str]()
        for k, size in enumerate(sizes):
            first = len(lines) + 1
            lines += [f"def f{k}(a):", *(f"    a{n} = a + {n}  # {k}" for n in range(size)), ""]
            source = 0 if k == 1 and file == 0 else file + 1
            codes.append((log.code(f"f{k}", name, first), source, first, size))
        log.source(file + 1, name, "\n".join(lines) + "\n")
    records = []
    for code, source, first, size in codes:
        if rng.random() < 0.15:
            records.append(function_record(code, source, 0, 0, 0))
            continue
        records += _random_function(rng, code, source, range(first + 1, first + 1 + size))
    for _ in range(2 * len(codes)):
        (caller, _, first, size), (callee, _, _, _) = rng.choice(codes), rng.choice(codes)
        line = rng.randrange(first + 1, first + 1 + size)
        records.append(call_record(caller, line, callee, rng.randrange(0, 90), _random_time(rng)))
    records.append(call_record(0, 0, codes[0][0], 3, 5_000))
    log.lines(*records)
    log.end()
    path.write_bytes(log.data())
    return path


def _random_time(rng: random.Random) -> int:
    return int(10 ** rng.uniform(0, 10))


def _random_function(rng: random.Random, code: int, source: int, lines: range) -> Iterator[bytes]:
    total = own = 0
    hot = rng.random() < 0.5
    records = []
    for line in lines:
        if rng.random() < 0.2:
            continue
        time = _random_time(rng)
        self_time = time if rng.random() < 0.5 else rng.randrange(time + 1)
        total, own = total + time, own + self_time
        histogram = [rng.randrange(9) for _ in range(rng.randrange(1, 30))] if not hot else []
        error = rng.choice([0, time // 100, time // 3])
        details = line_details(time // 9, time // 2, histogram, rng.randrange(99) * hot, error)
        suspended = _random_time(rng) * (rng.random() < 0.2)
        records.append(
            line_record(
                code,
                line,
                rng.randrange(0, 10**6),
                time,
                self_time,
                suspended=suspended,
                details=details,
            )
        )
    reason = rng.choice([0, 0, 0, 6])
    details = function_details(reason, 321 * hot, 5 * hot, rng.randrange(3), total // 50)
    yield function_record(code, source, 17, total, own, details=details, regime=int(hot))
    yield from records
