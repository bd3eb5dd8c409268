"""docs/side-by-side.md: our side of it is what happens, and it has all that was promised."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import side_by_side
from case_runs import plain, run

ROWS = {
    name: [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in side_by_side.PAGE.read_text().splitlines()
    for name in side_by_side.WHAT
    if line.startswith(f"| `{name}.py`: ")
}


def test_the_page_has_a_row_of_each_program() -> None:
    assert list(ROWS) == list(side_by_side.WHAT)
    programs = {path.stem for path in side_by_side.PROGRAMS.glob("*.py")}
    assert programs == set(side_by_side.WHAT)
    assert len(programs) == 10


@pytest.mark.parametrize("option", [(), ("--clock",)])
@pytest.mark.parametrize("name", side_by_side.WHAT)
def test_our_side_is_as_the_page_says(name: str, option: tuple[str, ...], tmp_path: Path) -> None:
    program = side_by_side.PROGRAMS / f"{name}.py"
    wanted = side_by_side.wanted_hits(program)
    without = side_by_side.run_plainly(program)
    ours = side_by_side.run_lprof(program, tmp_path, *option)
    assert (without.status, ours.status, ours.problem) == (0, 0, "")
    assert ours.output == without.output
    assert {line: ours.hits.get(line, 0) for line in wanted} == wanted
    assert ROWS[name][3:] == ["the same", f"{len(wanted)} of {len(wanted)}"]


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    words = [sys.executable, "-m", "benchmarks.side_by_side", "--page", str(page)]
    done = run(words, side_by_side.ROOT)
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
    written = page.read_text().splitlines()
    assert [line for line in written if line.startswith("#")] == [
        line for line in side_by_side.PAGE.read_text().splitlines() if line.startswith("#")
    ]
    assert sum(line.startswith("| `") and line.count(" | ") == 4 for line in written) >= 10


def test_the_programs_run_without_any_profiler(tmp_path: Path) -> None:
    for name in side_by_side.WHAT:
        done = plain([str(side_by_side.PROGRAMS / f"{name}.py")], tmp_path)
        assert (done.status, done.stderr) == (0, "")
        assert done.stdout
