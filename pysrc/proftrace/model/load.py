"""Reads a result file into a profile: the only importer of `_reader`."""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from proftrace import _reader
from proftrace.errors import CaptureFileError
from proftrace.model.file_warnings import file_warnings, symbol_warnings
from proftrace.model.line_pickle import is_pickle, load_line_pickle
from proftrace.model.orphans import without_orphans
from proftrace.model.profile import (
    HITS,
    LINE_METRICS,
    MEMORY_METRICS,
    Arenas,
    CallTable,
    Column,
    EdgeTable,
    FrameTable,
    FunctionTable,
    LineTable,
    MarkTable,
    Profile,
    PythonHeap,
    Recording,
    SampleTable,
    Source,
    StackTable,
    ThreadTable,
    recording_of,
)
from proftrace.model.usage import UsageHistory, usage_from_row
from proftrace.units import format_count, printable

HAS_MEMORY = 1  # content flags of the file header
HAS_LINES = 2
_NATIVE = 1  # an option flag

type _Log = dict[str, Any]
type _Bytes = Mapping[str, bytes]


def load(path: str | os.PathLike[str], *, native: bool = True) -> Profile:
    """Return what is in a file of either tool: a capture of memory, or results of lines.

    The processes of a merged file come side by side in one profile. Without `native` the stacks of
    a capture with native ones show their Python frames only. What is wrong but readable is in the
    profile's `warnings`; raise `CaptureFileError` with one line when the file cannot be read.
    """
    from proftrace.model.combine import combine

    return combine(load_profiles(os.fspath(path), native=native))


def load_profile(path: str, *, native: bool = True) -> Profile:
    """Return the profile in a capture file; what is wrong but readable is in its `warnings`.

    Without `native` the stacks of a capture with native ones show their Python frames only.

    The peak and the totals cover the whole log, interpreter finalisation included. Leaks are what
    was live when the script had ended (`header["end_of_script"]` is 1 then), or at the end of a log
    that has no such mark.
    Raise `CaptureFileError` with one line when the file cannot be read.
    """
    return load_profiles(path, native=native)[0]


def load_running(path: str, *, native: bool = True) -> Profile:
    """Return what `load_profile` does, of a recording that goes on: that it does is no warning."""
    return _profile_from_log(path, _read_log(path, 0, native), running=True)


def load_profiles(path: str, *, native: bool = True) -> list[Profile]:
    """Return the profile of each process in a file: one, unless it is a merged file. A result of
    line_profiler is read as well."""
    path = os.fspath(path)
    if is_pickle(path):
        return load_line_pickle(path)
    profiles: list[Profile] = []
    start = 0
    while start or not profiles:
        log = _read_log(path, start, native)
        one_of_several = bool(start or log["next_log"])
        if not one_of_several:
            _refuse_without_lines(path, log)
        profiles.append(_profile_from_log(path, log, one_of_several=one_of_several))
        start = log["next_log"]
    return _without_older(profiles)


def _refuse_without_lines(path: str, log: _Log) -> None:
    """Raise CaptureFileError for a result of lines that was damaged before its first function."""
    kind = log["ending"]["kind"]
    if log["header"]["content"] & HAS_LINES and kind != "ended" and not log["calls"]["function"]:
        at = format_count(log["ending"]["damaged_at"])
        what = f"is damaged at byte {at}" if kind == "damaged" else f"is cut off at byte {at}"
        raise CaptureFileError(f"{printable(path)}: {what}, and nothing stands before")


def _without_older(profiles: Sequence[Profile]) -> list[Profile]:
    """Leave out what a process had saved before it wrote the whole, which is behind it; unless
    that was damaged, and nothing is left of it."""
    newest: dict[Recording, int] = {}
    for index, profile in enumerate(profiles):
        recording = recording_of(profile.header)
        if HITS in profile.metrics and (profile.calls.function or recording not in newest):
            newest[recording] = index
    kept = set(newest.values())
    return [
        profile
        for index, profile in enumerate(profiles)
        if index in kept or HITS not in profile.metrics
    ]


