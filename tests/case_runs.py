"""Runs the programs of tests/cases with and without the commands, and reads what was recorded.

The header of a case says what a plain run gives; `# HITS: n` at the end of a source line is how
often the line runs, a capital word there names the line for the checks.
"""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from proftrace.model.load import load_profile
from proftrace.model.profile import ALLOCATOR_NAMES, ARENA, Profile
from proftrace.views.selection import Selection

CASES = Path(__file__).parent / "cases"
COMMANDS = Path(sys.executable).parent
TIMEOUT_S = 120
HAS_GIL = not sysconfig.get_config_var("Py_GIL_DISABLED")
# Without the GIL Python's objects do not come from the C library, so they are always recorded.
ALL_OBJECTS = not HAS_GIL
# What Python's own allocators do, in the column of allocators.
PYTHON_KINDS = {ARENA, *(kind for kind, name in ALLOCATOR_NAMES.items() if "PYMALLOC" in name)}
# How a bytearray asks for its bytes; where objects are recorded, they are rows of other kinds.
BUFFER = "PYMALLOC_REALLOC" if ALL_OBJECTS else "MALLOC"

type Words = Sequence[str]


def bytearray_bytes(n: int) -> int:
    """Return what `bytearray(n)` asks malloc for: since 3.15 an object with the bytes."""
    return n + sys.getsizeof(bytearray(1000)) - bytearray.__basicsize__ - 1000


@dataclass(frozen=True)
class Run:
    """How a program ended; `status` is negative for a signal."""

    status: int
    stdout: str
    stderr: str


def run(words: Words, folder: Path, env: dict[str, str] | None = None) -> Run:
    """Run a command line in a folder."""
    done = subprocess.run(
        list(words),
        cwd=folder,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr)


def plain(words: Words, folder: Path, env: dict[str, str] | None = None) -> Run:
    """Run the interpreter itself."""
    return run([sys.executable, *words], folder, env)


def lprof(words: Words, folder: Path, env: dict[str, str] | None = None) -> Run:
    return run([str(COMMANDS / "lprof"), *words], folder, env)


def memtrace(words: Words, folder: Path, env: dict[str, str] | None = None) -> Run:
    return run([str(COMMANDS / "memtrace"), *words], folder, env)


def assert_refused_in_one_line(
    words: Words, folder: Path, result_file: str, status: int, message: str
) -> None:
    """Assert that lprof says in one line why it cannot do this, and that it changes no file.

    The folder has three files to try: the result, "empty", and "newer" of a format to come.
    """
    data = (folder / result_file).read_bytes()
    (folder / "empty").write_bytes(b"")
    (folder / "newer").write_bytes(data[:8] + b"\xff\x00\xff\x00" + data[12:])
    before = sorted(os.listdir(folder))
    result = lprof(words, folder)
    assert result.status == status, result.stderr
    assert message in result.stderr, result.stderr
    assert (result.stderr.count("\n"), result.stdout) == (1, ""), result
    assert sorted(os.listdir(folder)) == before
    assert (folder / result_file).read_bytes() == data


def case_path(name: str) -> Path:
    """Return the script of a case."""
    return CASES / f"{name}.py"


def expected_output(name: str) -> tuple[int, list[str]]:
    """Return exit status and output lines that the header of a case states for a plain run."""
    text = case_path(name).read_text(encoding="latin-1")
    (status,) = re.findall(r"^# PLAIN-EXIT: (-?\d+)$", text, re.M)
    return int(status), re.findall(r"^# PLAIN-OUT: (.*)$", text, re.M)


def assert_as_stated(name: str, result: Run) -> None:
    """Assert that a run ended and printed as the header of its case says."""
    status, lines = expected_output(name)
    assert (result.status, result.stdout.splitlines()) == (status, lines), result.stderr


