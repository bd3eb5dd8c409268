"""Hits of real code: every function of some standard library modules, against the oracle."""

from __future__ import annotations

from pathlib import Path

import pytest

from case_runs import load_lines, lprof
from statement_counts import count_statements
from stdlib_programs import WORKLOADS, stdlib_program


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_statement_is_counted_as_often_as_it_began(name: str, tmp_path: Path) -> None:
    source = stdlib_program(name)
    script = tmp_path / "program.py"
    script.write_text(source, encoding="utf-8")
    wanted = count_statements(source, str(script))
    run = lprof(["-q", "-o", "r.lprof", str(script)], tmp_path)
    assert (run.status, run.stdout) == (0, ""), run.stderr
    hits = load_lines(tmp_path / "r.lprof").hits("program.py")
    text = source.splitlines()
    wrong = [
        f"{line}: {hits[line]} instead of {count}: {text[line - 1]}"
        for line, count in sorted(wanted.items())
        if hits[line] != count
    ]
    assert len(wanted) > 50
    assert wrong == []
