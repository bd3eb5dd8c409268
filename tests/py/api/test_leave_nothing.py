"""A LineProfiler that is off leaves nothing in the process, and goes on where it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from case_runs import HAS_GIL, plain

HEAD = """\
import os, signal, sys, threading
from proftrace import LineProfiler, load_stats
monitoring = sys.monitoring
guarded = ("set_events", "set_local_events", "register_callback", "free_tool_id", "use_tool_id")
real = {name: getattr(monitoring, name) for name in guarded}
trace = sys.settrace, sys.setprofile

def work(n):
    total = 0
    for i in range(n):
        total += i
    def inner():
        return total
    inner()
    return total

def leftovers():
    found = [f"id {id}" for id in range(6) if monitoring.get_tool(id)]
    found += [name for name in guarded if getattr(monitoring, name) is not real[name]]
    found += ["trace"] if (sys.settrace, sys.setprofile) != trace else []
    for task in os.listdir("/proc/self/task"):
        name = open(f"/proc/self/task/{task}/comm").read()
        found += [name.strip()] if name.startswith("lprof") else []
    caught = int(open("/proc/self/status").read().split("SigCgt:")[1].split()[0], 16)
    found += ["SIGURG"] if caught >> signal.SIGURG - 1 & 1 else []
    timers = "/proc/self/timers"
    found += ["timer"] if os.path.exists(timers) and open(timers).read() else []
    return found

def hits(profiler):
    return {line: n for lines in profiler.get_stats().timings.values() for line, n, _ in lines}