def lines_of(path: Path, mark: str) -> list[int]:
    """Return the numbers of the lines that end with a comment with this word in it."""
    lines = path.read_text(encoding="latin-1").splitlines()
    pattern = re.compile(rf"[^#\s].*# .*\b{mark}\b")
    return [number for number, line in enumerate(lines, 1) if pattern.search(line)]


def line_of(path: Path, mark: str) -> int:
    """Return the number of the one line with this mark."""
    (number,) = lines_of(path, mark)
    return number


# ---- lines --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LineResult:
    """A stored line profile: what one line has is the sum over all functions that have it."""

    profile: Profile

    def hits(self, file: str, *, nested: bool = True) -> Counter[int]:
        """Return the hits by line of the file with this base name.

        Without `nested`, those of code inside a profiled function that is not decorated itself are
        left out.
        """
        return self._sum(file, "hits", nested)

    def seconds(self, file: str, line: int) -> float:
        """Return the inclusive time of a line."""
        return self._sum(file, "inclusive")[line] / 1e9

    def functions(self) -> list[tuple[str, str, int]]:
        """Return (file, qualified name, first line) of each profiled function."""
        table, strings = self.profile.functions, self.profile.strings
        return [
            (strings[table.file[row]], strings[table.qualname[row]], table.first_line[row])
            for row in self.profile.calls.function
        ]

    def _sum(self, file: str, metric: str, nested: bool = True) -> Counter[int]:
        strings, lines = self.profile.strings, self.profile.lines
        names = {name for _, name, _ in self.functions()}
        total: Counter[int] = Counter()
        for row, function in enumerate(lines.function):
            name = strings[self.profile.functions.file[function]]
            own = strings[self.profile.functions.qualname[function]]
            if os.path.basename(name) != file:
                continue
            first = self.profile.functions.first_line[function]
            is_inside = own.rpartition(".<locals>.")[0] in names and not nested
            if not (is_inside and "@profile" not in Path(name).read_text().split("\n")[first - 1]):
                total[lines.line[row]] += lines.values[metric][row]
        return total


def load_lines(path: Path) -> LineResult:
    """Load a result file, which has to be whole."""
    profile = load_profile(str(path))
    assert list(profile.warnings) == []
    return LineResult(profile)


def wrong_hits(script: Path, result: LineResult) -> list[str]:
    """Return the marked lines of a script with other hits than wanted.

    Of a mark `a|b` the first is wanted: hits are statements, not line entries.
    """
    hits = result.hits(script.name)
    wrong = []
    marked = 0
    for number, line in enumerate(script.read_text(encoding="latin-1").splitlines(), 1):
        found = re.search(r"# HITS: (\d+(?:\|\d+)*)", line)
        if not found or line.startswith("# "):
            continue
        marked += 1
        if hits[number] != int(found[1].partition("|")[0]):
            wrong.append(f"{script.name}:{number}: {hits[number]} instead of {found[1]}")
    assert marked, f"{script} has no marks"
    return wrong


@dataclass(frozen=True)
class Section:
    """One function of the classic table: its rows as (line, hits or None, text)."""

    file: str
    name: str
    first_line: int
    rows: list[tuple[int, int | None, str]]


def read_table(text: str) -> list[Section]:
    """Parse the classic table by its columns, as scripts do."""
    sections = []
    for part in text.split("\nTotal time: ")[1:]:
        head = re.search(r"File: (.*)\nFunction: (.*) at line (\d+)\n", part)
        header = re.search(r"^(Line #\s+Hits)\s.*\n=+\n", part, re.M)
        assert header, part
        rows = []
        for row in part[header.end() :].splitlines():
            found = re.match(r" *(\d+)", row)
            if not found:
                break
            hits = row[6 : len(header[1])].strip()
            start = header[0].index("Line Contents")
            rows.append((int(found[1]), int(float(hits)) if hits else None, row[start:]))
        if head:
            sections.append(Section(head[1], head[2], int(head[3]), rows))
        else:
            missing = re.search(r"Could not find file (.*)\n", part)
            assert missing, part
            sections.append(Section(missing[1], "", 0, rows))
    return sections


