"""The self-check of the block counters: derived counts of instructions against true ones.

Each workload runs a module of the standard library, and code that uses it, twice: once with every
single instruction counted, once with the counters that a profiled function gets when it is hot.
What the second says must be what the first saw, for every instruction. `python -m
proftrace.lines.exactness` prints the sums as one line of JSON and exits with 1 if anything differs.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import random
import sys
import types
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

from proftrace import _lines
from proftrace.lines.exactness_programs import LANGUAGE, WORKLOADS

type Code = types.CodeType


@dataclass
class Exactness:
    """What one or more comparisons found."""

    codes: int = 0
    instructions: int = 0
    executions: int = 0
    """How often instructions ran, in the run that counted each of them."""
    events: int = 0
    """How many events the derivation needed for the same."""
    raises: int = 0
    differences: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """Modules that this installation does not have."""

    def add(self, other: Exactness) -> None:
        """Add what another comparison found."""
        self.codes += other.codes
        self.instructions += other.instructions
        self.executions += other.executions
        self.events += other.events
        self.raises += other.raises
        self.differences += other.differences
        self.skipped += other.skipped


def codes_of(code: Code) -> Iterator[Code]:
    """Yield a code object and all that are nested in it."""
    waiting = [code]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]


def compare(name: str, codes: Sequence[Code], run: Callable[[], object]) -> Exactness:
    """Compare both ways of counting for code that does the same each time that `run` is called."""
    run()  # fills caches, so that the next runs do the same
    true, executions, _ = _lines.count_instructions(codes, run, False)
    derived, events, raises = _lines.count_instructions(codes, run, True)
    result = Exactness(len(codes), 0, executions, events, raises)
    for code, wanted, got in zip(codes, true, derived, strict=True):
        result.instructions += len(wanted) // 8
        if wanted != got:
            result.differences += _describe(name, code, array("q", wanted), array("q", got))
    return result


def _describe(name: str, code: Code, wanted: array[int], got: array[int]) -> list[str]:
    return [
        f"{name}: {code.co_qualname}: instruction {index}: {derived} instead of {true}"
        for index, (true, derived) in enumerate(zip(wanted, got, strict=True))
        if true != derived
    ]


def compare_module(name: str, workload: str) -> Exactness:
    """Compare for a fresh copy of a module of the standard library, at work."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None or spec.loader is None:
        return Exactness(skipped=[name])
    source = getattr(spec.loader, "get_source", lambda _: None)(name)
    if source is None:
        return Exactness(skipped=[name])
    module_code = compile(source, spec.origin, "exec", dont_inherit=True)
    work_code = compile(workload, f"<workload of {name}>", "exec", dont_inherit=True)
    codes = [*codes_of(module_code), *codes_of(work_code)]

    def run() -> None:
        module = types.ModuleType(name)
        module.__file__ = spec.origin
        module.__package__ = name if spec.submodule_search_locations else name.rpartition(".")[0]
        module.__spec__ = spec
        if spec.submodule_search_locations is not None:
            module.__path__ = list(spec.submodule_search_locations)
        with _installed(name, module):
            exec(module_code, module.__dict__)
            exec(work_code, {"m": module, "__name__": "workload"})

    return compare(name, codes, run)


@contextlib.contextmanager
def _installed(name: str, module: types.ModuleType) -> Iterator[None]:
    """Let a copy of a module stand in for it; quietly, and with the same random numbers."""
    before = sys.modules.get(name)
    state = random.getstate()
    random.seed(1)
    sys.modules[name] = module
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        random.setstate(state)
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before


def compare_language() -> Exactness:
    """Compare for a program that does what is hard: exceptions, generators, coroutines."""
    code = compile(LANGUAGE, "<language>", "exec", dont_inherit=True)
    return compare("language", list(codes_of(code)), lambda: exec(code, {"__name__": "language"}))


def compare_all(names: Sequence[str] = ()) -> Exactness:
    """Compare for all workloads, or those that are named."""
    result = Exactness()
    if not names or "language" in names:
        result.add(compare_language())
    for name in names or WORKLOADS:
        if name in WORKLOADS:
            result.add(compare_module(name, WORKLOADS[name]))
    return result


def main(names: Sequence[str]) -> int:
    """Print what was found as JSON; return 1 if a count differs."""
    result = compare_all(names)
    print(json.dumps({"python": sys.version.split()[0], **asdict(result)}))
    return 1 if result.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
