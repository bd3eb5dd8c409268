"""Reads the result files of line_profiler into profiles; `model/unpickle.py` makes that safe."""

from __future__ import annotations

import os
import stat
import tokenize
import zlib
from array import array
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from proftrace.errors import CaptureFileError
from proftrace.model.profile import (
    EXCLUSIVE,
    HITS,
    INCLUSIVE,
    LINE_METRICS,
    MEMORY_METRICS,
    RAW_HITS,
    CallTable,
    Column,
    FrameTable,
    FunctionTable,
    LineTable,
    Profile,
    SampleTable,
    Source,
    StackTable,
    ThreadTable,
)
from proftrace.model.unpickle import OLDEST_PROTOCOL, Refused, read_line_stats
from proftrace.units import printable

LINE_PROFILER = "line_profiler"  # the tool that META names in such a profile
_MOST_BYTES = 16 << 20  # a million lines
_MOST_SOURCE_BYTES = 16 << 20
_MOST_NS = 1 << 62
_MOST_SECONDS = 1_000_000  # that a unit has

type _Key = tuple[str, int, str]
type _Timings = Mapping[_Key, Sequence[tuple[int, int, float]]]


def is_pickle(path: str) -> bool:
    """Tell whether a file begins as a pickle does."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            start = file.read(2)
    except (OSError, ValueError):
        return False
    return len(start) == 2 and start[0] == 0x80 and OLDEST_PROTOCOL <= start[1] <= 5


def load_line_pickle(path: str) -> list[Profile]:
    """Return the profiles in a file that line_profiler wrote, mostly one. Texts are those of the
    source files as they are now, as in line_profiler's own reports.

    Raise `CaptureFileError` with one line when it is something else.
    """
    name = printable(path)
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
            modified = os.fstat(file.fileno()).st_mtime_ns
    except OSError as error:
        raise CaptureFileError(f"{name}: cannot be read: {error.strerror}") from None
    try:
        if len(data) > _MOST_BYTES:
            raise Refused(f"it is larger than {_MOST_BYTES >> 20} MiB")
        results = [_timings(state, len(data)) for state in read_line_stats(data)]
    except Refused as error:
        raise CaptureFileError(
            f"{name}: a pickle, but not a result of line_profiler: {printable(str(error))}"
        ) from None
    return [
        _profile(path, timings, unit, modified, zlib.crc32(data) + number)
        for number, (timings, unit) in enumerate(results)
    ]


def _timings(state: object, n_bytes: int) -> tuple[_Timings, float]:
    """Return the timings in a state and their unit in seconds, when they are what they should:
    not more than fit into so many bytes, least of all the same ones over and over."""
    match state:
        case {"timings": dict(timings), "unit": float() | int() as unit}:
            pass
        case _:
            raise Refused("it has no timings")
    if not 0 < unit <= _MOST_SECONDS:
        raise Refused("its unit is no length of time")
    n_rows = 0
    for key, rows in timings.items():
        match key, rows:
            case (str(), int(), str()), list():
                n_rows += len(rows)
                if n_rows > n_bytes:
                    raise Refused("it repeats itself")
                for row in rows:
                    _check_row(row, unit)
            case _:
                raise Refused("its timings have another form")
        if not 0 <= key[1] < 1 << 32:
            raise Refused("its timings have another form")
    return timings, unit


def _check_row(row: object, unit: float) -> None:
    match row:
        case (int(line), int(hits), int() | float() as time):
            fits = 0 <= line < 1 << 32 and 0 <= hits < 1 << 63
            if fits and abs(time) <= _MOST_NS and abs(_nanoseconds(time, unit)) <= _MOST_NS:
                return
    raise Refused("its timings have another form")


def _nanoseconds(time: float, unit: float) -> int:
    """Return a time exactly as it is when its unit is a nanosecond, as it is on Linux."""
    return round(time if unit == 1e-09 else time * unit * 1e9)


def _profile(path: str, timings: _Timings, unit: float, modified: int, digest: int) -> Profile:
    """Return a profile of these timings. What line_profiler does not know is 0: the calls of a
    function, the time without callees is that with them."""
    strings = {"": 0}

    def string(text: str) -> int:
        return strings.setdefault(text, len(strings))

    sources: dict[str, int] = {}
    texts: dict[int, Source] = {}
    names, files, first_lines = _ids(), _ids(), _ids()
    of_functions, functions, lines = _ids(), _ids(), _ids()
    hits, times, totals = _values(), _values(), _values()
    for number, ((file, first_line, name), rows) in enumerate(timings.items()):
        if file not in sources:
            sources[file] = len(sources) + 1
            if (text := _text_of(file)) is not None:
                texts[sources[file]] = Source(file, text)
        names.append(string(name))
        files.append(string(file))
        first_lines.append(first_line)
        of_functions.append(sources[file] if sources[file] in texts else 0)
        spent = [_nanoseconds(time, unit) for _, _, time in rows]
        functions.extend([number] * len(rows))
        lines.extend(line for line, _, _ in rows)
        hits.extend(n_hits for _, n_hits, _ in rows)
        times.extend(spent)
        totals.append(min(sum(spent), _MOST_NS))
    n_functions, none = len(names), _ids()
    return Profile(
        path=path,
        metrics=LINE_METRICS,
        strings=tuple(strings),
        functions=FunctionTable(names, names, files, first_lines, _zeros(n_functions, "I")),
        frames=FrameTable(none, none),
        stacks=StackTable(array("I", [0]), array("I", [0])),
        threads=ThreadTable(array("Q"), none),
        samples=SampleTable(none, none, none, {m.name: _values() for m in MEMORY_METRICS}),
        calls=_calls(of_functions, totals),
        lines=_lines(functions, lines, hits, times),
        sources=MappingProxyType(texts),
        meta={"tool": LINE_PROFILER, "program": os.path.basename(path)},
        header=_header(modified, digest),
    )


def _header(modified: int, digest: int) -> Mapping[str, int]:
    """Return what the header of a log would say, as far as it is known; the time of the file and
    what is in it stand for the start of the recording, by which recordings are told apart."""
    return {
        "pid": 0,
        "ppid": 0,
        "start_wall_ns": modified,
        "start_mono_ns": digest,
        "last_mono_ns": digest,
        "end_of_script": 0,
    }


def _calls(source: Column, totals: Column) -> CallTable:
    n_functions = len(source)
    zeros, counts = _zeros(n_functions, "I"), _zeros(n_functions, "q")
    return CallTable(
        function=array("I", range(n_functions)),
        source=source,
        regime=zeros,
        reason=zeros,
        calls=counts,
        yields=counts,
        inclusive=totals,
        exclusive=totals,
        samples=counts,
        discarded=counts,
        exclusive_error=counts,
        inclusive_error=counts,
    )


def _lines(function: Column, line: Column, hits: Column, times: Column) -> LineTable:
    zeros = _zeros(len(line), "q")
    known = {HITS: hits, RAW_HITS: hits, INCLUSIVE: times, EXCLUSIVE: times}
    values = {metric.name: known.get(metric, zeros) for metric in LINE_METRICS}
    return LineTable(
        function,
        line,
        MappingProxyType(values),
        _zeros(len(line), "I"),
        _zeros(len(line), "I"),
    )


def _ids() -> Column:
    return array("I")


def _values() -> Column:
    return array("q")


def _zeros(length: int, kind: str) -> Column:
    return array(kind, bytes(length * array(kind).itemsize))


def _text_of(file: str) -> str | None:
    """Return the text of a source file as it is now; None if it is not there or is none.

    The name comes from the file that is read: nothing but a regular file of bearable size is."""
    try:
        status = os.stat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_SOURCE_BYTES:
            return None
        with tokenize.open(file) as text:
            return text.read()
    except (OSError, SyntaxError, ValueError):
        return None