def append_logs(path: str, descriptor: int, skip: Set[Recording] = frozenset()) -> None:
    """Write the logs in a file, with what a killed process left in its ring, to a descriptor; but
    none of the recordings in `skip`."""
    start, is_first = 0, True
    while start or is_first:
        is_first = False
        if skip:
            log = _read_log(path, start, native=False)
            if recording_of(log["header"]) in skip:
                start = log["next_log"]
                continue
        try:
            start = _reader.append_log(path, start, descriptor)
        except (_reader.ReadError, ValueError) as error:
            raise _unreadable(path, error) from None


@dataclass(frozen=True, slots=True)
class Symbolized:
    """What came of looking up the native code of a capture.

    `n_addresses`: that had no name in the capture; `n_found`: that have one now. `recording`: ids
    of processes whose logs were not closed. `warnings` are lines for stderr.
    """

    has_native: bool
    n_addresses: int
    n_found: int
    recording: Sequence[int]
    warnings: Sequence[str]


def symbolize_logs(path: str, descriptor: int) -> Symbolized:
    """Write the logs in a file, with the names of their native code, to a descriptor."""
    has_native, n_addresses, n_found, start = False, 0, 0, 0
    recording: list[int] = []
    modules: list[tuple[str, str]] = []
    while True:
        try:
            log: _Log = _reader.symbolize_log(path, start, descriptor)
        except (_reader.ReadError, ValueError) as error:
            raise _unreadable(path, error) from None
        has_native = has_native or bool(log["options"] & _NATIVE)
        n_addresses += log["n_addresses"]
        n_found += log["n_found"]
        modules += log["modules"]
        if not log["ended"]:
            recording.append(log["pid"])
        start = log["next_log"]
        if not start:
            break
    warnings = [f"{printable(path)}: {text}" for text in symbol_warnings(modules)]
    return Symbolized(has_native, n_addresses, n_found, recording, warnings)


def _read_log(path: str, start: int, native: bool) -> _Log:
    try:
        log: _Log = _reader.read_log(path, start, native)
        return log
    except (_reader.ReadError, ValueError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: _reader.ReadError | ValueError) -> CaptureFileError:
    """Return why a file cannot be read, in one line; a ValueError is a NUL inside its path."""
    reason = (
        error.args[0] if isinstance(error, _reader.ReadError) else "cannot be read: no such file"
    )
    return CaptureFileError(f"{printable(path)}: {reason}")


def _profile_from_log(
    path: str, log: _Log, *, running: bool = False, one_of_several: bool = False
) -> Profile:
    content = log["header"]["content"]
    memory = bool(content & HAS_MEMORY)
    metrics = (*(MEMORY_METRICS if memory else ()),)
    metrics += (*(LINE_METRICS if content & HAS_LINES else ()),)
    functions, frames, stacks = log["functions"], log["frames"], log["stacks"]
    calls = _calls(log["calls"])
    table = _lines(log["lines"], log["buckets"]["count"])
    lines, edges, n_orphans = without_orphans(calls, table, _edges(log["edges"]))
    warnings = file_warnings(log, memory=memory, running=running)
    if n_orphans:
        warnings.append(f"damaged: {format_count(n_orphans)} rows of no known function left out")
    where = printable(path)
    if one_of_several:
        where += f", process {log['header']['pid']}"
    return Profile(
        path=path,
        metrics=metrics,
        strings=tuple(log["strings"]),
        functions=FunctionTable(
            _ids(functions["name"]),
            _ids(functions["qualname"]),
            _ids(functions["file"]),
            _ids(functions["first_line"]),
            _ids(functions["is_native"]),
        ),
        frames=FrameTable(_ids(frames["function"]), _ids(frames["line"])),
        stacks=StackTable(_ids(stacks["parent"]), _ids(stacks["frame"])),
        threads=_threads(log["threads"]),
        samples=_samples(log),
        calls=calls,
        lines=lines,
        edges=edges,
        marks=_marks(log),
        sources=_sources(log),
        meta=MappingProxyType(log["meta"]),
        header=_header(log),
        totals=MappingProxyType(log["totals"]),
        size_histogram=tuple(log["size_histogram"]),
        python_heap=_python_heap(log["python_heap"], log["meta"].get("pythonmalloc", "")),
        usage=_usage(log["usage"]),
        warnings=tuple(f"{where}: {text}" for text in warnings),
    )


