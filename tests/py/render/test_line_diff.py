"""`lprof diff` as text and markdown: what is shown, in which order, and what is left out."""

from __future__ import annotations

import pytest

from proftrace.render.line_diff import DiffOptions, render_diff
from proftrace.render.line_diff_markdown import render_diff_markdown
from proftrace.render.terminal import Terminal
from proftrace.views.line_diff import METRICS, Change, FunctionDiff, LineDiff, ProfileDiff
from proftrace.views.line_matching import LinePair

OPTIONS = DiffOptions("a.lprof", "b.lprof")
PLAIN = Terminal(width=200)


def changes(**given: tuple[int, ...]) -> dict[str, Change]:
    return {metric: Change(*given.get(metric, (0, 0))) for metric in METRICS}


def line(text: str, before: int | None, after: int | None, **given: tuple[int, ...]) -> LineDiff:
    return LineDiff(LinePair(before, after, text), changes(**given))


def function(name: str, *lines: LineDiff, **given: tuple[int, ...]) -> FunctionDiff:
    key = ("/src/app.py", 7, name, None)
    return FunctionDiff(key, key, changes(**given), lines)


def diff_of(*functions: FunctionDiff) -> ProfileDiff:
    total = {
        metric: Change(
            sum(one.changes[metric].before for one in functions),
            sum(one.changes[metric].after for one in functions),
        )
        for metric in METRICS
    }
    return ProfileDiff((1, 1), total, functions)


MS = 1_000_000
SMALL = diff_of(
    function(
        "slow",
        line("a()", 8, 8, time=(10 * MS, 60 * MS), hits=(5, 5)),
        line("b()", 9, 9, time=(10 * MS, 10 * MS + 1), hits=(5, 5)),
        line("c()", None, 10, time=(0, 20 * MS), hits=(0, 7)),
        time=(20 * MS, 90 * MS, 2 * MS),
        self=(20 * MS, 50 * MS),
        hits=(10, 17),
        calls=(1, 1),
    ),
    function("fast", time=(50 * MS, 20 * MS, MS), self=(50 * MS, 20 * MS)),
    function("noisy", time=(50 * MS, 60 * MS, 9 * MS)),
    function("same", time=(50 * MS, 50 * MS)),
)


def test_text_has_the_functions_that_changed_and_their_lines() -> None:
    out = render_diff(SMALL, OPTIONS, PLAIN)
    assert out.splitlines() == [
        "lprof diff  a.lprof → b.lprof",
        "",
        "         before   after    change      %  ±",
        "  time   170 ms  220 ms  +50.0 ms  +29.4",
        "  hits       10      17        +7  +70.0",
        "  calls       1       1",
        "",
        "    change       %        ±      self   before    after  hits",
        "  +70.0 ms  +350.0  2.00 ms  +30.0 ms  20.0 ms  90.0 ms    +7  slow  /src/app.py:7",
        "  +50.0 ms  +500.0                     10.0 ms  60.0 ms          8  a()",
        "  +20.0 ms                                      20.0 ms    +7    10 (new)  c()",
        "",
        "  -30.0 ms   -60.0  1.00 ms            50.0 ms  20.0 ms        fast  /src/app.py:7",
        "",
        "2 more functions left out, with small changes, within the noise or none (--all)",
        "noise is what measuring leaves open, one standard deviation; what differs from run to run"
        " is not in it: lprof merge several runs for each side",
    ]


def test_everything_is_shown_when_asked_for() -> None:
    out = render_diff(SMALL, DiffOptions("a", "b", everything=True), PLAIN)
    assert "~+10.0 ms" in out
    for text in ("noisy", "same", "9  b()"):
        assert text in out
    assert "left out" not in out


def test_only_the_first_are_shown_when_asked_for() -> None:
    out = render_diff(SMALL, DiffOptions("a", "b", top=1), PLAIN)
    assert "slow" in out
    assert "fast" not in out
    assert "3 more functions left out" in out


def test_a_large_change_of_hits_is_shown_whatever_the_time() -> None:
    diff = diff_of(
        function("loop", time=(MS, MS), hits=(100, 900)), function("x", time=(9 * MS, MS))
    )
    assert "+800  loop" in render_diff(diff, OPTIONS, PLAIN)


def test_slower_is_red_and_faster_is_green() -> None:
    out = render_diff(SMALL, OPTIONS, Terminal(width=200, color=True))
    rows = {name: row for row in out.splitlines() for name in ("slow", "fast") if name in row}
    assert rows["slow"].startswith("  \x1b[1;31m+70.0 ms")
    assert rows["fast"].startswith("  \x1b[32m-30.0 ms")


def test_streams_without_the_characters_get_others() -> None:
    out = render_diff(SMALL, OPTIONS, Terminal(width=80, unicode=False))
    assert out.isascii()
    assert "a.lprof -> b.lprof" in out


@pytest.mark.parametrize(
    "name", ["nul\0", "\x1b[31m", "\u202eevil", "a|b", "`", "<b>", "x" * 10_000, "half\ud800"]
)
def test_odd_names_stay_on_their_row(name: str) -> None:
    diff = diff_of(function(name, line(name, 1, 2, time=(0, 5 * MS)), time=(0, 9 * MS)))
    for text in (
        render_diff(diff, OPTIONS, PLAIN),
        render_diff_markdown(diff, OPTIONS, []),
    ):
        assert all(char.isprintable() for char in text if char != "\n")
        assert text.count("\n") < 25
    assert "<b>" not in render_diff_markdown(diff, OPTIONS, []).replace("`<b>`", "")


def test_nothing_at_all_is_said() -> None:
    out = render_diff(diff_of(), OPTIONS, PLAIN)
    assert out.startswith("lprof diff  a.lprof → b.lprof\n")
    assert render_diff_markdown(diff_of(), OPTIONS, []).startswith("### lprof:")
