"""The published memory cases, run with the real command."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from case_runs import (
    ALL_OBJECTS,
    COMMANDS,
    Amount,
    Row,
    amount,
    assert_as_stated,
    at_line,
    bytearray_bytes,
    case_path,
    csv_rows,
    expected_output,
    memtrace,
    record,
    top_rows,
)
from proftrace.model.load import load_profile
from proftrace.model.profile import PEAK_BYTES
from proftrace.views.call_tree import build_call_tree
from proftrace.views.hotspots import hotspots
from proftrace.views.selection import Selection

KIB, MIB = 1 << 10, 1 << 20
BIG = bytearray_bytes(1_000_002)  # the block of several cases


def assert_complete(capture: Path) -> None:
    """Assert that a capture was closed in the regular way."""
    assert list(load_profile(str(capture)).warnings) == []


def total(rows: list[Row]) -> int:
    return sum(row.size for row in rows)


def test_mt01_realloc(tmp_path: Path) -> None:
    script = case_path("MT-01")
    capture = record("MT-01", tmp_path)
    assert_complete(capture)
    peak = csv_rows(capture)
    # What the program took itself; the interpreter's arenas of 1 MiB are beside it.
    mine = sorted(amount(row) for row in peak if row.size > 2 * MIB)
    assert mine == [(1, 3_000_017), (1, 8_000_024)]
    leaks = csv_rows(capture, "--leaks")
    assert at_line(leaks, script, "SHRINK") == (1, 2_000_029)
    assert [amount(row) for row in leaks if row.size > MIB] == [(1, 2_000_029)]
    assert at_line(csv_rows(capture, "--all"), script, "GROW") == (7, 35_000_105)


def test_mt02_every_allocator(tmp_path: Path) -> None:
    capture = record("MT-02", tmp_path)
    script = case_path("MT-02").name
    rows = [
        row
        for row in csv_rows(capture, "--leaks")
        if row.size > MIB and row.stack[0][1].endswith(script)
    ]
    found = {row.allocator: row.size for row in rows}
    expected = {
        "CALLOC": 5_000_011,
        "POSIX_MEMALIGN": 1_048_577,
        "ALIGNED_ALLOC": 2_097_152,
        "MEMALIGN": 3_145_730,
        "VALLOC": 4_194_307,
        "PVALLOC": 6_291_459,
        "MALLOC": 7_000_001,
        "REALLOC": 7_340_040,
    }
    assert found.keys() == expected.keys() and len(rows) == 8
    # 3.15 keeps a small block of its own that it took at the line of strdup.
    slack = KIB if sys.version_info >= (3, 15) else 0
    assert all(0 <= found[name] - size <= slack for name, size in expected.items())
    assert len({row.stack[0][2] for row in rows}) == 8


def test_mt04_big_arrays(tmp_path: Path) -> None:
    import numpy  # noqa: F401  without it the case takes another way

    script = case_path("MT-04")
    capture = record("MT-04", tmp_path)
    peak = csv_rows(capture)
    assert at_line(peak, script, "ZEROS") == (1, 80_000_000)
    # The line makes the view that it copies too: an object of a few bytes.
    assert 8_000_000 <= at_line(peak, script, "COPY")[1] < 8_000_000 + 4 * KIB
    # OpenBLAS maps 32 MiB a processor when numpy is imported, which are no arrays.
    heap = [row for row in peak if row.allocator != "MMAP"]
    assert 88_000_000 <= total(heap) <= 88_000_000 + 16 * MIB
    # The file that is mapped at the end has 16 MiB; it is no memory of the process.
    maps = [row for row in csv_rows(capture, "--all") if row.allocator == "MMAP"]
    assert not [row for row in maps if row.size % (16 * MIB) == 0 and "memmap" in str(row.stack)]
    leaks = csv_rows(capture, "--leaks")
    assert at_line(leaks, script, "ZEROS") == (0, 0)
    assert 8_000_000 <= at_line(leaks, script, "COPY")[1] < 8_000_000 + 4 * KIB


def test_mt05_freed_in_another_thread(tmp_path: Path) -> None:
    script = case_path("MT-05")
    capture = record("MT-05", tmp_path)
    everything = csv_rows(capture, "--all")
    assert at_line(everything, script, "PRODUCE") == (200, 200 * BIG)
    assert at_line(everything, script, "EARLY") == (20, 20 * BIG)
    leaks = csv_rows(capture, "--leaks")
    assert at_line(leaks, script, "PRODUCE") == (0, 0)
    assert at_line(leaks, script, "EARLY") == (0, 0)
    peak = csv_rows(capture)
    at_peak = at_line(peak, script, "PRODUCE")[1] + at_line(peak, script, "EARLY")[1]
    assert 20 * BIG <= at_peak <= 26 * BIG
    big = [row for row in everything if row.size >= 20 * BIG]
    main = {row.tid for row in everything if row.thread == "MainThread"}
    assert len({row.tid for row in big}) == 2
    assert not main & {row.tid for row in big}


def record_mt06(folder: Path, env: dict[str, str] | None = None) -> tuple[Path, Path]:
    """Run the case with the size that its object has on this build, which is longer without a GIL.
    Return the script and the capture."""
    script, capture = folder / "MT-06.py", folder / "MT-06.bin"
    text = case_path("MT-06").read_text()
    assert "== 100\n" in text
    script.write_text(text.replace("== 100\n", f"== {sys.getsizeof(bytes(67))}\n"))
    result = memtrace(["run", "-o", str(capture), str(script)], folder, env)
    assert_as_stated("MT-06", result)
    return script, capture


def test_mt06_pymalloc_off(tmp_path: Path) -> None:
    env = {} if ALL_OBJECTS else {"PYTHONMALLOC": "malloc"}
    script, capture = record_mt06(tmp_path, env)
    leaks = csv_rows(capture, "--leaks")
    assert tuple(at_line(leaks, script, "LEAK")) == (5000, 5000 * sys.getsizeof(bytes(67)))
    # 3.15 keeps a few of the integers that it freed for the next ones.
    kept = 100 if sys.version_info >= (3, 15) else 0
    blocks, size = at_line(leaks, script, "TEMP")
    assert blocks <= kept and size <= 32 * blocks
    result = memtrace(["summary", "--leaks", str(capture)], tmp_path)
    assert "PYTHONMALLOC" not in result.stdout + result.stderr


def test_mt06_pymalloc_on_is_said_by_every_view_of_leaks(tmp_path: Path) -> None:
    _, capture = record_mt06(tmp_path)
    page = tmp_path / "page.html"
    for words in (
        ["summary", "--leaks", str(capture)],
        ["transform", "csv", "--leaks", "-o", "-", str(capture)],
        ["flamegraph", "--leaks", "-o", str(page), str(capture)],
    ):
        result = memtrace(words, tmp_path)
        assert result.status == 0
        said = " ".join((result.stdout + result.stderr).split())
        if ALL_OBJECTS:
            assert "PYTHONMALLOC" not in said
            continue
        assert "pymalloc" in said
        assert "--trace-python-allocators" in said
    assert ("--trace-python-allocators" in page.read_text()) == (not ALL_OBJECTS)
    assert "PYTHONMALLOC" not in memtrace(["summary", str(capture)], tmp_path).stdout


def test_mt07_caches(tmp_path: Path) -> None:
    script = case_path("MT-07")
    capture = record("MT-07", tmp_path)
    leaks = csv_rows(capture, "--leaks")
    assert at_line(leaks, script, "REAL") == (10, 200_110)
    pages = [row for row in leaks if row.stack and row.stack[0][0] == "page"]
    assert amount(*pages) == (200, 200 * (10_000 + sys.getsizeof(b"")))


def test_mt08_cycles(tmp_path: Path) -> None:
    script = case_path("MT-08")
    capture = record("MT-08", tmp_path)
    assert at_line(csv_rows(capture), script, "CYCLE") == (50, 50 * bytearray_bytes(1_000_006))
    # Leaks are what is live at the end of the script: the ten that nothing collects before.
    assert at_line(csv_rows(capture, "--leaks"), script, "LATE") == (
        10,
        10 * bytearray_bytes(1_000_006),
    )


def test_mt13_an_existing_capture_is_kept(tmp_path: Path) -> None:
    script = str(case_path("MT-13"))
    run = ["run", "-o", "out.bin"]
    assert_as_stated("MT-13", memtrace([*run, script], tmp_path))
    before = (tmp_path / "out.bin").read_bytes()
    refused = memtrace([*run, script], tmp_path)
    assert (refused.status, refused.stdout) == (1, "")
    assert str(tmp_path / "out.bin") in refused.stderr
    assert re.search(r"(^|\s)-f\b", refused.stderr)
    assert len(refused.stderr.splitlines()) == 1
    assert (tmp_path / "ran.count").read_text() == "1"
    assert (tmp_path / "out.bin").read_bytes() == before
    forced = memtrace([*run, "-f", script], tmp_path)
    assert (forced.status, forced.stdout) == (0, "run number 2\n")
    assert_complete(tmp_path / "out.bin")
    missing = memtrace(["run", "-o", "no/such/out.bin", script], tmp_path)
    assert (missing.status, missing.stdout) == (1, "")
    assert (tmp_path / "ran.count").read_text() == "2"


def test_mt13_an_existing_page_is_kept(tmp_path: Path) -> None:
    capture = record("MT-13", tmp_path)
    words = ["flamegraph", str(capture), "-o", "page.html"]
    assert memtrace(words, tmp_path).status == 0
    (tmp_path / "page.html").write_text("mine")
    refused = memtrace(words, tmp_path)
    assert refused.status == 1
    assert "page.html" in refused.stderr
    assert "-f" in refused.stderr
    assert (tmp_path / "page.html").read_text() == "mine"
    assert memtrace([*words, "-f"], tmp_path).status == 0
    assert "<html" in (tmp_path / "page.html").read_text()


def test_mt14_deep_stacks(tmp_path: Path) -> None:
    script = case_path("MT-14")
    capture = record("MT-14", tmp_path)
    # Where each object of Python is recorded, the stacks together have gigabytes of text.
    everything = top_rows(capture, Selection.ALL)
    assert at_line(everything, script, "BOTTOM") == (1, bytearray_bytes(9_000_002))
    assert at_line(everything, script, "STEP") == (30, 30 * bytearray_bytes(100_002))
    assert memtrace(["flamegraph", str(capture), "-o", "page.html"], tmp_path).status == 0
    assert re.search(r"dig.{0,80}MT-14\.py:\d+", (tmp_path / "page.html").read_text())
    assert "dig" in memtrace(["summary", str(capture)], tmp_path).stdout


def test_mt15_many_threads(tmp_path: Path) -> None:
    script = case_path("MT-15")
    block = bytearray_bytes(70_000)
    capture = record("MT-15", tmp_path)
    assert_complete(capture)
    everything = csv_rows(capture, "--all")
    assert at_line(everything, script, "ALLOC") == (1800, 1800 * block)
    assert at_line(csv_rows(capture, "--leaks"), script, "ALLOC") == (0, 0)
    objects = 300 * KIB if ALL_OBJECTS else 0  # of the arrays, at the same line
    assert at_line(csv_rows(capture), script, "ALLOC")[1] <= 300 * block + objects
    # Their stacks (8 MiB each) are no lines of the program.
    maps = [row for row in everything if row.allocator == "MMAP" and row.stack]
    assert total(maps) < 1000 * 8 * MIB


def test_mt16_children(tmp_path: Path) -> None:
    environ = {**os.environ, "ENV_BEFORE": ""}
    environ["ENV_BEFORE"] = json.dumps(sorted(environ))
    done = subprocess.run(
        [str(COMMANDS / "memtrace"), "run", "-q", "-o", "out.bin", str(case_path("MT-16"))],
        cwd=tmp_path,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    status, lines = expected_output("MT-16")
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (status, lines, "")
    assert sorted(os.listdir(tmp_path)) == ["out.bin"]
    assert_complete(tmp_path / "out.bin")
    assert not [
        row
        for row in csv_rows(tmp_path / "out.bin", "--all")
        if row.size == bytearray_bytes(6_000_000)
    ]


def test_mt17_exec(tmp_path: Path) -> None:
    script = case_path("MT-17")
    capture = record("MT-17", tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["MT-17.bin"]
    (note,) = load_profile(str(capture)).warnings
    assert "exec" in note
    assert at_line(csv_rows(capture, "--leaks"), script, "FIRST") == (1, bytearray_bytes(5_000_011))
    assert not [row for row in csv_rows(capture, "--all") if row.size == bytearray_bytes(9_000_000)]


def test_mt20_shutdown(tmp_path: Path) -> None:
    script = case_path("MT-20")
    for run in range(20):
        folder = tmp_path / str(run)
        folder.mkdir()
        capture = record("MT-20", folder)
        assert_complete(capture)
        leaks = csv_rows(capture, "--leaks")
        assert at_line(leaks, script, "GLOBAL") == (1, bytearray_bytes(4_000_007))
        assert at_line(leaks, script, "LOST") == (0, 0)


def test_mt22_greenlets(tmp_path: Path) -> None:
    import greenlet  # noqa: F401  without it the case does nothing

    rows = csv_rows(record("MT-22", tmp_path), "--all")
    stacks = {
        (row.size // row.blocks, row.blocks, tuple(name for name, _, _ in row.stack[:2]))
        for row in rows
        if row.size // row.blocks >= 1_000_000 and row.size % MIB  # not an arena
    }
    assert stacks == {
        (bytearray_bytes(1_000_033), 3, ("step_a", "run_a")),
        (bytearray_bytes(2_000_033), 2, ("step_b", "run_b")),
    }
    for row in rows:
        names = {name for name, _, _ in row.stack}
        assert not (names & {"run_a", "step_a"} and names & {"run_b", "step_b"})


def test_mt23_profile_functions_of_the_program(tmp_path: Path) -> None:
    rows = csv_rows(record("MT-23", tmp_path), "--all")
    stacks = {
        (row.thread == "MainThread", *amount(row), tuple(name for name, _, _ in row.stack[:3]))
        for row in rows
        if row.size >= 1_000_000 and row.size % MIB  # not an arena
    }
    small, large = bytearray_bytes(1_000_039), bytearray_bytes(2_000_039)
    assert stacks == {
        (True, 1, small, ("inner", "outer", "<module>")),
        (True, 1, large, ("plain", "<module>")),
        (False, 1, small, ("inner", "run", "_bootstrap_inner")),
    }


def at_sites(rows: list[Row]) -> dict[str, Amount]:
    """Return the blocks and bytes of each generated function of MT-24."""
    names = {row.stack[0][0] for row in rows if row.stack and row.stack[0][1] == "sites.py"}
    return {
        name: amount(*(row for row in rows if row.stack and row.stack[0][0] == name))
        for name in names - {"<module>"}
    }


def test_mt24_millions_of_events(tmp_path: Path) -> None:
    capture = record("MT-24", tmp_path)
    assert capture.stat().st_size <= 40_000_000
    assert at_sites(csv_rows(capture, "--all")) == {
        f"site{n}": (10_000, 10_000 * bytearray_bytes(1500 + n)) for n in range(300)
    }
    assert sum(size for _, size in at_sites(csv_rows(capture)).values()) <= MIB
    page = tmp_path / "page.html"
    assert memtrace(["flamegraph", "-o", str(page), str(capture)], tmp_path).status == 0
    assert page.stat().st_size <= 5_000_000


def test_vw01_odd_sizes(tmp_path: Path) -> None:
    script = case_path("VW-01")
    capture = record("VW-01", tmp_path)
    peak = csv_rows(capture)
    mine = [at_line(peak, script, mark) for mark in ("ZERO", "EQUAL", "GIANT")]
    assert mine == [(3, 0), (8, 560_008), (1, 419_430_400)]
    stats = json.loads(memtrace(["stats", "--json", str(capture)], tmp_path).stdout)
    histogram = stats["allocation_size_histogram"]
    assert sum(bin["count"] for bin in histogram) == stats["total_num_allocations"]
    edges = [bin["max_bytes"] for bin in histogram]
    assert edges == sorted(set(edges))
    assert 419_430_400 <= edges[-1] <= 2 * 419_430_400
    assert "400.0 MiB" in memtrace(["summary", str(capture)], tmp_path).stdout


def test_vw01_an_empty_script(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_bytes(b"")
    assert memtrace(["run", "-q", "-o", "e.bin", "empty.py"], tmp_path).status == 0
    for words in (
        ["summary"],
        ["summary", "--leaks"],
        ["stats"],
        ["stats", "--json"],
        ["flamegraph", "-o", "e.html"],
        ["transform", "csv", "-o", "-"],
        ["transform", "csv", "--all", "-o", "-"],
    ):
        result = memtrace([*words, "e.bin"], tmp_path)
        assert result.status == 0, (words, result.stderr)
        assert "Traceback" not in result.stderr


BAD = [
    "empty.bin", "text.bin", "zeros.bin", "ff.bin", "png.bin", "gzip.bin", "lz4.bin",
    "pickle.bin", "marshal.bin", "missing.bin",
]  # fmt: skip


@pytest.fixture(scope="module")
def bad_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vw04")
    done = subprocess.run([sys.executable, str(case_path("VW-04"))], cwd=folder, check=True)
    assert done.returncode == 0
    return folder


@pytest.mark.parametrize("name", BAD)
def test_vw04_what_is_no_capture(name: str, bad_files: Path, tmp_path: Path) -> None:
    shutil.copytree(bad_files / "bad", tmp_path / "bad")
    before = sorted(os.listdir(tmp_path / "bad"))
    for command, words in (
        ("memtrace", ["flamegraph"]),
        ("memtrace", ["flamegraph", "--leaks", "-o", "page.html"]),
        ("memtrace", ["summary"]),
        ("memtrace", ["stats"]),
        ("memtrace", ["stats", "--json"]),
        ("memtrace", ["transform", "csv"]),
        ("lprof", ["show"]),
    ):
        # 200 MB of memory and 2 s: a huge length field must not be believed.
        limited = f'ulimit -v 400000 && exec timeout 20 {COMMANDS / command} "$@"'
        done = subprocess.run(
            ["bash", "-c", limited, command, *words, f"bad/{name}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (1, ""), (words, done.stderr)
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"{command}: ")
        assert f"bad/{name}" in line
    assert sorted(os.listdir(tmp_path)) == ["bad"]
    assert sorted(os.listdir(tmp_path / "bad")) == before


def test_vw05_recursion(tmp_path: Path) -> None:
    script = case_path("VW-05")
    capture = record("VW-05", tmp_path)
    assert at_line(csv_rows(capture), script, "WALK") == (10, 10 * BIG)
    profile = load_profile(str(capture))
    (walk,) = (
        spot for spot in hotspots(profile, Selection.PEAK, by_line=False) if spot.name == "walk"
    )
    assert walk.own_bytes == walk.total_bytes
    assert Amount((10, walk.own_bytes)) == (10, 10 * BIG)
    tree = build_call_tree(profile, [PEAK_BYTES])
    assert tree.total[0][0] == total(csv_rows(capture)) == profile.totals["peak_bytes"]
    for words in (["summary"], ["summary", "--by-function"], ["summary", "--leaks"]):
        text = memtrace([*words, str(capture)], tmp_path).stdout
        shares = re.findall(r"^ *[\d.]+ \w+ +([\d.]+) +[\d.]+ \w+ +([\d.]+) ", text, re.M)
        assert shares
        assert all(float(share) <= 100 for row in shares for share in row)
