"""From what a user decorates to the code objects that are meant.

No wrapper is made and nothing is changed: sys.monitoring counts code objects, so it is enough to
find them. Types are compared with what is loaded already; importing `functools` or `types` for it
would change what the program finds in `sys.modules`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FunctionType, MethodType

    type Found = tuple[CodeType, FunctionType | None]


class _Example:
    def method(self) -> None:
        """Exist."""


_FUNCTION_TYPE: type[FunctionType] = type(_Example.method)  # type: ignore[assignment]
_METHOD_TYPE: type[MethodType] = type(_Example().method)  # type: ignore[assignment]
_CODE_TYPE: type[CodeType] = type(_Example.method.__code__)
_BUILTIN_TYPES = (type(len), type(str.upper), type(object.__init__), type(dict.fromkeys))
# More than any honest chain; a `__wrapped__` that makes a new wrapper each time would not end.
_MOST_WRAPPERS = 100


class CannotProfileError(Exception):
    """The object leads to no Python code; the text says why."""


def find_code(thing: object) -> list[Found]:
    """Return the code objects meant by `thing`, each with the function it was found in.

    Raises CannotProfileError if there are none.
    """
    found = list(_find(thing, _MOST_WRAPPERS)) or list(_find(_call_of(thing), _MOST_WRAPPERS))
    if not found:
        raise CannotProfileError(_reason(thing))
    return found


def _find(thing: object, steps_left: int) -> Iterator[Found]:
    """Yield what `thing` leads to, following wrappers to the function that the user wrote."""
    if steps_left == 0:
        return
    if isinstance(thing, _CODE_TYPE):
        yield thing, None
        return
    if isinstance(thing, type):
        yield from _find_in_class(thing, steps_left - 1)
        return
    for inner in _inner_objects(thing):
        yield from _find(inner, steps_left - 1)
        return
    if isinstance(thing, property):
        for accessor in (thing.fget, thing.fset, thing.fdel):
            if accessor is not None:
                yield from _find(accessor, steps_left - 1)
    elif isinstance(thing, _FUNCTION_TYPE):
        yield thing.__code__, thing


def _inner_objects(thing: object) -> Iterator[object]:
    """Yield what `thing` is a wrapper around, if it is one; the first is the one to follow."""
    if isinstance(thing, (_METHOD_TYPE, classmethod, staticmethod)):
        yield thing.__func__
        return
    functools = sys.modules.get("functools")
    for name in ("partial", "partialmethod", "cached_property"):
        kind = getattr(functools, name, None)
        if isinstance(kind, type) and isinstance(thing, kind):
            yield getattr(thing, "func", None)
            return
    if isinstance(thing, property):
        return
    try:
        wrapped = getattr(thing, "__wrapped__", None)
    except Exception:  # a property of the program's own that fails is no reason to fail
        wrapped = None
    if wrapped is not None and wrapped is not thing:
        yield wrapped


def _call_of(thing: object) -> object:
    """Return what calling an object calls, where its class says it; None for builtins."""
    if isinstance(thing, type):
        return None
    for base in type(thing).__mro__:
        if "__call__" in vars(base):
            return vars(base)["__call__"]
    return None


def _find_in_class(cls: type, steps_left: int) -> Iterator[Found]:
    """Yield the code of the methods, properties and classes written in the body of `cls`.

    What was only assigned there, inherited or generated (the methods of a dataclass) is left out.
    """
    prefix = cls.__qualname__ + "."
    for member in list(vars(cls).values()):
        if isinstance(member, type):
            if member.__qualname__.startswith(prefix) and member.__module__ == cls.__module__:
                yield from _find_in_class(member, steps_left - 1)
            continue
        if isinstance(member, _CODE_TYPE):
            continue
        for code, function in _find(member, steps_left - 1):
            if code.co_qualname.startswith(prefix):
                yield code, function


def _reason(thing: object) -> str:
    if isinstance(thing, _BUILTIN_TYPES):
        return "it is not written in Python"
    if isinstance(thing, type):
        return "no method is defined in this class"
    return "no Python function was found in it"
