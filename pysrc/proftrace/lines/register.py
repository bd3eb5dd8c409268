"""Puts code objects into the registry of the tracer, with the texts they were compiled from."""

from __future__ import annotations

import sys

from proftrace import _lines
from proftrace.lines.selection import CannotProfileError, find_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType, FunctionType

    from proftrace.lines.sources import SourceTexts
    from proftrace.lines.targets import Targets

    type Namespace = Mapping[str, object] | None

_LONGEST_NAME = 80


class Register:
    """Registers what is decorated at once, and what is nested or targeted when it starts.

    Functions, lambdas and generator expressions inside a profiled function are profiled from their
    first start on; those that never run are in no result.
    """

    def __init__(self, sources: SourceTexts) -> None:
        """Without targets, only what is added and what is nested in it is registered."""
        self._sources = sources
        self._targets: Targets | None = None
        self._verdicts: dict[str, bool] = {}
        # By address: equal code objects of different functions are different code.
        self._waiting: dict[int, Namespace] = {}
        # Who wants to know that other code took the place of a profiled function's: old, new.
        self.followed: Callable[[CodeType, CodeType], None] | None = None
        _lines.decide(self._select, self._verdicts, False)
        _lines.on_code_change(self._follow)

    def watch(self, targets: Targets) -> None:
        """Ask `targets` about all code that starts from now on."""
        self._targets = targets
        self._verdicts = targets.verdicts
        _lines.decide(self._select, self._verdicts, True)

    def add(self, thing: object) -> list[CodeType]:
        """Profile the code that `thing` leads to, and return it; what has none gets a line on
        stderr."""
        try:
            return self.add_or_raise(thing)
        except (CannotProfileError, ValueError) as error:
            warn(f"cannot profile {name_of(thing)}: {error}")
            return []

    def add_or_raise(self, thing: object) -> list[CodeType]:
        """Profile the code that `thing` leads to, and return it.

        Raises CannotProfileError or ValueError when there is none.
        """
        added = []
        for code, function in find_code(thing):
            namespace = None if function is None else function.__globals__
            if self._targets is not None:
                self._targets.wants(code, namespace)  # what is asked for too, is there
            self._register(code, namespace)
            added.append(code)
        return added

    def _register(self, code: CodeType, namespace: Namespace) -> None:
        """Let the tracer know a code object, last of all: a thread that finds it registered runs
        it, and what is nested in it."""
        if _lines.is_registered(code):
            return
        source = self._sources.id_of(code, namespace)
        nested = [inner for inner in code.co_consts if isinstance(inner, type(code))]
        for inner in nested:
            if not _lines.is_registered(inner):
                self._waiting[id(inner)] = namespace
                if self._targets is not None:
                    self._targets.keep_asking(inner.co_filename)
                _lines.await_start(inner)
        try:
            _lines.register(code, source)
        except ValueError:
            for inner in nested:
                self._waiting.pop(id(inner), None)
            raise

    def _follow(self, function: FunctionType, code: CodeType) -> None:
        """Profile the code that a profiled function is about to get; called by the tracer."""
        try:
            self._register(code, function.__globals__)
        except ValueError:  # it has no lines
            return
        if self.followed is not None:
            self.followed(function.__code__, code)

    def _select(self, code: CodeType, namespace: Namespace) -> bool:
        """Register a code object that starts, if it is wanted; called by the tracer."""
        if id(code) not in self._waiting and (
            self._targets is None or not self._targets.wants(code, namespace)
        ):
            return False
        try:
            self._register(code, namespace)
        except ValueError:  # it has no lines
            return False
        self._waiting.pop(id(code), None)
        return True


def name_of(thing: object) -> str:
    """Return what a message calls an object of the program."""
    try:
        name = getattr(thing, "__qualname__", None)
    except Exception:  # a property of the program's own
        name = None
    if not isinstance(name, str):
        name = f"an object of type {type(thing).__name__}"
    return name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "..."


def warn(message: str) -> None:
    """Write one line to stderr; a program without one is left alone."""
    try:
        print(f"lprof: {message}", file=sys.stderr)
    except (AttributeError, OSError, ValueError):
        return
