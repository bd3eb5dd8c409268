"""proftrace: a line profiler and a memory profiler for CPython."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from proftrace._version import __version__ as __version__
    from proftrace.api.line_profiler import LineProfiler as LineProfiler
    from proftrace.api.magics import load_ipython_extension as load_ipython_extension
    from proftrace.api.stats import LineStats as LineStats
    from proftrace.api.stats import load_stats as load_stats
    from proftrace.lines.decorator import profile as profile
    from proftrace.memory.tracker import Tracker as Tracker
    from proftrace.model.load import load as load

__all__ = [
    "LineProfiler",
    "LineStats",
    "Tracker",
    "__version__",
    "load",
    "load_ipython_extension",
    "load_stats",
    "profile",
]


# What is asked for, by name: importing proftrace alone loads nothing.
_MODULES = {
    "LineProfiler": "proftrace.api.line_profiler",
    "LineStats": "proftrace.api.stats",
    "Tracker": "proftrace.memory.tracker",
    "__version__": "proftrace._version",
    "load": "proftrace.model.load",
    "load_ipython_extension": "proftrace.api.magics",
    "load_stats": "proftrace.api.stats",
    "profile": "proftrace.lines.decorator",
}


def __getattr__(name: str) -> object:
    """Load the public names when they are asked for."""
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'proftrace' has no attribute {name!r}")
    # Not import_module: importlib is no module that a program must have loaded.
    value: object = getattr(__import__(module, fromlist=[name]), name)
    globals()[name] = value
    return value
