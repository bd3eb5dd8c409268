"""A line profile in callgrind's format: for KCachegrind, qcachegrind and callgrind_annotate.

Time (ns) and hits of each line, and the calls of each line with the callee's time. A file is
written once by its name, a function too; numbers stand for them from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proftrace._version import __version__
from proftrace.units import printable
from proftrace.views.line_stats import FunctionStats
from proftrace.views.line_table import FunctionKey

type Stats = Mapping[FunctionKey, FunctionStats]


class _Names:
    """Names, each written out once: `(1) text`, and `(1)` from then on."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def named(self, thing: object, text: str) -> str:
        """Return what stands for a thing with this name."""
        if thing in self._numbers:
            return f"({self._numbers[thing]})"
        number = self._numbers[thing] = len(self._numbers) + 1
        return f"({number}) {printable(text)}"


def render_callgrind(stats: Stats, command: str) -> str:
    """Return the file's text; `command` names the program."""
    files, functions = _Names(), _Names()
    rows = [values for one in stats.values() for values in one.lines.lines.values()]
    totals = f"{sum(row.exclusive for row in rows)} {sum(row.hits for row in rows)}"
    lines = [
        "# callgrind format",
        "version: 1",
        f"creator: proftrace {__version__}",
        f"cmd: {printable(command)}",
        "positions: line",
        "event: ns : Time (nanoseconds)",
        "event: hits : Hits",
        "events: ns hits",
        f"summary: {totals}",
        "",
    ]
    for key, one in stats.items():
        if one.lines.hits or one.lines.calls:
            lines += _function(key, one, files, functions)
    lines.append(f"totals: {totals}")
    return "\n".join(lines) + "\n"


def _function(
    key: FunctionKey, one: FunctionStats, files: _Names, functions: _Names
) -> Iterator[str]:
    """Yield a function: each line's own cost, and what it called."""
    yield f"fl={files.named(key[0], key[0])}"
    yield f"fn={functions.named(key, key[2])}"
    for line, values in one.lines.lines.items():
        yield f"{line} {values.exclusive} {values.hits}"
    for call in one.lines.callees:
        if call.other is None:
            continue
        file, first_line, name, _ = call.other
        if file != key[0]:  # callgrind_annotate would take the same one for another
            yield f"cfi={files.named(file, file)}"
        yield f"cfn={functions.named(call.other, name)}"
        yield f"calls={call.calls} {first_line}"
        yield f"{call.line} {call.inclusive}"
    yield ""
