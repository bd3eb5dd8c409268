"""proftrace: a line profiler and a memory profiler for CPython."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from proftrace._version import __version__ as __version__
    from proftrace.lines.decorator import profile as profile
    from proftrace.memory.tracker import Tracker as Tracker
    from proftrace.model.load import load as load

__all__ = ["Tracker", "__version__", "load", "profile"]


def __getattr__(name: str) -> object:
    """Load the public names when they are asked for: `import proftrace` alone loads nothing."""
    if name == "profile":
        from proftrace.lines.decorator import profile

        value: object = profile
    elif name == "Tracker":
        from proftrace.memory.tracker import Tracker

        value = Tracker
    elif name == "load":
        from proftrace.model.load import load

        value = load
    elif name == "__version__":
        from proftrace._version import __version__

        value = __version__
    else:
        raise AttributeError(f"module 'proftrace' has no attribute {name!r}")
    globals()[name] = value
    return value
