"""Counts how often the statements of a program begin, by rewriting it: an oracle for hits.

The rewritten program calls `hit(line)` in front of each statement of its `@profile`d functions, in
the tests of `if`, `elif`, `while` and `except`, and for each iteration of a loop. Nothing of it
depends on bytecode or on the events of the interpreter.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

HIT = "_count_hit"
ITERATE = "_count_iterations"
ITERATE_ASYNC = "_count_async_iterations"


def count_statements(source: str, file: str) -> Counter[int]:
    """Run a program and return, for each line that begins a statement, how often it did."""
    tree = ast.parse(source, file)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_profiled(node):
            node.body = _counted_body(node.body, node.lineno)
    ast.fix_missing_locations(tree)
    hits: Counter[int] = Counter()
    exec(compile(tree, file, "exec"), _namespace(hits))
    return hits


def _namespace(hits: Counter[int]) -> dict[str, Any]:
    def hit(line: int) -> bool:
        hits[line] += 1
        return True

    def iterate(line: int, items: Any) -> Iterator[Any]:
        """A loop header runs at its entry (counted in front of it) and after each iteration."""
        for item in items:
            yield item
            hit(line)

    async def iterate_async(line: int, items: Any) -> AsyncIterator[Any]:
        async for item in items:
            yield item
            hit(line)

    return {
        "__name__": "__main__",
        "profile": lambda function: function,
        HIT: hit,
        ITERATE: iterate,
        ITERATE_ASYNC: iterate_async,
    }


def _is_profiled(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(name, ast.Name) and name.id == "profile" for name in node.decorator_list)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _hit(line: int) -> ast.stmt:
    return ast.Expr(_call(HIT, ast.Constant(line)))


def _counted_test(line: int, test: ast.expr) -> ast.expr:
    return ast.BoolOp(ast.And(), [_call(HIT, ast.Constant(line)), test])


def _counted_body(statements: list[ast.stmt], line_before: int) -> list[ast.stmt]:
    """Count each statement that is the first on its line."""
    result = []
    for node in statements:
        result += _counted(node) if node.lineno != line_before else [node]
        line_before = node.end_lineno or node.lineno
    return result


def _has_no_code(node: ast.stmt) -> bool:
    """Docstrings and declarations do nothing; neither does `if (` when its test is below."""
    if isinstance(node, (ast.If, ast.While)):
        return node.test.lineno != node.lineno
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return isinstance(node.value.value, str)
    return isinstance(node, (ast.Global, ast.Nonlocal))


def _counted(node: ast.stmt) -> list[ast.stmt]:
    """Return the statements that take the place of one."""
    line = node.lineno
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [*(_hit(name.lineno) for name in node.decorator_list), _hit(line), node]
    for field in ("body", "orelse", "finalbody"):
        if isinstance(getattr(node, field, None), list):
            setattr(node, field, _counted_body(getattr(node, field), line))
    if _has_no_code(node):
        return [node]
    if isinstance(node, ast.If):
        node.test = _counted_test(line, node.test)
        return [node]
    if isinstance(node, ast.While):
        node.test = _counted_test(line, node.test)
        return [node]
    if isinstance(node, ast.For):
        node.iter = _call(ITERATE, ast.Constant(line), node.iter)
    elif isinstance(node, ast.AsyncFor):
        node.iter = _call(ITERATE_ASYNC, ast.Constant(line), node.iter)
    elif isinstance(node, ast.Try):
        for handler in node.handlers:
            _count_handler(handler)
    return [_hit(line), node]


def _count_handler(handler: ast.ExceptHandler) -> None:
    handler.body = _counted_body(handler.body, handler.lineno)
    if handler.type is None:
        handler.body.insert(0, _hit(handler.lineno))
    else:
        handler.type = _counted_test(handler.lineno, handler.type)
