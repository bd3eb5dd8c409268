"""Tools that watch the program too: they and lprof both see all of it, and it prints the same."""

from __future__ import annotations

import json
import pstats
import sys
from collections import Counter
from pathlib import Path

import pytest

from case_runs import LineResult, load_lines, lprof, plain, run

HEAD = """\
import builtins, io, sys
profile = getattr(builtins, "profile", lambda function: function)

def helper(i):
    return i + 1

@profile
def work(n, stop=None):
    total = 0
    for i in range(n):
        if i % 3 == 0:
            total += helper(i)
        if i == stop:
            stopped(i)
    return total

def stopped(i):
    print("stopped", i)

def use(calls):
    for _ in range(calls):
        work(900)
"""
FIRST = 9  # line of `total = 0`


def work_hits(calls: int, stops: int = 0) -> Counter[int]:
    """Return the hits of `work` for so many calls with n = 900."""
    each = {0: 1, 1: 901, 2: 900, 3: 300, 4: 900, 6: 1}
    hits = Counter({FIRST + line: n * calls for line, n in each.items()})
    if stops:
        hits[FIRST + 5] = stops
    return hits


def both(
    source: str, folder: Path, option: str, *before: str, words: tuple[str, ...] = ()
) -> LineResult:
    """Run a program plainly and under lprof: they print the same and end alike."""
    (folder / "program.py").write_text(source)
    without = plain([*before, "program.py", *words], folder)
    options = [option] if option else []
    done = lprof(
        [*options, "-q", "-o", "r.lprof", *before, "program.py", *words],
        folder,
    )
    assert (done.status, done.stdout, done.stderr) == (
        without.status,
        without.stdout,
        without.stderr,
    )
    assert done.status == 0
    return load_lines(folder / "r.lprof")


def calls_of(result: LineResult, name: str) -> int:
    profile = result.profile
    return sum(
        profile.calls.calls[row]
        for row, function in enumerate(profile.calls.function)
        if profile.strings[profile.functions.qualname[function]] == name
    )


regimes = pytest.mark.parametrize("option", ["", "--clock"])


def covered_lines(data: str, folder: Path) -> list[int]:
    words = ["-m", "coverage", "json", "-q", "--data-file", data, "-o", "-", "--include=program.py"]
    done = run([sys.executable, *words], folder)
    assert done.status == 0, done.stderr
    (file,) = json.loads(done.stdout)["files"].values()
    return list(file["executed_lines"])


@regimes
@pytest.mark.parametrize("core", ["sysmon", "ctrace", "pytrace"])
def test_coverage_of_a_program(core: str, option: str, tmp_path: Path) -> None:
    (tmp_path / ".coveragerc").write_text(
        f"[run]\ncore = {core}\ndisable_warnings = no-ctracer, no-sysmon\n"
    )
    cover = ("-m", "coverage", "run", "--data-file=seen")
    result = both(HEAD + "use(20)\nprint(work(10))\n", tmp_path, option, *cover)
    under_lprof = covered_lines("seen", tmp_path)
    plain([*cover, "program.py"], tmp_path)
    assert under_lprof == covered_lines("seen", tmp_path)
    hits = work_hits(20) + Counter({9: 1, 10: 11, 11: 10, 12: 4, 13: 10, 15: 1})
    assert result.hits("program.py") == hits


@regimes
@pytest.mark.parametrize("when", ["cold", "hot"])
def test_coverage_that_begins_and_ends_in_the_middle(
    when: str, option: str, tmp_path: Path
) -> None:
    calls = 20 if when == "hot" else 1
    source = HEAD + (
        f"use({calls})\n"
        "import coverage\n"
        "measuring = coverage.Coverage(data_file=None, include=['program.py'])\n"
        "measuring.start()\n"
        f"use({calls})\n"
        "measuring.stop()\n"
        f"use({calls})\n"
        "data = measuring.get_data()\n"
        "print([sorted(data.lines(file)) for file in data.measured_files()])\n"
    )
    assert both(source, tmp_path, option).hits("program.py") == work_hits(3 * calls)


@regimes
def test_a_profiler_of_the_standard_library(option: str, tmp_path: Path) -> None:
    cprofile = ("-m", "cProfile", "-o", "calls")
    result = both(HEAD + "use(20)\n", tmp_path, option, *cprofile)
    assert result.hits("program.py") == work_hits(20)
    stats: dict[tuple[str, int, str], tuple[int, ...]] = pstats.Stats(str(tmp_path / "calls")).stats  # type: ignore[attr-defined]
    calls = {name: counts[0] for (_, _, name), counts in stats.items()}
    assert (calls["work"], calls["helper"]) == (20, 20 * 300)


PROFILED_IN_THE_MIDDLE = """
import cProfile, pstats
use(20)
for _ in range(3):
    measuring = cProfile.Profile()
    with measuring:
        use(20)
    stats = pstats.Stats(measuring, stream=io.StringIO()).stats
    print({key[2]: counts[0] for key, counts in stats.items() if key[2] in ("work", "helper")})
    use(20)
"""


@regimes
def test_a_profiler_in_the_middle_of_busy_code(option: str, tmp_path: Path) -> None:
    result = both(HEAD + PROFILED_IN_THE_MIDDLE, tmp_path, option)
    assert result.hits("program.py") == work_hits(140)


