"""Hits of real code: every function of some standard library modules, against the oracle."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from case_runs import load_lines, lprof, run
from stdlib_programs import WORKLOADS, stdlib_program

TESTS = Path(__file__).parents[2]
COUNT = """
import json, pathlib, sys
from statement_counts import count_statements
print(json.dumps(count_statements(pathlib.Path(sys.argv[1]).read_text("utf-8"), sys.argv[1])))
"""


def count_apart(script: Path) -> dict[int, int]:
    """Count in a process of its own: what others did to shared classes shows in their dir()."""
    done = run([sys.executable, "-c", COUNT, str(script)], TESTS)
    assert done.status == 0, done.stderr
    return {int(line): count for line, count in json.loads(done.stdout).items()}


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_statement_is_counted_as_often_as_it_began(name: str, tmp_path: Path) -> None:
    source = stdlib_program(name)
    script = tmp_path / "program.py"
    script.write_text(source, encoding="utf-8")
    wanted = count_apart(script)
    done = lprof(["-q", "-o", "r.lprof", str(script)], tmp_path)
    assert (done.status, done.stdout) == (0, ""), done.stderr
    hits = load_lines(tmp_path / "r.lprof").hits("program.py", nested=False)
    text = source.splitlines()
    wrong = [
        f"{line}: {hits[line]} instead of {count}: {text[line - 1]}"
        for line, count in sorted(wanted.items())
        if hits[line] != count
    ]
    assert len(wanted) > 50
    assert wrong == []
