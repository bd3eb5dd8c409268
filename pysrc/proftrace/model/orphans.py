"""Rows of line results that name a function of which the file says nothing else.

A recorder writes none; damage that no checksum sees, or another writer, may.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from types import MappingProxyType

from proftrace.model.profile import NO_FUNCTION, CallTable, Column, EdgeTable, LineTable


def without_orphans(
    calls: CallTable, lines: LineTable, edges: EdgeTable
) -> tuple[LineTable, EdgeTable, int]:
    """Return the rows whose functions are in `calls`, and how many others there were."""
    known = set(calls.function)
    line_rows = [row for row, function in enumerate(lines.function) if function in known]
    callers = known | {NO_FUNCTION}
    edge_rows = [
        row
        for row, (caller, callee) in enumerate(zip(edges.caller, edges.callee, strict=True))
        if caller in callers and callee in known
    ]
    n_orphans = len(lines) - len(line_rows) + len(edges) - len(edge_rows)
    if not n_orphans:
        return lines, edges, 0
    return _lines(lines, line_rows), _edges(edges, edge_rows), n_orphans


def _lines(table: LineTable, rows: Sequence[int]) -> LineTable:
    return LineTable(
        _pick(table.function, rows),
        _pick(table.line, rows),
        MappingProxyType({name: _pick(column, rows) for name, column in table.values.items()}),
        _pick(table.buckets_at, rows),
        _pick(table.n_buckets, rows),
        table.buckets,
    )


def _edges(table: EdgeTable, rows: Sequence[int]) -> EdgeTable:
    return EdgeTable(
        _pick(table.caller, rows),
        _pick(table.line, rows),
        _pick(table.callee, rows),
        _pick(table.calls, rows),
        _pick(table.inclusive, rows),
        _pick(table.exclusive, rows),
    )


def _pick(column: Column, rows: Sequence[int]) -> Column:
    return array(column.typecode, [column[row] for row in rows])
