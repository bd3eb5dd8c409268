"""Parts and wholes agree: no callee takes longer than the line that calls it, whatever it is.

The programs are made up: chains of functions, lambdas, generators, coroutines and exceptions, each
called from one line only.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from case_runs import lprof
from proftrace.model.load import load_profile
from proftrace.model.profile import NO_FUNCTION, REGIME_HOT, Profile

pytestmark = pytest.mark.hot

MILLISECOND = 1_000_000
LENGTH = 5

# How a function calls the next one of the chain; {0} is its name, {1} the next one's.
LINKS = (
    "def {0}(n):\n    for i in range(3):\n        {1}(n)\n",
    "def {0}(n):\n    return (lambda: {1}(n))()\n",
    "def {0}(n):\n    for _ in {0}_items(n):\n        pass\n"
    "def {0}_items(n):\n    for i in range(4):\n        yield {1}(n)\n",
    "def {0}(n):\n    try:\n        {0}_fails(n)\n    except KeyError:\n        pass\n"
    "def {0}_fails(n):\n    {1}(n)\n    raise KeyError(n)\n",
    "def {0}(n):\n    return [\n        {1}(k)\n        for k in (n, n)\n    ]\n",
    "def {0}(n):\n    try:\n        {0}_waits(n).send(None)\n"
    "    except StopIteration:\n        pass\n"
    "async def {0}_waits(n):\n    {1}(n)\n",
    "def {0}(n):\n    class Local:\n        def __init__(self):\n            {1}(n)\n    Local()\n",
)
LEAVES = (
    "def {0}(n):\n    for i in range(n):\n        n += (lambda: 1)()\n",
    "def {0}(n):\n    return sum({0}_items(n))\n"
    "def {0}_items(n):\n    for i in range(n):\n        yield i\n",
    "def {0}(n):\n    while n:\n        n -= 1\n",
    "def {0}(n):\n    for i in range(n):\n        if i % 3 == 2:\n            {0}_one(i)\n"
    "def {0}_one(i):\n    return i\n",
)


def made_up(seed: int) -> str:
    """Return a program that runs for some tenths of a second."""
    chosen = random.Random(seed)
    names = [f"f{number}" for number in range(LENGTH + 1)]
    links = [chosen.choice(LINKS).format(*pair) for pair in pairwise(names)]
    code = "".join([*links, chosen.choice(LEAVES).format(names[-1])])
    code = "".join(
        f"@profile\n{line}" if line.startswith(("def ", "async ")) else line
        for line in code.splitlines(keepends=True)
    )
    return (
        "import time\n" + code + "end = time.process_time() + 0.3\n"
        "while time.process_time() < end:\n    f0(300)\n"
    )


def single_callers(profile: Profile) -> Iterator[tuple[int, int]]:
    """Yield (row of the calling line, function) for all that is called from one line."""
    edges = profile.edges
    rows = {
        (function, profile.lines.line[row]): row
        for row, function in enumerate(profile.lines.function)
    }
    for function in set(edges.callee):
        callers = {
            (edges.caller[row], edges.line[row])
            for row in range(len(edges))
            if edges.callee[row] == function
        }
        if len(callers) == 1 and NO_FUNCTION not in {caller for caller, _ in callers}:
            yield rows[callers.pop()], function


def assert_sums_agree(profile: Profile, *, is_hot: bool) -> None:
    """In hot code to the nanosecond, but for what a clock said before; else within the error."""
    calls, values = profile.calls, profile.lines.values
    rows = {function: row for row, function in enumerate(calls.function)}
    cold = dict.fromkeys(rows, 0)  # no more than this was timed by the clock
    own = dict.fromkeys(rows, 0)
    for row, function in enumerate(profile.lines.function):
        own[function] += values["exclusive"][row]
        cold[function] += values["max"][row]
        assert (
            0
            <= values["exclusive"][row]
            <= values["inclusive"][row]
            + (cold[function] if is_hot else values["exclusive_error"][row])
        )
    if is_hot:
        allowed = {function: MILLISECOND + 2 * time for function, time in cold.items()}
    else:
        allowed = {function: calls.inclusive_error[row] for function, row in rows.items()}
    for function, row in rows.items():
        assert abs(own[function] - calls.exclusive[row]) <= allowed[function]
        assert calls.exclusive[row] <= calls.inclusive[row] + allowed[function]
    for line, function in single_callers(profile):
        caller = profile.lines.function[line]
        whole = values["inclusive"][line] + allowed[caller] + allowed[function]
        assert calls.inclusive[rows[function]] <= whole, (caller, profile.lines.line[line])


@pytest.mark.parametrize("seed", range(8))
def test_no_callee_takes_longer_than_its_line(seed: int, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(made_up(seed))
    for is_hot in (True, False):
        env = {"PROFTRACE_TEST_HOT_AFTER": "1"} if is_hot else {}
        options = [] if is_hot else ["--clock"]
        run = lprof(["-q", *options, "-o", "out.lprof", "app.py"], tmp_path, env)
        assert run.status == 0, run.stderr
        profile = load_profile(str(tmp_path / "out.lprof"))
        assert len(list(single_callers(profile))) >= LENGTH
        if is_hot:
            assert set(profile.calls.regime) == {REGIME_HOT}
        assert_sums_agree(profile, is_hot=is_hot)
        (tmp_path / "out.lprof").unlink()
