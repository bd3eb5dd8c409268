"""`profile`: the decorator that returns what it was given.

Under `lprof` it profiles. In a program that runs plainly it does nothing and costs nothing, unless
LPROF or LINE_PROFILE is set in the environment, `--line-profile` is among the arguments, or
`profile.enable()` was called: then it profiles from there on, and shows and writes the result when
the program ends.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from proftrace.api.line_profiler import LineProfiler

_OFF = ("", "0", "off", "false", "no")


class Profile:
    """Marks functions, methods and classes to be profiled; does nothing while no session runs.

    `setup_config`, `write_config`, `show_config` and `output_prefix` say what switches it on and
    what comes of it, as in line_profiler; they may be changed until the program ends. What
    pyproject.toml says about all but the first is read when one of them is looked at.
    """

    output_prefix: str
    write_config: dict[str, bool]
    show_config: dict[str, bool]

    def __init__(self) -> None:
        """Start without a session."""
        self._add: Callable[[object], object] | None = None
        self._profiler: LineProfiler | None = None
        self.enabled: bool | None = None  # None: nobody has decided yet
        self.setup_config: dict[str, list[str]] = {
            "environ_flags": ["LPROF", "LINE_PROFILE"],
            "cli_flags": ["--line-profile", "--line_profile"],
        }

    def __call__[T](self, thing: T) -> T:
        """Profile `thing` from now on, if that is wanted, and return it unchanged."""
        if self._is_wanted():
            if self._add is not None:
                self._add(thing)
            else:
                self._started()(thing)
        return thing

    def _is_wanted(self) -> bool:
        if self.enabled is None and self._add is None:
            environ, flags = self.setup_config["environ_flags"], self.setup_config["cli_flags"]
            self.enabled = False
            if any(os.environ.get(name, "").lower() not in _OFF for name in environ) or any(
                flag in getattr(sys, "argv", ()) for flag in flags
            ):
                self.enable()
        return self.enabled if self.enabled is not None else self._add is not None

    def _started(self) -> LineProfiler:
        """Return the profiler behind this, made if need be."""
        if self._profiler is None:
            from proftrace.api.line_profiler import LineProfiler

            self._profiler = LineProfiler()
        return self._profiler

    def enable(self, output_prefix: str | None = None) -> None:
        """Profile what is decorated from now on, whatever the environment says.

        Outside of `lprof` the result is shown and written at the end, to files whose names begin
        with `output_prefix`.
        """
        if self._add is None:
            from proftrace.api.explicit import start

            start(self)
        if output_prefix is not None:
            self.output_prefix = output_prefix
        self.enabled = True

    def disable(self) -> None:
        """Leave alone what is decorated from now on."""
        self.enabled = False

    def show(self) -> None:
        """Show and write what was counted so far; the end of the program does it by itself."""
        if self._add is None:
            from proftrace.api.explicit import show

            show(self)

    def __enter__(self) -> Profile:
        self._started().__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._started().__exit__()

    def __getattr__(self, name: str) -> object:
        """Read the configuration when it is asked for; have the methods of a LineProfiler too."""
        if name in ("output_prefix", "write_config", "show_config"):
            from proftrace.api.explicit import configure

            configure(self)
            return vars(self)[name]
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._started(), name)

    def __repr__(self) -> str:
        running = self._add is not None or bool(self.enabled)
        return f"<proftrace.profile, {'running' if running else 'not running'}>"

    def connect(self, add: Callable[[object], object]) -> None:
        """Send what is decorated to a session."""
        self._add = add


profile = Profile()
