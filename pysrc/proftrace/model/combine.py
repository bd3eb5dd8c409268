"""Several processes in one profile: the captures of a run, put side by side.

Everything that was allocated and what is live at the end adds up. Peaks do not fall on the same
moment: each process is there with its own, so the sum is what they never had more than together.
Each process is the outermost frame of its stacks.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import PurePath
from types import MappingProxyType

from proftrace.model.profile import (
    Arenas,
    CallTable,
    Column,
    EdgeTable,
    FrameTable,
    FunctionTable,
    LineTable,
    Process,
    Profile,
    PythonHeap,
    SampleTable,
    StackTable,
    ThreadTable,
)

NO_FRAME = "<no Python frame>"
_TEXTS = ("name", "qualname", "file")  # columns of FunctionTable that hold string ids


def combine(profiles: Sequence[Profile]) -> Profile:
    """Return one memory profile of several processes; one profile alone is returned as it is."""
    if len(profiles) == 1:
        return profiles[0]
    tables = _Tables()
    rows = [_add(tables, profile) for profile in profiles]
    first = profiles[0]
    return replace(
        first,
        strings=tuple(tables.strings),
        functions=tables.function_table(),
        frames=FrameTable(*tables.frames.columns("I", 2)),
        stacks=tables.stack_table(),
        threads=_threads(tables, profiles),
        samples=_samples(profiles, rows),
        calls=CallTable(*(array("I") for _ in fields(CallTable))),
        lines=LineTable(array("I"), array("I"), {}),
        edges=EdgeTable(),
        sources={},
        meta=MappingProxyType(dict(first.meta)),
        header=_header(profiles),
        totals=_totals(profiles),
        size_histogram=tuple(map(sum, zip(*(p.size_histogram for p in profiles), strict=True))),
        warnings=tuple(warning for profile in profiles for warning in profile.warnings),
        python_heap=_python_heap(profiles),
        usage=None,
        processes=tuple(process_of(profile) for profile in profiles),
    )


def process_of(profile: Profile) -> Process:
    """Return what a report says about the process of a capture."""
    return Process(
        pid=profile.header["pid"],
        ppid=profile.header["ppid"],
        command=profile.command,
        path=profile.path,
        n_allocations=profile.totals["n_allocations"],
        total_bytes=profile.totals["total_bytes"],
        peak_bytes=profile.totals["peak_bytes"],
        leaked_bytes=profile.totals["leaked_bytes"],
        start_mono_ns=profile.header["start_mono_ns"],
        usage=profile.usage,
    )


def _frame_name(profile: Profile) -> str:
    """Name the process in a stack: without its arguments, which pages do not show."""
    program = profile.meta.get("program", "")
    name = {"-c": "code of -c", "-m": "module"}.get(program, PurePath(program).name)
    return f"process {profile.header['pid']}: {name or 'unnamed program'}"


# ---- tables that are shared ---------------------------------------------------------------------


class _Rows:
    """Rows by what they hold: each is there once."""

    def __init__(self, *first: tuple[Hashable, ...]) -> None:
        self._rows: dict[tuple[Hashable, ...], int] = {}
        for row in first:
            self.row(row)

    def row(self, values: tuple[Hashable, ...]) -> int:
        """Return the row of these values, added when they are new."""
        return self._rows.setdefault(values, len(self._rows))

    def columns(self, typecode: str, n_columns: int) -> list[Column]:
        """Return all rows as columns."""
        columns = zip(*self._rows, strict=True) if self._rows else [()] * n_columns
        return [array(typecode, column) for column in columns]


class _Tables:
    """The strings, functions, frames and stacks of all processes; stack 0 is the empty one."""

    def __init__(self) -> None:
        self.strings: dict[str, int] = {"": 0}
        self.functions = _Rows()
        self.frames = _Rows()
        self.stacks = _Rows((0, -1))

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def under(self, stack: int, name: str) -> int:
        """Return the stack of a frame that is no code, on top of another stack."""
        text = self.string(name)
        empty = (0,) * (len(fields(FunctionTable)) - len(_TEXTS))
        # name, qualname and file come first; the rest are numbers.
        frame = self.frames.row((self.functions.row((text, text, 0, *empty)), 0))
        return self.stacks.row((stack, frame))

    def stack_table(self) -> StackTable:
        parent, frame = self.stacks.columns("q", 2)
        frame[0] = 0  # the empty stack has none
        return StackTable(array("I", parent), array("I", frame))

    def function_table(self) -> FunctionTable:
        return FunctionTable(*self.functions.columns("I", len(fields(FunctionTable))))


def _add(tables: _Tables, profile: Profile) -> list[int]:
    """Add the stacks of one process; return the new row of each."""
    strings = [tables.string(text) for text in profile.strings]
    columns = [
        [strings[text] for text in column] if field.name in _TEXTS else list(column)
        for field in fields(FunctionTable)
        for column in [getattr(profile.functions, field.name)]
    ]
    functions = [tables.functions.row(values) for values in zip(*columns, strict=True)]
    frames = [
        tables.frames.row((functions[function], line))
        for function, line in zip(profile.frames.function, profile.frames.line, strict=True)
    ]
    root = tables.under(0, _frame_name(profile))
    # The empty stack of a process is a stack of its own; other stacks stand on the process.
    rows = [tables.under(root, NO_FRAME)]
    parents, tops = profile.stacks.parent, profile.stacks.frame
    for row in range(1, len(profile.stacks)):
        parent = rows[parents[row]] if parents[row] else root
        rows.append(tables.stacks.row((parent, frames[tops[row]])))
    return rows


# ---- the rest -----------------------------------------------------------------------------------


def _threads(tables: _Tables, profiles: Sequence[Profile]) -> ThreadTable:
    """All threads, one process after the other; the main ones keep a name without their header."""
    tids, names = array("Q"), array("I")
    for profile in profiles:
        for tid, name in zip(profile.threads.tid, profile.threads.name, strict=True):
            main = "MainThread" if tid == profile.header["pid"] else ""
            tids.append(tid)
            names.append(tables.string(profile.strings[name] or main))
    return ThreadTable(tids, names)


def _samples(profiles: Sequence[Profile], rows: Sequence[Sequence[int]]) -> SampleTable:
    first = profiles[0].samples
    stack, thread, allocator = array("I"), array("I"), array("I")
    values = {name: array("q") for name in first.values}
    n_threads = 0
    for profile, new_row in zip(profiles, rows, strict=True):
        samples = profile.samples
        stack.extend(new_row[row] for row in samples.stack)
        thread.extend(n_threads + row for row in samples.thread)
        allocator.extend(samples.allocator)
        for name, column in values.items():
            column.extend(samples.values[name])
        n_threads += len(profile.threads)
    return replace(
        first, stack=stack, thread=thread, allocator=allocator, values=MappingProxyType(values)
    )


_JOINED: Mapping[str, Callable[[list[int]], int]] = {
    "largest_bytes": max,
    "smallest_bytes": min,
    "start_wall_ns": min,
    "start_mono_ns": min,
    "last_mono_ns": max,
    "end_of_script": min,
    "sample_bytes": max,
    "n_events": sum,
    "n_events_kept": sum,
}


def _totals(profiles: Sequence[Profile]) -> Mapping[str, int]:
    return MappingProxyType(
        {
            name: _JOINED.get(name, sum)([profile.totals.get(name, 0) for profile in profiles])
            for name in profiles[0].totals
        }
    )


def _header(profiles: Sequence[Profile]) -> Mapping[str, int]:
    """The first process's, over the whole time, with the options that any of them had."""
    header = dict(profiles[0].header)
    for name in header:
        if name in _JOINED:
            header[name] = _JOINED[name]([profile.header[name] for profile in profiles])
    for profile in profiles:
        header["options"] |= profile.header["options"]
    return MappingProxyType(header)


def _python_heap(profiles: Sequence[Profile]) -> PythonHeap | None:
    heaps = [profile.python_heap for profile in profiles if profile.python_heap is not None]
    if not heaps:
        return None
    domains: dict[str, tuple[int, int]] = {}
    for heap in heaps:
        for domain, (n_bytes, blocks) in heap.domains.items():
            known = domains.get(domain, (0, 0))
            domains[domain] = known[0] + n_bytes, known[1] + blocks
    return PythonHeap(
        _add_arenas([heap.peak for heap in heaps]),
        _add_arenas([heap.end for heap in heaps]),
        domains,
    )


def _add_arenas(moments: Sequence[Arenas]) -> Arenas:
    return Arenas(*(sum(getattr(m, f.name) for m in moments) for f in fields(Arenas)))