DEBUGGED = """
import pdb
commands = "up\\np i, total\\nbreak helper\\nc\\nup\\np i, total\\nclear 1\\nn\\nn\\nn\\np i\\nc\\n"

def stopped(i):
    debugger = pdb.Pdb(stdin=io.StringIO(commands), stdout=sys.stdout, nosigint=True)
    debugger.use_rawinput = False
    debugger.set_trace()
    return i

use({before})
print(work(900, 500))
use(20)
"""


@regimes
@pytest.mark.parametrize("before", [0, 20])
def test_the_debugger_in_busy_code(before: int, option: str, tmp_path: Path) -> None:
    result = both(HEAD + DEBUGGED.replace("{before}", str(before)), tmp_path, option)
    assert result.hits("program.py") == work_hits(21 + before, stops=1)


TRACED = """
import threading
seen = []

def trace(frame, event, argument):
    if frame.f_code in codes:
        seen.append((event, frame.f_lineno))
    return trace

codes = {work.__code__, helper.__code__}
use({before})
{set}(trace)
use(20)
thread = threading.Thread(target=use, args=(20,))
thread.start()
thread.join()
{set}(None)
use(20)
print(len(seen), hash(tuple((len(event), line) for event, line in seen)))
"""


@regimes
@pytest.mark.parametrize("before", [0, 20])
@pytest.mark.parametrize(
    "function",
    ["sys.settrace", "sys.setprofile", "threading.settrace_all_threads", "threading.setprofile"],
)
def test_trace_and_profile_functions(
    function: str, before: int, option: str, tmp_path: Path
) -> None:
    source = HEAD + TRACED.replace("{set}", function).replace("{before}", str(before))
    assert both(source, tmp_path, option).hits("program.py") == work_hits(60 + before)


LINE_PROFILER = """
from line_profiler import LineProfiler
other = LineProfiler()
order = sys.argv[1]
if order == "late":
    use(20)
work = profile(other(work)) if order == "inner" else other(work)
use(20)
for (_, first, name), rows in other.get_stats().timings.items():
    print(first, name, [row[:2] for row in rows])
"""


@regimes
@pytest.mark.parametrize("order", ["inner", "outer", "late"])
def test_line_profiler_on_the_same_function(order: str, option: str, tmp_path: Path) -> None:
    """It gives the function other code, which is followed."""
    result = both(HEAD + LINE_PROFILER, tmp_path, option, words=(order,))
    calls = 40 if order == "late" else 20
    assert result.hits("program.py") == work_hits(calls)
    assert calls_of(result, "work") == calls


INTERFERING = """
monitoring = getattr(sys, "monitoring")
events = monitoring.events
ours = [i for i in range(6) if monitoring.get_tool(i) == "lprof"]
use({before})
for i in ours:
    {what}
use(20)
"""


@regimes
@pytest.mark.parametrize("before", [0, 20])
@pytest.mark.parametrize(
    "what",
    [
        "monitoring.set_local_events(i, work.__code__, 0)",
        "monitoring.set_events(i, 0)",
        "monitoring.register_callback(i, events.LINE, None)",
        "monitoring.register_callback(i, events.INSTRUCTION, print)",
        "monitoring.free_tool_id(i)",
        "getattr(monitoring, 'clear_tool_id', monitoring.free_tool_id)(i)",
    ],
)
def test_events_that_others_switch_off_stay_on_and_it_is_said(
    what: str, before: int, option: str, tmp_path: Path
) -> None:
    source = HEAD + INTERFERING.replace("{what}", what).replace("{before}", str(before))
    result = both(source, tmp_path, option)
    assert result.hits("program.py") == work_hits(20 + before)
    shown = lprof(["show", "--stats", "r.lprof"], tmp_path)
    assert "to switch lprof's events off: they stayed on" in " ".join(shown.stdout.split())


@regimes
@pytest.mark.parametrize("before", [0, 20])
def test_events_that_others_restart(before: int, option: str, tmp_path: Path) -> None:
    source = HEAD + f"use({before})\n" + "for _ in range(20):\n    use(1)\n"
    source += "    sys.monitoring.restart_events()\n"
    result = both(source, tmp_path, option)
    assert result.hits("program.py") == work_hits(20 + before)
    assert "interference" not in result.profile.meta


REPLACED = """
before = work.__code__
use({before})
work.__code__ = before.replace(co_consts=(*before.co_consts, "another"))
use(20)
work.__code__ = before
use(20)

def stopped(i):
    def work(n, stop=None):
        return -n
    globals()["work"].__code__ = work.__code__

print(work(900, 7), work(900), work(900))
"""


@regimes
@pytest.mark.parametrize("before", [0, 20])
def test_code_that_takes_the_place_of_profiled_code_is_profiled(
    before: int, option: str, tmp_path: Path
) -> None:
    source = HEAD + REPLACED.replace("{before}", str(before))
    result = both(source, tmp_path, option)
    line = source.splitlines().index("        return -n") + 1
    assert result.hits("program.py") == work_hits(41 + before, stops=1) + Counter({line: 2})
