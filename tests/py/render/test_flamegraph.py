"""The flame graph page: that it stands alone, what it says, and how the tree is coded in it."""

from __future__ import annotations

import base64
import json
import re
import zlib
from array import array
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import ProfileBuilder, profile_from_text
from proftrace.model.profile import EXCLUSIVE, HITS, UNNAMED, Profile
from proftrace.render.flamegraph import FlamegraphOptions, Subject, render, render_subject
from proftrace.render.tree_codec import encode_tree
from proftrace.units import format_share, format_value, printable
from proftrace.views.call_tree import CallTree, Place, build_call_tree

UNITS = json.loads((Path(__file__).parents[2] / "data" / "units.json").read_text())

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "\"'&<>`${x}",
    "{{data}}{{title}}",
    "nul\0and\x1b[31m",
    "\u202egnp.exe",
    "half\ud800",
    "שלום",
    "\\u0041",
    "x" * 10_000,
    "",
]


class Page(HTMLParser):
    """The elements of a page, and the text of each by id and of all table rows."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[tuple[str, str | None]] = []
        self.texts: dict[str | None, str] = {}
        self.rows: list[list[str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in {"meta", "link", "input", "br"}:
            self.open.append((tag, dict(attrs).get("id")))
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for key in {*(id_ for _, id_ in self.open), self.open[-1][0] if self.open else None}:
            self.texts[key] = self.texts.get(key, "") + data
        if any(tag in {"td", "th"} for tag, _ in self.open):
            self.rows[-1][-1] += data


def read_varints(data: bytes) -> list[int]:
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    return values


def decode(text: str) -> tuple[dict[str, object], dict[str, list[int]]]:
    """Read what encode_tree wrote, by its description."""
    payload = zlib.decompress(base64.b64decode(text), wbits=-15)
    size = int.from_bytes(payload[:4], "little")
    header = json.loads(payload[4 : 4 + size])
    offset, columns = 4 + size, {}
    for name, length in header["columns"]:
        columns[name] = read_varints(payload[offset : offset + length])
        offset += length
    assert offset == len(payload)
    return header, columns


def tree_of(profile: Profile) -> CallTree:
    options = FlamegraphOptions()
    return build_call_tree(profile, (options.subject.weight, options.subject.count))


def hostile_profile() -> Profile:
    builder = ProfileBuilder()
    for name in HOSTILE:
        builder.add(builder.stack([builder.frame(name, f"/tmp/{name}.py", 3)]), 100)
    return builder.build(warnings=tuple(HOSTILE))


@pytest.mark.parametrize(("value", "unit", "text"), UNITS["values"])
def test_values_are_written_as_in_the_table_shared_with_the_page(
    value: int, unit: str, text: str
) -> None:
    assert format_value(value, unit) == text


@pytest.mark.parametrize(("part", "whole", "text"), UNITS["shares"])
def test_shares_are_written_as_in_the_table_shared_with_the_page(
    part: int, whole: int, text: str
) -> None:
    assert format_share(part, whole) == text


def test_the_page_names_no_other_file_or_host() -> None:
    page = Page(render(hostile_profile()))
    assert not [tag for tag, _ in page.elements if tag in {"img", "iframe", "object", "embed"}]
    links = [attrs[key] for _, attrs in page.elements for key in ("src", "href") if key in attrs]
    assert links == ["data:,"]
    assert not re.search(r"https?://|@import|url\(|\bfetch\(|XMLHttpRequest", render(tiny()))


def test_the_page_forbids_itself_everything_but_its_own_script_and_style() -> None:
    page = Page(render(tiny()))
    policy = [attrs for tag, attrs in page.elements if tag == "meta" and "http-equiv" in attrs]
    assert policy == [
        {
            "http-equiv": "Content-Security-Policy",
            "content": "default-src 'none'; script-src 'unsafe-inline' blob:; "
            "style-src 'unsafe-inline'; img-src data: blob:; worker-src blob:",
        }
    ]


def tiny() -> Profile:
    return profile_from_text("main;load 3000 leaked\nmain;parse 1000 blocks=2")


def test_the_page_says_what_it_shows_of_which_run() -> None:
    meta = {"program": "/home/me/shop.py", "python": "3.14.0rc1"}
    page = Page(render(replace(tiny(), meta=meta)))
    assert page.texts["title"] == "Peak memory - shop.py"
    assert (page.texts["subject"], page.texts["program"]) == ("Peak memory", "shop.py")
    facts = page.texts["facts"]
    for fact in ("3.9 KiB", "3 blocks", "2023-11-14 22:13:20 UTC", "Python 3.14.0rc1"):
        assert fact in facts


@pytest.mark.parametrize(
    ("program", "name"),
    [("a/b/app.py", "app.py"), ("json.tool", "json.tool"), ("-c", "code of -c"), ("", "unnamed")],
)
def test_the_program_has_a_name(program: str, name: str) -> None:
    page = Page(render(replace(tiny(), meta={"program": program})))
    assert page.texts["program"].startswith(name)


def test_one_block_is_not_called_blocks_and_the_header_knows_the_python() -> None:
    facts = Page(render(profile_from_text("main 5"))).texts["facts"]
    assert facts == "5 B1 block1 allocation in allrecorded 2023-11-14 22:13:20 UTCPython 3.13.0"


def test_leaks_are_what_is_live_at_the_end() -> None:
    page = Page(render(tiny(), FlamegraphOptions(leaks=True)))
    assert page.texts["subject"] == "Memory live at the end"
    assert page.rows[1] == ["load", "app.py:1", "2.9 KiB", "100.0", "2.9 KiB", "100.0", "1"]


def test_any_metric_can_be_drawn() -> None:
    profile = profile_from_text("main;f 3\nmain;g 4")
    values = {EXCLUSIVE.name: array("q", [12_345_678, 2_000]), HITS.name: array("q", [1000, 1])}
    profile = replace(profile, samples=replace(profile.samples, values=values))
    subject = Subject("Time", EXCLUSIVE, HITS, "hits", "the time in it")
    page = Page(render_subject(profile, subject))
    assert page.texts["subject"] == "Time"
    assert page.texts["facts"].startswith("12.3 ms1,001 hits")
    assert [row[:3] for row in page.rows if len(row) == 7][1:] == [
        ["f", "app.py:1", "12.3 ms"],
        ["g", "app.py:1", "2.00 us"],
    ]
    assert "A frame is as wide as the time in it." in page.texts["keys"]


def test_notes_and_warnings_are_shown() -> None:
    profile = replace(tiny(), warnings=("the file is cut",))
    page = Page(render(profile, FlamegraphOptions(notes=("arenas <count>",))))
    assert page.texts["notes"] == "arenas <count>the file is cut"


def test_the_summary_has_the_largest_places_and_says_what_it_leaves_out() -> None:
    text = "\n".join(f"main;f{k:02} {1000 + k}" for k in range(40))
    rows = Page(render(profile_from_text(text))).rows
    summary = [row for row in rows if len(row) == 7][1:]
    assert [row[0] for row in summary] == [f"f{k}" for k in range(39, 9, -1)] + [
        "10 more locations"
    ]
    assert summary[-1][2] == format_value(sum(range(1000, 1010)), "bytes")


def test_arguments_and_environment_of_the_program_stay_out() -> None:
    meta = {"program": "app.py", "argv": '["app.py", "--password=hunter2"]', "cwd": "/secret"}
    html = render(replace(tiny(), meta=meta))
    assert "hunter2" not in html
    assert "/secret" not in html


def test_hostile_names_are_text() -> None:
    html = render(hostile_profile())
    html.encode()
    page = Page(html)
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert HOSTILE[0] in page.texts["notes"]
    names = [row[0] for row in page.rows]
    for name in (*HOSTILE[:4], "nul\\x00and\\x1b[31m", "\\u202egnp.exe", "half\\ud800", "שלום"):
        assert name in names
    assert not re.search("[\x00-\x08\x0e-\x1f\u202e]", html)
    _, columns = decode(page.texts["data"])
    assert len(columns["place"]) == len(HOSTILE) + 1


@given(st.text(st.characters(), max_size=40))
def test_any_name_is_text_wherever_it_stands(name: str) -> None:
    builder = ProfileBuilder()
    builder.add(builder.stack([builder.frame(name, name, 1)]), 1)
    profile = replace(builder.build(warnings=(name,)), meta={"program": name, "python": name})
    html = render(profile, FlamegraphOptions(notes=(name,)))
    html.encode()
    page = Page(html)
    plain = replace(profile_from_text("main 1"), warnings=("a",))
    expected = Page(render(plain, FlamegraphOptions(notes=("b",)))).elements
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in expected]
    assert page.rows[1][0] == printable(name or UNNAMED)


def test_texts_without_end_are_cut() -> None:
    endless = "x" * 100_000
    profile = replace(tiny(), meta={"program": endless}, warnings=(endless,))
    assert len(render(profile)) < 70_000


@pytest.mark.parametrize("text", ["", "main 1", "- 5"], ids=["none", "one", "no frame"])
def test_small_profiles_make_a_page(text: str) -> None:
    html = render(profile_from_text(text))
    assert Page(html).texts["title"] == "Peak memory - test.py"
    assert len(html) < 70_000


def test_the_same_profile_makes_the_same_page() -> None:
    assert render(hostile_profile()) == render(hostile_profile())


def test_a_large_page_stays_small() -> None:
    """6 bytes a node and 60 kB for the viewer are the budget."""
    builder = ProfileBuilder()
    frames = [builder.frame(f"function_{k}", f"/src/m{k % 50}.py", k) for k in range(500)]
    for k in range(20_000):
        stack = [frames[(k * step) % 500] for step in (1, 3, 7, 11, 17)]
        builder.add(builder.stack(stack), 100 + k * k % 10_007, blocks=k % 9 + 1)
    profile = builder.build()
    nodes = len(tree_of(profile))
    assert nodes > 1500
    assert len(render(profile)) < 60_000 + 6 * nodes + 20_000


SAMPLES = st.lists(
    st.tuples(st.lists(st.sampled_from("abcd"), max_size=6), st.integers(0, 2**50)),
    max_size=15,
)


@given(SAMPLES)
def test_what_is_encoded_is_the_tree(samples: list[tuple[list[str], int]]) -> None:
    builder = ProfileBuilder()
    for names, size in samples:
        frames = [builder.frame(name, f"{name}.py", ord(name)) for name in names]
        builder.add(builder.stack(frames), size)
    tree = tree_of(builder.build())
    header, columns = decode(encode_tree(tree))
    assert (header["v"], header["n"]) == (1, len(tree))
    depths = [0]
    for pops in columns["pops"]:
        depths.append(depths[-1] + 1 - pops)
    assert depths == list(tree.depth)
    strings = header["strings"]
    assert isinstance(strings, list)
    places = [
        Place(strings[name], strings[file], line)
        for name, file, line in zip(
            columns["place_name"], columns["place_file"], columns["place_line"], strict=True
        )
    ]
    assert [places[k] for k in columns["place"]] == [tree.places[k] for k in tree.place]
    for number, own in enumerate(tree.own):
        values = [0] * len(tree)
        node = 0
        for step, value in zip(columns["own_at"], columns[f"own_{number}"], strict=True):
            node += step
            values[node] = value
        assert values == list(own)
