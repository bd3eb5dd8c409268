"""Which code objects a decorated object means."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from typing import Any

import pytest

from proftrace.lines.selection import CannotProfileError, find_code


def plain() -> None: ...


def other() -> None: ...


def timed(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return function(*args)

    return wrapper


async def coroutine() -> None: ...


class Shape:
    def method(self) -> None: ...

    def accessor(self) -> None: ...


def names(thing: object) -> list[str]:
    return [code.co_qualname for code, _ in find_code(thing)]


def getter(self: object) -> None: ...


def setter(self: object, value: object) -> None: ...


def deleter(self: object) -> None: ...


@pytest.mark.parametrize(
    ("thing", "wanted"),
    [
        (plain, ["plain"]),
        (plain.__code__, ["plain"]),
        (coroutine, ["coroutine"]),
        (timed(plain), ["plain"]),
        (timed(timed(timed(plain))), ["plain"]),
        (functools.lru_cache(plain), ["plain"]),
        (functools.cache(timed(plain)), ["plain"]),
        (functools.singledispatch(plain), ["plain"]),
        (classmethod(timed(plain)), ["plain"]),
        (staticmethod(plain), ["plain"]),
        (functools.partial(plain), ["plain"]),
        (functools.partial(functools.partial(timed(plain), 1), 2), ["plain"]),
        (functools.partialmethod(plain), ["plain"]),
        (functools.cached_property(plain), ["plain"]),
        (Shape().method, ["Shape.method"]),
        (property(getter, setter, deleter), ["getter", "setter", "deleter"]),
        (property(None, timed(setter)), ["setter"]),
    ],
)
def test_wrappers_lead_to_the_function_of_the_user(thing: object, wanted: list[str]) -> None:
    assert names(thing) == wanted


def test_a_class_means_what_is_written_in_its_body() -> None:
    @dataclass
    class Whole(Shape):
        size: int = 0

        def method(self) -> None: ...

        @classmethod
        def make(cls) -> None: ...

        @staticmethod
        def plus() -> None: ...

        @property
        def edge(self) -> int:
            return 1

        @edge.setter
        def edge(self, value: int) -> None: ...

        @functools.cached_property
        def area(self) -> int:
            return 1

        @timed
        def wrapped(self) -> None: ...

        short = lambda self: None  # noqa: E731
        partial = functools.partialmethod(method, 1)
        assigned = plain
        bound = operator.itemgetter(1)
        kind = Shape

        class Inner:
            def method(self) -> None: ...

    prefix = "test_a_class_means_what_is_written_in_its_body.<locals>.Whole."
    assert sorted(set(names(Whole))) == sorted(
        prefix + name
        for name in (
            "method", "make", "plus", "edge", "area", "wrapped", "<lambda>", "Inner.method",
        )
    )  # fmt: skip


def test_the_function_that_holds_the_code_comes_along() -> None:
    assert find_code(timed(plain)) == [(plain.__code__, plain)]
    assert find_code(plain.__code__) == [(plain.__code__, None)]


class Endless:
    @property
    def __wrapped__(self) -> Endless:
        return Endless()


class Failing:
    @property
    def __wrapped__(self) -> None:
        raise RuntimeError


class Circular:
    def __init__(self) -> None:
        self.__wrapped__ = self


@pytest.mark.parametrize(
    ("thing", "reason"),
    [
        (print, "it is not written in Python"),
        (str.upper, "it is not written in Python"),
        (functools.partial(print), "no Python function was found in it"),
        (int, "no method is defined in this class"),
        (5, "no Python function was found in it"),
        (None, "no Python function was found in it"),
        (property(), "no Python function was found in it"),
        (Endless(), "no Python function was found in it"),
        (Failing(), "no Python function was found in it"),
        (Circular(), "no Python function was found in it"),
    ],
)
def test_what_has_no_python_code_has_a_reason(thing: object, reason: str) -> None:
    with pytest.raises(CannotProfileError, match=reason):
        find_code(thing)
