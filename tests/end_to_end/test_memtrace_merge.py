"""Reports over several processes: files, folders, merged files, and what killed ones left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from case_runs import COMMANDS, bytearray_bytes, csv_rows, memtrace
from proftrace.model.load import load_profiles

FAMILY = """
import os, subprocess, sys
size = int(sys.argv[1])
keep = bytearray(size)
if size == 2_000_000:
    for i in range(1, 4):
        subprocess.run([sys.executable, __file__, str(size + i * 1_000_000)], check=True)
"""
SIZES = [bytearray_bytes(n) for n in (2_000_000, 3_000_000, 4_000_000, 5_000_000)]


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("family")
    (folder / "app.py").write_text(FAMILY)
    words = ["run", "-q", "--follow-children", "-o", "out.bin", "app.py", "2000000"]
    assert memtrace(words, folder).status == 0
    return folder


@pytest.fixture
def folder(family: Path, tmp_path: Path) -> Path:
    shutil.copytree(family, tmp_path / "run")
    return tmp_path / "run"


def children(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.startswith("out.bin."))


def leaked_sizes(folder: Path, *words: str) -> list[int]:
    done = memtrace(["transform", "csv", "--leaks", "-o", "out.csv", "-f", *words], folder)
    assert done.status == 0, done.stderr
    rows = (folder / "out.csv").read_text().splitlines()[1:]
    sizes = sorted(int(row.split(",")[2]) for row in rows if "app.py;4" in row)
    return [size for size in sizes if size > 1_000_000]  # without the object, where it is recorded


def test_a_report_takes_one_capture_several_or_a_folder(folder: Path) -> None:
    assert leaked_sizes(folder, "out.bin") == SIZES[:1]
    assert leaked_sizes(folder, "out.bin", *children(folder)) == SIZES
    assert leaked_sizes(folder, "--children", "out.bin") == SIZES
    assert leaked_sizes(folder, ".") == SIZES
    assert leaked_sizes(folder, *children(folder)) == SIZES[1:]


def test_a_merged_file_is_all_of_them(folder: Path) -> None:
    result = memtrace(["merge", "--children", "out.bin", "-o", "all.bin"], folder)
    assert (result.status, result.stdout, result.stderr) == (0, "Wrote all.bin\n", "")
    assert leaked_sizes(folder, "all.bin") == SIZES
    assert leaked_sizes(folder, ".") == SIZES  # the parts beside the whole count once
    profiles = load_profiles(str(folder / "all.bin"))
    assert len(profiles) == 4
    assert all(not profile.warnings for profile in profiles)
    merged = memtrace(["merge", "all.bin", "-o", "again.bin"], folder)
    assert merged.status == 0
    assert (folder / "again.bin").read_bytes() == (folder / "all.bin").read_bytes()
    for words in (
        ["summary", "all.bin"],
        ["summary", "--leaks", "all.bin"],
        ["stats", "all.bin"],
        ["flamegraph", "all.bin"],
    ):
        assert memtrace(words, folder).status == 0
    page = (folder / "memtrace-flamegraph-all.html").read_text()
    assert "4 processes" in page
    refused = memtrace(["merge", "out.bin", "-o", "all.bin"], folder)
    assert (refused.status, refused.stdout) == (1, "")


def test_statistics_name_each_process(folder: Path) -> None:
    stats = json.loads(memtrace(["stats", "--json", "--children", "out.bin"], folder).stdout)
    alone = json.loads(memtrace(["stats", "--json", "out.bin"], folder).stdout)
    assert alone["processes"] == []
    processes = stats["processes"]
    assert processes[0]["command_line"] == "app.py 2000000"
    assert {process["ppid"] for process in processes[1:]} == {processes[0]["pid"]}
    assert sum(process["total_bytes"] for process in processes) == stats["total_bytes_allocated"]
    assert processes[0]["total_bytes"] == alone["total_bytes_allocated"]
    text = memtrace(["stats", "--children", "out.bin"], folder).stdout
    for process in processes:
        assert f"  {process['pid']} " in text.partition("Processes:")[2]


def test_children_of_an_earlier_run_are_left_out(folder: Path) -> None:
    names = children(folder)
    words = ["run", "-q", "-f", "-o", "out.bin", "app.py", "7000000"]
    assert memtrace(words, folder).status == 0
    assert children(folder) == names
    assert leaked_sizes(folder, "--children", "out.bin") == [bytearray_bytes(7_000_000)]


KILLED = """
import os, sys, time
pid = os.fork()
if pid == 0:
    keep = [bytearray(2_000_000 + i) for i in range(300)]
    small = [bytes(600 + i) for i in range(300)]
    print(os.getpid(), flush=True)
    time.sleep(60)
