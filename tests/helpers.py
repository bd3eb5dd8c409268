"""Profiles from a few lines of text, for the tests of views and renderers."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from proftrace.model.profile import (
    MEMORY_METRICS,
    CallTable,
    FrameTable,
    FunctionTable,
    LineTable,
    Profile,
    SampleTable,
    StackTable,
    ThreadTable,
)


@dataclass
class ProfileBuilder:
    """Interns strings, functions, frames and stacks, and collects sample rows."""

    strings: dict[str, int] = field(default_factory=lambda: {"": 0})
    functions: dict[tuple[str, str, int], int] = field(default_factory=dict)
    frames: dict[tuple[int, int], int] = field(default_factory=dict)
    stacks: dict[tuple[int, int], int] = field(default_factory=lambda: {(0, -1): 0})
    threads: dict[tuple[int, str], int] = field(default_factory=dict)
    rows: dict[tuple[int, int, int], dict[str, int]] = field(default_factory=dict)
    sizes: list[tuple[int, int]] = field(default_factory=list)

    def _string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def frame(self, name: str, file: str, line: int, first_line: int = 1) -> int:
        function = self.functions.setdefault((name, file, first_line), len(self.functions))
        self._string(name.rpartition(".")[2])
        self._string(name)
        self._string(file)
        return self.frames.setdefault((function, line), len(self.frames))

    def stack(self, frames: list[int]) -> int:
        """The row of a stack, outermost frame first."""
        row = 0
        for frame in frames:
            row = self.stacks.setdefault((row, frame), len(self.stacks))
        return row

    def add(
        self,
        stack: int,
        size: int,
        *,
        blocks: int = 1,
        allocator: int = 1,
        tid: int = 1,
        thread: str = "MainThread",
        peak: bool = True,
        leaked: bool = False,
        temporary: bool = False,
    ) -> None:
        """Blocks of `size` bytes in all, that were live at the peak, at the end, or neither."""
        self._string(thread)
        row = self.threads.setdefault((tid, thread), len(self.threads))
        values = self.rows.setdefault(
            (stack, row, allocator), {metric.name: 0 for metric in MEMORY_METRICS}
        )
        self.sizes.append((size // blocks if blocks else 0, blocks))
        for prefix, counts in (("peak", peak), ("leaked", leaked), ("total", True),
                               ("temporary", temporary)):  # fmt: skip
            if counts:
                values[f"{prefix}_bytes"] += size
                values[f"{prefix}_blocks"] += blocks

    def build(self, path: str = "test.bin", warnings: tuple[str, ...] = ()) -> Profile:
        ids = self.strings
        functions = list(self.functions)
        return Profile(
            path=path,
            metrics=MEMORY_METRICS,
            strings=tuple(ids),
            functions=FunctionTable(
                array("I", (ids[name.rpartition(".")[2]] for name, _, _ in functions)),
                array("I", (ids[name] for name, _, _ in functions)),
                array("I", (ids[file] for _, file, _ in functions)),
                array("I", (first for _, _, first in functions)),
                array("I", bytes(4 * len(functions))),
            ),
            frames=FrameTable(
                array("I", (function for function, _ in self.frames)),
                array("I", (line for _, line in self.frames)),
            ),
            stacks=StackTable(
                array("I", (parent for parent, _ in self.stacks)),
                array("I", (max(frame, 0) for _, frame in self.stacks)),
            ),
            threads=ThreadTable(
                array("Q", (tid for tid, _ in self.threads)),
                array("I", (ids[name] for _, name in self.threads)),
            ),
            samples=self._samples(),
            calls=CallTable(*(array("q") for _ in range(12))),
            lines=LineTable(array("I"), array("I"), {}),
            meta={"program": "test.py", "tool": "memtrace"},
            header={"version": 1, "content": 1, "options": 0, "pid": 1, "ppid": 0,
                    "python_hexversion": 0x030D00F0, "start_wall_ns": 1_700_000_000_000_000_000,
                    "start_mono_ns": 0, "last_mono_ns": 1_500_000_000},
            totals=self._totals(),
            size_histogram=self._histogram(),
            warnings=warnings,
        )  # fmt: skip

    def _samples(self) -> SampleTable:
        keys = list(self.rows)
        return SampleTable(
            array("I", (stack for stack, _, _ in keys)),
            array("I", (thread for _, thread, _ in keys)),
            array("I", (allocator for _, _, allocator in keys)),
            {
                metric.name: array("q", (self.rows[key][metric.name] for key in keys))
                for metric in MEMORY_METRICS
            },
        )

    def _totals(self) -> dict[str, int]:
        def total(metric: str) -> int:
            return sum(values[metric] for values in self.rows.values())

        sizes = [size for size, blocks in self.sizes if blocks]
        return {
            "n_allocations": total("total_blocks"),
            "n_frees": total("total_blocks") - total("leaked_blocks"),
            "total_bytes": total("total_bytes"),
            "peak_bytes": total("peak_bytes"),
            "leaked_bytes": total("leaked_bytes"),
            "largest_bytes": max(sizes, default=0),
            "smallest_bytes": min(sizes, default=0),
            "n_threads": len(self.threads),
            "n_lost": 0,
        }

    def _histogram(self) -> tuple[int, ...]:
        counts = [0] * 65
        for size, blocks in self.sizes:
            counts[size.bit_length()] += blocks
        return tuple(counts)


def profile_from_text(text: str, path: str = "test.bin") -> Profile:
    """Return a memory profile from collapsed stacks, a line each: `outer;inner;leaf 10`.

    A frame is `function`, `function:line` or `function@file:line`; the file is app.py and the line
    1 unless given. The number is the bytes of one block that is live at the peak. Options behind
    it: `blocks=3`, `leaked`, `gone` (not live at the peak), `allocator=10`, `tid=7`,
    `thread=worker`. `-` is the empty stack.
    """
    builder = ProfileBuilder()
    for line in filter(None, map(str.strip, text.splitlines())):
        names, size, *options = line.split(" ")
        frames = [] if names == "-" else [_frame(builder, name) for name in names.split(";")]
        given = dict(option.split("=") for option in options if "=" in option)
        builder.add(
            builder.stack(frames),
            int(size),
            blocks=int(given.get("blocks", 1)),
            allocator=int(given.get("allocator", 1)),
            tid=int(given.get("tid", 1)),
            thread=given.get("thread", "MainThread"),
            peak="gone" not in options,
            leaked="leaked" in options,
            temporary="temporary" in options,
        )
    return builder.build(path)


def _frame(builder: ProfileBuilder, text: str) -> int:
    place, _, line = text.rpartition(":") if ":" in text else (text, "", "1")
    name, _, file = place.partition("@")
    return builder.frame(name, file or "app.py", int(line))
