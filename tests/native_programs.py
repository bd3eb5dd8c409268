"""Builds the libraries of tests/programs/native and reads native stacks of captures."""

from __future__ import annotations

import subprocess
from pathlib import Path

from case_runs import Row, csv_rows, memtrace

SOURCES = Path(__file__).parent / "programs" / "native"

type Frames = list[tuple[str, str]]


def build(source: str, library: Path, *flags: str) -> None:
    """Compile a source file into a shared library."""
    compiler = "g++" if source.endswith(".cpp") else "gcc"
    words = [compiler, "-shared", "-fPIC", *flags, "-o", str(library), str(SOURCES / source)]
    subprocess.run([*words, "-pthread"], check=True)


def record_native(script: str, folder: Path, *options: str) -> Path:
    """Run the text of a program in a folder with native stacks; return the capture."""
    (folder / "app.py").write_text(script)
    capture = folder / "out.bin"
    words = ["run", "--native", "-q", "-f", "-o", str(capture), *options, "app.py"]
    done = memtrace(words, folder)
    assert (done.status, done.stderr) == (0, ""), done.stderr
    return capture


def stack_of(capture: Path, size: int, *options: str) -> list[Row]:
    """Return the rows of the blocks of a size that nobody else allocates."""
    rows = [row for row in csv_rows(capture, "--all", *options) if row.size == size]
    assert rows, f"no block of {size} bytes"
    return rows


def frames_of(capture: Path, size: int, *options: str) -> Frames:
    """Return (function, base name of the file with the line) of the block of a size."""
    (row,) = stack_of(capture, size, *options)
    return [(name, f"{Path(file).name}:{line}") for name, file, line in row.stack]


def marked(source: str, mark: str) -> str:
    """Return "file:line" of the marked line of a source file."""
    lines = (SOURCES / source).read_text().splitlines()
    (number,) = (k for k, line in enumerate(lines, 1) if line.rstrip(" */").endswith(f" {mark}"))
    return f"{source}:{number}"
