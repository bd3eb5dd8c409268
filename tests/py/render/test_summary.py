from __future__ import annotations

from dataclasses import replace

import pytest

from helpers import profile_from_text
from proftrace.render.summary import SummaryOptions, render_summary
from proftrace.render.terminal import Terminal, display_width
from proftrace.views.selection import Selection

PIPE = Terminal(width=10_000)
TEXT = """
main@/home/me/app/run.py:7;load@/home/me/app/io.py:14 9542041 blocks=12000
main@/home/me/app/run.py:7;load@/home/me/app/io.py:14;parse@/home/me/app/io.py:23 522190848
main@/home/me/app/run.py:9;名前@/home/me/アプリ/出力.py:3 1 leaked allocator=10
"""


def summary(terminal: Terminal, **options: object) -> list[str]:
    chosen = SummaryOptions(**options)  # type: ignore[arg-type]
    return render_summary(profile_from_text(TEXT, "run.mt"), chosen, terminal).splitlines()


def test_every_place_is_a_row_of_own_and_total() -> None:
    lines = summary(PIPE)
    assert lines[0] == "memtrace summary run.mt, at the peak"
    assert "peak 507.1 MiB" in lines[1]
    assert "12,002 allocations" in lines[1]
    rows = [line.split() for line in lines[4:]]
    assert rows[0] == [
        "498.0", "MiB", "98.2", "498.0", "MiB", "98.2", "1", "/home/me/app/io.py:23", "parse",
    ]  # fmt: skip
    assert rows[1] == [
        "9.1", "MiB", "1.8", "507.1", "MiB", "100.0", "12,000", "/home/me/app/io.py:14", "load",
    ]  # fmt: skip
    assert [row[-2] for row in rows[2:]] == [
        "/home/me/アプリ/出力.py:3", "/home/me/app/run.py:7", "/home/me/app/run.py:9",
    ]  # fmt: skip


def test_a_file_gets_every_row_whole_and_without_colours() -> None:
    deep = ";".join(f"f{i}@{'d' * 300}/{i}.py:{i}" for i in range(100))
    text = render_summary(profile_from_text(f"{deep} 1"), SummaryOptions(), PIPE)
    assert text.count("d" * 300 + "/") == 100
    assert "\x1b" not in text
    assert "…" not in text


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_terminal_is_not_overrun(width: int) -> None:
    lines = summary(Terminal(width=width, color=False))
    assert max(map(display_width, lines)) <= width
    assert any("io.py:23 parse" in line for line in lines)


@pytest.mark.parametrize(
    ("width", "location"),
    [
        (200, "/home/me/project/src/io.py:23 Reader.parse"),
        (82, "…/src/io.py:23 Reader.parse"),
        (76, "…/src/io.py:23 Reader.parse"),
        (40, "…23 Rea…"),
    ],
)
def test_folders_go_before_names(width: int, location: str) -> None:
    profile = profile_from_text("Reader.parse@/home/me/project/src/io.py:23 1")
    text = render_summary(profile, SummaryOptions(), Terminal(width=width))
    assert text.splitlines()[-1].endswith(f"  {location}")


def test_the_name_is_cut_when_only_the_files_name_is_left() -> None:
    profile = profile_from_text(f"Reader.parse{'_more' * 9}@/home/me/project/src/io.py:23 1")
    text = render_summary(profile, SummaryOptions(), Terminal(width=76))
    assert text.splitlines()[-1].endswith("  io.py:23 Reader.parse_more_more_…")


def test_the_bar_is_for_wide_terminals() -> None:
    assert any("█" in line for line in summary(Terminal(width=120)))
    assert not any("█" in line for line in summary(Terminal(width=60)))
    assert any("#" in line for line in summary(Terminal(width=120, unicode=False)))


def test_rows_that_are_left_out_are_added_up() -> None:
    lines = summary(PIPE, rows=1)
    assert lines[-1] == "  4 more locations, 9.1 MiB (1.8 %); -n 0 shows all"


def test_sorting() -> None:
    def order(sort: str) -> list[str]:
        return [line.split()[-1] for line in summary(PIPE, sort=sort)[4:]]

    assert order("own")[:2] == ["parse", "load"]
    assert order("total")[0] == "load"
    assert order("allocs")[:2] == ["load", "parse"]


def test_functions_instead_of_lines() -> None:
    lines = summary(PIPE, by_line=False)
    assert [line.split()[-1] for line in lines[4:]] == ["parse", "load", "名前", "main"]


def test_leaks_say_what_arenas_are() -> None:
    lines = summary(PIPE, selection=Selection.LEAKS)
    assert lines[0].endswith("live at the end of the script")
    assert any("arenas" in line for line in lines)
    assert not any("arenas" in line for line in summary(PIPE))


def test_a_log_without_the_mark_says_where_leaks_end() -> None:
    profile = profile_from_text(TEXT)
    profile = replace(profile, header={**profile.header, "end_of_script": 0})
    text = render_summary(profile, SummaryOptions(selection=Selection.LEAKS), PIPE)
    assert text.splitlines()[0].endswith("live when the recording ended")


def test_colours_mark_shares() -> None:
    lines = summary(Terminal(width=100, color=True))
    assert any(line.startswith("\x1b[1;31m") and "parse" in line for line in lines)


def test_no_allocations() -> None:
    text = render_summary(profile_from_text(""), SummaryOptions(), PIPE)
    assert "No allocations at the peak." in text
