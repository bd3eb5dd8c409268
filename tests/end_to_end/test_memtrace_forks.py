"""memtrace and fork: off by default, and a capture for each child with --follow-fork."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from case_runs import bytearray_bytes, csv_rows, memtrace
from proftrace.model.load import load_profile

POOL = """
import multiprocessing, os, sys, warnings
warnings.simplefilter("ignore")  # of forks in a process with threads
def work(i):
    keep = bytearray(3_000_000 + i)
    return len(keep)
if __name__ == "__main__":
    before = bytearray(9_000_000)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(sum(pool.map(work, range(4), chunksize=2)), flush=True)
    pid = os.fork()
    if pid == 0:
        keep = bytearray(1_234_567)
        del before
        raise SystemExit(3)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), pid)
"""


def children_of(capture: Path) -> dict[int, Path]:
    """Return the captures of child processes by process id."""
    found = {}
    for name in os.listdir(capture.parent):
        if match := re.fullmatch(re.escape(capture.name) + r"\.(\d+)", name):
            found[int(match[1])] = capture.parent / name
    return found


def sizes(capture: Path, *options: str) -> list[tuple[int, int]]:
    """Return (bytes, blocks) of the rows from 1 MB on that a Python line made."""
    rows = csv_rows(capture, *options)
    return sorted((row.size, row.blocks) for row in rows if row.size >= 1_200_000 and row.stack)


def is_mine(pair: tuple[int, int]) -> bool:
    return pair[0] % 1_048_576 != 0  # not an arena


def test_children_are_not_recorded_unless_asked_for(tmp_path: Path) -> None:
    (tmp_path / "pool.py").write_text(POOL)
    result = memtrace(["run", "-q", "-o", "out.bin", "pool.py"], tmp_path)
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout.startswith("12000006\n3 ")
    assert sorted(os.listdir(tmp_path)) == ["out.bin", "pool.py"]
    found = list(filter(is_mine, sizes(tmp_path / "out.bin", "--all")))
    assert found == [(bytearray_bytes(9_000_000), 1)]


def test_each_forked_child_has_a_capture(tmp_path: Path) -> None:
    (tmp_path / "pool.py").write_text(POOL)
    result = memtrace(["run", "-q", "--follow-fork", "-o", "out.bin", "pool.py"], tmp_path)
    assert (result.status, result.stderr) == (0, "")
    first = tmp_path / "out.bin"
    assert list(filter(is_mine, sizes(first, "--all"))) == [(bytearray_bytes(9_000_000), 1)]
    children = children_of(first)
    # Two workers and the fork; nothing else is left, though the workers were killed by SIGTERM.
    assert len(children) == 3
    assert len(os.listdir(tmp_path)) == 5
    by_hand = int(result.stdout.split()[-1])
    worked = []
    for pid, path in children.items():
        profile = load_profile(str(path))
        assert list(profile.warnings) == []
        assert profile.header["pid"] == pid
        assert profile.header["ppid"] == load_profile(str(first)).header["pid"]
        found = list(filter(is_mine, sizes(path, "--all")))
        if pid == by_hand:
            assert found == [(bytearray_bytes(1_234_567), 1)]
            assert list(filter(is_mine, sizes(path, "--leaks"))) == [
                (bytearray_bytes(1_234_567), 1)
            ]
        else:
            worked += found
    assert sum(blocks for _, blocks in worked) == 4
    assert sum(size for size, _ in worked) == 12_000_006 + 4 * bytearray_bytes(0)


STORM = """
import os, sys, threading, warnings
warnings.simplefilter("ignore")
stop = False
def allocate():
    while not stop:
        keep = [bytearray(1000 + i) for i in range(50)]
threads = [threading.Thread(target=allocate) for _ in range(4)]
[thread.start() for thread in threads]
for i in range(30):
    pid = os.fork()
    if pid == 0:
        keep = bytearray(2_000_000 + i)
        worker = threading.Thread(target=lambda: bytearray(1_500_000 + i))
        worker.start()
        worker.join()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
stop = True
[thread.join() for thread in threads]
print("done")
"""


@pytest.mark.parametrize("follow", [False, True])
def test_fork_while_other_threads_allocate(tmp_path: Path, follow: bool) -> None:
    (tmp_path / "storm.py").write_text(STORM)
    options = ["--follow-fork"] if follow else []
    result = memtrace(["run", "-q", *options, "-o", "out.bin", "storm.py"], tmp_path)
    assert (result.status, result.stdout, result.stderr) == (0, "done\n", "")
    children = children_of(tmp_path / "out.bin")
    assert list(load_profile(str(tmp_path / "out.bin")).warnings) == []
    assert len(children) == (30 if follow else 0)
    assert len(os.listdir(tmp_path)) == 2 + len(children)
    made = set()
    for path in children.values():
        assert list(load_profile(str(path)).warnings) == []
        (thread, main) = filter(is_mine, sizes(path, "--all"))
        assert main[0] - thread[0] == 500_000
        made.add(main[0] - bytearray_bytes(2_000_000))
    assert made == (set(range(30)) if follow else set())


THEN_EXEC = """
import os, sys
pid = os.fork()
if pid == 0:
    keep = bytearray(2_000_000)
    os.execv("/bin/sh", ["sh", "-c", "exit 5"])
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
"""


def test_a_followed_child_that_becomes_another_program_is_complete(tmp_path: Path) -> None:
    result = memtrace(["run", "-q", "--follow-fork", "-o", "out.bin", "-c", THEN_EXEC], tmp_path)
    assert (result.status, result.stdout, result.stderr) == (0, "", "")
    (path,) = children_of(tmp_path / "out.bin").values()
    assert "exec" in load_profile(str(path)).warnings[0]
    assert (bytearray_bytes(2_000_000), 1) in sizes(path, "--leaks")
    assert sorted(os.listdir(tmp_path)) == sorted(["out.bin", path.name])


def test_a_child_that_cannot_write_says_so_and_goes_on(tmp_path: Path) -> None:
    program = (
        "import os, shutil; pid = os.fork()\n"
        "if pid == 0:\n"
        "    raise SystemExit(4)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    program = f"import shutil; shutil.rmtree({str(folder)!r})\n" + program
    words = ["run", "-q", "--follow-fork", "-o", "folder/out.bin", "-c", program]
    result = memtrace(words, tmp_path)
    assert (result.status, result.stdout) == (0, "4\n")
    lines = result.stderr.splitlines()
    assert re.fullmatch(
        r"memtrace: cannot write .*/folder/out\.bin\.\d+: No such file or directory;"
        r" this child process is not recorded",
        lines[0],
    )
