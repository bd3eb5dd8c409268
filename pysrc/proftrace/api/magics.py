"""The notebook extension: %lprun, %%lprun and %%lprun_all."""

from __future__ import annotations

import builtins
import shlex
import time
from collections.abc import Callable
from importlib import import_module
from types import CodeType
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_cell_magic, magics_class
from IPython.display import display

from proftrace.api.line_profiler import LineProfiler
from proftrace.api.notebook import Report

_MISSING = object()


def load_ipython_extension(shell: Any) -> None:
    """Give a shell the magics; `%load_ext proftrace` calls this."""
    shell.register_magics(LineMagics)


@magics_class
class LineMagics(Magics):  # type: ignore[misc]
    """Profile a statement, or a cell, line by line."""

    @line_cell_magic  # type: ignore[untyped-decorator]
    def lprun(self, line: str, cell: str | None = None) -> LineProfiler | None:
        """Run a statement, or the cell below, and show what each line of some functions cost.

            %lprun -f function [-f ...] statement
            %%lprun -f function [-f ...]

        -f F   a function, method or class: any expression without spaces (repeatable)
        -m M   all functions of a module (repeatable)
        -D P   write the result into a file, for `lprof show`
        -T P   write the table into a file
        -r     return the LineProfiler
        -z -s  leave out functions that did not run
        -u S   unit of times, in seconds
        """
        options, statement = self.parse_options(line, "rszf:m:D:T:u:", list_all=True, posix=False)
        profiler = LineProfiler()
        for expression in options.get("f", []):
            profiler.add_function(self._value(expression))
        for name in options.get("m", []):
            profiler.add_module(_module(name))
        if cell is not None:
            statement = f"{statement}\n{cell}" if statement else cell
        code = self._compiled(statement)
        return self._run(profiler, options, code)

    @cell_magic  # type: ignore[untyped-decorator]
    def lprun_all(self, line: str, cell: str) -> LineProfiler | None:
        """Run the cell and show what each of its lines cost, functions that it defines included.

            %%lprun_all

        -p     only the lines at the top level
        -t     store how long it took, in seconds, in `_total_time_taken`
        The others as %lprun: -D -T -r -z -u
        """
        options, _ = self.parse_options(line, "rzptD:T:u:", list_all=True, posix=False)
        code = self._compiled(cell)
        profiler = LineProfiler()
        profiler.add_function(code)
        only = [code] if "p" in options else None
        return self._run(profiler, options, code, only)

    def _value(self, expression: str) -> object:
        try:
            return eval(expression, self.shell.user_global_ns, self.shell.user_ns)
        except Exception as error:
            raise UsageError(
                f"cannot find function {expression}: {type(error).__name__}: {error}"
            ) from None

    def _compiled(self, text: str) -> CodeType:
        """Compile a cell as IPython does, so that its text is known by the name of its file."""
        source = self.shell.transform_cell(text)
        name = self.shell.compile.cache(source, self.shell.execution_count)
        code: CodeType = compile(source, name, "exec", self.shell.compile.flags, dont_inherit=True)
        return code

    def _run(
        self,
        profiler: LineProfiler,
        options: Any,
        code: CodeType,
        only: list[CodeType] | None = None,
    ) -> LineProfiler | None:
        unit = _unit(options.get("u", []))
        message = None
        start = time.perf_counter()
        with _Builtin(profiler):
            try:
                profiler.runctx(code, self.shell.user_global_ns, self.shell.user_ns)
            except (SystemExit, KeyboardInterrupt) as error:
                message = f"*** {type(error).__name__} in the profiled code."
        took = time.perf_counter() - start
        if "t" in options:
            self.shell.user_ns["_total_time_taken"] = took
        report = Report(
            profiler.get_stats(),
            unit=unit,
            skip_zero="z" in options or "s" in options,
            only_lines_of=only,
        )
        display(report)
        self._write(profiler, report, options)
        if message is not None:
            print(message)
        return profiler if "r" in options else None

    @staticmethod
    def _write(profiler: LineProfiler, report: Report, options: Any) -> None:
        writers: tuple[tuple[str, str, Callable[[str], None]], ...] = (
            ("D", "result", profiler.dump_stats),
            ("T", "table", report.write_text),
        )
        for letter, what, write in writers:
            for name in options.get(letter, [])[-1:]:
                path = shlex.split(name)[0] if name[:1] in "\"'" else name
                try:
                    write(path)
                except OSError as error:
                    raise UsageError(f"cannot write {path}: {error.strerror}") from None
                print(f"*** Wrote the {what} to {path!r}.")


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except Exception as error:
        raise UsageError(f"cannot import module {name}: {type(error).__name__}: {error}") from None


def _unit(values: list[str]) -> float | None:
    if not values:
        return None
    try:
        unit = float(values[-1])
    except ValueError:
        unit = 0.0
    if not 0 < unit < float("inf"):
        raise UsageError(f"-u: not a length of time in seconds: {values[-1]!r}")
    return unit


class _Builtin:
    """Lets the profiler be the builtin `profile` meanwhile."""

    def __init__(self, profiler: LineProfiler) -> None:
        self._profiler = profiler

    def __enter__(self) -> None:
        self._before = getattr(builtins, "profile", _MISSING)
        builtins.profile = self._profiler  # type: ignore[attr-defined]

    def __exit__(self, *_: object) -> None:
        if self._before is _MISSING:
            del builtins.profile  # type: ignore[attr-defined]
        else:
            builtins.profile = self._before  # type: ignore[attr-defined]
