"""`lprof show --stats` and `--format json`: everything that a result knows, in words or keys."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from line_profiler.line_profiler import LineStats

from line_logs import code_of
from log_writer import (
    LogWriter,
    call_record,
    function_details,
    function_record,
    line_details,
    line_record,
)
from proftrace.cli import lprof
from proftrace.render.line_json import SCHEMA_VERSION

TEXT = "def f(a):\n    b = g(a)\n    return b\n\n\ndef g(a):\n    return a\n\n\ndef idle(): pass\n"
TRACE_FUNCTION = 6


def write_result(path: Path, *, reason: int = 0, hits: int = 4) -> Path:
    """Write a result in which f (cold, then hot) calls g (cold) from line 2."""
    log = LogWriter(content=2)
    log.meta("program", "app.py")
    log.meta("sampling", '{"mechanism": "task clock", "samples": 1234, "discarded": 5}')
    log.source(1, "f.py", TEXT)
    numbers = {
        name: log.code(name, "f.py", code_of(TEXT, "f.py", name).co_firstlineno)
        for name in ("f", "g", "idle")
    }
    f, g, idle = numbers["f"], numbers["g"], numbers["idle"]
    log.lines(
        function_record(
            f, 1, 4, 9_000, 5_000, details=function_details(0, 1234, 5, 7, 300), regime=1
        ),
        line_record(
            f,
            2,
            hits,
            8_000,
            4_000,
            details=line_details(1_000, 3_000, [0] * 10 + [1, 3], 1000, 200),
        ),
        line_record(f, 3, hits, 1_000, 1_000),
        function_record(g, 1, hits, 4_000, 4_000, details=function_details(reason)),
        line_record(g, 7, hits, 4_000, 4_000, details=line_details(900, 1_100, [4])),
        function_record(idle, 1, 0, 0, 0),
        call_record(0, 0, f, 4, 9_000),
        call_record(f, 2, g, hits, 4_000),
    )
    log.end()
    path.write_bytes(log.data())
    return path


@pytest.fixture
def result(tmp_path: Path) -> Path:
    return write_result(tmp_path / "r.lprof")


def show(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    assert lprof.main(["show", *words]) == 0
    out, err = capsys.readouterr()
    return out, err


def test_stats_name_regime_errors_extremes_and_calls(
    result: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = show(capsys, "--stats", str(result))
    rows = out.splitlines()
    assert "sampling: task clock, 1,234 samples, 5 discarded" in rows
    assert "  4 calls, total 9.00 us ± 300 ns, self 5.00 us ± 300 ns, 7 suspensions" in rows
    assert (
        "  timed by the clock and by samples: 1,234 samples, "
        "5 more of the measuring itself left out" in rows
    )
    (row,) = [row for row in rows if row.endswith("    b = g(a)")]
    numbers = "2 4 8.00 us 4.00 us 200 ns 1.00 us 3.00 us 1,000 1.02 us ▃█ 4.10 us"
    assert " ".join(row.split()) == f"{numbers} b = g(a)"
    assert "    4 x  9.00 us  code that is not profiled" in rows
    assert "    4 x  4.00 us  g  f.py:6  from line 2" in rows
    assert "    4 x  4.00 us  f  f.py:2  b = g(a)" in rows
    assert rows[-1] == "never ran: idle  f.py:10"
    assert err == ""


def test_json_has_the_same_facts(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = show(capsys, "--format", "json", str(result))
    answer = json.loads(out)
    assert answer["schema_version"] == 1
    assert answer["runs"][0]["meta"]["sampling"]["samples"] == 1234
    f, g, idle = answer["functions"]
    assert (f["regimes"], g["regimes"], idle["calls"]) == (["clock", "samples"], ["clock"], 0)
    assert (f["exclusive_error_ns"], f["inclusive_error_ns"], f["suspensions"]) == (300, 300, 7)
    line = f["lines"][0]
    assert (line["hits"], line["min_ns"], line["max_ns"]) == (4, 1_000, 3_000)
    assert line["histogram_log2_ns"] == [0] * 10 + [1, 3]
    assert f["lines"][1]["min_ns"] is None
    assert f["callers"] == [
        {
            "function": None,
            "name": None,
            "file": None,
            "line": 0,
            "calls": 4,
            "calls_estimated": False,
            "inclusive_ns": 9_000,
            "exclusive_ns": 9_000,
        }
    ]
    assert [call["function"] for call in f["callees"]] == [1]
    assert [call["function"] for call in g["callers"]] == [0]


SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "lprof-show.schema.json").read_text())


def closed(schema: object) -> object:
    """Return a schema that admits no key but those it describes."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    whole = {key: closed(value) for key, value in schema.items()}
    return {**whole, "additionalProperties": False} if "properties" in schema else whole


