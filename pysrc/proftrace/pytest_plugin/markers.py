"""The markers: what they accept, and which of them hold for a test."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pytest

from proftrace.errors import UsageError
from proftrace.pytest_plugin.scope import Counted
from proftrace.units import parse_bytes


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A frame of a stack: function, file and line (0 = not known)."""

    function: str
    filename: str
    lineno: int


@dataclass(frozen=True, slots=True)
class Stack:
    """The stack of an allocation, innermost frame first."""

    frames: tuple[StackFrame, ...]


class LeaksFilterFunction(Protocol):
    """Says for a stack whether what leaks there is to be reported."""

    def __call__(self, stack: Stack, /) -> bool:
        """Return True to report a leak of this stack, False to pass over it."""


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """limit_memory: the most bytes that a test may hold at any moment."""

    limit: int
    text: str
    counted: Counted


@dataclass(frozen=True, slots=True)
class LeakLimit:
    """limit_leaks: the most bytes that may be left of what one place allocated."""

    limit: int
    text: str
    counted: Counted
    filter_fn: LeaksFilterFunction | None


@dataclass(frozen=True, slots=True)
class NoLeaks:
    """no_leaks: how often the test runs, and the growth a call that counts, in bytes."""

    warmup: int
    repeat: int
    per_call: int
    text: str
    counted: Counted
    filter_fn: LeaksFilterFunction | None


type Request = MemoryLimit | LeakLimit | NoLeaks


def limit_memory(
    limit: object, *, current_thread_only: object = False, setup: object = False
) -> MemoryLimit:
    """Return what the marker of this name asks for; TypeError or ValueError with the reason."""
    return MemoryLimit(*_size("limit", limit), _counted(current_thread_only, setup))


def limit_leaks(
    location_limit: object,
    *,
    filter_fn: object = None,
    current_thread_only: object = False,
    setup: object = False,
) -> LeakLimit:
    """Return what the marker of this name asks for; TypeError or ValueError with the reason."""
    return LeakLimit(
        *_size("location_limit", location_limit),
        _counted(current_thread_only, setup),
        _filter(filter_fn),
    )


def no_leaks(
    warmup: object = 2,
    repeat: object = 5,
    per_call: object = "16 B",
    *,
    filter_fn: object = None,
    current_thread_only: object = False,
    setup: object = False,
) -> NoLeaks:
    """Return what the marker of this name asks for; TypeError or ValueError with the reason."""
    return NoLeaks(
        _count("warmup", warmup, 0),
        _count("repeat", repeat, 2),
        *_size("per_call", per_call),
        _counted(current_thread_only, setup),
        _filter(filter_fn),
    )


MARKERS: dict[str, Callable[..., Request]] = {
    "limit_memory": limit_memory,
    "limit_leaks": limit_leaks,
    "no_leaks": no_leaks,
}


def _size(name: str, value: object) -> tuple[int, str]:
    if not isinstance(value, str):
        raise TypeError(f'{name} is a text such as "24 MB", not {_described(value)}')
    size = parse_bytes(value)
    if value.strip()[-1:].isdigit():
        raise ValueError(f'{name} needs a unit: "{value.strip()} B", "{value.strip()} MB"')
    return size, value.strip()


def _counted(current_thread_only: object, setup: object) -> Counted:
    return Counted(_flag("current_thread_only", current_thread_only), _flag("setup", setup))


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} is True or False, not {_described(value)}")
    return value


def _count(name: str, value: object, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is a whole number, not {_described(value)}")
    if value < least:
        raise ValueError(f"{name} is at least {least}, not {value}")
    return value


def _filter(value: object) -> LeaksFilterFunction | None:
    if value is not None and not callable(value):
        raise TypeError(f"filter_fn is a function or None, not {_described(value)}")
    return value


def _described(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 50 else text[:47] + '...'} ({type(value).__name__})"


def check(item: pytest.Item) -> None:
    """Fail a test whose markers cannot be followed, with one line."""
    try:
        requests_of(item)
        return
    except UsageError as error:
        reason = str(error)
    pytest.fail(reason, pytrace=False)  # outside of the handler: not "while handling another"


def requests_of(item: pytest.Item) -> list[Request]:
    """Return what the markers of a test ask for; UsageError names the first that is wrong.

    Of each kind those that stand closest to the test hold: on its parameters, the function, the
    class, the module.
    """
    found: list[Request] = []
    for name, read in MARKERS.items():
        for mark in _closest(item, name):
            request = _read(name, read, mark)
            if request not in found:
                found.append(request)
    if sum(isinstance(request, NoLeaks) for request in found) > 1:
        raise UsageError("no_leaks: stands twice on this test, with different arguments")
    return found


def _read(name: str, read: Callable[..., Request], mark: pytest.Mark) -> Request:
    signature = inspect.signature(read)
    try:
        signature.bind(*mark.args, **mark.kwargs)
    except TypeError as error:
        words = [str(p.replace(annotation=p.empty)) for p in signature.parameters.values()]
        raise UsageError(f"{name}: {error}; its arguments are {', '.join(words)}") from None
    try:
        return read(*mark.args, **mark.kwargs)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name}: {error}") from None


def _closest(item: pytest.Item, name: str) -> list[pytest.Mark]:
    """Return the markers of this name on the closest thing that has any."""
    for marks in _levels(item):
        own = [mark for mark in marks if mark.name == name]
        if own:
            return own
    return []


def _levels(item: pytest.Item) -> Iterable[Sequence[pytest.Mark]]:
    """Yield the markers of parameters, function, classes and modules, from the inside out."""
    callspec = getattr(item, "callspec", None)
    if callspec is not None:
        yield list(callspec.marks)
    for node in reversed(item.listchain()):
        if isinstance(node, pytest.Class):
            # A class has the markers of its bases too; a base is further away.
            for owner in node.obj.__mro__:
                yield _marks_of(owner)
        yield node.own_markers


def _marks_of(owner: type) -> Sequence[pytest.Mark]:
    marks = owner.__dict__.get("pytestmark", [])
    listed: list[pytest.Mark | pytest.MarkDecorator] = marks if isinstance(marks, list) else [marks]
    return [one.mark if isinstance(one, pytest.MarkDecorator) else one for one in listed]
