"""Every byte of a capture can be checked by a script."""

from __future__ import annotations

import csv
import io
from urllib.parse import unquote

import pytest

from helpers import ProfileBuilder, profile_from_text
from proftrace.render.csv import CsvOptions, csv_pieces, render_csv
from proftrace.views.selection import Selection

TEXT = """
main:9;f@pkg/a.py:3 100 blocks=2
main:9;f@pkg/a.py:3 11 allocator=10 tid=77 thread=worker leaked
main:9;g@pkg/a.py:5 5 gone
- 0
"""


def rows(text: str, selection: Selection) -> list[dict[str, str]]:
    out = render_csv(profile_from_text(text), CsvOptions(selection))
    assert out.splitlines()[0] == "allocator,num_allocations,size,tid,thread_name,stack_trace"
    return list(csv.DictReader(io.StringIO(out)))


def test_the_columns_are_memrays() -> None:
    first, second, third = rows(TEXT, Selection.PEAK)
    assert first == {
        "allocator": "MALLOC", "num_allocations": "2", "size": "100", "tid": "1",
        "thread_name": "MainThread", "stack_trace": "f;pkg/a.py;3|main;app.py;9",
    }  # fmt: skip
    assert second["allocator"] == "MMAP"
    assert (second["tid"], second["thread_name"]) == ("77", "worker")
    assert (third["size"], third["num_allocations"], third["stack_trace"]) == ("0", "1", "")


@pytest.mark.parametrize(
    ("selection", "sizes"),
    [
        (Selection.PEAK, ["100", "11", "0"]),
        (Selection.LEAKS, ["11"]),
        (Selection.ALL, ["100", "11", "5", "0"]),
    ],
)
def test_rows_without_a_selected_block_are_left_out(selection: Selection, sizes: list[str]) -> None:
    assert [row["size"] for row in rows(TEXT, selection)] == sizes


def test_the_table_is_made_row_by_row() -> None:
    profile = profile_from_text(TEXT)
    pieces = list(csv_pieces(profile, CsvOptions(Selection.ALL)))
    assert [piece.count("\n") for piece in pieces if piece] == [2, 1, 1, 1]  # a header first
    assert "".join(pieces) == render_csv(profile, CsvOptions(Selection.ALL))


@pytest.mark.parametrize("name", ["a;b", "a|b", "x;1|y;z-py;2", "100%", "%3B", ";", "||", "%"])
def test_separators_in_names_can_be_told_from_those_of_the_stack(name: str) -> None:
    builder = ProfileBuilder()
    frames = [builder.frame("main", "app.py", 1), builder.frame(name, f"dir/{name}", 7)]
    builder.add(builder.stack(frames), 10)
    out = render_csv(builder.build(), CsvOptions(Selection.PEAK))
    (row,) = csv.DictReader(io.StringIO(out))
    stack = [
        [unquote(field) for field in frame.split(";")] for frame in row["stack_trace"].split("|")
    ]
    assert stack == [[name, f"dir/{name}", "7"], ["main", "app.py", "1"]]


def test_names_may_hold_anything() -> None:
    (row,) = rows('a","b\x1b@x\u202e.py:1 1 thread=w\t1', Selection.PEAK)
    assert row["stack_trace"] == 'a","b\\x1b;x\\u202e.py;1'
    assert row["thread_name"] == "w\\t1"
