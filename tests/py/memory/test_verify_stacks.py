"""`memtrace run --verify-stacks`: every recorded stack against the interpreter's own view."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from case_runs import Run, bytearray_bytes, csv_rows, memtrace
from proftrace.model.load import load_profile

STORM = str(Path(__file__).parents[2] / "programs" / "stack_storm.py")


def verified(result: Run) -> tuple[int, int]:
    """Return how many stacks were verified and how many differed."""
    (line,) = re.findall(
        r"^memtrace: verified (\d+) stacks, (\d+) differences$", result.stderr, re.M
    )
    return int(line[0]), int(line[1])


@pytest.mark.parametrize("options", [[], ["--trace-python-allocators"]], ids=" ".join)
def test_every_stack_is_what_the_interpreter_says(options: list[str], tmp_path: Path) -> None:
    words = ["run", "-q", *options, "--verify-stacks", "-o", "storm.bin", STORM, "2"]
    result = memtrace(words, tmp_path)
    assert (result.status, result.stdout) == (0, "rounds 2\n"), result.stderr
    n_stacks, n_differences = verified(result)
    assert n_differences == 0, result.stderr
    assert n_stacks > 15_000


def test_the_status_is_the_programs_own(tmp_path: Path) -> None:
    program = "import sys; b = bytearray(1_000_000); sys.exit(7)"
    result = memtrace(["run", "-q", "--verify-stacks", "-o", "a.bin", "-c", program], tmp_path)
    assert (result.status, result.stdout) == (7, "")
    assert verified(result)[0] >= 1
    assert verified(result)[1] == 0


def test_nothing_is_said_of_stacks_unless_asked_for(tmp_path: Path) -> None:
    result = memtrace(["run", "-q", "-o", "a.bin", "-c", "b = bytearray(9999)"], tmp_path)
    assert (result.status, result.stderr) == (0, "")


SUBINTERPRETERS = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
run = getattr(interpreters, "exec", None) or interpreters.run_string
text = '''
def f{0}(n):
    x = {0}
    return [bytearray(n) for _ in range(3)]
f{0}(70_{0:03})
'''
for turn in range(30):
    name = interpreters.create()
    for number in range(turn % 5 + 1):
        run(name, text.format(number + turn))
        own = {}
        exec(text.format(500 + number), own)
    interpreters.destroy(name)
print("done")
"""


def test_stacks_of_subinterpreters_are_their_own(tmp_path: Path) -> None:
    words = ["run", "-q", "--verify-stacks", "-o", "a.bin", "-c", SUBINTERPRETERS]
    result = memtrace(words, tmp_path)
    assert (result.status, result.stdout) == (0, "done\n"), result.stderr
    assert verified(result)[1] == 0, result.stderr
    blocks: dict[int, set[str]] = {}
    for row in csv_rows(tmp_path / "a.bin", "--all"):
        if row.stack and row.stack[0][0].startswith(("f", "<listcomp>")) and row.size > 200_000:
            size = row.size // row.blocks - bytearray_bytes(70_000)
            blocks.setdefault(size, set()).add(next(n for n, _, _ in row.stack if n[0] == "f"))
    assert {f"f{size}" for size in blocks} == {name for found in blocks.values() for name in found}
    assert len(blocks) == 34 + 5


def test_an_unknown_interpreter_is_recorded_without_stacks(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    result = memtrace(
        ["run", "-q", "-o", str(path), "-c", "import sys; b = bytearray(765_431); sys.exit(3)"],
        tmp_path,
        env={"PROFTRACE_TEST_UNKNOWN_LAYOUT": "1"},
    )
    assert (result.status, result.stdout) == (3, "")
    assert result.stderr == (
        "memtrace: no Python stacks: this version of Python is not known to this version of"
        " proftrace\n"
    )
    profile = load_profile(str(path))
    assert any("stacks" in warning for warning in profile.warnings)
    rows = csv_rows(path, "--leaks")
    assert [row.stack for row in rows if row.size >= bytearray_bytes(765_431)] == [()]


def test_threads_without_python_frames_are_verified_too(tmp_path: Path) -> None:
    program = (
        "import ctypes, threading\n"
        "libc = ctypes.CDLL(None)\n"
        "libc.malloc.restype = ctypes.c_void_p\n"
        "def take():\n"
        "    for i in range(50): libc.malloc(1000)\n"
        "t = threading.Thread(target=take); t.start(); t.join()\n"
    )
    result = memtrace(["run", "-q", "--verify-stacks", "-o", "a.bin", "-c", program], tmp_path)
    assert result.status == 0, result.stderr
    assert verified(result)[0] > 50
    assert verified(result)[1] == 0


def test_python_options_do_not_matter(tmp_path: Path) -> None:
    for flags in (["-X", "dev"], ["-O"]):
        words = [sys.executable, *flags, "-m", "proftrace.cli.memtrace", "run", "-q", "-f"]
        words += ["--verify-stacks", "-o", str(tmp_path / "a.bin"), STORM, "1"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=200)
        result = Run(done.returncode, done.stdout, done.stderr)
        assert result.status == 0, result.stderr
        assert verified(result)[1] == 0, result.stderr
