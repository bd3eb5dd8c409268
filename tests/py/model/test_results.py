"""Several result files as one: what adds up, what counts once, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from line_logs import Timings, code_of, write_line_log
from log_writer import LogWriter, function_details, function_record, line_details, line_record
from proftrace.errors import CaptureFileError
from proftrace.model.results import load_results, merge_results
from proftrace.views.line_table import FunctionLines, LineValues, line_table

TEXT = "def f(a):\n    return a\n"


def write(path: Path, timings: Timings, *, pid: int, text: str = TEXT) -> str:
    return str(write_line_log(path, "f.py", text, {code_of(text, "f.py", "f"): timings}, pid=pid))


def merge(path: Path, *parts: str) -> str:
    with path.open("wb") as file:
        merge_results(load_results(parts), file.fileno())
    return str(path)


def hits(*paths: str) -> list[int]:
    return [section.hits for section in line_table(load_results(paths).profiles)]


@pytest.fixture
def one(tmp_path: Path) -> str:
    return write(tmp_path / "1.lprof", [(2, 3, 300)], pid=1)


@pytest.fixture
def two(tmp_path: Path) -> str:
    return write(tmp_path / "2.lprof", [(1, 1, 10), (2, 4, 500)], pid=2)


def sections(*paths: str) -> list[FunctionLines]:
    return line_table(load_results(paths).profiles)


def test_a_merged_file_says_what_its_parts_say_together(tmp_path: Path, one: str, two: str) -> None:
    merged = merge(tmp_path / "all.lprof", one, two)
    (section,) = sections(merged)
    assert {n: (v.hits, v.inclusive) for n, v in section.lines.items()} == {
        1: (1, 10),
        2: (7, 800),
    }
    assert [section] == sections(one, two)
    assert [profile.header["pid"] for profile in load_results([merged]).profiles] == [1, 2]
    assert load_results([merged]).warnings == []


def test_merging_is_associative(tmp_path: Path, one: str, two: str) -> None:
    three = write(tmp_path / "3.lprof", [(2, 5, 7)], pid=3)
    left = merge(tmp_path / "l", merge(tmp_path / "12", one, two), three)
    right = merge(tmp_path / "r", one, merge(tmp_path / "23", two, three))
    assert Path(left).read_bytes() == Path(right).read_bytes()
    assert hits(left) == [13]


def test_one_file_merged_is_that_file(tmp_path: Path, one: str) -> None:
    assert Path(merge(tmp_path / "copy", one)).read_bytes() == Path(one).read_bytes()


def test_a_part_beside_the_merged_file_counts_once(tmp_path: Path, one: str, two: str) -> None:
    merged = merge(tmp_path / "all.lprof", one, two)
    for paths in ([merged, one], [one, merged], [merged, two, one]):
        results = load_results(paths)
        assert [section.hits for section in line_table(results.profiles)] == [8]
        assert any("that another file has too, counted once" in text for text in results.notes)
    again = merge(tmp_path / "again", one, merged)
    assert [profile.header["pid"] for profile in load_results([again]).profiles] == [1, 2]


@pytest.mark.parametrize("merged_first", [False, True])
def test_what_a_process_had_saved_before_does_not_take_the_place_of_the_whole(
    tmp_path: Path, one: str, two: str, merged_first: bool
) -> None:
    """A child that outlives the program adds the whole behind what the program took of it."""
    saved = write(tmp_path / "saved.lprof", [(2, 1, 100)], pid=1)
    parts = [saved, one, two]
    (tmp_path / "all.lprof").write_bytes(b"".join(Path(part).read_bytes() for part in parts))
    together = str(tmp_path / "all.lprof")
    for other, wanted in ((one, 8), (two, 8)):
        files = [together, other] if merged_first else [other, together]
        merged = merge(tmp_path / "again.lprof", *files)
        assert hits(merged) == hits(*files) == [wanted]


def test_a_file_that_is_named_twice_is_added_twice_and_that_is_said(one: str) -> None:
    results = load_results([one, one])
    assert [section.hits for section in line_table(results.profiles)] == [6]
    assert results.notes == [f"{one} is the same recording as {one}: added twice"]


def test_changed_source_is_told_and_kept_apart(tmp_path: Path, one: str) -> None:
    other = write(tmp_path / "2.lprof", [(2, 1, 1)], pid=2, text=TEXT + "# changed\n")
    results = load_results([one, other])
    (note,) = results.notes
    assert note.startswith(f"f.py is not the same text in {one} and {other}: ")
    assert hits(one, other) == [3, 1]


def test_errors_add_in_quadrature_and_extremes_and_histograms_join(tmp_path: Path) -> None:
    parts = []
    for pid, (error, shortest, longest, histogram) in enumerate(
        [(30, 4, 9, [0, 0, 2, 1]), (40, 2, 100, [0, 1, 0, 0, 0, 0, 3])], 1
    ):
        log = LogWriter(content=2, pid=pid)
        code = log.code("f", "f.py", 1)
        details = line_details(shortest, longest, histogram, samples=5, error=error)
        log.lines(
            function_record(code, 0, 2, 10, 10, details=function_details(samples=5, error=error)),
            line_record(code, 2, 7, 10, 10, details=details),
        )
        log.end()
        path = tmp_path / f"{pid}.lprof"
        path.write_bytes(log.data())
        parts.append(str(path))
    (section,) = sections(merge(tmp_path / "all", *parts))
    assert section.lines[2] == LineValues(
        hits=14,
        inclusive=20,
        exclusive=20,
        suspended=0,
        shortest=2,
        longest=100,
        samples=10,
        exclusive_error=50,
        inclusive_error=50,
        histogram=(0, 1, 2, 1, 0, 0, 3),
    )


def test_a_memory_capture_is_refused(tmp_path: Path, one: str) -> None:
    log = LogWriter()
    log.end()
    (tmp_path / "m.bin").write_bytes(log.data())
    with pytest.raises(CaptureFileError, match=r"m\.bin: a memory capture: memtrace reports"):
        load_results([one, str(tmp_path / "m.bin")])


def test_two_commands_are_no_changed_file(tmp_path: Path) -> None:
    paths = []
    for number, text in ((1, TEXT), (2, TEXT + "# other\n")):
        path = tmp_path / f"{number}.lprof"
        code = code_of(TEXT, "<string>", "f")
        write_line_log(path, "<string>", text, {code: [(2, 1, 1)]}, pid=number)
        paths.append(str(path))
    assert load_results(paths).notes == []
