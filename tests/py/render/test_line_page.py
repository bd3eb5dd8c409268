"""The page of `lprof html`: that it stands alone, what it says, and how lines are coded in it."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from line_logs import code_of, functions_of, random_line_log, write_line_log
from proftrace.model.load import load_profile
from proftrace.render.line_codec import encode_lines
from proftrace.render.line_page import LinePageOptions, render_line_page
from proftrace.units import printable
from proftrace.views.line_stats import FunctionStats, function_stats
from proftrace.views.line_table import FunctionKey

type Stats = dict[FunctionKey, FunctionStats]

NESTED = """\
def outer(a):
    def inner(b):
        return b
    return [inner(x) for x in a]


def other():
\tpass  # \x7f and \u202e
"""


def stats_of(path: Path) -> Stats:
    return function_stats([load_profile(str(path))])


def page_of(path: Path, options: LinePageOptions | None = None) -> str:
    profile = load_profile(str(path))
    return render_line_page(function_stats([profile]), [profile], options)


def decode(text: str) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """Return header and columns, read from the description and not with our own reader."""
    payload = zlib.decompress(base64.b64decode(text), wbits=-15)
    size = int.from_bytes(payload[:4], "little")
    header = json.loads(payload[4 : 4 + size])
    columns, at = {}, 4 + size
    for name, length in header["columns"]:
        values, value, shift = [], 0, 0
        for byte in payload[at : at + length]:
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                values.append(value)
                value = shift = 0
        columns[name] = values
        at += length
    assert at == len(payload)
    return header, columns


@pytest.mark.parametrize("seed", range(1, 6))
def test_what_was_coded_is_what_the_model_holds(tmp_path: Path, seed: int) -> None:
    stats = stats_of(random_line_log(tmp_path / "r", seed))
    header, columns = decode(encode_lines(stats))
    strings = header["strings"]
    row = 0
    buckets_at = [0, *accumulate(columns["l_buckets"])]
    for index, one in enumerate(stats.values()):
        section = one.lines
        assert strings[columns["name"][index]] == printable(section.name)
        assert strings[columns["file"][index]] == printable(section.file)
        assert columns["total"][index] == section.total
        assert columns["self_error"][index] == one.exclusive_error
        text = columns["text"][index]
        if section.source is None:
            assert text == 0
        else:
            lines = header["texts"][text - 1].split("\n")
            start = section.first_line - columns["text_line"][text - 1]
            assert lines[start : start + columns["length"][index]] == list(section.source)
        number = 0
        for line, values in section.lines.items():
            number += columns["l_step"][row]
            assert number == line
            assert columns["l_hits"][row] == values.hits
            assert columns["l_total"][row] == values.inclusive
            assert columns["l_self"][row] == values.exclusive
            assert columns["l_await"][row] == values.suspended
            found = columns["buckets"][buckets_at[row] : buckets_at[row + 1]]
            assert tuple(found) == values.histogram
            row += 1
    assert row == len(columns["l_hits"])
    n_calls = sum(len(one.lines.callers) for one in stats.values())
    assert n_calls == len(columns["c_callee"]) > 0


def test_a_line_is_in_the_page_once(tmp_path: Path) -> None:
    codes = {code: [(code.co_firstlineno, 1, 1)] for code in functions_of(NESTED, "f.py")}
    stats = stats_of(write_line_log(tmp_path / "r", "f.py", NESTED, codes))
    header, columns = decode(encode_lines(stats))
    # The generator of the list and `inner` stand inside `outer`: one run; `other` is another.
    assert header["texts"] == [
        "\n".join(NESTED.split("\n")[:4]),
        "def other():\n\tpass  # \\x7f and \\u202e",
    ]
    assert columns["text_line"] == [1, 7]
    names = [header["strings"][name] for name in columns["name"]]
    runs = dict(zip(names, columns["text"], strict=True))
    assert runs.pop("other") == 2
    assert set(runs.values()) == {1}


def test_only_the_text_of_profiled_functions_is_in_the_page(tmp_path: Path) -> None:
    path = write_line_log(
        tmp_path / "r", "f.py", NESTED, {code_of(NESTED, "f.py", "other"): [(8, 1, 1)]}
    )
    assert decode(encode_lines(stats_of(path)))[0]["texts"] == [
        "def other():\n\tpass  # \\x7f and \\u202e"
    ]
    assert decode(encode_lines(stats_of(path), source=False))[0]["texts"] == []


def test_the_page_stands_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "s3cr3t-value")
    html = page_of(random_line_log(tmp_path / "r", 1))
    assert not re.search(r"https?://(?!www\.w3\.org)", html)
    assert not re.search(r"<(?:img|iframe|object|link(?! rel=\"icon\" href=\"data:,\"))", html)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    assert "s3cr3t-value" not in html
    assert "{{" not in html
    assert html.count("<script") == 2


def test_an_empty_page_is_small(tmp_path: Path) -> None:
    html = page_of(write_line_log(tmp_path / "r", "f.py", "", {}))
    assert len(html.encode()) < 70_000


def test_a_line_of_source_costs_few_bytes(tmp_path: Path) -> None:
    body = "\n".join(f"    value = compute(value, {n}) + lookup['key{n}']" for n in range(10_000))
    text = f"def f(value):\n{body}\n"
    code = code_of(text, "f.py", "f")
    timings = [(n, n * 37 % 1000, n * 7919 % 10**7) for n in range(2, 10_002)]
    small = page_of(write_line_log(tmp_path / "s", "f.py", text, {}))
    html = page_of(write_line_log(tmp_path / "r", "f.py", text, {code: timings}))
    assert (len(html) - len(small)) / 10_000 < 25


@pytest.mark.parametrize("n_runs", [1, 2])
def test_the_head_says_what_was_run(tmp_path: Path, n_runs: int) -> None:
    paths = [random_line_log(tmp_path / str(n), n) for n in range(1, n_runs + 1)]
    profiles = [replace(load_profile(str(path)), warnings=["<cut>"]) for path in paths]
    html = render_line_page(function_stats(profiles), profiles)
    title = "run1.py" if n_runs == 1 else "2 programs"
    assert f"<title>Time by line - {title}</title>" in html
    facts = re.findall("<li>(.*?)</li>", html.partition('id="facts"')[2].partition("</ul>")[0])
    assert ("2 recordings" in facts) == (n_runs == 2)
    assert "recorded 2023-11-14 22:13:20 UTC" in facts
    assert "Python 3.13.0" in facts
    assert html.count("<li>&lt;cut&gt;</li>") == 1


def summary_rows(html: str) -> list[str]:
    part = html.partition('<section id="summary"')[2].partition("</section>")[0]
    return re.findall("<tr><td.*?</tr>", part)


def test_the_summary_has_the_hottest_functions(tmp_path: Path) -> None:
    path = random_line_log(tmp_path / "r", 3, n_functions=30)
    stats: Mapping[FunctionKey, FunctionStats] = stats_of(path)
    ran = [one for one in stats.values() if one.lines.hits]
    hottest = sorted(ran, key=lambda one: -one.lines.total)[:30]
    rows = summary_rows(page_of(path))
    assert len(rows) == 31
    for row, one in zip(rows, hottest, strict=False):
        assert f"<bdi>{one.lines.name}</bdi>" in row
    assert f"{len(ran) - 30} more functions" in rows[-1]
