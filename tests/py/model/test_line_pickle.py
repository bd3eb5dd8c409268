"""Results of line_profiler are read as data: what they say, and nothing that they ask for."""

from __future__ import annotations

import collections
import os
import pickle
import struct
from pathlib import Path

import pytest
from line_profiler.line_profiler import LineStats

from proftrace.errors import CaptureFileError
from proftrace.model.line_pickle import is_pickle
from proftrace.model.load import load_profile, load_profiles
from proftrace.render.line_table import TableOptions, render_classic
from proftrace.views.line_table import line_table

TEXT = "def f(a):\n    b = a\n    return b\n\n\ndef g(): pass\n"
OTHER_MODULES = {
    b"line_profiler._line_profiler": b"\x8c\x1cline_profiler._line_profiler",
    b"_line_profiler": b"\x8c\x0e_line_profiler",
}


@pytest.fixture
def timings(tmp_path: Path) -> dict[tuple[str, int, str], list[tuple[int, int, int]]]:
    file = tmp_path / "f.py"
    file.write_text(TEXT)
    return {(str(file), 6, "g"): [], (str(file), 1, "f"): [(2, 4, 3_001), (3, 4, 1_000)]}


@pytest.mark.parametrize("unit", [1e-9, 1e-6])
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_result_is_read_whatever_its_unit_and_protocol(
    tmp_path: Path, timings: dict, unit: float, protocol: int
) -> None:
    path = tmp_path / "r.lprof"
    path.write_bytes(pickle.dumps(LineStats(timings, unit), protocol))
    assert is_pickle(str(path))
    g, f = line_table([load_profile(str(path))])
    assert (g.name, g.hits, g.lines) == ("g", 0, {})
    assert (f.name, f.first_line, f.source) == ("f", 1, TEXT.split("\n")[:3])
    assert {line: (one.hits, one.inclusive) for line, one in f.lines.items()} == {
        2: (4, round(3_001 * unit * 1e9)),
        3: (4, round(1_000 * unit * 1e9)),
    }


@pytest.mark.parametrize("module", OTHER_MODULES)
def test_results_of_its_older_versions_are_read(
    tmp_path: Path, timings: dict, module: bytes
) -> None:
    data = pickle.dumps(LineStats(timings, 1e-9), 4)
    name = b"\x8c\x1bline_profiler.line_profiler"
    assert data.count(name) == 1
    # Without the frame, whose length would no longer be right.
    assert data[2:3] == b"\x95"
    (tmp_path / "r").write_bytes(data[:2] + data[11:].replace(name, OTHER_MODULES[module]))
    assert [section.hits for section in line_table([load_profile(str(tmp_path / "r"))])] == [0, 8]


def test_the_table_is_the_one_that_line_profiler_prints(
    tmp_path: Path, timings: dict, capsys: pytest.CaptureFixture[str]
) -> None:
    timings["no/such/file.py", 3, "gone"] = [(4, 1_000_000_000, 10**13)]
    stats = LineStats(timings, 1e-9)
    stats.to_file(tmp_path / "r.lprof")
    stats.print(output_unit=1e-6, sort=True, summarize=True)
    sections = line_table([load_profile(str(tmp_path / "r.lprof"))])
    options = TableOptions(sort=True, summarize=True)
    assert render_classic(sections, options) == capsys.readouterr().out


def test_pickles_one_behind_the_other_are_all_read(tmp_path: Path, timings: dict) -> None:
    data = pickle.dumps(LineStats(timings, 1e-9))
    (tmp_path / "r").write_bytes(data + data)
    profiles = load_profiles(str(tmp_path / "r"))
    assert [section.hits for section in line_table(profiles)] == [0, 16]
    (tmp_path / "r").write_bytes(data + b"junk")
    with pytest.raises(CaptureFileError):
        load_profiles(str(tmp_path / "r"))


