"""The one tracer of this process, shared by all LineProfilers and by `lprof` itself."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Collection, Iterable, Iterator
from types import CodeType
from typing import Protocol
from weakref import WeakSet

from proftrace import _lines
from proftrace.errors import ProftraceError
from proftrace.lines import session
from proftrace.lines.register import Register
from proftrace.lines.sources import SourceTexts


class Follower(Protocol):
    """Who wants to hear of code that takes the place of code."""

    def follow(self, old: CodeType, new: CodeType) -> None:
        """A function with the one code object is about to get the other, which is registered."""


class Engine:
    """Registers code, and lets it have events only while somebody wants to hear of it.

    While nobody wants to hear of any, there is no tool id, no event and no thread of ours.
    """

    def __init__(self) -> None:
        """Start the tracer, unless `lprof` has. Raises ProftraceError if that cannot be."""
        self._lock = threading.Lock()
        self._listeners: dict[int, int] = {}  # by address: registered code is never freed
        self._is_session = session.running is not None
        self.followers: WeakSet[Follower] = WeakSet()
        if session.running is not None:
            self.register: Register = session.running
            return
        try:
            _lines.open()
            session.allow_hot(False)
            argv = getattr(sys, "argv", [])
            session.describe_run(argv[0] if argv else "", argv, False)
        except RuntimeError as error:
            raise ProftraceError(f"cannot profile: {error}") from error
        self.register = Register(SourceTexts(os.getcwd(), None))
        self.register.followed = self._follow
        _lines.release()

    def add(self, thing: object) -> list[CodeType]:
        """Register the code behind `thing`, without listening to it.

        Raises CannotProfileError or ValueError when there is none.
        """
        with self._lock:
            codes = self.register.add_or_raise(thing)
            self._silence_unheard(codes)
        return codes

    def _silence_unheard(self, codes: Iterable[CodeType]) -> None:
        """Take the events of code away that nobody listens to; under `lprof` everybody does."""
        if not self._is_session:
            for code in with_nested(codes):
                if id(code) not in self._listeners:
                    _lines.silence(code)

    def _follow(self, old: CodeType, new: CodeType) -> None:
        for follower in list(self.followers):
            follower.follow(old, new)
        with self._lock:
            self._silence_unheard([new])

    def listen(self, codes: Collection[CodeType]) -> None:
        """Let code objects be heard; ProftraceError when that cannot be."""
        with self._lock:
            if codes and not self._listeners and not self._is_session:
                try:
                    _lines.claim()
                except RuntimeError as error:
                    raise ProftraceError(f"cannot profile: {error}") from error
            for code in codes:
                count = self._listeners[id(code)] = self._listeners.get(id(code), 0) + 1
                if count == 1 and not self._is_session:
                    _lines.wake(code)

    def ignore(self, codes: Collection[CodeType]) -> None:
        """Take back one `listen`; code that nobody listens to runs at full speed."""
        with self._lock:
            for code in codes:
                self._listeners[id(code)] -= 1
                if not self._listeners[id(code)]:
                    del self._listeners[id(code)]
            self._silence_unheard(codes)
            if not self._listeners and not self._is_session:
                _lines.release()


_engine: Engine | None = None
_engine_lock = threading.Lock()


def engine() -> Engine:
    """Return the engine of this process, started when it is first asked for."""
    global _engine
    with _engine_lock:
        if _engine is None:
            _engine = Engine()
        return _engine


def with_nested(codes: Iterable[CodeType]) -> Iterator[CodeType]:
    """Yield code objects and those of functions, lambdas and the like inside them, each once."""
    waiting, seen = list(codes), set[int]()
    while waiting:
        code = waiting.pop()
        if id(code) not in seen:
            seen.add(id(code))
            yield code
            waiting += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
