"""The pickles of line_profiler as data: reading one never runs anything.

No class is ever looked up and no object is ever called: the few opcodes that such a file consists
of are followed by hand, and whatever else is in a file is refused. What is built on the way cannot
grow beyond what the file says: tuples hold numbers and names, lists hold tuples, keys are flat.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

OLDEST_PROTOCOL = 2  # line_profiler always writes the newest of its Python
# Where its versions have had the one class that a result consists of.
_CLASSES = {
    "line_profiler.line_profiler LineStats",
    "line_profiler._line_profiler LineStats",
    "_line_profiler LineStats",
}
_MOST_WAITING = 10_000  # pickle itself puts away what it has on its stack every 1,000 items


class Refused(Exception):
    """Why a pickle is not a result of line_profiler."""


def read_line_stats(data: bytes) -> list[object]:
    """Return the state of each LineStats in a file: one, unless pickles were put one behind the
    other. Raise `Refused` if it holds anything else."""
    stream, states = io.BytesIO(data), list[object]()
    while stream.tell() < len(data) or not states:
        states.append(_Machine().run(stream))
    return states


@dataclass(slots=True)
class _Class:
    """The class LineStats, as far as a pickle can tell; `state` is what an instance of it holds."""

    is_instance: bool = False
    state: dict[object, object] | None = None


@dataclass(slots=True)
class _Machine:
    """Follows the opcodes of a pickle. `marks` are heights of the stack; `fresh` says that what is
    on top has just come there."""

    stack: list[object] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    memo: dict[int, object] = field(default_factory=dict)
    fresh: bool = False

    def run(self, stream: io.BytesIO) -> object:
        """Return the state of the LineStats that the next pickle holds."""
        try:
            for code, argument, _ in pickletools.genops(stream):
                if code.name == "STOP":
                    break
                self._step(code.name, argument)
        except (ValueError, IndexError, KeyError, TypeError, OverflowError) as error:
            raise Refused(f"damaged ({error})" if str(error) else "damaged") from None
        match self.stack:
            case [_Class(is_instance=True, state=dict(state))]:
                return state
        raise Refused("it holds something else")

    def _step(self, name: str, argument: object) -> None:
        if name in _IGNORED:
            return
        if name in _PUSHES:
            self._push(argument)
        elif name in _CONSTANTS:
            self._push(_CONSTANTS[name])
        elif name in _OPERATIONS:
            _OPERATIONS[name](self, argument)
        else:
            raise Refused(f"a result has no {name}")

    def _push(self, value: object) -> None:
        if len(self.stack) >= _MOST_WAITING:
            raise Refused("it is nested too deeply")
        self.stack.append(value)
        self.fresh = True

    def _pop(self) -> object:
        if self.marks and len(self.stack) <= self.marks[-1]:
            raise Refused("damaged")
        return self.stack.pop()

    def _pop_to_mark(self) -> list[object]:
        height = self.marks.pop()
        values = self.stack[height:]
        del self.stack[height:]
        return values

    def _set_mark(self, _: object) -> None:
        if len(self.marks) >= _MOST_WAITING:
            raise Refused("it is nested too deeply")
        self.marks.append(len(self.stack))

    def _remember(self, argument: object) -> None:
        if not self.fresh:
            raise Refused("damaged")
        self.fresh = False
        number = argument if isinstance(argument, int) else len(self.memo)
        self.memo[number] = self.stack[-1]

    def _recall(self, argument: object) -> None:
        assert isinstance(argument, int)
        self._push(self.memo[argument])

    def _tuple(self, values: list[object]) -> None:
        if not all(value is None or type(value) in (str, int, float) for value in values):
            raise Refused("a tuple of a result has numbers and names only")
        self._push(tuple(values))

    def _tuple_of(self, n_values: int) -> None:
        values = [self._pop() for _ in range(n_values)]
        self._tuple(values[::-1])

    def _append(self, values: list[object]) -> None:
        target = self.stack[-1]
        if not isinstance(target, list) or not all(type(value) is tuple for value in values):
            raise Refused("a list of a result has tuples only")
        target.extend(values)

    def _set_items(self, values: list[object]) -> None:
        target = self.stack[-1]
        if not isinstance(target, dict) or len(values) % 2:
            raise Refused("damaged")
        for key, value in zip(values[::2], values[1::2], strict=True):
            if type(key) not in (str, tuple):  # flat, so that it has a hash that is soon known
                raise Refused("a mapping of a result has names only")
            target[key] = value

    def _find_class(self, name: str) -> None:
        if name not in _CLASSES:
            raise Refused(f"it asks for {name[:100].replace(' ', '.')}")
        self._push(_Class())

    def _find_class_on_stack(self, _: object) -> None:
        name, module = self._pop(), self._pop()
        self._find_class(f"{module} {name}")

    def _make(self, _: object) -> None:
        arguments, of = self._pop(), self._pop()
        if not isinstance(of, _Class) or of.is_instance or arguments != ():
            raise Refused("it makes something else")
        self._push(_Class(is_instance=True))

    def _set_state(self, _: object) -> None:
        state, target = self._pop(), self.stack[-1]
        if not isinstance(target, _Class) or not target.is_instance or type(state) is not dict:
            raise Refused("it makes something else")
        target.state = state


_IGNORED = {"PROTO", "FRAME"}
_PUSHES = {
    *("BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT"),
    *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINSTRING", "SHORT_BINSTRING"),
}
_CONSTANTS: Mapping[str, object] = {"NONE": None, "EMPTY_TUPLE": ()}
_OPERATIONS: Mapping[str, Callable[[_Machine, object], None]] = {
    "MARK": _Machine._set_mark,
    "MEMOIZE": _Machine._remember,
    "BINPUT": _Machine._remember,
    "LONG_BINPUT": _Machine._remember,
    "BINGET": _Machine._recall,
    "LONG_BINGET": _Machine._recall,
    "EMPTY_LIST": lambda machine, _: machine._push([]),
    "EMPTY_DICT": lambda machine, _: machine._push({}),
    "TUPLE": lambda machine, _: machine._tuple(machine._pop_to_mark()),
    "TUPLE1": lambda machine, _: machine._tuple_of(1),
    "TUPLE2": lambda machine, _: machine._tuple_of(2),
    "TUPLE3": lambda machine, _: machine._tuple_of(3),
    "APPEND": lambda machine, _: machine._append([machine._pop()]),
    "APPENDS": lambda machine, _: machine._append(machine._pop_to_mark()),
    "SETITEM": lambda machine, _: machine._set_items([machine._pop(), machine._pop()][::-1]),
    "SETITEMS": lambda machine, _: machine._set_items(machine._pop_to_mark()),
    "GLOBAL": lambda machine, argument: machine._find_class(str(argument)),
    "STACK_GLOBAL": _Machine._find_class_on_stack,
    "NEWOBJ": _Machine._make,
    "BUILD": _Machine._set_state,
}
