"""Functions of thousands of lines, for which some interpreters search at each event."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from case_runs import lprof
from proftrace.model.load import load_profile
from proftrace.model.profile import REGIME_COLD, REGIME_HOT, Profile

CALLS = 3
ROUNDS = 4
N_LINES = 3000
SEARCHES = sys.version_info < (3, 13, 3)

STRAIGHT = "".join(f"    a = b + {i % 7}\n" for i in range(N_LINES))
IN_A_LOOP = "".join(f"        a = b + {i % 7}\n" for i in range(N_LINES))
# What is far down is reached by jumps too: a loop, branches, an exception, a suspension.
BRANCHES = """\
    for i in range(4):
        if i % 2:
            a = 1
        else:
            a = 2
        try:
            a = 1 // (i - 3)
        except ZeroDivisionError:
            a = 3
    while a:
        a -= 1
        yield a
"""
# By line of BRANCHES, from 0, in one call.
BRANCH_HITS = {0: 5, 1: 4, 2: 2, 4: 2, 5: 4, 6: 4, 7: 1, 8: 1, 9: 4, 10: 3, 11: 3}
PROGRAM = f"""\
@profile
def straight(b):
{STRAIGHT}
@profile
def loop(b):
    for i in range({ROUNDS}):
{IN_A_LOOP}
@profile
def branches(b):
{STRAIGHT}{BRANCHES}
for call in range({CALLS}):
    straight(call)
    loop(call)
    list(branches(call))
"""


N_SHORTER = 600
SHORTER = "".join(STRAIGHT.splitlines(keepends=True)[:N_SHORTER])
# What runs in pieces, in itself, or in four threads at once.
KINDS = f"""\
import asyncio
import threading
@profile
def generator(b):
{SHORTER}
    for i in range(5):
        try:
            x = yield i
            y = [j for j in range(3) if j]
        finally:
            a = b
@profile
async def items(b):
{SHORTER}
    for i in range(3):
        yield i
@profile
async def coroutine(b):
{SHORTER}
    for i in range(5):
        await asyncio.sleep(0)
        a = [k async for k in items(3)]
@profile
def recursive(b):
{SHORTER}
    if b > 0:
        return recursive(b - 1) + 1
    return 0
@profile
def threaded(b):
{SHORTER}
    while b > 0:
        b -= 1
for call in range(3):
    list(generator(call))
    asyncio.run(coroutine(call))
    recursive(5)
    left = generator(1)
    next(left)
    left.close()
    threads = [threading.Thread(target=threaded, args=(6,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def hits_of(profile: Profile, name: str) -> dict[int, int]:
    """Return the hits of the lines of a function that ran, by line of the program."""
    names = [profile.strings[index] for index in profile.functions.name]
    wanted = names.index(name)
    return {
        profile.lines.line[row]: profile.lines.values["hits"][row]
        for row in range(len(profile.lines))
        if profile.lines.function[row] == wanted and profile.lines.values["hits"][row]
    }


def record(folder: Path, *options: str, program: str = PROGRAM) -> Profile:
    (folder / "app.py").write_text(program)
    run = lprof([*options, "-o", "out.lprof", "app.py"], folder)
    assert run.status == 0, run.stderr
    return load_profile(str(folder / "out.lprof"))


@pytest.mark.parametrize("options", [(), ("--clock",)])
def test_hits_of_long_functions(tmp_path: Path, options: tuple[str, ...]) -> None:
    profile = record(tmp_path, *options)
    lines = PROGRAM.splitlines()
    first = {name: lines.index(f"def {name}(b):") + 2 for name in ("straight", "loop", "branches")}
    straight = range(first["straight"], first["straight"] + N_LINES)
    assert hits_of(profile, "straight") == dict.fromkeys(straight, CALLS)
    loop = range(first["loop"] + 1, first["loop"] + 1 + N_LINES)
    assert hits_of(profile, "loop") == {
        first["loop"]: CALLS * (ROUNDS + 1),
        **dict.fromkeys(loop, CALLS * ROUNDS),
    }
    end = first["branches"] + N_LINES
    assert hits_of(profile, "branches") == {
        **dict.fromkeys(range(first["branches"], end), CALLS),
        **{end + below: CALLS * hits for below, hits in BRANCH_HITS.items()},
    }


def test_long_functions_turn_hot_where_events_are_searched_for(tmp_path: Path) -> None:
    profile = record(tmp_path)
    names = [profile.strings[profile.functions.name[row]] for row in profile.calls.function]
    regimes = dict(zip(names, profile.calls.regime, strict=True))
    assert regimes["straight"] == (REGIME_HOT if SEARCHES else REGIME_COLD)
    assert set(record(tmp_path, "--clock").calls.regime) == {REGIME_COLD}


@pytest.mark.parametrize("hot_after", [None, "1", "777"])
def test_both_regimes_agree_on_long_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hot_after: str | None
) -> None:
    names = "generator", "items", "coroutine", "recursive", "threaded"
    clock = record(tmp_path, "--clock", program=KINDS)
    if hot_after is not None:
        monkeypatch.setenv("PROFTRACE_TEST_HOT_AFTER", hot_after)
    mixed = record(tmp_path, program=KINDS)
    for name in names:
        assert hits_of(mixed, name) == hits_of(clock, name)
        assert len(hits_of(clock, name)) > N_SHORTER
