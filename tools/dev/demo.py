"""`make demo`: both tools on two real programs, and where to look at what they found."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tools.dev.console import ROOT, DevError, run, say
from tools.dev.environment import Environment

OUTPUT = ROOT / "out" / "demo"
EXAMPLES = ("access_log", "inventory")


def save(environment: Environment, path: Path, command: Sequence[object]) -> None:
    """Write what a command prints into a file."""
    with path.open("w") as file:
        status = subprocess.call(
            list(map(str, command)), cwd=ROOT, env=environment.variables, stdout=file
        )
    if status:
        raise DevError(f"{' '.join(map(str, command))} ended with status {status}")


def profile_lines(environment: Environment, name: str) -> list[Path]:
    """Profile an example with lprof; return the paths of its line table and page."""
    lprof = environment.tool("lprof")
    result, table = OUTPUT / f"{name}.lprof", OUTPUT / f"{name}-lines.txt"
    script = Path("examples", f"{name}.py")
    command = [lprof, "-v", "-o", result, script]
    run(f"lprof -v {script}", command, environment=environment.variables, log="demo.log")
    save(environment, table, [lprof, "show", result])
    page = OUTPUT / f"{name}-lines.html"
    command = [lprof, "html", "-o", page, result]
    run("lprof html", command, environment=environment.variables, log="demo.log")
    return [table, page]


def trace_memory(environment: Environment, name: str) -> list[Path]:
    """Trace an example with memtrace; return the paths of summary, statistics and flame graph."""
    memtrace = environment.tool("memtrace")
    capture = OUTPUT / f"{name}.bin"
    script = Path("examples", f"{name}.py")
    command = [memtrace, "run", "-o", capture, script]
    run(f"memtrace run {script}", command, environment=environment.variables, log="demo.log")
    texts = []
    for view in ("summary", "stats"):
        texts.append(OUTPUT / f"{name}-{view}.txt")
        save(environment, texts[-1], [memtrace, view, capture])
    page = OUTPUT / f"{name}-memory.html"
    command = [memtrace, "flamegraph", "-o", page, capture]
    run("memtrace flamegraph", command, environment=environment.variables, log="demo.log")
    return [*texts, page]


def show(environment: Environment, title: str, tool: str, *arguments: object) -> None:
    """Run a report on the terminal, behind a line that says what it is and how to get it."""
    words = [str(word) for word in arguments]
    print(flush=True)
    say(f"{title}: {tool} {' '.join(words)}")
    command = [str(environment.tool(tool)), *words]
    status = subprocess.call(command, cwd=ROOT, env=environment.variables)
    if status:
        raise DevError(f"{tool} {' '.join(words)} ended with status {status}")


def main(environment: Environment) -> int:
    """Run the demonstration: a look at both results, then the paths of all that was made."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    titles = ("line table", "line page", "memory summary", "memory statistics", "flame graph page")
    made = []
    for name in EXAMPLES:
        paths = [*profile_lines(environment, name), *trace_memory(environment, name)]
        made += [(name, title, path) for title, path in zip(titles, paths, strict=True)]
    empty = [path for _, _, path in made if not path.stat().st_size]
    if empty:
        raise DevError(f"empty: {', '.join(map(str, empty))}")
    folder = OUTPUT.relative_to(ROOT)
    show(environment, "where the time went", "lprof", "show", "-r", folder / "access_log.lprof")
    memory = folder / "inventory.bin"
    show(environment, "where the memory is", "memtrace", "summary", "-n", "5", memory)
    print()
    say("done; all that was made, to look at:")
    for name, title, path in made:
        print(f"  {name + ' ' + title:<30} {path.relative_to(ROOT)}")
    return 0
