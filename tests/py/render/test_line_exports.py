"""The formats of other tools: what they read is what the result holds."""

from __future__ import annotations

import json
import pstats
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from line_logs import random_line_log
from log_writer import LogWriter, call_record, function_record, line_record
from proftrace.model.load import load_profile
from proftrace.render.line_callgrind import render_callgrind
from proftrace.render.line_collapsed import render_collapsed
from proftrace.render.line_pstats import render_pstats
from proftrace.render.line_speedscope import SpeedscopeOptions, render_speedscope
from proftrace.views.line_stats import FunctionStats, function_stats
from proftrace.views.line_table import FunctionKey

type Stats = dict[FunctionKey, FunctionStats]

HOSTILE = [
    "a;b (c) 12",
    "a,b (c) 12",
    "100%3Bx",
    "line\nbreak\r",
    "nul\0",
    "(3) x",
    "</script>",
    "\u202eevil",
    "half\ud800",
    "שלום",
    "x" * 10_000,
    " ",
]


@pytest.fixture(params=[1, 2, 3])
def stats(request: pytest.FixtureRequest, tmp_path: Path) -> Stats:
    return function_stats([load_profile(str(random_line_log(tmp_path / "r", request.param)))])


@pytest.fixture
def hostile(tmp_path: Path) -> Stats:
    """Functions with odd names, each called by the one before."""
    log = LogWriter(content=2)
    codes = [log.code(name, f"/{name}.py", 1) for name in HOSTILE]
    records = []
    for number, code in enumerate(codes):
        records += [
            function_record(code, 0, 1, 100 - number, 1),
            line_record(code, 2, 3, 100 - number, 1),
            call_record(codes[number - 1] if number else 0, 2, code, 1, 100 - number),
        ]
    log.lines(*records)
    log.end()
    (tmp_path / "h").write_bytes(log.data())
    return function_stats([load_profile(str(tmp_path / "h"))])


def empty() -> Stats:
    return {}


def lines_of(stats: Stats) -> Iterator[tuple[FunctionKey, int, int, int]]:
    """Yield key, line, self time and hits of each line."""
    for key, one in stats.items():
        for line, values in one.lines.lines.items():
            yield key, line, values.exclusive, values.hits


# ---- callgrind ----------------------------------------------------------------------------------


class Callgrind:
    """A reader of the format, written from its description."""

    def __init__(self, text: str) -> None:  # noqa: PLR0912
        self.names: dict[tuple[str, str], str] = {}
        self.headers: dict[str, str] = {}
        self.own: Counter[tuple[str, str, int, str]] = Counter()
        self.calls: list[tuple[tuple[str, str, int], tuple[str, str, int], int, int]] = []
        file = function = callee_file = callee = ""
        call: tuple[int, int] | None = None
        for row in text.splitlines():
            if found := re.fullmatch(r"(fl|fn|cfi|cfn)=\((\d+)\)(?: (.*))?", row):
                kind, number, name = found.groups()
                space = "fn" if kind.endswith("fn") else "file"
                if name is not None:
                    assert (space, number) not in self.names
                    self.names[space, number] = name
                text = self.names[space, number]
                if kind == "fl":
                    file = callee_file = text
                elif kind == "fn":
                    function = text
                elif kind == "cfi":
                    callee_file = text
                else:
                    callee = text
            elif found := re.fullmatch(r"calls=(\d+) (\d+)", row):
                call = int(found[1]), int(found[2])
            elif found := re.fullmatch(r"(\d+)((?: \d+)+)", row):
                costs = [int(cost) for cost in found[2].split()]
                place = file, function, int(found[1])
                if call is not None:
                    self.calls.append((place, (callee_file, callee, call[1]), call[0], costs[0]))
                    call, callee_file = None, file
                else:
                    for event, cost in zip(("ns", "hits"), costs, strict=True):
                        self.own[(*place, event)] += cost
            elif row and row != "# callgrind format":
                key, _, value = row.partition(": ")
                self.headers.setdefault(key, value)


