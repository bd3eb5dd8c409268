"""The profile: everything a report needs, in columns, whatever was measured.

Tables are columns of equal length; a row is an index. Strings, functions, frames and stacks are
shared by all rows that name them. Values are plain integers in the unit of their metric.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

type Column = array[int]


@dataclass(frozen=True, slots=True)
class Metric:
    """A named value column: its unit ("bytes", "count", "nanoseconds") and how reports call it."""

    name: str
    unit: str
    title: str


PEAK_BYTES = Metric("peak_bytes", "bytes", "Memory at the peak")
PEAK_BLOCKS = Metric("peak_blocks", "count", "Blocks at the peak")
LEAKED_BYTES = Metric("leaked_bytes", "bytes", "Memory live at the end")
LEAKED_BLOCKS = Metric("leaked_blocks", "count", "Blocks live at the end")
TOTAL_BYTES = Metric("total_bytes", "bytes", "Memory allocated in all")
TOTAL_BLOCKS = Metric("total_blocks", "count", "Allocations in all")
MEMORY_METRICS = (
    PEAK_BYTES,
    PEAK_BLOCKS,
    LEAKED_BYTES,
    LEAKED_BLOCKS,
    TOTAL_BYTES,
    TOTAL_BLOCKS,
)

HITS = Metric("hits", "count", "Hits")
RAW_HITS = Metric("raw_hits", "count", "LINE deliveries")
INCLUSIVE = Metric("inclusive", "nanoseconds", "Time with callees")
EXCLUSIVE = Metric("exclusive", "nanoseconds", "Time without profiled callees")
AWAIT = Metric("await", "nanoseconds", "Suspended time")
LINE_METRICS = (HITS, RAW_HITS, INCLUSIVE, EXCLUSIVE, AWAIT)

# The names memray gives to the allocator numbers, which the log shares.
ALLOCATOR_NAMES: Mapping[int, str] = {
    1: "MALLOC",
    2: "FREE",
    3: "CALLOC",
    4: "REALLOC",
    5: "POSIX_MEMALIGN",
    6: "ALIGNED_ALLOC",
    7: "MEMALIGN",
    8: "VALLOC",
    9: "PVALLOC",
    10: "MMAP",
    11: "MUNMAP",
    12: "PYMALLOC_MALLOC",
    13: "PYMALLOC_CALLOC",
    14: "PYMALLOC_REALLOC",
    15: "PYMALLOC_FREE",
}


@dataclass(frozen=True, slots=True)
class FunctionTable:
    """Code objects: string ids of `name`, `qualname` and `file`, and the first line."""

    name: Column
    qualname: Column
    file: Column
    first_line: Column

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True, slots=True)
class FrameTable:
    """Places in the code: function id and line (0 = no line known)."""

    function: Column
    line: Column

    def __len__(self) -> int:
        return len(self.function)


@dataclass(frozen=True, slots=True)
class StackTable:
    """A tree of stacks. Row 0 is the empty stack (its parent is 0, its frame is meaningless);
    every other row is its innermost `frame` on top of the stack `parent`, and parent < row."""

    parent: Column
    frame: Column

    def __len__(self) -> int:
        return len(self.parent)


@dataclass(frozen=True, slots=True)
class ThreadTable:
    """Threads: kernel thread ids and string ids of their names ("" = not known)."""

    tid: Column
    name: Column

    def __len__(self) -> int:
        return len(self.tid)


@dataclass(frozen=True, slots=True)
class SampleTable:
    """Values by stack, thread (row of ThreadTable) and allocator (see ALLOCATOR_NAMES)."""

    stack: Column
    thread: Column
    allocator: Column
    values: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.stack)


@dataclass(frozen=True, slots=True)
class CallTable:
    """Profiled functions: function id, source id (0 = no text), regime, calls, times in ns."""

    function: Column
    source: Column
    regime: Column
    calls: Column
    inclusive: Column
    exclusive: Column

    def __len__(self) -> int:
        return len(self.function)


@dataclass(frozen=True, slots=True)
class LineTable:
    """Lines of profiled functions that ran: function id, line number, values by metric name."""

    function: Column
    line: Column
    values: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.function)


@dataclass(frozen=True, slots=True)
class Source:
    """The whole text of a file as it was when its code was registered."""

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Profile:
    """One capture, decoded and reduced. Tables a tool does not fill are empty.

    `totals`: "n_allocations", "n_frees", "total_bytes", "peak_bytes", "leaked_bytes",
    "largest_bytes", "smallest_bytes", "n_threads", "n_lost" (memory). `size_histogram[k]` = number
    of allocations whose size has k significant bits (0 .. 64). `warnings`: one line each, for
    stderr.
    """

    path: str
    metrics: Sequence[Metric]
    strings: Sequence[str]
    functions: FunctionTable
    frames: FrameTable
    stacks: StackTable
    threads: ThreadTable
    samples: SampleTable
    calls: CallTable
    lines: LineTable
    sources: Mapping[int, Source] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)
    header: Mapping[str, int] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)
    size_histogram: Sequence[int] = ()
    warnings: Sequence[str] = ()
