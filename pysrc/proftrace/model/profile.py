"""The profile: everything a report needs, in columns, whatever was measured.

Tables are columns of equal length; a row is an index. Strings, functions, frames and stacks are
shared by all rows that name them. Values are plain integers in the unit of their metric.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proftrace.model.usage import UsageHistory

type Column = array[int]
type Recording = tuple[int, int, int]


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
# Freed before its thread had made more than one further allocation.
TEMPORARY_BYTES = Metric("temporary_bytes", "bytes", "Temporary memory in all")
TEMPORARY_BLOCKS = Metric("temporary_blocks", "count", "Temporary allocations in all")
MEMORY_METRICS = (
    PEAK_BYTES,
    PEAK_BLOCKS,
    LEAKED_BYTES,
    LEAKED_BLOCKS,
    TOTAL_BYTES,
    TOTAL_BLOCKS,
    TEMPORARY_BYTES,
    TEMPORARY_BLOCKS,
)

HITS = Metric("hits", "count", "Hits")
RAW_HITS = Metric("raw_hits", "count", "LINE deliveries")
INCLUSIVE = Metric("inclusive", "nanoseconds", "Time with callees")
EXCLUSIVE = Metric("exclusive", "nanoseconds", "Time without profiled callees")
AWAIT = Metric("await", "nanoseconds", "Suspended time")
MIN = Metric("min", "nanoseconds", "Shortest hit")
MAX = Metric("max", "nanoseconds", "Longest hit")
SAMPLES = Metric("samples", "count", "Samples")
EXCLUSIVE_ERROR = Metric("exclusive_error", "nanoseconds", "Error of the time without callees")
INCLUSIVE_ERROR = Metric("inclusive_error", "nanoseconds", "Error of the time with callees")
LINE_METRICS = (
    HITS,
    RAW_HITS,
    INCLUSIVE,
    EXCLUSIVE,
    AWAIT,
    MIN,
    MAX,
    SAMPLES,
    EXCLUSIVE_ERROR,
    INCLUSIVE_ERROR,
)

REGIME_COLD = 0  # timed by the clock
REGIME_HOT = 1  # counted by blocks, timed by samples
NO_FUNCTION = 0xFFFFFFFF
UNNAMED = "<unknown>"  # a function of which only that it is there is known
_AGGREGATE, _LAST_EVENTS = 32, 64  # option flags of the file header

ARENA = 17
# The names memray gives to the allocator numbers, which the log shares; 17 is an mmap that is known
# to be an arena of pymalloc.
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
    17: "MMAP",
}


@dataclass(frozen=True, slots=True)
class FunctionTable:
    """Code objects: string ids of `name`, `qualname` and `file`, and the first line; `native` is 1
    for a function of native code, whose file is that of its source or else its object file."""

    name: Column
    qualname: Column
    file: Column
    first_line: Column
    native: Column

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
class MarkTable:
    """What was live at the program's own marks, in their order.

    `labels`: string ids. The columns have a row where a sample (row of SampleTable) had another
    amount live at a mark than at the one before; before the first all were 0.
    """

    labels: Column = field(default_factory=lambda: array("I"))
    mark: Column = field(default_factory=lambda: array("I"))
    sample: Column = field(default_factory=lambda: array("I"))
    bytes: Column = field(default_factory=lambda: array("q"))
    blocks: Column = field(default_factory=lambda: array("q"))

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class CallTable:
    """Profiled functions: function id, source id (0 = no text), counts, and times in ns.

    `regime` is REGIME_COLD or REGIME_HOT; `reason` says why a busy function stayed cold (a number
    of the log format, 0 = nothing to explain). `samples` found it running, `discarded` found our
    own instrumentation at work for it. An error is one standard deviation of its time.
    """

    function: Column
    source: Column
    regime: Column
    reason: Column
    calls: Column
    yields: Column
    inclusive: Column
    exclusive: Column
    samples: Column
    discarded: Column
    exclusive_error: Column
    inclusive_error: Column

    def __len__(self) -> int:
        return len(self.function)


@dataclass(frozen=True, slots=True)
class LineTable:
    """Lines of profiled functions that ran: function id, line number, values by metric name.

    The histogram of a row is `buckets[buckets_at[row] : buckets_at[row] + n_buckets[row]]`.
    """

    function: Column
    line: Column
    values: Mapping[str, Column]
    buckets_at: Column = field(default_factory=lambda: array("I"))
    n_buckets: Column = field(default_factory=lambda: array("I"))
    buckets: Column = field(default_factory=lambda: array("q"))

    def __len__(self) -> int:
        return len(self.function)

    def histogram(self, row: int) -> Column:
        """Return how many hits of the line took [2^k, 2^(k+1)) ns (k = 0: less than 2 ns), for each
        k up to the longest hit; empty if none was timed by the clock."""
        start = self.buckets_at[row]
        return self.buckets[start : start + self.n_buckets[row]]


@dataclass(frozen=True, slots=True)
class EdgeTable:
    """Calls between profiled functions: the caller's function id (NO_FUNCTION: code that is not
    profiled) and line, the callee's function id, counted calls, and the callee's times in ns."""

    caller: Column = field(default_factory=lambda: array("I"))
    line: Column = field(default_factory=lambda: array("I"))
    callee: Column = field(default_factory=lambda: array("I"))
    calls: Column = field(default_factory=lambda: array("q"))
    inclusive: Column = field(default_factory=lambda: array("q"))
    exclusive: Column = field(default_factory=lambda: array("q"))

    def __len__(self) -> int:
        return len(self.caller)


@dataclass(frozen=True, slots=True)
class Source:
    """The whole text of a file as it was when its code was registered."""

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Arenas:
    """What pymalloc had taken from the system at a moment, and what objects used of it."""

    arenas: int
    arena_bytes: int
    used_bytes: int
    used_blocks: int

    @property
    def slack_bytes(self) -> int:
        """Return the bytes that no object used: free pools, rounding, heads."""
        return self.arena_bytes - self.used_bytes


@dataclass(frozen=True, slots=True)
class PythonHeap:
    """Python's allocators, in captures that have their events: the arenas at the peak of all that
    was allocated and at the end, and (bytes, blocks) of everything by domain ("raw", "mem",
    "obj"). Only arenas that the recording saw made are counted, with the objects in them."""

    peak: Arenas
    end: Arenas
    domains: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Process:
    """One of the processes of a report over several: its command line and its own totals."""

    pid: int
    ppid: int
    command: str
    path: str
    n_allocations: int
    total_bytes: int
    peak_bytes: int
    leaked_bytes: int
    start_mono_ns: int = 0
    usage: UsageHistory | None = None


def recording_of(header: Mapping[str, int]) -> Recording:
    """Return what tells one recording from all others: its process and when that began."""
    return header["pid"], header["start_wall_ns"], header["start_mono_ns"]


@dataclass(frozen=True, slots=True)
class Profile:
    """One capture, decoded and reduced. Tables a tool does not fill are empty.

    `totals`: "n_allocations", "n_frees", "total_bytes", "peak_bytes", "leaked_bytes",
    "largest_bytes", "smallest_bytes", "n_threads", "n_lost" (memory). `size_histogram[k]` = number
    of allocations whose size has k significant bits (0 .. 64). `warnings`: one line each, for
    stderr. `processes` is empty but in a report over several; see `model/combine.py`.
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
    edges: EdgeTable = field(default_factory=EdgeTable)
    marks: MarkTable = field(default_factory=MarkTable)
    sources: Mapping[int, Source] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)
    header: Mapping[str, int] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)
    size_histogram: Sequence[int] = ()
    warnings: Sequence[str] = ()
    python_heap: PythonHeap | None = None
    processes: Sequence[Process] = ()
    usage: UsageHistory | None = None

    def function_name(self, function: int) -> str:
        """Return what reports call a row of the function table: its qualified name."""
        functions, strings = self.functions, self.strings
        return strings[functions.qualname[function]] or self.short_name(function)

    def short_name(self, function: int) -> str:
        """Return the name of a function without what it stands in."""
        return self.strings[self.functions.name[function]] or UNNAMED

    @property
    def kept(self) -> str:
        """Return what the capture holds: "all" events, an "aggregate" of them (sums by site, no
        moments but the peak and the end), or a "ring" (an aggregate and the last events)."""
        options = self.header.get("options", 0)
        if options & _AGGREGATE:
            return "aggregate"
        return "ring" if options & _LAST_EVENTS else "all"

    @property
    def sample_bytes(self) -> int:
        """Return the mean distance of samples in bytes; 0: every allocation is there.

        The values of a sampled profile are unbiased estimates of what really was.
        """
        return self.header.get("sample_bytes", 0)

    @property
    def command(self) -> str:
        """Return the program with its arguments, as one text."""
        try:
            words = json.loads(self.meta.get("argv", "[]"))
        except ValueError:
            words = []
        if not isinstance(words, list) or not words:
            return self.meta.get("program", "")
        return " ".join(map(str, words))
