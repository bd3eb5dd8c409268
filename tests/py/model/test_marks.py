"""What is live at the program's own marks."""

from __future__ import annotations

from pathlib import Path

from log_writer import END_OF_SCRIPT, FREE, MALLOC, MARK, Event, LogWriter
from proftrace.model.load import load_profile
from proftrace.model.profile import Profile

USER = 3


def marked(path: Path, *events: Event | str) -> Profile:
    """Load a log of two nodes; a text is a mark with that label."""
    log = LogWriter()
    log.node(0, log.code("f", "a.py", 1))
    log.node(0, log.code("g", "a.py", 9))
    numbers = {text: log.string(text) for text in events if isinstance(text, str)}
    log.events(
        0, [Event(MARK, USER, numbers[one]) if isinstance(one, str) else one for one in events]
    )
    log.end()
    path.write_bytes(log.data())
    return load_profile(str(path))


def rows(profile: Profile) -> list[tuple[str, str, int, int]]:
    """The label of the mark, the function of the site, bytes and blocks."""
    marks, strings = profile.marks, profile.strings
    found = []
    for mark, sample, size, blocks in zip(
        marks.mark, marks.sample, marks.bytes, marks.blocks, strict=True
    ):
        frame = profile.stacks.frame[profile.samples.stack[sample]]
        name = strings[profile.functions.name[profile.frames.function[frame]]]
        found.append((strings[marks.labels[mark]], name, size, blocks))
    return found


def test_a_site_has_a_row_where_it_changed(tmp_path: Path) -> None:
    profile = marked(
        tmp_path / "capture.bin",
        Event(MALLOC, 0x1000, 10, 1),
        Event(MALLOC, 0x2000, 5, 2),
        "one",
        Event(MALLOC, 0x3000, 20, 1),
        "two",
        Event(FREE, 0x1000),
        Event(FREE, 0x2000),
        "three",
    )
    assert [profile.strings[label] for label in profile.marks.labels] == ["one", "two", "three"]
    assert rows(profile) == [
        ("one", "f", 10, 1),
        ("one", "g", 5, 1),
        ("two", "f", 30, 2),
        ("three", "f", 20, 1),
        ("three", "g", 0, 0),
    ]


def test_what_came_and_went_between_two_marks_has_no_row(tmp_path: Path) -> None:
    profile = marked(
        tmp_path / "capture.bin",
        "one",
        Event(MALLOC, 0x1000, 10, 1),
        Event(FREE, 0x1000),
        "two",
    )
    assert len(profile.marks) == 2
    assert rows(profile) == []


def test_an_equal_amount_in_other_blocks_is_no_change(tmp_path: Path) -> None:
    profile = marked(
        tmp_path / "capture.bin",
        Event(MALLOC, 0x1000, 10, 1),
        "one",
        Event(FREE, 0x1000),
        Event(MALLOC, 0x2000, 10, 1),
        "two",
        Event(FREE, 0x2000),
        "three",
    )
    assert rows(profile) == [("one", "f", 10, 1), ("three", "f", 0, 0)]


def test_the_mark_at_the_end_of_the_script_is_none_of_them(tmp_path: Path) -> None:
    profile = marked(
        tmp_path / "capture.bin", Event(MALLOC, 0x1000, 10, 1), Event(MARK, END_OF_SCRIPT)
    )
    assert len(profile.marks) == 0
    assert rows(profile) == []
