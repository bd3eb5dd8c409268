"""Which members of a class or module are meant when all of it is added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType

from proftrace.errors import UsageError
from proftrace.lines.selection import CannotProfileError, find_code

POLICIES = ("exact", "children", "descendants", "siblings", "none")
type Policies = Mapping[str, str]
_DEFAULTS = {"func": "siblings", "class": "siblings", "module": "exact"}


def read_policies(given: object) -> Policies:
    """Return a policy by kind of member ("func", "class", "module"); UsageError if there is none
    of this name."""
    if given is None:
        return _DEFAULTS
    wanted = dict(given) if isinstance(given, Mapping) else dict.fromkeys(_DEFAULTS, given)
    by_kind: dict[str, str] = {}
    for kind, policy in wanted.items():
        name = getattr(policy, "value", policy)
        if kind not in _DEFAULTS or not isinstance(name, str) or name.lower() not in POLICIES:
            raise UsageError(
                f"no such scoping policy: {kind}: {policy!r}; one of {', '.join(POLICIES)}, "
                f"or a dict of them by {', '.join(_DEFAULTS)}"
            )
        by_kind[kind] = name.lower()
    return {**_DEFAULTS, **by_kind}


def members(namespace: type | ModuleType, policies: Policies) -> Iterator[object]:
    """Yield the functions (also in wrappers and properties) that a class or module means."""
    yield from _members(namespace, policies, set())


def _members(namespace: type | ModuleType, policies: Policies, seen: set[int]) -> Iterator[object]:
    seen.add(id(namespace))
    for member in list(vars(namespace).values()):
        if isinstance(member, (type, ModuleType)):
            kind = "class" if isinstance(member, type) else "module"
            if id(member) not in seen and _is_meant(member, namespace, policies[kind]):
                yield from _members(member, policies, seen)
            continue
        try:
            functions = [function for _, function in find_code(member)]
        except CannotProfileError:
            continue
        if all(f is not None and _is_meant(f, namespace, policies["func"]) for f in functions):
            yield member


def _place(thing: object) -> str:
    """Return where something was defined, as a dotted name."""
    if isinstance(thing, ModuleType):
        return thing.__name__
    module = getattr(thing, "__module__", None) or ""
    return f"{module}.{getattr(thing, '__qualname__', '')}".replace(".<locals>", "")


def _is_meant(thing: FunctionType | type | ModuleType, namespace: object, policy: str) -> bool:
    place, home = _place(thing), _place(namespace)
    parent = place.rpartition(".")[0]
    if policy == "none":
        return True
    if parent == home:
        return True
    if policy in ("children", "descendants"):
        return place.startswith(home + ".")
    return policy == "siblings" and _top(place) == _top(home)


def _top(place: str) -> str:
    """Return the package in which something and its siblings are."""
    return place.partition(".")[0]
