"""LineProfiler: profiles chosen functions while it is on."""

from __future__ import annotations

import os
import tempfile
import threading
import warnings
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any, TextIO

from proftrace import _lines
from proftrace.api.engine import engine, with_nested
from proftrace.api.scoping import add_members, read_policies
from proftrace.api.stats import LineStats
from proftrace.errors import ProftraceError
from proftrace.lines.register import name_of
from proftrace.lines.selection import CannotProfileError, find_code
from proftrace.model.load import load_profiles


class LineProfiler:
    """Counts and times lines of the functions that were added, while it is on, in all threads.

    Decorating with it (`@profiler`) adds a function and switches it on for good; nothing is
    wrapped. Several may be on at once, for the same functions too: each has its own numbers.
    """

    timer_unit = 1e-9

    def __init__(self, *functions: object) -> None:
        """Add functions, without switching on."""
        self.functions: list[object] = []
        self._codes: dict[int, CodeType] = {}
        self._collector = _lines.Collector()
        self._lock = threading.RLock()
        self._counts = threading.local()
        self._threads: set[int] = set()
        self._is_armed = False
        self._heard: dict[int, CodeType] | None = None  # while it is on; with what is nested
        for function in functions:
            self._add_or_warn(function)

    # ---- what ----------------------------------------------------------------------------------

    def add_function(self, func: object) -> None:
        """Profile a function from now on, while this is on; what is no function gets a warning."""
        self._add_or_warn(func)

    def _add_or_warn(self, func: object) -> None:
        """Add; a warning is about the line that called the method that called this."""
        try:
            codes = engine().add(func)
        except (CannotProfileError, ValueError) as error:
            warnings.warn(f"cannot profile {name_of(func)}: {error}", stacklevel=3)
            return
        self._add_functions(func)
        self._add_codes(codes)

    def _add_functions(self, func: object) -> None:
        self.functions.extend(_functions_in(func) or [func])

    def _add_codes(self, codes: list[CodeType]) -> None:
        new = [code for code in codes if id(code) not in self._codes]
        with self._lock:
            self._codes.update((id(code), code) for code in new)
            engine().followers.add(self)
            if self._heard is not None:
                fresh = [code for code in with_nested(new) if id(code) not in self._heard]
                engine().listen(fresh)
                self._heard.update((id(code), code) for code in fresh)

    def follow(self, old: CodeType, new: CodeType) -> None:
        """Profile the code that takes the place of a function's (`f.__code__ = ...`)."""
        if id(old) in self._codes:
            self._add_codes([new])

    def add_callable(
        self,
        func: object,
        guard: Callable[[Callable[..., object]], bool] | None = None,
        name: str | None = None,
    ) -> int:
        """Add a function, method, property or wrapper; return how many were new: 0 or 1.

        `guard` is asked about each function that `func` leads to; what it is true of is left out.
        `name` is accepted and not used. TypeError for what cannot be called.
        """
        del name
        _require_callable(func)
        if guard is not None:
            wanted = [function for function in _functions_in(func) if not guard(function)]
            return int(sum(self.add_callable(function) for function in wanted) > 0)
        before = len(self._codes)
        try:
            self._add_codes(engine().add(func))
        except (CannotProfileError, ValueError):
            return 0
        if len(self._codes) == before:
            return 0
        self._add_functions(func)
        return 1

    def add_class(self, cls: type, *, scoping_policy: object = None, wrap: bool = False) -> int:
        """Add what is defined in a class; return how many of its members had something new.

        `scoping_policy` says what is meant of what the class has: "exact" (its own functions,
        without the classes in it), "children", "descendants", "siblings" (the default for
        functions and classes) or "none" (whatever is there), or a dict of these by "func", "class"
        and "module". `wrap` is accepted: nothing has to be wrapped.
        """
        del wrap
        return add_members(cls, read_policies(scoping_policy), self.add_callable)

    def add_module(
        self, mod: ModuleType, *, scoping_policy: object = None, wrap: bool = False
    ) -> int:
        """Add what is defined in a module, as add_class does for a class."""
        del wrap
        return add_members(mod, read_policies(scoping_policy), self.add_callable)

    def __call__[T](self, func: T) -> T:
        """Add a function, method, property or class, be on from now on, and return it as it is;
        TypeError for what cannot be called."""
        _require_callable(func)
        self._add_or_warn(func)
        with self._lock:
            self._is_armed = True
            self._switch()
        return func

    def wrap_callable[T](self, func: T) -> T:
        """Do what decorating does; line_profiler's names for each kind of callable do so too."""
        return self(func)

    wrap_function = wrap_generator = wrap_coroutine = wrap_async_generator = wrap_callable
    wrap_classmethod = wrap_staticmethod = wrap_boundmethod = wrap_class = wrap_callable
    wrap_property = wrap_cached_property = wrap_partial = wrap_partialmethod = wrap_callable

    @classmethod
    def get_underlying_functions(cls, func: object) -> list[FunctionType]:
        """Return the functions that a wrapper, method, property or class leads to; maybe none.

        TypeError for what cannot be called.
        """
        _require_callable(func)
        return _functions_in(func)

    # ---- when ----------------------------------------------------------------------------------

    @property
    def enable_count(self) -> int:
        """How often enable_by_count was called in this thread and not taken back."""
        return getattr(self._counts, "count", 0)

    def enable(self) -> None:
        """Switch on, until this thread switches off."""
        with self._lock:
            self._threads.add(threading.get_ident())
            self._switch()

    def disable(self) -> None:
        """Switch off what this thread or a decoration has switched on."""
        with self._lock:
            self._threads.discard(threading.get_ident())
            self._is_armed = False
            self._switch()

    def enable_by_count(self) -> None:
        """Switch on; as often as this was called, disable_by_count has to be."""
        if self.enable_count == 0:
            self.enable()
        self._counts.count = self.enable_count + 1

    def disable_by_count(self) -> None:
        """Take back one enable_by_count; the last one switches off."""
        if self.enable_count == 0:
            return
        self._counts.count = self.enable_count - 1
        if self.enable_count == 0:
            with self._lock:
                self._threads.discard(threading.get_ident())
                self._switch()

    def __enter__(self) -> LineProfiler:
        self.enable_by_count()
        return self

    def __exit__(self, *_: object) -> None:
        self.disable_by_count()

    def _switch(self) -> None:
        """Be on if anybody wants it; called with the lock."""
        wanted = self._is_armed or bool(self._threads)
        if wanted and self._heard is None:
            codes = {id(code): code for code in with_nested(self._codes.values())}
            try:
                engine().listen(codes.values())
            except ProftraceError:
                self._is_armed = False
                self._threads.clear()
                raise
            self._heard = codes
            self._collector.start()
        elif not wanted and self._heard is not None:
            self._collector.stop()
            engine().ignore(self._heard.values())
            self._heard = None

    # ---- running -------------------------------------------------------------------------------

    def run(self, cmd: str) -> LineProfiler:
        """Execute statements in `__main__`, switched on."""
        import __main__

        return self.runctx(cmd, vars(__main__), vars(__main__))

    def runctx(
        self, cmd: str | CodeType, globals: dict[str, Any], locals: Mapping[str, Any] | None
    ) -> LineProfiler:
        """Execute statements with these namespaces, switched on."""
        with self:
            exec(cmd, globals, locals)
        return self

    def runcall[**P, R](self, func: Callable[P, R], /, *args: P.args, **kw: P.kwargs) -> R:
        """Call a function, switched on, and return what it returns."""
        with self:
            return func(*args, **kw)

    # ---- the result ----------------------------------------------------------------------------

    def get_stats(self) -> LineStats:
        """Return what was counted so far."""
        descriptor, path = tempfile.mkstemp(suffix=".lprof")
        os.close(descriptor)
        try:
            engine()  # an empty profiler has not asked for it yet
            with self._lock:
                codes = list(with_nested(self._codes.values()))
                self._collector.write(os.fsencode(path), codes)
            with open(path, "rb") as file:
                data = file.read()
            return LineStats(load_profiles(path), [data])
        finally:
            os.unlink(path)

    def dump_stats(self, filename: str | os.PathLike[str]) -> None:
        """Write what was counted so far into a result file."""
        self.get_stats().to_file(filename)

    def print_stats(  # noqa: PLR0917 - line_profiler's order
        self,
        stream: TextIO | None = None,
        output_unit: float | None = None,
        stripzeros: bool = False,
        details: bool = True,
        summarize: bool = False,
        sort: bool = False,
        rich: bool = False,
        *,
        config: object = None,
    ) -> None:
        """Print the table; see LineStats.print."""
        self.get_stats().print(
            stream, output_unit, stripzeros, details, summarize, sort, rich, config=config
        )

    @property
    def code_map(self) -> dict[CodeType, dict[int, dict[str, object]]]:
        """By code object and line: "lineno", "nhits" and "total_time" in timer units."""
        timings = self.get_stats().timings
        found: dict[CodeType, dict[int, dict[str, object]]] = {}
        for code in self._codes.values():
            key = (code.co_filename, code.co_firstlineno, code.co_qualname)
            found[code] = {
                line: {"code": code, "lineno": line, "nhits": hits, "total_time": time}
                for line, hits, time in timings.get(key, ())
            }
        return found

    def __repr__(self) -> str:
        state = "on" if self._heard is not None else "off"
        return f"<proftrace.LineProfiler of {len(self.functions)} functions, {state}>"


def _functions_in(func: object) -> list[FunctionType]:
    try:
        return [function for _, function in find_code(func) if function is not None]
    except CannotProfileError:
        return []


def _require_callable(func: object) -> None:
    """Raise TypeError for what is neither called nor leads to what is, as properties do."""
    if callable(func) or isinstance(func, CodeType):
        return
    try:
        find_code(func)
    except CannotProfileError as error:
        # A property or class method around C code can be meant; a number cannot.
        if not hasattr(type(func), "__get__"):
            raise TypeError(f"cannot profile {name_of(func)}: {error}") from None