# ---- memory -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One row of `memtrace transform csv`; the stack has (function, file, line), innermost first"""

    allocator: str
    blocks: int
    size: int
    tid: int
    thread: str
    stack: tuple[tuple[str, str, int], ...]

    def is_at(self, file: str, line: int) -> bool:
        """Tell whether the innermost frame is this line; `file` is a base name."""
        if not self.stack:
            return False
        _, name, number = self.stack[0]
        return os.path.basename(name) == file and number == line


def buffers(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without Python's objects, where these are recorded."""
    return [row for row in rows if not ALL_OBJECTS or row.allocator == BUFFER]


def csv_rows(capture: Path, *options: str) -> list[Row]:
    """Return the rows of `memtrace transform csv` (options: --leaks, --all)."""
    done = memtrace(["transform", "csv", *options, "-o", "-", str(capture)], capture.parent)
    assert done.status == 0, done.stderr
    csv.field_size_limit(1 << 30)  # a stack of 30000 frames is one field
    rows = []
    for row in csv.DictReader(io.StringIO(done.stdout)):
        frames = []
        for frame in filter(None, row["stack_trace"].split("|")):
            function, file, line = frame.rsplit(";", 2)
            frames.append((unquote(function), unquote(file), int(line)))
        rows.append(
            Row(
                row["allocator"],
                int(row["num_allocations"]),
                int(row["size"]),
                int(row["tid"]),
                row["thread_name"],
                tuple(frames),
            )
        )
    return rows


def top_rows(capture: Path, selection: Selection) -> list[Row]:
    """Return the same with the innermost frame only, for stacks that are too deep to be text."""
    profile = load_profile(str(capture))
    strings, functions = profile.strings, profile.functions
    sizes, blocks = selection.columns(profile)
    rows = []
    for row, stack in enumerate(profile.samples.stack):
        frame = profile.stacks.frame[stack]
        function = profile.frames.function[frame]
        file = strings[functions.file[function]]
        place = (profile.short_name(function), file, profile.frames.line[frame])
        thread = profile.samples.thread[row]
        rows.append(
            Row(
                str(profile.samples.allocator[row]),
                blocks[row],
                sizes[row],
                profile.threads.tid[thread],
                strings[profile.threads.name[thread]],
                (place,) if stack else (),
            )
        )
    return rows


class Amount(tuple[int, int]):
    """Blocks and bytes of a line. Where each object of Python is recorded too (see ALL_OBJECTS),
    it is equal to what the program means to take, if small objects make up the rest, and the
    4 KiB in which the interpreter notes what it frees later."""

    def __eq__(self, other: object) -> bool:
        if not ALL_OBJECTS or not isinstance(other, tuple):
            return super().__eq__(other)
        blocks, size = self[0] - other[0], self[1] - other[1]
        return 0 <= blocks <= 10 * other[0] + 10 and 0 <= size <= 200 * blocks + 200 + 4096

    __hash__ = None  # type: ignore[assignment]


def amount(*rows: Row) -> Amount:
    """Return what rows hold together."""
    return Amount((sum(row.blocks for row in rows), sum(row.size for row in rows)))


def at_line(rows: Sequence[Row], script: Path, mark: str) -> Amount:
    """Return (blocks, bytes) of the rows whose innermost frame is a marked line of a script."""
    lines = lines_of(script, mark)
    assert lines, f"{script} has no mark {mark}"
    mine = [row for row in rows if any(row.is_at(script.name, line) for line in lines)]
    return amount(*mine)


def record(name: str, folder: Path, *words: str, env: dict[str, str] | None = None) -> Path:
    """Run a case under `memtrace run` and return the capture; the output has to be as stated."""
    capture = folder / f"{name}.bin"
    result = memtrace(["run", "-o", str(capture), str(case_path(name)), *words], folder, env)
    assert_as_stated(name, result)
    return capture