os.waitpid(pid, 0)
"""


def test_what_a_killed_process_left_in_its_ring_is_merged_too(tmp_path: Path) -> None:
    command = [str(COMMANDS / "memtrace"), "run", "-q", "--follow-fork", "-o", "out.bin"]
    process = subprocess.Popen(
        [*command, "-c", KILLED], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    os.kill(child, signal.SIGKILL)
    assert process.wait() == 0
    process.stdout.close()
    capture = tmp_path / f"out.bin.{child}"
    assert Path(f"{capture}.ring").exists()
    before = csv_rows(capture, "--all")
    assert sum(row.blocks for row in before if row.size > 1_900_000 and row.stack) >= 300
    # `out.bin*` names the ring too.
    names = sorted(name for name in os.listdir(tmp_path) if name.startswith("out.bin"))
    assert memtrace(["merge", "-o", "all.bin", *names], tmp_path).status == 0
    os.unlink(f"{capture}.ring")
    first, second = load_profiles(str(tmp_path / "all.bin"))
    assert not first.warnings
    (warning,) = second.warnings
    assert warning.startswith(f"{tmp_path / 'all.bin'}, process {child}: ends early")
    assert second.totals["n_allocations"] == sum(row.blocks for row in before)
    assert sum(second.samples.values["total_bytes"]) == sum(row.size for row in before)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["merge", "out.bin"], 2),
        (["merge", "-o", "x.bin"], 2),
        (["merge", "-o", "x.bin", "missing.bin"], 1),
        (["merge", "-o", "x.bin", "empty"], 1),
        (["merge", "-o", "no/x.bin", "out.bin"], 1),
        (["merge", "-f", "-o", "out.bin", "out.bin"], 1),
        (["merge", "-o", "x.bin", "out.bin", "app.py"], 1),
        (["summary", "empty"], 1),
        (["summary", "--children", "missing.bin"], 1),
    ],
)
def test_what_cannot_be_merged_is_said_in_one_line(
    folder: Path, words: list[str], status: int
) -> None:
    (folder / "empty").mkdir()
    before = (folder / "out.bin").read_bytes()
    result = memtrace(words, folder)
    assert (result.status, result.stdout) == (status, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("memtrace: ")
    assert not (folder / "x.bin").exists()
    assert (folder / "out.bin").read_bytes() == before


def test_a_merged_file_goes_to_a_pipe(folder: Path) -> None:
    command = [str(COMMANDS / "memtrace"), "merge", "-o", "-", "--children", "out.bin"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    (folder / "piped.bin").write_bytes(done.stdout)
    assert len(load_profiles(str(folder / "piped.bin"))) == 4


def test_a_running_process_can_be_merged(tmp_path: Path) -> None:
    program = "import time; keep = bytearray(3_000_000); print(1, flush=True); time.sleep(60)"
    process = subprocess.Popen(
        [str(COMMANDS / "memtrace"), "run", "-q", "-o", "out.bin", "-c", program],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.1)
    assert memtrace(["merge", "-o", "all.bin", "out.bin"], tmp_path).status == 0
    process.kill()
    process.wait()
    process.stdout.close()
    (profile,) = load_profiles(str(tmp_path / "all.bin"))
    assert bytearray_bytes(3_000_000) in profile.samples.values["leaked_bytes"]
