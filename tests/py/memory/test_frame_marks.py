"""What the walk leaves in frames (interp/frames.h, "marks") must not be seen by any program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "programs" / "frame_views.py"


def output(*command: str) -> str:
    words = [sys.executable, *command, str(PROGRAM)]
    return subprocess.run(words, check=True, timeout=100, capture_output=True, text=True).stdout


def test_a_program_that_looks_at_its_frames_sees_what_it_ever_did(tmp_path: Path) -> None:
    plain = output()
    assert len(plain.splitlines()) == 13
    run = ["-m", "proftrace.cli.memtrace", "run", "-q", "-f", "-o", str(tmp_path / "a.bin")]
    assert output(*run) == plain
    assert output(*run, "--trace-python-allocators") == plain


KEPT = """
import gc, sys
def keep():
    name = 17
    block = bytes(3000)
    return sys._getframe()
frame = keep()
print(sorted(type(one).__name__ for one in gc.get_referents(frame)), frame.f_locals["name"])
"""


def test_of_a_kept_frame_only_the_collectors_walk_sees_a_none(tmp_path: Path) -> None:
    def referents(*options: str) -> str:
        words = [sys.executable, *options, "-c", KEPT]
        return subprocess.run(words, check=True, timeout=100, capture_output=True, text=True).stdout

    run = ["-m", "proftrace.cli.memtrace", "run", "-q", "-f", "-o", str(tmp_path / "a.bin")]
    plain = referents()
    assert "NoneType" not in plain
    assert referents(*run).replace("'NoneType', ", "") == plain