class Bomb:
    """Makes a folder when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.path),)


class ListOfNumbers(list):
    pass


def hostile(tmp_path: Path) -> dict[str, bytes]:
    """Return pickles that are no results, or pretend to be; `tmp_path / "made"` must not appear."""
    stats = LineStats({}, 1e-9)
    bomb = Bomb(tmp_path / "made")
    named = b"\x80\x04\x8c\x1bline_profiler.line_profiler\x8c\x09LineStats\x93"
    rows = b"\x80\x02cline_profiler.line_profiler\nLineStats\n)\x81}(X\x07\x00\x00\x00timings}"

    def with_state(**state: object) -> bytes:
        stats.__dict__ = state
        return pickle.dumps(stats)

    return {
        "calls a function": pickle.dumps(bomb),
        "calls a function inside": with_state(timings={("f", 1, "f"): bomb}, unit=1e-9),
        "calls a function as a key": with_state(timings={bomb: []}, unit=1e-9),
        "calls a function of the class": named + b"\x8c\x01f\x85R.",
        "an attribute of the class": b"\x80\x04\x8c\x1bline_profiler.line_profiler"
        b"\x8c\x12LineStats.__init__\x93.",
        "another class": pickle.dumps(collections.OrderedDict()),
        "a class of its own": with_state(timings={("f", 1, "f"): ListOfNumbers()}, unit=1e-9),
        "the class itself": named + b".",
        "arguments": named + b"K\x01\x85\x81}b.",
        "two instances": named + b")\x81" + named[2:] + b")\x81.",
        "no state": named + b")\x81.",
        "a number": b"\x80\x04K\x01.",
        "nothing": b"\x80\x04.",
        "cut": pickle.dumps(stats)[:-10],
        "no end": b"\x80\x04" + b"N" * 20,
        "a length that is not there": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 60) + b"x.",
        "a huge place in memory": b"\x80\x04Kar\xff\xff\xff\x7f0.",
        "what was never put away": b"\x80\x04h\x07.",
        "no mark": b"\x80\x04(tt.",
        "deep": b"\x80\x04" + b"(" * 100_000 + b".",
        "deep tuples": b"\x80\x04)" + b"\x85" * 100_000 + b".",
        "deep lists": b"\x80\x04" + b"]" * 100_000 + b"a" * 99_999 + b".",
        "an old protocol": b"\x80\x02I1\n.",
        "no timings": with_state(unit=1e-9),
        "timings that are none": with_state(timings=[1], unit=1e-9),
        "a unit that is none": with_state(timings={}, unit=0),
        "not a number as unit": with_state(timings={}, unit=float("nan")),
        "another key": with_state(timings={("f", 1): []}, unit=1e-9),
        "other rows": with_state(timings={("f", 1, "f"): [(1, 2)]}, unit=1e-9),
        "hits that are none": with_state(timings={("f", 1, "f"): [(1, -2, 3)]}, unit=1e-9),
        "too many hits": with_state(timings={("f", 1, "f"): [(1, 1 << 63, 3)]}, unit=1e-9),
        "a time of ages": with_state(timings={("f", 1, "f"): [(1, 2, 1 << 70)]}, unit=1.0),
        "a time without end": with_state(timings={("f", 1, "f"): [(1, 1, float("inf"))]}, unit=1),
        "a line far away": with_state(timings={("f", 1, "f"): [(1 << 40, 1, 1)]}, unit=1e-9),
        "the same rows over and over": with_state(
            timings=dict.fromkeys((("f", line, "f") for line in range(100)), [(1, 1, 1)] * 200),
            unit=1e-9,
        ),
        "a unit that is missing": rows + b"X\x04\x00\x00\x00unitG\x3f\xf0",
    }


@pytest.mark.parametrize("case", hostile(Path()))
def test_anything_else_is_refused_in_one_line_and_runs_nothing(tmp_path: Path, case: str) -> None:
    path = tmp_path / "bad.lprof"
    path.write_bytes(hostile(tmp_path)[case])
    with pytest.raises(CaptureFileError) as caught:
        load_profile(str(path))
    message = str(caught.value)
    assert "bad.lprof: a pickle, but not a result of line_profiler: " in message
    assert message.isprintable()
    assert os.listdir(tmp_path) == ["bad.lprof"]


def test_what_a_refused_result_asks_for_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.lprof"
    path.write_bytes(pickle.dumps(Bomb(tmp_path / "made")))
    with pytest.raises(CaptureFileError, match=r"it asks for posix\.mkdir$"):
        load_profile(str(path))


def test_only_regular_files_are_read_as_sources(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(b"\xff\0\xfe")
    names = [str(tmp_path / "pipe"), str(tmp_path / "binary"), "/dev/zero", "a\0b", str(tmp_path)]
    stats = LineStats({(name, 1, "f"): [(1, 1, 1)] for name in names}, 1e-9)
    stats.to_file(tmp_path / "r.lprof")
    sections = line_table([load_profile(str(tmp_path / "r.lprof"))])
    assert [section.source for section in sections] == [None] * len(names)


def test_damage_anywhere_is_either_read_or_refused(tmp_path: Path, timings: dict) -> None:
    data = pickle.dumps(LineStats(timings, 1e-9))
    path = tmp_path / "r.lprof"
    outcomes = set()
    for at in range(2, len(data)):
        for value in (0, 0x28, 0x52, 0x7F, 0xFF, data[at] ^ 1):
            path.write_bytes(data[:at] + bytes([value]) + data[at + 1 :])
            try:
                line_table([load_profile(str(path))])
                outcomes.add("read")
            except CaptureFileError:
                outcomes.add("refused")
    assert outcomes == {"read", "refused"}
