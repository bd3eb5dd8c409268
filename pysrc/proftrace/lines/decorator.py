"""`profile`: the decorator that returns what it was given."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Profile:
    """Marks functions, methods and classes to be profiled; does nothing while no session runs."""

    def __init__(self) -> None:
        """Start without a session."""
        self._add: Callable[[object], object] | None = None

    def __call__[T](self, thing: T) -> T:
        """Profile `thing` from now on, if a session is running, and return it unchanged."""
        if self._add is not None:
            self._add(thing)
        return thing

    def __repr__(self) -> str:
        return f"<proftrace.profile, {'running' if self._add is not None else 'not running'}>"

    def connect(self, add: Callable[[object], object]) -> None:
        """Send what is decorated to a session."""
        self._add = add


profile = Profile()
