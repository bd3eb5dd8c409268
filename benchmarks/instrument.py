"""The decorator under measurement, chosen by the process's mode: see worker.py."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import cast

MODE = os.environ.get("BENCH_MODE", "plain")

type Decorator = Callable[[Callable[..., object]], Callable[..., object]]


def floor() -> Decorator:
    """Switch LINE events on without a callback: what CPython itself takes for delivering them."""
    monitoring = sys.monitoring
    monitoring.use_tool_id(monitoring.PROFILER_ID, "floor")

    def decorate(function: Callable[..., object]) -> Callable[..., object]:
        events = monitoring.events.LINE
        monitoring.set_local_events(monitoring.PROFILER_ID, function.__code__, events)
        return function

    return decorate


def choose(mode: str) -> Decorator:
    """Return the decorator of a mode: plain, floor, lprof, line_profiler."""
    if mode == "floor":
        return floor()
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
