"""Children that are started, not forked: spawn, exec and shells, followed and not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from case_runs import (
    ALL_OBJECTS,
    COMMANDS,
    Run,
    assert_as_stated,
    at_line,
    bytearray_bytes,
    case_path,
    csv_rows,
    memtrace,
)
from proftrace.model.load import load_profile

type Found = dict[str, list[int]]


def captures(folder: Path) -> list[Path]:
    """Return the captures of the children of out.bin."""
    names = [name for name in os.listdir(folder) if re.fullmatch(r"out\.bin(\.\d+)+", name)]
    return [folder / name for name in names]


def big_blocks(path: Path) -> list[int]:
    """Return the sizes of the blocks from 1.2 MB on that are no arenas of pymalloc."""
    rows = csv_rows(path, "--all")
    large = [row for row in rows if row.size > 1_200_000 and row.size % 1_048_576]
    if ALL_OBJECTS and large:
        # Objects are in the same rows, and the program has one block of this kind.
        largest = load_profile(str(path)).totals["largest_bytes"]
        assert [0 <= row.size - largest < 200_000 for row in large] == [True]
        return [largest]
    assert all(row.blocks == 1 for row in rows if row.size > 2_000_000)
    return sorted(row.size for row in large)


def found_in(folder: Path) -> Found:
    """Return the big blocks of all children by the last word of their command line."""
    found: Found = {}
    for path in captures(folder):
        profile = load_profile(str(path))
        last = json.loads(profile.meta["argv"])[-1]
        if last == "program.py":  # forked for a preexec_fn, before its exec
            assert "exec" in profile.warnings[0]
            continue
        assert list(profile.warnings) == []
        found.setdefault(last, []).extend(big_blocks(path))
    return found


def run_program(text: str, folder: Path, *options: str, env: dict[str, str] | None = None) -> Run:
    (folder / "program.py").write_text(text)
    return memtrace(["run", *options, "-o", "out.bin", "program.py"], folder, env)


POOL = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
def work(i):
    keep = bytearray(3_000_000 + i)
    return len(keep)
if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context({how!r})) as pool:
        print(sum(pool.map(work, range(6))))
"""


@pytest.mark.parametrize("how", ["spawn", "forkserver", "fork"])
def test_workers_of_a_pool_are_recorded(tmp_path: Path, how: str) -> None:
    result = run_program(POOL.format(how=how), tmp_path, "-q", "--follow-children")
    assert (result.status, result.stdout, result.stderr) == (0, "18000015\n", "")
    blocks: list[int] = []
    for path in captures(tmp_path):
        blocks += [
            row.size
            for row in csv_rows(path, "--all")
            if row.stack and row.stack[0][0] == "work" and row.size > 2_000_000
        ]
    assert sum(blocks) == 18_000_015 + 6 * bytearray_bytes(0)


CHILDREN = """
import os, subprocess, sys
def out(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    return done.returncode, done.stdout, done.stderr
child = "import sys; keep = bytearray(int(sys.argv[1]))"
show = ("import os; keep = bytearray(2_000_000);"
        "print(sorted(os.environ), os.environ.get('PYTHONPATH'), os.environ.get('LD_PRELOAD'))")
py = sys.executable
print(out([py, "-c", show, "plain"])) if len(sys.argv) == 1 else None
print(out([py, "-c", show, "own-environment"], env={"PYTHONPATH": "/a:/b", "LC_ALL": "C.UTF-8"}))
seen = "env | grep -c -E 'PROFTRACE|PYTHONPATH|LD_PRELOAD'"
print(out(f"{py} -c '{child}' 2100000; {seen}", shell=True))
print(os.system(f"{py} -c '{child}' 2200000") >> 8)
print(out(["/usr/bin/env", py, "-c", child, "2300000"]))
print(out([py, "-c", child, "2400000"], preexec_fn=lambda: None))
print(out([py, "-c", child, "2500000"], close_fds=False))
pid = os.posix_spawn(py, [py, "-c", child, "2600000"], os.environ)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(out([py, "-Ic", child, "2700000"]))
print(out([py, "-S", "-c", child, "2750000"]))
parent = f"import subprocess; subprocess.run([{py!r}, '-c', {child!r}, '2800000'])"
print(out([py, "-c", parent, "parent"]))
with os.popen(f"{py} -c '{child}' 2900000") as stream:
    print(stream.read())
print(out(["/bin/echo", "it's"]))
"""

