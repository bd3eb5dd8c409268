"""The decorator under measurement, chosen by the process's mode: see worker.py."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import cast

MODE = os.environ.get("BENCH_MODE", "plain")

type Decorator = Callable[[Callable[..., object]], Callable[..., object]]


def line_events(callback: Callable[..., object] | None) -> Decorator:
    """Switch LINE events on, with a callback that does nothing or with none at all: what CPython
    itself takes for delivering them."""
    monitoring = sys.monitoring
    line = monitoring.events.LINE
    monitoring.use_tool_id(monitoring.PROFILER_ID, "bench")
    monitoring.register_callback(monitoring.PROFILER_ID, line, callback)

    def decorate(function: Callable[..., object]) -> Callable[..., object]:
        monitoring.set_local_events(monitoring.PROFILER_ID, function.__code__, line)
        return function

    return decorate


def choose(mode: str) -> Decorator:
    """Return the decorator of a mode: plain, no callback, empty callback, lprof, line_profiler."""
    if mode == "no callback":
        return line_events(None)
    if mode == "empty callback":
        return line_events(operator.is_)  # in C, takes two arguments, does next to nothing
    # Each mode imports its own tool only: the others may not even be installed.
    if mode == "lprof":
        return cast(Decorator, import_module("proftrace").profile)
    if mode == "line_profiler":
        return cast(Decorator, import_module("line_profiler").LineProfiler())
    return lambda function: function


decorate = choose(MODE)


def profile[Function: Callable[..., object]](function: Function) -> Function:
    """Return what the mode's decorator makes of a function."""
    return cast(Function, decorate(function))  # decorators keep the signature
