"""Which members of a class or module are meant when all of it is added."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType

from proftrace.lines.selection import CannotProfileError, find_code

POLICIES = ("exact", "children", "descendants", "siblings", "none")
type Policies = Mapping[str, str]
_DEFAULTS = {"func": "siblings", "class": "siblings", "module": "exact"}


def read_policies(given: object) -> Policies:
    """Return a policy by kind of member ("func", "class", "module"); a kind that a dict leaves out
    has its default. ValueError if there is none of this name."""
    if given is None:
        return _DEFAULTS
    wanted = dict(given) if isinstance(given, Mapping) else dict.fromkeys(_DEFAULTS, given)
    by_kind: dict[str, str] = {}
    for kind, policy in wanted.items():
        name = getattr(policy, "value", policy)
        if kind not in _DEFAULTS or not isinstance(name, str) or name.lower() not in POLICIES:
            raise ValueError(
                f"no such scoping policy: {kind}: {policy!r}; one of {', '.join(POLICIES)}, "
                f"or a dict of them by {', '.join(_DEFAULTS)}"
            )
        by_kind[kind] = name.lower()
    return {**_DEFAULTS, **by_kind}


def add_members(
    namespace: type | ModuleType, policies: Policies, add: Callable[[FunctionType], int]
) -> int:
    """Give `add` the functions that are meant, also those in wrappers, properties, classes and
    modules; return for how many members it said that something was new."""
    return _add_members(namespace, policies, add, {id(namespace)})


def _add_members(
    namespace: type | ModuleType,
    policies: Policies,
    add: Callable[[FunctionType], int],
    seen: set[int],
) -> int:
    n_members = 0
    for member in list(vars(namespace).values()):
        n_new = 0
        if isinstance(member, (type, ModuleType)):
            if id(member) not in seen and _is_entered(member, namespace, policies):
                seen.add(id(member))
                n_new = _add_members(member, policies, add, seen)
        else:
            for function in _functions(member):
                if _is_meant(function, namespace, policies["func"]):
                    n_new += add(function)
        n_members += n_new > 0
    return n_members


def _functions(member: object) -> list[FunctionType]:
    try:
        return [function for _, function in find_code(member) if function is not None]
    except CannotProfileError:
        return []


def _is_entered(member: type | ModuleType, home: type | ModuleType, policies: Policies) -> bool:
    """Return whether members of a class or module that was found in `home` are meant too."""
    if isinstance(member, type):
        return policies["class"] != "exact" and _is_meant(member, home, policies["class"])
    if policies["module"] == "exact" or isinstance(home, type):
        return False
    return _is_meant_module(member.__name__, home.__name__, policies["module"])


def _is_meant(thing: FunctionType | type, home: type | ModuleType, policy: str) -> bool:
    if policy == "none":
        return True
    module = getattr(thing, "__module__", None) or ""
    if isinstance(home, type):
        return module == home.__module__ and _is_meant_in_class(thing, home, policy)
    if policy in ("exact", "children"):
        return module == home.__name__
    return _is_within(module, _around(home.__name__, policy))


def _is_meant_in_class(thing: FunctionType | type, home: type, policy: str) -> bool:
    """Say so of what is of the same module as the class."""
    if policy in ("exact", "children"):
        return thing.__qualname__ == f"{home.__qualname__}.{thing.__name__}"
    return policy == "siblings" or thing.__qualname__.startswith(home.__qualname__ + ".")


def _is_meant_module(name: str, home: str, policy: str) -> bool:
    if policy == "none":
        return True
    if policy == "children":
        return name.rpartition(".")[0] == home
    around = _around(home, policy)
    return name != around and _is_within(name, around)


def _around(module: str, policy: str) -> str:
    """Return the module, or with "siblings" the package that it is in, if there is one."""
    return (policy == "siblings" and module.rpartition(".")[0]) or module


def _is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")