def shown(text: str) -> str:
    """Names as they stand in files of lines: nothing in them breaks one."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def check_callgrind(stats: Stats) -> None:
    read = Callgrind(render_callgrind(stats, "app.py"))
    wanted: Counter[tuple[str, str, int, str]] = Counter()
    for (file, _, name, _), line, own, hits in lines_of(stats):
        wanted[shown(file), shown(name), line, "ns"] += own
        wanted[shown(file), shown(name), line, "hits"] += hits
    assert {k: v for k, v in read.own.items() if v} == {k: v for k, v in wanted.items() if v}
    calls = sorted(
        (
            (shown(key[0]), shown(key[2]), call.line),
            (shown(call.other[0]), shown(call.other[2]), call.other[1]),
            call.calls,
            call.inclusive,
        )
        for key, one in stats.items()
        if one.lines.hits or one.lines.calls
        for call in one.lines.callees
        if call.other
    )
    assert sorted(read.calls) == calls
    totals = f"{sum(row[2] for row in lines_of(stats))} {sum(row[3] for row in lines_of(stats))}"
    assert read.headers["summary"] == read.headers["totals"] == totals
    assert (read.headers["events"], read.headers["positions"]) == ("ns hits", "line")
    assert read.headers["cmd"] == "app.py"


def test_callgrind_has_lines_counts_and_calls(stats: Stats) -> None:
    check_callgrind(stats)
    assert any(call.inclusive for one in stats.values() for call in one.lines.callees)


def test_callgrind_keeps_odd_names_on_their_line(hostile: Stats) -> None:
    check_callgrind(hostile)


# ---- pstats -------------------------------------------------------------------------------------


def read_pstats(stats: Stats, folder: Path) -> pstats.Stats:
    (folder / "x.pstats").write_bytes(render_pstats(stats))
    return pstats.Stats(str(folder / "x.pstats"))


def test_pstats_has_the_calls_and_times_of_functions(stats: Stats, tmp_path: Path) -> None:
    read = read_pstats(stats, tmp_path).stats  # type: ignore[attr-defined]
    ran = {key: one for key, one in stats.items() if one.lines.calls or one.lines.hits}
    assert set(read) == {key[:3] for key in ran}
    for key, one in ran.items():
        outer, calls, own, inclusive, callers = read[key[0], key[1], key[2]]
        inner = sum(call.calls for call in one.lines.callers if call.other == key)
        assert (outer, calls) == (max(0, one.lines.calls - inner), one.lines.calls)
        assert own == pytest.approx(one.exclusive / 1e9)
        assert inclusive == pytest.approx(one.lines.total / 1e9)
        expected: Counter[tuple[str, int, str]] = Counter()
        times: Counter[tuple[str, int, str]] = Counter()
        for call in one.lines.callers:
            if call.other:
                expected[call.other[:3]] += call.calls
                times[call.other[:3]] += call.inclusive
        assert {caller: values[0] for caller, values in callers.items()} == dict(expected)
        for caller, (_, _, _, time) in callers.items():
            assert time == pytest.approx(times[caller] / 1e9)


def test_pstats_prints_what_cprofile_would(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = LogWriter(content=2)
    main, fib = log.code("main", "app.py", 1), log.code("fib", "app.py", 5)
    log.lines(
        function_record(main, 0, 1, 3_000_000_000, 1_000_000_000),
        function_record(fib, 0, 10, 2_000_000_000, 2_000_000_000),
        line_record(main, 2, 1, 3_000_000_000, 1_000_000_000),
        line_record(fib, 6, 10, 2_000_000_000, 2_000_000_000),
        call_record(0, 0, main, 1, 3_000_000_000),
        call_record(main, 2, fib, 4, 2_000_000_000),
        call_record(fib, 6, fib, 6, 1_000_000_000),
    )
    log.end()
    (tmp_path / "r").write_bytes(log.data())
    read = read_pstats(function_stats([load_profile(str(tmp_path / "r"))]), tmp_path)
    read.sort_stats("cumulative").print_stats()
    out = capsys.readouterr().out
    assert "11 function calls (5 primitive calls) in 3.000 seconds" in out
    rows = re.findall(r"^ +([\d/]+ .*)$", out, re.M)
    assert [row.split() for row in rows[-2:]] == [
        ["1", "1.000", "1.000", "3.000", "3.000", "app.py:1(main)"],
        ["10/4", "2.000", "0.200", "2.000", "0.500", "app.py:5(fib)"],
    ]


def test_pstats_adds_up_with_its_own_add(stats: Stats, tmp_path: Path) -> None:
    one = read_pstats(stats, tmp_path)
    calls = one.total_calls  # type: ignore[attr-defined]
    one.add(str(tmp_path / "x.pstats"))
    assert one.total_calls == 2 * calls  # type: ignore[attr-defined]


def test_pstats_takes_odd_names(hostile: Stats, tmp_path: Path) -> None:
    read = read_pstats(hostile, tmp_path)
    assert {label[2] for label in read.stats} == set(HOSTILE)  # type: ignore[attr-defined]


# ---- stacks -------------------------------------------------------------------------------------


def check_collapsed(stats: Stats) -> None:
    text = render_collapsed(stats)
    found: Counter[str] = Counter()
    for row in text.splitlines():
        stack = re.fullmatch(r"(.+) (\d+)", row)
        assert stack is not None, row
        found[unquote(stack[1].split(";")[-1])] += int(stack[2])
    wanted: Counter[str] = Counter()
    for (file, _, name, _), line, own, _ in lines_of(stats):
        wanted[shown(f"{name} ({file}:{line})")] += own
    assert found == +wanted
    assert text.splitlines() == sorted(text.splitlines())


def test_collapsed_stacks_have_the_times_of_lines(stats: Stats) -> None:
    check_collapsed(stats)


def test_collapsed_stacks_keep_odd_names_together(hostile: Stats) -> None:
    check_collapsed(hostile)
    deepest = max(render_collapsed(hostile).splitlines(), key=lambda row: row.count(";"))
    assert deepest.count(";") == len(HOSTILE) - 1


def test_collapsed_stacks_by_function(stats: Stats) -> None:
    by_function: Counter[str] = Counter()
    for row in render_collapsed(stats, by_function=True).splitlines():
        stack, _, time = row.rpartition(" ")
        by_function[stack.split(";")[-1]] += int(time)
    wanted: Counter[str] = Counter()
    for (file, first_line, name, _), _, own, _ in lines_of(stats):
        wanted[f"{name} ({file}:{first_line})"] += own
    assert by_function == +wanted


def check_speedscope(stats: Stats, *, by_function: bool) -> None:
    """Check the schema, and what an importer checks besides."""
    text = render_speedscope(stats, SpeedscopeOptions("app.py", by_function=by_function))
    read = json.loads(text)
    allowed = {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"}
    assert set(read) == allowed
    assert read["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert re.fullmatch(r"proftrace@\S+", read["exporter"])
    frames = read["shared"]["frames"]
    for frame in frames:
        assert set(frame) <= {"name", "file", "line", "col"}
        assert isinstance(frame["name"], str)
        assert isinstance(frame["line"], int)
    (profile,) = read["profiles"]
    assert set(profile) == {
        "type", "name", "unit", "startValue", "endValue", "samples", "weights"
    }  # fmt: skip
    assert (profile["type"], profile["unit"]) == ("sampled", "nanoseconds")
    assert len(profile["samples"]) == len(profile["weights"])
    assert all(0 <= number < len(frames) for stack in profile["samples"] for number in stack)
    assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
    found: Counter[tuple[str, str, int]] = Counter()
    for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
        leaf = frames[stack[-1]]
        found[leaf["name"], leaf["file"], leaf["line"]] += weight
    wanted: Counter[tuple[str, str, int]] = Counter()
    for (file, first_line, name, _), line, own, _ in lines_of(stats):
        label = (name, file, first_line) if by_function else (f"{name}:{line}", file, line)
        wanted[shown(label[0]), shown(label[1]), label[2]] += own
    assert found == +wanted


@pytest.mark.parametrize("by_function", [False, True], ids=["line", "function"])
def test_speedscope_is_valid_and_has_the_times(stats: Stats, *, by_function: bool) -> None:
    check_speedscope(stats, by_function=by_function)


def test_speedscope_takes_odd_names(hostile: Stats) -> None:
    check_speedscope(hostile, by_function=False)


# ---- nothing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "check",
    [check_callgrind, check_collapsed, lambda stats: check_speedscope(stats, by_function=False)],
)
def test_an_empty_result_is_a_valid_file(check: Callable[[Stats], None]) -> None:
    check(empty())


def test_empty_pstats_can_be_loaded_by_marshal() -> None:
    import marshal

    assert marshal.loads(render_pstats(empty())) == {}
