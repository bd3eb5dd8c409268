"""Run commands with their output in a log file, and say in one line each what is going on."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "out" / "logs"
TAIL_LINES = 80
COMMAND_WIDTH = 300


class DevError(Exception):
    """A step failed; the message is for the terminal."""


def say(text: str) -> None:
    """Print a progress line at once, in order with the output of children."""
    print(f"==> {text}", flush=True)


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """Return the end of a log, where the reason of a failure stands."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def run(
    title: str,
    command: Sequence[object],
    *,
    environment: Mapping[str, str],
    log: str,
    check: bool = True,
) -> int:
    """Run `command` with its output appended to out/logs/<log>; on failure show the log's end.

    Returns the exit status; raises DevError unless it is 0 or `check` is off.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    path = LOGS / log
    words = [str(word) for word in command]
    start = time.monotonic()
    with path.open("a") as output:
        output.write(f"$ {' '.join(words)[:COMMAND_WIDTH]}\n")
        output.flush()
        status = subprocess.call(
            words,
            cwd=ROOT,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    if status and check:
        print(tail(path), file=sys.stderr)
        raise DevError(f"{title} failed with status {status}; the whole log is {path}")
    say(f"{title} ({time.monotonic() - start:.0f} s)")
    return status
