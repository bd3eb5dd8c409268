"""The one tracer of this process, shared by all LineProfilers and by `lprof` itself."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from types import CodeType

from proftrace import _lines
from proftrace.errors import ProftraceError
from proftrace.lines import session
from proftrace.lines.register import Register
from proftrace.lines.sources import SourceTexts


class Engine:
    """Registers code, and lets it have events only while somebody wants to hear of it."""

    def __init__(self) -> None:
        """Start the tracer, unless `lprof` has. Raises ProftraceError if that cannot be."""
        self._lock = threading.Lock()
        self._listeners: dict[int, int] = {}  # by address: registered code is never freed
        self._is_session = session.running is not None
        if session.running is not None:
            self.register: Register = session.running
            return
        try:
            _lines.open()
            session.allow_hot(False)
        except RuntimeError as error:
            raise ProftraceError(f"cannot profile: {error}") from error
        self.register = Register(SourceTexts(os.getcwd(), None))

    def add(self, thing: object) -> list[CodeType]:
        """Register the code behind `thing`, without listening to it.

        Raises CannotProfileError or ValueError when there is none.
        """
        with self._lock:
            codes = self.register.add_or_raise(thing)
            for code in codes:
                if not self._is_session and not self._listeners.get(id(code)):
                    _lines.silence(code)
        return codes

    def listen(self, codes: Iterable[CodeType]) -> None:
        """Let code be heard, and what is nested in it."""
        with self._lock:
            for code in with_nested(codes):
                count = self._listeners[id(code)] = self._listeners.get(id(code), 0) + 1
                if count == 1 and not self._is_session:
                    _lines.wake(code)

    def ignore(self, codes: Iterable[CodeType]) -> None:
        """Take back one `listen`; code that nobody listens to runs at full speed."""
        with self._lock:
            for code in with_nested(codes):
                self._listeners[id(code)] -= 1
                if not self._listeners[id(code)] and not self._is_session:
                    _lines.silence(code)


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
