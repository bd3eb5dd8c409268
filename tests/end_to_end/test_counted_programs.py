"""Fifteen programs of odd syntax, recorded with all their code: every line has the hits that stand
behind it.

The numbers were counted by a rewriting of the syntax tree that knows nothing of events or bytecode.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from case_runs import load_lines, lprof, plain, wrong_hits

PROGRAMS = Path(__file__).parents[1] / "programs" / "counted"
NAMES = sorted(path.name for path in PROGRAMS.glob("*.py"))
# One after the other in one process: a run for each would take most of its time to start.
DRIVER = f"""
import runpy
for name in {NAMES!r}:
    runpy.run_path(name, run_name="__main__")
"""
MODES = {
    "as ever": ([], ""),
    "by the clock": (["--clock"], ""),
    "by blocks at once": ([], "1"),
    "by blocks in the middle": ([], "7"),
}


def without_addresses(text: str) -> str:
    return re.sub("0x[0-9a-f]+", "", text)


@pytest.mark.parametrize("mode", MODES)
def test_every_line_has_its_hits(mode: str, tmp_path: Path) -> None:
    options, after = MODES[mode]
    for name in NAMES:
        shutil.copy(PROGRAMS / name, tmp_path)
    (tmp_path / "driver.py").write_text(DRIVER)
    before = plain(["driver.py"], tmp_path)
    words = ["-q", "--all", "-o", "r.lprof", *options, "driver.py"]
    run = lprof(words, tmp_path, {"PROFTRACE_TEST_HOT_AFTER": after})
    assert (run.status, without_addresses(run.stderr)) == (0, without_addresses(before.stderr))
    assert without_addresses(run.stdout) == without_addresses(before.stdout)
    result = load_lines(tmp_path / "r.lprof")
    assert len(NAMES) == 15
    assert [wrong for name in NAMES for wrong in wrong_hits(PROGRAMS / name, result)] == []
