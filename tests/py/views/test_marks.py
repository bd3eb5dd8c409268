"""What was live at the program's marks, and what grew between them."""

from __future__ import annotations

import json
from pathlib import Path

from log_writer import END_OF_SCRIPT, FREE, MALLOC, MARK, Event, LogWriter
from proftrace.model.load import load_profile
from proftrace.model.profile import Profile
from proftrace.render.stats import StatsOptions, render_stats
from proftrace.views.marks import Growth, Mark, marks_of

USER = 3


def marked(path: Path) -> Profile:
    log = LogWriter()
    log.node(0, log.code("f", "a.py", 1))
    log.node(0, log.code("g", "a.py", 9))
    one, two, odd = log.string("one"), log.string("two"), log.string("\x1b[1m odd")
    log.events(
        0,
        [
            Event(MALLOC, 0x1000, 10, 1),
            Event(MALLOC, 0x2000, 5, 2),
            Event(MARK, USER, one),
            Event(FREE, 0x1000),
            Event(MALLOC, 0x3000, 30, 1),
            Event(MALLOC, 0x4000, 6, 2),
            Event(MARK, USER, two),
            Event(FREE, 0x2000),
            Event(MARK, USER, odd),
            Event(MARK, END_OF_SCRIPT, 0),
        ],
    )
    log.end()
    path.write_bytes(log.data())
    return load_profile(str(path))


def test_growth_is_against_the_mark_before_and_the_largest_comes_first(tmp_path: Path) -> None:
    profile = marked(tmp_path / "capture.bin")
    f, g = "f:a.py:0", "g:a.py:0"  # the code of these logs has no lines
    assert marks_of(profile) == [
        Mark("one", 15, [Growth(f, 10), Growth(g, 5)]),
        Mark("two", 41, [Growth(f, 20), Growth(g, 6)]),
        Mark("\x1b[1m odd", 36, []),
    ]


def test_statistics_list_the_marks(tmp_path: Path) -> None:
    profile = marked(tmp_path / "capture.bin")
    text = render_stats(profile, StatsOptions())
    section = text.partition("Marks of the program:\n")[2].partition("\n\n")[0]
    lines = [line.split() for line in section.splitlines()]
    assert [line[0] for line in lines] == ["one:", "+", "+", "two:", "+", "+", "\\x1b[1m"]
    assert "\x1b" not in text
    data = json.loads(render_stats(profile, StatsOptions(json=True)))
    assert [mark["live_bytes"] for mark in data["marks"]] == [15, 41, 36]
    assert data["marks"][1]["grown"][0] == {"location": "f:a.py:0", "size": 20}


def test_a_program_without_marks_has_no_such_section(tmp_path: Path) -> None:
    log = LogWriter()
    log.node(0, log.code("f", "a.py", 1))
    log.events(0, [Event(MALLOC, 0x1000, 10, 1)])
    log.end()
    (tmp_path / "capture.bin").write_bytes(log.data())
    text = render_stats(load_profile(str(tmp_path / "capture.bin")), StatsOptions())
    assert "Marks" not in text
