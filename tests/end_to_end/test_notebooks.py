"""The magics on a real Jupyter kernel: what a notebook's cells print, show and return."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from case_runs import read_table
from proftrace import load_stats

DEFINE = """\
%load_ext proftrace
def count(n, acc=0):
    for i in range(n):
        acc += i
    return acc
class Shop:
    def price(self):
        return 7
"""


def run_cells(folder: Path, *cells: str, errors: bool = False) -> list[list[nbformat.NotebookNode]]:
    """Run cells in a kernel of this interpreter; return the outputs of each."""
    spec = folder / "kernels" / "here"
    spec.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel = {"argv": command, "display_name": "here", "language": "python"}
    (spec / "kernel.json").write_text(json.dumps(kernel))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    client = NotebookClient(
        notebook,
        kernel_name="here",
        timeout=120,
        allow_errors=errors,
        resources={"metadata": {"path": str(folder)}},
    )
    client.create_kernel_manager().kernel_spec_manager.kernel_dirs.insert(
        0, str(folder / "kernels")
    )
    client.execute()
    return [cell.outputs for cell in notebook.cells]


def shown(outputs: list[nbformat.NotebookNode]) -> nbformat.NotebookNode:
    """Return the data of the one report among the outputs of a cell."""
    (data,) = [output.data for output in outputs if output.output_type == "display_data"]
    return data


def printed(outputs: list[nbformat.NotebookNode]) -> str:
    return "".join(output.text for output in outputs if output.output_type == "stream")


def hits(data: nbformat.NotebookNode) -> dict[str, int]:
    """Return the hits by source text."""
    return {
        text.strip(): n
        for section in read_table("\n" + data["text/plain"])
        for _, n, text in section.rows
        if n is not None
    }


COUNT = {"for i in range(n):": 5, "acc += i": 4, "return acc": 1}


def test_lprun_shows_what_was_chosen(tmp_path: Path) -> None:
    cells = run_cells(
        tmp_path,
        DEFINE,
        "%lprun -f count count(4)",
        "%lprun -f count -f Shop count(4); Shop().price()",
        "%%lprun -f count\nresult = count(4)\ncount(4)",
        "print(result, count(1))",
    )
    assert hits(shown(cells[1])) == COUNT
    assert hits(shown(cells[2])) == {**COUNT, "return 7": 1}
    assert hits(shown(cells[3])) == {text: 2 * n for text, n in COUNT.items()}
    assert printed(cells[4]) == "6 0\n"


def test_the_report_is_text_and_html(tmp_path: Path) -> None:
    cells = run_cells(tmp_path, DEFINE, "%lprun -f count count(4)")
    data = shown(cells[1])
    assert "Could not find" not in data["text/plain"]
    assert "Line #      Hits         Time  Per Hit   % Time  Line Contents" in data["text/plain"]
    page = data["text/html"]
    rows = re.findall(r"<tr><td>(\d+)</td><td>([\d,]*)</td>.*?>([^<>]*)</td></tr>", page)
    assert [(int(line), n) for line, n, _ in rows] == [(2, ""), (3, "5"), (4, "4"), (5, "1")]
    assert rows[2][2] == "        acc += i"
    assert "<script" not in page and "http" not in page


def test_options(tmp_path: Path) -> None:
    cells = run_cells(
        tmp_path,
        DEFINE,
        "p = %lprun -r -f count -D r.lprof -T r.txt -u 1e-3 count(4)",
        "print(type(p).__name__, len(p.functions))",
        "%lprun -z -f count -f Shop.price count(4)",
        "%lprun -s -f count -f Shop.price count(4)",
        "%lprun -m textwrap import textwrap; textwrap.dedent(' x')",
        "import builtins; print(hasattr(builtins, 'profile'))",
    )
    assert "Timer unit: 0.001 s" in shown(cells[1])["text/plain"]
    assert printed(cells[1]).splitlines() == [
        "*** Wrote the result to 'r.lprof'.",
        "*** Wrote the table to 'r.txt'.",
    ]
    assert printed(cells[2]) == "LineProfiler 1\n"
    ((_, lines),) = load_stats(tmp_path / "r.lprof").timings.items()
    assert [(line, n) for line, n, _ in lines] == [(3, 5), (4, 4), (5, 1)]
    assert (tmp_path / "r.txt").read_text().rstrip() == shown(cells[1])["text/plain"].rstrip()
    for cell in cells[3:5]:
        assert "price" not in shown(cell)["text/plain"]
    assert "dedent" in shown(cells[5])["text/plain"]
    assert printed(cells[6]) == "False\n"


def test_a_whole_cell(tmp_path: Path) -> None:
    body = "total = 0\nfor k in range(3):\n    total += count2(k)\n"
    text = f"def count2(n):\n    return n + 1\n{body}"
    cells = run_cells(
        tmp_path,
        "%load_ext proftrace",
        f"%%lprun_all -t\n{text}",
        "print(total, _total_time_taken > 0)",
        f"%%lprun_all -p\n{text}",
    )
    top = {"def count2(n):": 1, "total = 0": 1, "for k in range(3):": 4, "total += count2(k)": 3}
    assert hits(shown(cells[1])) == {**top, "return n + 1": 3}
    assert printed(cells[2]) == "6 True\n"
    assert hits(shown(cells[3])) == top


def test_a_cell_that_was_run_again_with_new_text(tmp_path: Path) -> None:
    cells = run_cells(
        tmp_path,
        "%load_ext proftrace\ndef f():\n    return 1  # old",
        "%lprun -f f f()",
        "def f():\n    return 2  # new",
        "%lprun -f f f()",
    )
    assert hits(shown(cells[1])) == {"return 1  # old": 1}
    assert hits(shown(cells[3])) == {"return 2  # new": 1}


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%lprun -f nope count(1)", "cannot find function nope"),
        ("%lprun -m no.such.module count(1)", "cannot import module no.such.module"),
        ("%lprun -f count -u x count(1)", "not a length of time"),
        ("%lprun -f count -D /no/such/folder/x count(1)", "cannot write /no/such/folder/x"),
    ],
)
def test_mistakes_are_said_in_one_line(cell: str, message: str, tmp_path: Path) -> None:
    cells = run_cells(tmp_path, DEFINE, cell, errors=True)
    said = "".join(output.get("text", "") for output in cells[1]) + "".join(
        output.get("evalue", "") for output in cells[1]
    )
    assert message in said
    assert "Traceback" not in said


def test_an_exception_leaves_nothing_switched_on(tmp_path: Path) -> None:
    cells = run_cells(
        tmp_path,
        DEFINE + "def fail():\n    1/0\n",
        "%lprun -f fail fail()",
        "import builtins; print(hasattr(builtins, 'profile'))",
        "%lprun -f count raise SystemExit",
        "%lprun -f count count(4)",
        errors=True,
    )
    assert "ZeroDivisionError" in [output.get("ename") for output in cells[1]]
    assert printed(cells[2]) == "False\n"
    assert "SystemExit in the profiled code" in printed(cells[3])
    assert hits(shown(cells[4])) == COUNT