@pytest.mark.parametrize("options", [[], ["--statements"], ["--raw"], ["-z", "--top=1"]])
def test_json_is_what_its_schema_says_and_nothing_else(
    result: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    out, _ = show(capsys, "--format=json", *options, str(result))
    jsonschema.validate(json.loads(out), closed(SCHEMA), jsonschema.Draft202012Validator)


def test_the_schema_is_of_this_version_and_describes_every_key() -> None:
    assert SCHEMA["properties"]["schema_version"]["const"] == SCHEMA_VERSION
    for one in (SCHEMA, *SCHEMA["$defs"].values()):
        assert set(one.get("required", ())) == set(one.get("properties", ()))


def test_json_of_line_profiler_follows_the_schema_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stats = LineStats({("f.py", 1, "f"): [(2, 1, 3)], ("f.py", 5, "g"): []}, 1e-9)
    stats.to_file(tmp_path / "r.lprof")
    out, _ = show(capsys, "--format=json", str(tmp_path / "r.lprof"))
    jsonschema.validate(json.loads(out), closed(SCHEMA), jsonschema.Draft202012Validator)


def test_json_leaves_out_what_is_not_wanted(
    result: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def functions(*options: str) -> list[dict]:
        return json.loads(show(capsys, "--format=json", *options, str(result))[0])["functions"]

    assert [one["name"] for one in functions()] == ["f", "g", "idle"]
    assert [one["name"] for one in functions("-z")] == ["f", "g"]
    (f,) = functions("--top=1")
    assert (f["name"], f["callees"][0]["function"], f["callees"][0]["name"]) == ("f", None, "g")
    assert [line["line"] for line in functions("--min-pct=50")[0]["lines"]] == [2]


def test_json_is_chosen_by_the_name_of_the_output(
    result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "r.json"
    assert show(capsys, "-o", str(output), str(result)) == ("", "")
    assert json.loads(output.read_text())["schema_version"] == 1
    assert lprof.main(["show", "-o", str(output), str(result)]) == 1
    assert "exists already" in capsys.readouterr().err


def test_several_files_are_added_up(
    result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_result(tmp_path / "other.lprof", hits=6)
    out, _ = show(capsys, "--format=json", str(result), str(other))
    f, g, _ = json.loads(out)["functions"]
    line = f["lines"][0]
    assert (f["calls"], line["hits"], line["min_ns"], line["max_ns"]) == (8, 10, 1_000, 3_000)
    assert line["histogram_log2_ns"] == [0] * 10 + [2, 6]
    assert line["exclusive_error_ns"] == round((200**2 + 200**2) ** 0.5)
    assert g["callers"][0]["calls"] == 10


def test_a_fallback_to_the_clock_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = write_result(tmp_path / "r.lprof", reason=TRACE_FUNCTION)
    _, err = show(capsys, str(result))
    assert err == (
        "lprof: one busy function was timed by the clock, not by samples: "
        "a trace function was set\n"
    )
    out, _ = show(capsys, "--stats", str(result))
    assert "the clock had to do for one busy function: a trace function was set" in out


def test_raw_hits_are_events_and_code_without_events_has_none(
    result: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = show(capsys, "--raw-hits", "--style=classic", str(result))
    assert err == (
        "lprof: no raw hits of one busy function, counted without LINE events; "
        "record with --raw-hits\n"
    )
    rows = {
        int(line[:6]): line[6:16].strip() for line in out.splitlines() if line[:6].strip().isdigit()
    }
    assert rows == {1: "", 2: "", 3: "", 6: "", 7: "4", 10: ""}


def test_a_narrow_terminal_has_two_tables_and_every_number(
    result: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wide, _ = show(capsys, "--stats", str(result))
    monkeypatch.setenv("COLUMNS", "80")
    narrow, _ = show(capsys, "--stats", str(result))
    assert sorted(set(wide.split())) == sorted(set(narrow.split()))
    rows = narrow.splitlines()
    assert max(map(len, rows)) <= 80
    assert "     2  1.02 us ▃█ 4.10 us      b = g(a)" in rows


def test_costs_of_events_are_said_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = LogWriter(content=2)
    log.meta("calibration", '{"ns": {"line, large": 50.2}, "spread": 5.9, "slowness": [1.0, 1.8]}')
    log.meta("sampling", '{"mechanism": "perf event", "samples": 7, "handler_ns": 2100}')
    log.end()
    path = tmp_path / "r.lprof"
    path.write_bytes(log.data())
    out, _ = show(capsys, "--stats", str(path))
    assert "sampling: perf event, 7 samples, 2.10 us for each" in out
    assert (
        "cost of an event: line large 50.2 ns, each give or take 5.9 ns, "
        "the machine 1.0 to 1.8 times as slow as at the start" in out
    )


def test_a_machine_of_even_speed_is_not_mentioned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = LogWriter(content=2)
    log.meta("calibration", '{"spread": 5.9, "slowness": [1.0, 1.0]}')
    log.end()
    path = tmp_path / "r.lprof"
    path.write_bytes(log.data())
    out, _ = show(capsys, "--stats", str(path))
    assert "cost of an event: each give or take 5.9 ns\n" in out


@pytest.mark.parametrize(
    "text", ["{", "[1]", '{"ns": 3, "slowness": 4, "samples": [], "x": "\\u001b"}']
)
def test_nonsense_in_the_facts_of_a_run_is_survived(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = LogWriter(content=2)
    log.meta("calibration", text)
    log.meta("sampling", text)
    log.end()
    path = tmp_path / "r.lprof"
    path.write_bytes(log.data())
    out, _ = show(capsys, "--stats", str(path))
    assert "\x1b" not in out


def test_counts_beyond_all_numbers_are_survived(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = LogWriter(content=2)
    log.source(1, "f.py", TEXT)
    number = log.code("f", "f.py", 1)
    log.lines(
        function_record(number, 1, 1, 9, 9),
        line_record(number, 2, 1, 9, 9, details=line_details(1, 1, [1, (1 << 64) - 1])),
    )
    log.end()
    path = tmp_path / "r.lprof"
    path.write_bytes(log.data())
    out, _ = show(capsys, "--stats", str(path))
    assert "0 ns █ 2 ns" in out


def test_raw_times_may_be_below_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = LogWriter(content=2)
    log.source(1, "f.py", TEXT)
    number = log.code("f", "f.py", 1)
    log.lines(
        function_record(number, 1, 1, 90, 90),
        line_record(number, 2, 1, -7, -7),
        line_record(number, 3, 1, 97, 97),
    )
    log.end()
    path = tmp_path / "r.lprof"
    path.write_bytes(log.data())

    def times(*options: str) -> list[int]:
        out, _ = show(capsys, "--format=json", *options, str(path))
        return [line["inclusive_ns"] for line in json.loads(out)["functions"][0]["lines"]]

    assert times() == [0, 97]
    assert times("--raw") == [-7, 97]
    assert "     2         1           -7" in show(capsys, "--raw", str(path))[0]


def test_counts_that_were_divided_are_marked_in_every_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r"
    log = LogWriter(content=2)
    caller, callee = log.code("caller", "f.py", 1), log.code("callee", "f.py", 9)
    log.lines(
        function_record(caller, 0, 1, 900, 100),
        line_record(caller, 2, 1, 900, 100),
        function_record(callee, 0, 100, 800, 800),
        line_record(callee, 9, 100, 800, 800),
        call_record(caller, 2, callee, 5, 600),
        call_record(caller, 3, callee, 5, 200),
    )
    log.end()
    path.write_bytes(log.data())
    answer = json.loads(show(capsys, "--format", "json", str(path))[0])
    for calls in (answer["functions"][1]["callers"], answer["functions"][0]["callees"]):
        assert [(c["line"], c["calls"], c["calls_estimated"]) for c in calls] == [
            (2, 75, True),
            (3, 25, True),
        ]
    table, _ = show(capsys, "--callers", str(path))
    assert re.findall(r"(\S+) x .*caller  f\.py:(\d)", table) == [("≈75", "2"), ("≈25", "3")]
    markdown, _ = show(capsys, "--callers", "--format", "md", str(path))
    assert "* about 75 times" in markdown and "* about 25 times" in markdown