first = work.__code__.co_firstlineno
"""


def run_program(text: str, folder: Path) -> str:
    (folder / "program.py").write_text(HEAD + text)
    done = plain(["program.py"], folder)
    assert (done.status, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_what_is_off_has_no_id_no_events_no_thread_and_no_timer(tmp_path: Path) -> None:
    out = run_program(
        "profiler = LineProfiler(work)\n"
        "print(leftovers())\n"
        "for _ in range(3):\n"
        "    with profiler:\n"
        "        for _ in range(30): work(1000)\n"  # hot: it has samples then
        "        print('id 4' in leftovers())\n"
        "    print(leftovers())\n"
        "    work(10)\n"
        "print(hits(profiler)[first + 3], hits(profiler)[first + 5])\n",
        tmp_path,
    )
    assert out.splitlines() == ["[]", *["True", "[]"] * 3, "90000 90"]


def test_another_tool_gets_the_id_without_events_of_ours(tmp_path: Path) -> None:
    out = run_program(
        "profiler = LineProfiler(work)\n"
        "with profiler: work(3)\n"
        "seen = []\n"
        "monitoring.use_tool_id(4, 'other')\n"
        "for event in (monitoring.events.LINE, monitoring.events.PY_START):\n"
        "    monitoring.register_callback(4, event, lambda *args: seen.append(args))\n"
        "work(5)\n"
        "print(seen, monitoring.get_local_events(4, work.__code__))\n"
        "with profiler:\n"
        "    print(monitoring.get_tool(3), monitoring.get_tool(4))\n"
        "    work(7)\n"
        "print(seen, leftovers(), hits(profiler)[first + 3], hits(profiler)[first + 5])\n",
        tmp_path,
    )
    assert out.splitlines() == ["[] 0", "lprof other", "[] ['id 4'] 10 2"]


def test_without_a_free_id_switching_on_fails_and_changes_nothing(tmp_path: Path) -> None:
    out = run_program(
        "profiler = LineProfiler(work)\n"
        "for id in (2, 3, 4): monitoring.use_tool_id(id, 'other')\n"
        "for switch in (profiler.enable, profiler.__enter__, lambda: profiler(work)):\n"
        "    try: switch()\n"
        "    except Exception as error: print(error)\n"
        "print(profiler.enable_count)\n"
        "work(3)\n"
        "monitoring.free_tool_id(3)\n"
        "with profiler: work(4)\n"
        "print(hits(profiler)[first + 3])\n",
        tmp_path,
    )
    message = (
        "cannot profile: other tools use the ids 2, 3 and 4 of sys.monitoring; stop one of them"
    )
    assert out.splitlines() == [message] * 3 + ["0", "4"]


def test_a_program_that_wraps_what_we_replace_is_not_undone(tmp_path: Path) -> None:
    out = run_program(
        "profiler = LineProfiler(work)\n"
        "calls = []\n"
        "with profiler:\n"
        "    ours = sys.settrace\n"
        "    def mine(function): calls.append(function); ours(function)\n"
        "    sys.settrace = mine\n"
        "    work(1)\n"
        "for _ in range(3):\n"
        "    with profiler: work(1)\n"
        "sys.settrace(None)\n"
        "print(sys.settrace is mine, calls, hits(profiler)[first + 3])\n",
        tmp_path,
    )
    assert out == "True [None] 4\n"


def test_threads_that_run_on_are_sampled_again(tmp_path: Path) -> None:
    out = run_program(
        "profiler = LineProfiler(work)\n"
        "wanted, done = threading.Semaphore(0), threading.Semaphore(0)\n"
        "def serve():\n"
        "    while True:\n"
        "        wanted.acquire()\n"
        "        for _ in range(300): work(5000)\n"
        "        done.release()\n"
        "threading.Thread(target=serve, daemon=True).start()\n"
        "def ask():\n"
        "    wanted.release()\n"
        "    done.acquire()\n"
        "def samples():\n"
        "    return sum(sum(p.calls.samples) for p in profiler.get_stats().profiles)\n"
        "for _ in range(2):\n"
        "    with profiler: ask()\n"
        "    before = samples()\n"
        "    ask()\n"
        "    print(before > 0, samples() == before, leftovers())\n"
        "with profiler: ask()\n"
        "print(samples() > before, hits(profiler)[first + 3])\n",
        tmp_path,
    )
    # Without a GIL no code gets hot, so there is nothing to be sampled.
    assert out.splitlines() == [f"{HAS_GIL} True []"] * 2 + [f"{HAS_GIL} 4500000"]


def test_who_called_is_in_the_result_by_line(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import threading\n"
        "from proftrace import LineProfiler\n"
        "def leaf(n):\n"
        "    return n + 1\n"
        "def middle(n):\n"
        "    n = leaf(n)\n"
        "    return leaf(leaf(n))\n"
        "def top(n):\n"
        "    for i in range(n): middle(i)\n"
        "both, one = LineProfiler(leaf, middle), LineProfiler(leaf)\n"
        "top(3)\n"
        "with both:\n"
        "    top(5)\n"
        "    with one: middle(1)\n"
        "top(2)\n"
        "with both:\n"
        "    thread = threading.Thread(target=top, args=[4])\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "    leaf(1)\n"
        "both.dump_stats('both')\n"
        "one.dump_stats('one')\n"
    )
    assert plain(["program.py"], tmp_path).status == 0

    def callers(file: str) -> dict[str, list[tuple[str | None, int, int]]]:
        command = [str(Path(sys.executable).parent / "lprof"), "show", "--format", "json", file]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        return {
            function["name"]: sorted(
                (call["name"] or "", call["line"], call["calls"]) for call in function["callers"]
            )
            for function in json.loads(done.stdout)["functions"]
        }

    assert callers("both") == {
        "leaf": [("", 0, 1), ("middle", 6, 10), ("middle", 7, 20)],
        "middle": [("", 0, 10)],
    }
    assert callers("one") == {"leaf": [("", 0, 3)]}


def test_code_that_takes_the_place_of_added_code_counts(tmp_path: Path) -> None:
    out = run_program(
        "profiler = LineProfiler(work)\n"
        "def other(n):\n"
        "    n += 1\n"
        "    return [n for _ in range(n)]\n"
        "with profiler:\n"
        "    work(2)\n"
        "    work.__code__ = other.__code__\n"
        "    work(3)\n"
        "print(leftovers())\n"
        "work(4)\n"
        "with profiler: work(5)\n"
        "work.__code__ = work.__code__.replace(co_name='third')\n"
        "with profiler: work(5)\n"
        "heads = first + 1, other.__code__.co_firstlineno + 1\n"
        "timings = profiler.get_stats().timings\n"
        "print([(name, n) for (_, _, name), lines in timings.items()\n"
        "       for line, n, _ in lines if line in heads])\n",
        tmp_path,
    )
    lines = out.splitlines()
    assert lines[0] == "[]"
    assert sorted(eval(lines[1])) == [("other", 3), ("work", 1)]