ALL_CHILDREN = {
    "plain": [bytearray_bytes(2_000_000)],
    "own-environment": [bytearray_bytes(2_000_000)],
    "parent": [],
    **{
        str(size): [bytearray_bytes(size)]
        for size in (2_100_000, 2_200_000, 2_300_000, 2_400_000, 2_500_000)
    },
    **{str(size): [bytearray_bytes(size)] for size in (2_600_000, 2_800_000, 2_900_000)},
}


def environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


def test_every_python_that_is_started_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(CHILDREN)
    plain = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    command = [str(COMMANDS / "memtrace"), "run", "--follow-children", "-o", "out.bin"]
    followed = subprocess.run(
        [*command, "program.py"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert followed.stdout == plain.stdout
    out = tmp_path / "out.bin"
    assert followed.stderr == f"memtrace: wrote {out} (.<pid> for child processes)\n"
    assert found_in(tmp_path) == ALL_CHILDREN


def test_without_following_the_number_of_children_is_said(tmp_path: Path) -> None:
    result = run_program(CHILDREN, tmp_path, env={"PYTHONPATH": ""})
    out = tmp_path / "out.bin"
    # What a shell or one of these starts in turn is not known here.
    assert result.stderr == (
        f"memtrace: wrote {out}; 9 child processes were not recorded (--follow-children)\n"
    )
    assert sorted(os.listdir(tmp_path)) == ["out.bin", "program.py"]


def test_children_that_are_no_python_are_not_counted(tmp_path: Path) -> None:
    program = (
        "import os, subprocess\n"
        "subprocess.run(['/bin/true'])\n"
        "subprocess.run(['/bin/true'], preexec_fn=lambda: None)\n"
        "os.waitpid(os.posix_spawn('/bin/true', ['true'], os.environ), 0)\n"
    )
    result = run_program(program, tmp_path)
    assert result.stderr == f"memtrace: wrote {tmp_path / 'out.bin'}\n"
    program += "if os.fork() == 0: os._exit(0)\nos.wait()\n"
    result = run_program(program, tmp_path, "-f")
    assert result.stderr == (
        f"memtrace: wrote {tmp_path / 'out.bin'};"
        " 1 child process was not recorded (--follow-children)\n"
    )


def test_mt17_exec_is_followed_into_a_file_of_its_own(tmp_path: Path) -> None:
    script = case_path("MT-17")
    words = ["run", "-q", "--follow-children", "-o", "out.bin", str(script)]
    assert_as_stated("MT-17", memtrace(words, tmp_path))
    first = tmp_path / "out.bin"
    (second,) = captures(tmp_path)
    assert at_line(csv_rows(first, "--leaks"), script, "FIRST") == (1, bytearray_bytes(5_000_011))
    assert not [row for row in csv_rows(first, "--all") if row.size == bytearray_bytes(9_000_000)]
    assert [row.size for row in csv_rows(second, "--all") if row.size > 8_000_000] == [
        bytearray_bytes(9_000_000)
    ]
    assert list(load_profile(str(second)).warnings) == []
    assert load_profile(str(second)).header["pid"] == load_profile(str(first)).header["pid"]


def test_a_process_that_becomes_three_programs_has_three_captures(tmp_path: Path) -> None:
    program = (
        "import os, sys; n = int(sys.argv[1]) if len(sys.argv) > 1 else 0\n"
        "keep = bytearray(2_000_000 + n)\n"
        "if n < 3: os.execv(sys.executable, [sys.executable, __file__, str(n + 1)])\n"
    )
    result = run_program(program, tmp_path, "-q", "--follow-children")
    assert (result.status, result.stderr) == (0, "")
    found = sorted(big_blocks(path)[0] for path in captures(tmp_path))
    assert found == [bytearray_bytes(2_000_000 + n) for n in (1, 2, 3)]
    assert len(os.listdir(tmp_path)) == 5


def test_a_child_that_cannot_be_recorded_says_so_and_runs(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    program = (
        "import shutil, subprocess, sys\n"
        f"shutil.rmtree({str(folder)!r})\n"
        "child = [sys.executable, '-c', 'print(7)']\n"
        "done = subprocess.run(child, capture_output=True, text=True)\n"
        "print(done.returncode, done.stdout, done.stderr)\n"
    )
    words = ["run", "-q", "--follow-children", "-o", "folder/out.bin", "-c", program]
    result = memtrace(words, tmp_path)
    assert result.status == 0
    assert result.stdout.startswith("0 7\n memtrace: cannot write ")
    assert "this child process is not recorded" in result.stdout
