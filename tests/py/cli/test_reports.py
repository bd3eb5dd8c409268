"""The report commands of `memtrace`: where output goes, what is refused, what is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from line_logs import write_line_log
from log_writer import END_OF_SCRIPT, MALLOC, MARK, Event, LogWriter
from proftrace.cli import memtrace
from proftrace.cli.captures import default_name


def write_capture(path: Path, **meta: str) -> Path:
    """A capture of one block of 1000 bytes that is live at the end."""
    log = LogWriter()
    log.thread(1, 77, "MainThread")
    node = log.node(0, log.code("work", "app.py", 1, table=b"\xf0\x00"))
    for key, value in meta.items():
        log.meta(key, value)
    log.events(1, [Event(MALLOC, 0x1000, 1000, node), Event(MARK, END_OF_SCRIPT, 0)])
    log.end()
    path.write_bytes(log.data())
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the capture memtrace-app.py.7.bin."""
    monkeypatch.chdir(tmp_path)
    write_capture(tmp_path / "memtrace-app.py.7.bin")
    return tmp_path


CAPTURE = "memtrace-app.py.7.bin"


@pytest.mark.parametrize(
    ("capture", "name"),
    [
        (CAPTURE, "memtrace-flamegraph-app.py.7.html"),
        ("/a/memtrace-x.bin", "/a/memtrace-flamegraph-x.html"),
        ("out", "memtrace-flamegraph-out.html"),
        ("a.bin.b", "memtrace-flamegraph-a.bin.b.html"),
    ],
)
def test_names_of_reports(capture: str, name: str) -> None:
    assert default_name(capture, "flamegraph", "html") == name


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["flamegraph"], "memtrace-flamegraph-app.py.7.html"),
        (["transform", "csv"], "memtrace-csv-app.py.7.csv"),
        (["flamegraph", "-o", "x"], "x"),
    ],
)
def test_reports_are_written_once(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], name: str
) -> None:
    assert memtrace.main([*words, CAPTURE]) == 0
    assert capsys.readouterr().out == f"Wrote {name}\n"
    assert sorted(path.name for path in folder.iterdir()) == sorted([CAPTURE, name])
    (folder / name).write_text("mine")
    assert memtrace.main([*words, CAPTURE]) == 1
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        f"memtrace: {name} exists already: -f replaces it, -o names another file\n",
    )
    assert (folder / name).read_text() == "mine"
    assert memtrace.main([*words, "-f", CAPTURE]) == 0
    assert "work" in (folder / name).read_text() or name.endswith(("html", "x"))


def test_csv_on_standard_output(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert memtrace.main(["transform", "csv", "-o", "-", CAPTURE]) == 0
    out = capfdbinary.readouterr().out.decode()
    assert out.splitlines()[1].startswith("MALLOC,1,1000,77,MainThread,work;app.py;")
    assert len(list(folder.iterdir())) == 1


def test_texts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert memtrace.main(["summary", CAPTURE]) == 0
    assert "work" in capsys.readouterr().out
    assert memtrace.main(["stats", "--json", CAPTURE]) == 0
    assert json.loads(capsys.readouterr().out)["total_num_allocations"] == 1
    assert memtrace.main(["stats", CAPTURE]) == 0
    assert "1,000 B" in capsys.readouterr().out.replace("1000 B", "1,000 B")


@pytest.mark.parametrize("words", [["summary"], ["transform", "csv", "-o", "-"], ["flamegraph"]])
def test_views_of_leaks_say_that_pymalloc_keeps_memory(
    folder: Path, capfd: pytest.CaptureFixture[str], words: list[str]
) -> None:
    advice = "--trace-python-allocators"
    assert memtrace.main([*words, "--leaks", CAPTURE]) == 0
    out, err = capfd.readouterr()
    assert advice in " ".join((out + err).split())
    page = folder / "memtrace-flamegraph-app.py.7.html"
    if page.exists():
        assert advice in page.read_text()
        page.unlink()
    assert memtrace.main([*words, CAPTURE]) == 0
    assert advice not in "".join(capfd.readouterr())
    write_capture(folder / "off.bin", pythonmalloc="malloc")
    assert memtrace.main([*words, "--leaks", "off.bin"]) == 0
    assert advice not in "".join(capfd.readouterr())


def test_line_results_are_not_for_memtrace(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_line_log(folder / "r.lprof", "f.py", None, {})
    for command in (["summary"], ["stats"], ["flamegraph"], ["transform", "csv"]):
        assert memtrace.main([*command, "r.lprof"]) == 1
        out, err = capsys.readouterr()
        assert (out, len(err.splitlines())) == ("", 1)
        assert "lprof show r.lprof" in err


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ([], 2, "usage: memtrace command"),
        (["trees", "x"], 2, "there is no command 'trees'; commands: run, flamegraph"),
        (["--what"], 2, "unrecognized arguments: --what"),
        (["run"], 2, "nothing to run"),
        (["run", "missing.py"], 2, "cannot read script 'missing.py'"),
        (["run", "-o", "no/x.bin", "-c", "1"], 1, "there is no folder"),
        (["run", "-o", CAPTURE, "-c", "1"], 1, f"{CAPTURE} exists already: -f replaces it"),
        (["run", "-f", "-o", CAPTURE, CAPTURE], 1, "it is the file to read from"),
        (["run", "-f", "-o", "/dev/null", "-c", "1"], 1, "/dev/null: it is not a regular file"),
        (["summary"], 2, "required: CAPTURE"),
        (["summary", "missing.bin"], 1, "missing.bin"),
        (["flamegraph", "missing.bin"], 1, "missing.bin"),
        (["summary", "--leaks", "--all", CAPTURE], 2, "not allowed with"),
        (["summary", "-n", "-1", CAPTURE], 2, "-n"),
        (["transform", "yaml", CAPTURE], 2, "invalid choice: 'yaml'"),
        (["transform", CAPTURE], 2, "invalid choice"),
        (["flamegraph", "-o", "no/x.html", CAPTURE], 1, "there is no folder"),
        (["flamegraph", "-f", "-o", f"./{CAPTURE}", CAPTURE], 1, "it is the file to read from"),
        (["transform", "csv", "-f", "-o", CAPTURE, CAPTURE], 1, "it is the file to read from"),
    ],
)
def test_errors(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], status: int, message: str
) -> None:
    before = (folder / CAPTURE).read_bytes()
    assert memtrace.main(words) == status
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert message in err
    assert [path.name for path in folder.iterdir()] == [CAPTURE]
    assert (folder / CAPTURE).read_bytes() == before
