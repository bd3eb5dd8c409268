"""Counts every instruction of a program and every LINE event, and compares the two ways to hits.

Run as a script in a process of its own: `instruction_counts.py FILE [ARGS]...` runs a program with
all its code objects watched and prints one JSON object. `@profile` does nothing in it.

Each code object is counted by the interpreter's INSTRUCTION, LINE and RAISE events. Its hits follow
from LINE events without those that `hit_rules` says do not count; the same must come out of the
terms of `hit_rules` and the counts of instructions.
"""

from __future__ import annotations

import builtins
import contextlib
import dis
import io
import json
import sys
import threading
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proftrace import _lines

TOOL = 3
monitoring = sys.monitoring
events = monitoring.events


class Counts:
    """What one code object did; the keys are byte offsets."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.began: Counter[int] = Counter()
        self.raised: Counter[int] = Counter()
        self.arrived: Counter[tuple[int, int, bool]] = Counter()  # line, unit, line was running
        self.skipped, repeats, self.credits, self.terms = _lines.hit_rules(code)
        self.repeats = frozenset(repeats)
        self.running: dict[types.FrameType, int] = {}  # line by frame, if that makes a difference
        self.offset_of_unit: dict[int, int] = {}
        first = None
        for instruction in dis.get_instructions(code):
            first = instruction.offset if first is None else first
            if instruction.opname != "EXTENDED_ARG":
                self.offset_of_unit[first // 2] = instruction.offset
                first = None
        self.offsets = sorted(self.offset_of_unit.values())

    def hits_by_events(self) -> Counter[int]:
        hits: Counter[int] = Counter()
        for (line, unit, was_running), count in self.arrived.items():
            if unit not in self.skipped and not (was_running and unit in self.repeats):
                hits[line] += count
            for credited_unit, credited_line in self.credits:
                if credited_unit == unit:
                    hits[credited_line] += count
        return +hits

    def hits_by_terms(self, terms: list[tuple[int, int, int, bool]]) -> Counter[int]:
        hits: Counter[int] = Counter()
        for line, coefficient, unit, completed in terms:
            offset = self.offset_of_unit[unit]
            count = self.began[offset] - (self.raised[offset] if completed else 0)
            hits[line] += coefficient * count
        for line in [line for line, count in hits.items() if count == 0]:
            del hits[line]
        return hits


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


class Watch:
    """Counts in the code objects it is given until it is stopped."""

    def __init__(self) -> None:
        self.counts: dict[int, Counts] = {}
        self.lock = threading.Lock()  # threads of a build without the GIL count at the same time
        monitoring.use_tool_id(TOOL, "instruction_counts")
        for event, callback in (
            (events.INSTRUCTION, self._on_instruction),
            (events.LINE, self._on_line),
            (events.RAISE, self._on_raise),
            (events.PY_START, lambda code, offset: None),
        ):
            monitoring.register_callback(TOOL, event, callback)
        monitoring.set_events(TOOL, events.RAISE)

    def add(self, code: types.CodeType) -> None:
        self.counts[id(code)] = Counts(code)
        monitoring.set_local_events(TOOL, code, events.INSTRUCTION | events.LINE | events.PY_START)

    def stop(self) -> None:
        monitoring.set_events(TOOL, 0)
        for counts in self.counts.values():
            monitoring.set_local_events(TOOL, counts.code, 0)
        monitoring.free_tool_id(TOOL)

    def _on_instruction(self, code: types.CodeType, offset: int) -> None:
        with self.lock:
            self.counts[id(code)].began[offset] += 1

    def _on_line(self, code: types.CodeType, line: int) -> None:
        counts = self.counts[id(code)]
        frame = sys._getframe(1)
        was_running = False
        if counts.repeats:
            was_running = counts.running.get(frame) == line
            counts.running[frame] = line
        with self.lock:
            counts.arrived[line, frame.f_lasti // 2, was_running] += 1

    def _on_raise(self, code: types.CodeType, offset: int, error: BaseException) -> None:
        counts = self.counts.get(id(code))
        if counts is not None:
            position = sys._getframe(1).f_lasti
            offset = max(o for o in counts.offsets if o <= position)
            with self.lock:
                counts.raised[offset] += 1


def run(source: str, file: str) -> dict[int, Counts]:
    """Run a program as `__main__`, whatever it prints or raises."""
    code = compile(source, file, "exec")
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=file, profile=lambda function: function)
    watch = Watch()
    for part in codes_in(code):
        watch.add(part)
    sys.modules["__main__"] = main
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, main.__dict__)
    except (Exception, SystemExit):
        pass
    finally:
        watch.stop()
    return watch.counts


def compare(counts: dict[int, Counts]) -> dict[str, Any]:
    """Return sums over all code objects and what differs."""
    result: dict[str, Any] = {
        "codes": len(counts),
        "executions": sum(c.began.total() for c in counts.values()),
        "raises": sum(c.raised.total() for c in counts.values()),
        "hits": 0,
        "without_terms": [],
        "different": [],
    }
    for one in counts.values():
        name = f"{Path(one.code.co_filename).name}:{one.code.co_firstlineno} {one.code.co_name}"
        wanted = one.hits_by_events()
        result["hits"] += wanted.total()
        if one.terms is None:
            result["without_terms"].append(name)
            continue
        found = one.hits_by_terms(one.terms)
        for line in sorted(wanted.keys() | found.keys()):
            if wanted[line] != found[line]:
                result["different"].append([name, line, wanted[line], found[line]])
    return result


def main() -> None:
    file, *arguments = sys.argv[1:]
    sys.argv = [file, *arguments]
    source = Path(file).read_text(encoding="utf-8")
    print(json.dumps(compare(run(source, file))))


if __name__ == "__main__":
    builtins.profile = lambda function: function  # type: ignore[attr-defined]
    main()
