"""`make bench`: an environment of its own with the tools that ours is measured beside."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from tools.dev.console import ROOT, say
from tools.dev.environment import Environment

PEERS = ("line_profiler==5.1.*", "memray>=1.15", "pytest-memray>=1.7", "numpy>=2")


def main(environment: Environment, arguments: Sequence[str]) -> int:
    """Install the peers beside our package and measure; return the exit status."""
    title = "pip: line_profiler, memray, pytest-memray, numpy"
    environment.step("peers", "\n".join(PEERS), lambda: environment.pip(title, *PEERS))
    say("measuring (about five minutes; a quiet machine gives better figures)")
    command = [str(environment.python), "-m", "benchmarks", *arguments]
    return subprocess.call(command, cwd=ROOT, env=environment.variables)
