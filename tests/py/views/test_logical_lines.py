"""Which lines are one statement, read from the text alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from proftrace.views.logical_lines import LogicalLines, logical_lines

TEXT = '''\
@one(
    1)
def f(a,
      b):
    """Text
    and more."""
    x = [
        a,  # a comment with ( in it
        "# no comment",

        # a comment of its own
        b]; y = (1,
                 2)
    if (a and
            b): return g(
                x)
    total = a + \\
        b
    for i in x: total += i
    for i in x:
        pass
    while x: x.pop()
    # nothing
    return total
'''


def test_statements_over_several_lines_are_found() -> None:
    found = logical_lines(TEXT)
    assert found.last == {1: 2, 3: 4, 5: 6, 7: 13, 14: 16, 17: 18}


def test_they_are_joined_without_comments() -> None:
    found, lines = logical_lines(TEXT), TEXT.split("\n")

    def joined(line: int) -> str:
        return found.join(line, lines[line - 1 : found.last[line]]).strip()

    assert [joined(line) for line in found.last] == [
        "@one(1)",
        "def f(a, b):",
        '"""Text and more."""',
        'x = [a, "# no comment", b]; y = (1, 2)',
        "if (a and b): return g(x)",
        "total = a + b",
    ]
    assert found.join(17, lines[16:18]).startswith("    total")


def test_whole_loops_on_a_line_are_found() -> None:
    assert logical_lines(TEXT).loops == {19, 22}
    text = "async def f():\n    async for x in y: z()\n    async for x in y:\n        z()\n"
    assert logical_lines(text).loops == {2}


@pytest.mark.parametrize("text", ["x = (", "'''", "if x:\n  a\n b\n", "\0", "$", "é = 'é\n"])
def test_a_text_that_is_no_python_has_no_statements(text: str) -> None:
    assert logical_lines(text) == LogicalLines()


def test_statements_are_cut_to_the_function_that_they_are_asked_for() -> None:
    found = logical_lines(TEXT)
    assert found.within(8, 17) == {8: 13, 14: 16}
    assert found.within(3, 23) == {3: 4, 5: 6, 7: 13, 14: 16, 17: 18}
    assert found.within(20, 21) == {}
    assert LogicalLines().within(1, 100) == {}


def test_they_are_those_of_the_parser() -> None:
    """Each simple statement of real modules lies in one logical line."""
    folder = Path(ast.__file__).parent
    n_found = 0
    for path in [folder / "typing.py", folder / "argparse.py", folder / "asyncio" / "tasks.py"]:
        text = path.read_text()
        spans = logical_lines(text).last
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.stmt) or hasattr(node, "body") or hasattr(node, "cases"):
                continue
            if node.end_lineno is not None and node.lineno < node.end_lineno:
                assert spans[node.lineno] == node.end_lineno, (path, node.lineno)
                n_found += 1
    assert n_found > 100
