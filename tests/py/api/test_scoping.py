"""Which members are added with a class or module, and how they are counted."""

from __future__ import annotations

import functools
import importlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from proftrace import LineProfiler

FILES = {
    "scoped/__init__.py": "",
    "scoped/near/__init__.py": "def beside(): pass\n",
    "scoped/near/other.py": "def sibling(): pass\n",
    "scoped/near/home/__init__.py": """\
        from textwrap import dedent
        from scoped.far import Distant, distant
        from scoped.near.other import sibling
        from scoped.near.home import below
        from scoped.near.home.below import deeper
        from scoped.near import other

        def own(): pass

        class Thing:
            def method(self): pass
            class Inner:
                def deep(self): pass
            borrowed = own
        """,
    "scoped/near/home/below.py": "def deeper(): pass\ndef deepest(): pass\n",
    "scoped/far.py": "def distant(): pass\nclass Distant:\n  def method(self): pass\n",
}
OWN = {"own"}
CLASS = {"Thing.method", "Thing.Inner.deep"}


@pytest.fixture(name="home")
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """A package in the middle of others, with names from all of them."""
    import textwrap

    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("scoped.near.home")
    for name in [name for name in sys.modules if name.partition(".")[0] == "scoped"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("policy", "names", "n_members"),
    [
        ("exact", OWN, 1),
        ("children", OWN | CLASS | {"deeper", "deepest"}, 3),
        ("descendants", OWN | CLASS | {"deeper", "deepest"}, 3),
        ("siblings", OWN | CLASS | {"deeper", "deepest", "sibling"}, 4),
        ({"module": "exact"}, OWN | CLASS | {"deeper", "sibling"}, 4),
        (None, OWN | CLASS | {"deeper", "sibling"}, 4),
        (
            {"module": "exact", "func": "none"},
            OWN | CLASS | {"deeper", "sibling", "distant", "dedent"},
            6,
        ),
        (
            {"module": "exact", "class": "none"},
            OWN | CLASS | {"deeper", "sibling", "Distant.method"},
            5,
        ),
        (
            {"func": "Exact", "class": "NONE", "module": "siblings"},
            OWN | CLASS | {"deepest", "deeper", "sibling", "Distant.method"},
            5,
        ),
    ],
)
def test_what_a_module_means(
    home: types.ModuleType, policy: object, names: set[str], n_members: int
) -> None:
    profiler = LineProfiler()
    assert profiler.add_module(home, scoping_policy=policy) == n_members
    found = {function.__qualname__ for function in profiler.functions}  # type: ignore[attr-defined]
    assert found == names
    assert profiler.add_module(home, scoping_policy=policy) == 0


@pytest.mark.parametrize(
    ("policy", "names", "n_members"),
    [
        ("exact", {"Thing.method"}, 1),
        ("children", CLASS, 2),
        ("descendants", CLASS, 2),
        ("siblings", CLASS | OWN, 3),
        (None, CLASS | OWN, 3),
    ],
)
def test_what_a_class_means(
    home: types.ModuleType, policy: object, names: set[str], n_members: int
) -> None:
    profiler = LineProfiler()
    assert profiler.add_class(home.Thing, scoping_policy=policy) == n_members
    assert {function.__qualname__ for function in profiler.functions} == names  # type: ignore[attr-defined]


@pytest.mark.parametrize("policy", ["everything", {"method": "none"}, {"func": 3}, 7])
def test_a_policy_that_does_not_exist(policy: object) -> None:
    with pytest.raises(ValueError, match=r"^no such scoping policy: .*exact, children"):
        LineProfiler().add_class(Path, scoping_policy=policy)


def test_a_guard_is_asked_about_the_functions() -> None:
    class Thing:
        @property
        def size(self) -> int:
            return 1

        @size.setter
        def size(self, value: int) -> None: ...

    asked: list[object] = []
    accessors = vars(Thing)["size"]
    getter, setter = accessors.fget, accessors.fset

    def guard(function: object) -> bool:
        asked.append(function)
        return function is getter

    profiler = LineProfiler()
    assert profiler.add_callable(accessors, guard=guard) == 1
    assert asked == [getter, setter]
    assert profiler.functions == [setter]


@pytest.mark.parametrize("thing", [5, None, "text", [len]])
def test_what_cannot_be_called_is_a_mistake(thing: object) -> None:
    profiler = LineProfiler()
    for add in (profiler, profiler.add_callable, profiler.wrap_callable):
        with pytest.raises(TypeError, match="cannot profile an object of type"):
            add(thing)
    with pytest.raises(TypeError):
        profiler.get_underlying_functions(thing)
    assert profiler.add_callable(len) == 0
    assert profiler.get_underlying_functions(functools.partial(len)) == []
    assert profiler.add_callable(property(len)) == 0
    assert profiler.functions == []


def test_warnings_are_about_the_line_that_added() -> None:
    profiler = LineProfiler()
    with pytest.warns(UserWarning, match="cannot profile len") as caught:
        profiler.add_function(len)
        profiler(len)
        LineProfiler(len)
    assert [one.filename for one in caught] == [__file__] * 3
    profiler.disable()