def _header(log: _Log) -> Mapping[str, int]:
    """The file's header, and what is known of its events as a whole."""
    ending = log["ending"]
    return MappingProxyType(
        {
            **log["header"],
            "end_of_script": int(ending["marked"]),
            "n_events": ending["n_events"],
            "n_events_kept": ending["n_events_kept"],
        }
    )


def _usage(table: Mapping[str, Any]) -> UsageHistory | None:
    if not table:
        return None
    return UsageHistory(
        peak=usage_from_row(table["peak"]),
        end=usage_from_row(table["end"]),
        n_taken=table["n_taken"],
        moments=[usage_from_row(row) for row in table["rows"]],
    )


def _python_heap(table: Mapping[str, Any], allocator: str) -> PythonHeap | None:
    """Only pymalloc has objects in its arenas. Others may have some too (the interpreter takes
    the stacks of its frames from there), in which there is nothing to be counted."""
    if not table:
        return None
    if allocator not in ("", "pymalloc", "pymalloc_debug"):
        nothing = Arenas(**dict.fromkeys(table["peak"], 0))
        return PythonHeap(nothing, nothing, table["domains"])
    return PythonHeap(Arenas(**table["peak"]), Arenas(**table["end"]), table["domains"])


def _ids(column: bytes) -> Column:
    """Ids and line numbers: unsigned, 32 bits."""
    return array("I", column)


def _values(column: bytes) -> Column:
    """Values: signed, 64 bits."""
    return array("q", column)


def _threads(table: _Bytes) -> ThreadTable:
    return ThreadTable(array("Q", table["tid"]), _ids(table["name"]))


def _samples(log: _Log) -> SampleTable:
    table = log["samples"]
    columns = {
        **log["peak_by_site"],
        **log["leaks_by_site"],
        **log["totals_by_site"],
        **log["temporary_by_site"],
    }
    return SampleTable(
        _ids(table["stack"]),
        _ids(table["thread"]),
        _ids(table["allocator"]),
        MappingProxyType({m.name: _values(columns[m.name]) for m in MEMORY_METRICS}),
    )


def _calls(table: _Bytes) -> CallTable:
    return CallTable(
        function=_ids(table["function"]),
        source=_ids(table["source"]),
        regime=_ids(table["regime"]),
        reason=_ids(table["reason"]),
        calls=_values(table["calls"]),
        yields=_values(table["yields"]),
        inclusive=_values(table["inclusive_ns"]),
        exclusive=_values(table["exclusive_ns"]),
        samples=_values(table["samples"]),
        discarded=_values(table["discarded"]),
        exclusive_error=_values(table["exclusive_error_ns"]),
        inclusive_error=_values(table["inclusive_error_ns"]),
    )


def _lines(table: _Bytes, buckets: bytes) -> LineTable:
    columns = {name.removesuffix("_ns"): column for name, column in table.items()}
    return LineTable(
        _ids(table["function"]),
        _ids(table["line"]),
        MappingProxyType({m.name: _values(columns[m.name]) for m in LINE_METRICS}),
        _ids(table["buckets_at"]),
        _ids(table["n_buckets"]),
        _values(buckets),
    )


def _edges(table: _Bytes) -> EdgeTable:
    return EdgeTable(
        _ids(table["caller"]),
        _ids(table["line"]),
        _ids(table["callee"]),
        _values(table["calls"]),
        _values(table["inclusive_ns"]),
        _values(table["exclusive_ns"]),
    )


def _marks(log: _Log) -> MarkTable:
    table = log["at_marks"]
    return MarkTable(
        array("I", log["marks"]),
        _ids(table["mark"]),
        _ids(table["site"]),
        _values(table["bytes"]),
        _values(table["blocks"]),
    )


def _sources(log: _Log) -> Mapping[int, Source]:
    strings = log["strings"]
    return MappingProxyType(
        {source: Source(strings[file], text) for source, file, text in log["sources"]}
    )
