"""What a command ends with."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from line_logs import code_of, write_line_log
from proftrace.cli.outcome import print_warnings, run_command
from proftrace.errors import CaptureFileError, UsageError


def raiser(error: BaseException) -> Callable[[], int]:
    def command() -> int:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (CaptureFileError("a.bin: not a capture"), 1, "tool: a.bin: not a capture\n"),
        (UsageError("what\nis this"), 2, "tool: what is this\n"),
        (FileNotFoundError(2, "No such file", "x"), 1, "tool: x: No such file\n"),
        (OSError("odd"), 1, "tool: odd\n"),
        (OSError(28, "No space left on device"), 1, "tool: No space left on device\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_errors_are_a_line_and_a_status(
    capsys: pytest.CaptureFixture[str], error: BaseException, status: int, line: str
) -> None:
    assert run_command("tool", raiser(error)) == status
    assert capsys.readouterr() == ("", line)


def test_the_traceback_is_there_when_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROFTRACE_DEBUG", "1")
    assert run_command("tool", raiser(UsageError("what"))) == 2
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.endswith("UsageError: what\ntool: what\n")


def test_our_own_faults_are_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        run_command("tool", lambda: 1 // 0)


def test_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    print_warnings("tool", ["a", "b"])
    assert capsys.readouterr() == ("", "tool: warning: a\ntool: warning: b\n")


def big_result(folder: Path) -> Path:
    """A result whose table is larger than a pipe."""
    text = "def f():\n" + "    x = 'é' # and so on and so on and so on and so on\n" * 20_000
    timings: dict = {code_of(text, "f.py", "f"): [(2, 1, 1), (20_001, 1, 1)]}
    return write_line_log(folder / "r.lprof", "f.py", text, timings)


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    path = big_result(tmp_path)
    command = [sys.executable, "-m", "proftrace.cli.lprof", "show", str(path)]
    # Unbuffered, the interpreter takes a write that was cut short for a success.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1


def test_text_that_the_output_cannot_encode_is_escaped(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "proftrace.cli.lprof", "show", str(big_result(tmp_path))],
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "x = '\\xe9' # and so on" in done.stdout
