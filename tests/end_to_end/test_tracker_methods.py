"""Two methods, one state: preloaded hooks and those put into a running program record the same."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from case_runs import ALL_OBJECTS, BUFFER, assert_as_stated, case_path, plain, run
from proftrace import _capture
from proftrace.model.load import load_profile
from proftrace.model.profile import ALLOCATOR_NAMES, ARENA, Profile

# Programs of the published cases. With those in the second list it depends on chance what the
# library allocates for them, when threads wait: only their own lines are compared.
CASES = ("MT-01", "MT-02", "MT-04", "MT-06", "MT-07", "MT-08", "MT-20", "MT-24")
OWN_LINES = ("MT-05", "MT-14", "MT-15", "MT-23")

DRIVER = """
import os, sys
from proftrace import Tracker, _capture
out, options, method = sys.argv[1], eval(sys.argv[2]), sys.argv[3]
assert _capture.is_preloaded() == (method == "preload")
del sys.argv[:4]
script = sys.argv[0]
sys.path[0] = os.path.dirname(script)
space = {"__name__": "__main__", "__file__": script, "__builtins__": __builtins__}
with open(script, "rb") as file: code = compile(file.read(), script, "exec")
with Tracker(out, **options):
    exec(code, space)
"""

METRICS = ("total_blocks", "total_bytes", "leaked_blocks", "leaked_bytes")


def is_the_loaders(stack: list[tuple[str, str, int]], allocator: str) -> bool:
    """Tell whether blocks are the dynamic loader's, or of a library that is being loaded.

    Its calls to malloc do not pass through a table (docs/tracker.md): what it keeps of a library,
    the thread-local storage of a new thread, and what constructors of a library allocate.
    """
    names = [(name, os.path.basename(file)) for file, name, _ in stack[:2]]
    loads = ("create_module", "<frozen importlib._bootstrap_external>") in names
    starts = names[:1] == [("start", "threading.py")]
    return loads or (starts and allocator == "CALLOC")


def is_by_chance(profile: Profile, script: str, place: int, allocator: str) -> bool:
    """Tell whether blocks are Python's own and not those that the program itself asks for.

    Where each object is recorded, how many the interpreter makes varies a little.
    """
    if "PYMALLOC" not in allocator:
        return False
    function = profile.frames.function[profile.stacks.frame[place]] if place else -1
    is_own = place and profile.strings[profile.functions.file[function]] == script
    return not is_own or allocator != BUFFER


def recorded(capture: Path, script: str, *, own: bool) -> Counter[tuple[object, ...]]:
    """Return what each stack of the program holds, without arenas: they come by chance."""
    profile = load_profile(str(capture))
    assert list(profile.warnings) == []
    strings, functions, table = profile.strings, profile.functions, profile.samples
    found: Counter[tuple[object, ...]] = Counter()
    for row, place in enumerate(table.stack):
        allocator = ALLOCATOR_NAMES[table.allocator[row]]
        if is_by_chance(profile, script, place, allocator):
            continue
        stack: list[tuple[str, str, int]] = []
        at = place
        while at:
            frame = profile.stacks.frame[at]
            function = profile.frames.function[frame]
            file, name = strings[functions.file[function]], strings[functions.name[function]]
            stack.append((file, name, profile.frames.line[frame]))
            at = profile.stacks.parent[at]
        if not any(file == script for file, _, _ in stack) or table.allocator[row] == ARENA:
            continue
        if own and stack[0][0] != script:
            continue
        if not is_the_loaders(stack, allocator):
            for metric in METRICS:
                found[(*stack, allocator, metric)] += table.values[metric][row]
    return +found


@pytest.mark.parametrize("name", [*CASES, *OWN_LINES])
def test_both_methods_record_the_same_blocks(tmp_path: Path, name: str) -> None:
    (tmp_path / "driver.py").write_text(DRIVER)
    script = str(case_path(name))
    if name == "MT-06":  # it states a size that is another one without a GIL
        text = Path(script).read_text().replace("== 100\n", f"== {sys.getsizeof(bytes(67))}\n")
        script = str(tmp_path / "MT-06.py")
        Path(script).write_text(text)
    found = {}
    for method in ("preload", "tables"):
        preload = {"LD_PRELOAD": _capture.library_path()} if method == "preload" else {}
        words = [sys.executable, "driver.py", f"{method}.bin", "{}", method, script]
        result = run(words, tmp_path, {"PYTHONHASHSEED": "0", **preload})
        assert_as_stated(name, result)
        found[method] = recorded(tmp_path / f"{method}.bin", script, own=name in OWN_LINES)
    assert found["preload"], "nothing of the program was recorded"
    different = {
        key: (found["preload"][key], found["tables"][key])
        for key in found["preload"] | found["tables"]
        if found["preload"][key] != found["tables"][key]
    }
    assert different == {}


THREAD = """
import os, sys, threading
from proftrace import Tracker
with Tracker(sys.argv[1]):
    threads = [threading.Thread(target=lambda: None) for _ in range(50)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
"""


def test_what_the_loader_allocates_is_seen_by_the_preloaded_only(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(THREAD)
    callocs = {}
    for method in ("preload", "tables"):
        preload = {"LD_PRELOAD": _capture.library_path()} if method == "preload" else {}
        assert plain(["program.py", f"{method}.bin"], tmp_path, preload).status == 0
        table = load_profile(str(tmp_path / f"{method}.bin")).samples
        callocs[method] = sum(
            table.values["total_blocks"][row]
            for row, allocator in enumerate(table.allocator)
            if ALLOCATOR_NAMES[allocator] == "CALLOC"
        )
    # The loader makes a thread's storage, unless it has that of one that is gone. What the
    # interpreter makes is no call of the C library where its own allocators are recorded.
    assert callocs["tables"] >= 50 or ALL_OBJECTS
    assert callocs["preload"] > callocs["tables"]
