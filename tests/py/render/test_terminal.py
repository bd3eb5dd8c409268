"""What is found out about a stream, and text in columns."""

from __future__ import annotations

import io

import pytest

from proftrace.render.terminal import Terminal, display_width, terminal_of


class Stream(io.TextIOWrapper):
    """A stream that may say that it is a terminal."""

    def __init__(self, *, tty: bool, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding)
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty


@pytest.mark.parametrize(
    ("option", "environ", "tty", "color"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"CLICOLOR_FORCE": "1", "TERM": "dumb"}, False, True),
        ("auto", {"CLICOLOR_FORCE": "0"}, False, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"PYTHON_COLORS": "1", "NO_COLOR": "1"}, False, True),
        ("auto", {"PYTHON_COLORS": "0"}, True, False),
        ("never", {"FORCE_COLOR": "1"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
    ],
)
def test_who_decides_about_colours(
    option: str, environ: dict[str, str], tty: bool, color: bool
) -> None:
    assert terminal_of(Stream(tty=tty), option, environ).color is color


@pytest.mark.parametrize(("encoding", "unicode"), [("utf-8", True), ("ascii", False)])
def test_only_characters_that_the_stream_has(encoding: str, unicode: bool) -> None:
    assert terminal_of(Stream(tty=True, encoding=encoding), environ={}).unicode is unicode


def test_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "132")
    assert terminal_of(Stream(tty=True)).width == 132
    assert terminal_of(Stream(tty=False)).width == 132
    assert terminal_of(Stream(tty=False), environ={}).width >= 1000
    monkeypatch.setenv("COLUMNS", "3")
    assert terminal_of(Stream(tty=True)).width == 40


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "    "), (0.001, "▏   "), (0.5, "██  "), (0.53, "██▏ "), (1.0, "████"), (7.0, "████")],
)
def test_bars(share: float, text: str) -> None:
    assert Terminal().bar(share, 4) == text
    assert Terminal(unicode=False).bar(share, 4).strip("#") == " " * (4 - round(min(share, 1) * 4))


@pytest.mark.parametrize(
    ("text", "width", "right", "left"),
    [
        ("abc", 3, "abc", "abc"),
        ("abcdef", 3, "ab…", "…ef"),
        ("日本語", 6, "日本語", "日本語"),
        ("日本語", 5, "日本…", "…本語"),
        ("日本語", 4, "日…", "…語"),
        ("e\u0301e\u0301e", 3, "e\u0301e\u0301e", "e\u0301e\u0301e"),
    ],
)
def test_cutting(text: str, width: int, right: str, left: str) -> None:
    terminal = Terminal()
    assert (terminal.cut(text, width), terminal.cut_left(text, width)) == (right, left)
    assert display_width(right) <= width


def test_styles() -> None:
    assert Terminal(color=True).style("x", "dim") == "\x1b[2mx\x1b[0m"
    assert Terminal(color=True).style("  ", "dim") == "  "
    assert Terminal(color=True).style("x", "") == "x"
    assert Terminal().style("x", "dim") == "x"
