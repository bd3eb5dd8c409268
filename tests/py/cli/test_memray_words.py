"""What memray's users type: it is taken, or one line says what to use instead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from log_writer import END_OF_SCRIPT, MALLOC, MARK, Event, LogWriter
from proftrace.cli import memray_words, memtrace
from proftrace.cli.run_options import parse


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a capture a.bin: 10 blocks of 100 bytes at one line, 1 of 5000."""
    log = LogWriter()
    log.thread(1, 77, "MainThread")
    many = log.node(0, log.code("many", "app.py", 1, table=b"\xf0\x00"))
    big = log.node(many, log.code("big", "app.py", 9, table=b"\xf0\x00"))
    events = [Event(MALLOC, 0x1000 * n, 100, many) for n in range(1, 11)]
    log.events(1, [*events, Event(MALLOC, 0xF0000, 5000, big), Event(MARK, END_OF_SCRIPT, 0)])
    log.end()
    (tmp_path / "a.bin").write_bytes(log.data())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = memtrace.main(words)
    out, err = capsys.readouterr()
    return status, out, err


REFUSED = [
    *((["-v", "run", "a.py"], "PROFTRACE_DEBUG=1"), (["table", "a.bin"], "memtrace summary")),
    *((["tree", "-b", "9", "a.bin"], "flamegraph"), (["parse", "a.bin"], "transform csv --all")),
    *(
        (["attach", "1"], "proftrace.Tracker"),
        (["detach", "1"], "Tracker"),
        (["live", "1"], "runs"),
    ),
    *((["run", "--live", "a.py"], "--live"), (["run", "-p", "80", "--live", "a.py"], "-p")),
    (["run", "-q", "--live-remote", "--live-port=80", "a.py"], "option --live-remote of memray"),
    *((["flamegraph", option, "a.bin"], option) for option in ("--temporal", "--inverted")),
    (["flamegraph", "--split-threads", "a.bin"], "transform csv has a row for each thread"),
    *(
        ([*command, "--temporary-allocation-threshold", "3", "a.bin"], "--temporary-allocations")
        for command in (["flamegraph"], ["summary"], ["transform", "csv"])
    ),
    *((["transform", name, "a.bin"], name) for name in ("gprof2dot", "speedscope")),
]


@pytest.mark.parametrize(("words", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_one_line_says_what_to_use_instead(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    status, out, err = run(capsys, *words)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert message in err
    assert [path.name for path in folder.iterdir()] == ["a.bin"]


def test_what_is_always_so_is_taken(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--no-web", "--max-memory-records", "9", "--confidential-files=all"]
    assert run(capsys, "flamegraph", *words, "-o", "page.html", "a.bin")[0] == 0
    assert run(capsys, "flamegraph", "-o", "plain.html", "a.bin")[0] == 0
    assert (folder / "page.html").read_bytes() == (folder / "plain.html").read_bytes()


def test_the_target_comes_behind_options_of_memray() -> None:
    options, target = parse(["--compress-on-exit", "--buffered-file-io", "a.py", "--live", "-p"])
    assert (target.value, target.args) == ("a.py", ("--live", "-p"))
    assert vars(options) == vars(parse(["a.py"])[0])


def test_help_does_not_show_what_is_not_there(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in memray_words.OPTIONS:
        with pytest.raises(SystemExit):
            memtrace.main([*filter(None, [command]), "--help"])
        out = capsys.readouterr().out
        assert "--help" in out
        names = [name for words in memray_words.OPTIONS[command] for name in words[0]]
        assert [name for name in names if name in out.split()] == []


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("1", "total"), ("2", "total"), ("3", "own"), ("4", "own"), ("5", "allocs")],
)
def test_columns_are_sorted_by_memrays_numbers(
    folder: Path, capsys: pytest.CaptureFixture[str], theirs: str, ours: str
) -> None:
    a = run(capsys, "summary", "-s", theirs, "-r", "1", "a.bin")
    assert a == run(capsys, "summary", "--sort", ours, "--rows", "1", "a.bin")
    assert a == run(capsys, "summary", "--sort-column", theirs, "--max-rows", "1", "a.bin")
    assert a[0] == 0
    assert ("many" if ours != "own" else "big") in a[1]


def test_statistics_go_to_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = run(capsys, "stats", "--json", "--num-largest", "1", "a.bin")
    words = ["stats", "--json", "-n", "1", "-o", "s.json", "a.bin"]
    assert run(capsys, *words) == (0, "Wrote s.json\n", "")
    assert json.loads((folder / "s.json").read_text()) == json.loads(text)
    status, _, err = run(capsys, *words)
    assert (status, len(err.splitlines())) == (1, 1)
    assert "-f replaces it" in err
    assert run(capsys, *words[:-1], "-f", "a.bin")[0] == 0
    assert run(capsys, "stats", "-o", "a.bin", "-f", "a.bin")[0] == 1
    assert run(capsys, "stats", "-o", "-", "a.bin")[1].startswith("Total allocations")
