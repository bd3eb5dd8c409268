"""`make test-matrix`: the suite on every supported interpreter, each named by its version.

3.12, 3.13 ... are looked for on this system first, the newer ones then in a Debian of their own
(see chroot.py). A `t` behind the version means the build without the GIL, and a `t` alone the
newest of these whose source can be had. PYTHONS="3.14 3.13t" selects. A version that was asked for
and could not run is a failure.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.dev.chroot import Chroot, NoSource
from tools.dev.console import LOGS, ROOT, DevError, say
from tools.dev.system import quiet

DEFAULT = "3.12 3.13 3.14 3.15"
NAME = re.compile(r"3\.\d+t?|t")
# What a `t` alone may be, the first choice first: mirrors list sources that they do not have.
FREE_THREADED = ("3.14", "3.13")
# On systems that bring them these are used; others have to be installed by hand (pyenv).
FROM_DEBIAN = ("3.14", "3.15")
RESULT = "stages.json"


@dataclass(frozen=True, slots=True)
class Result:
    """What one interpreter did; `problem` is empty when everything was good."""

    name: str
    version: str
    passed: int
    failed: int
    seconds: float
    problem: str


def run_inside(folder: Path, command: Sequence[str], variables: dict[str, str]) -> tuple[str, int]:
    """Run the stages; return the text of the result file and the exit status."""
    path = folder / "out" / "logs" / RESULT
    path.unlink(missing_ok=True)
    status = subprocess.call(command, cwd=ROOT, env=variables, stdin=subprocess.DEVNULL)
    return path.read_text() if path.exists() else "", status


def run_on_system(python: str) -> tuple[str, int]:
    """Run the stages with an interpreter of this system."""
    variables = dict(os.environ) | {"PYTHON": python}
    return run_inside(ROOT, [python, "-m", "tools.dev", "test-version"], variables)


def run_in_chroot(chroot: Chroot, name: str) -> tuple[str, int]:
    """Run the stages with an interpreter of the Debian in the cache."""
    chroot.prepare()
    if name.endswith("t"):
        python = chroot.free_threaded_python(name.removesuffix("t"))
    else:
        python = chroot.packaged_python(name)
    target = chroot.copy_project()
    shutil.rmtree(target / "out" / "logs", ignore_errors=True)
    command = chroot.enter(python, "-m", "tools.dev", "test-version", folder=chroot.project)
    try:
        return run_inside(target, command, chroot.variables | {"PYTHON": python})
    finally:
        chroot.take_logs(name)


def find_on_system(name: str) -> str | None:
    """Return the path of an interpreter of this system."""
    if name.endswith("t"):
        return None
    found = quiet("sh", str(ROOT / "tools" / "find_python.sh"), name)
    return found.strip() if found else None


def find_free_threaded(chroot: Chroot) -> str:
    """Return the name of the newest build without the GIL that there is or can be made."""
    chroot.prepare()
    reasons = []
    for version in FREE_THREADED:
        try:
            chroot.free_threaded_python(version)
        except NoSource as error:
            reasons.append(str(error))
            say(f"no {version}t: {error}")
        else:
            return f"{version}t"
    raise DevError("; ".join(reasons))


def run_version(chroot: Chroot, name: str) -> Result:
    """Run the suite on one version."""
    start = time.monotonic()
    say(f"----- {name}")
    text, status, problem = "", 0, ""
    try:
        if name == "t":
            name = find_free_threaded(chroot)
            say(f"----- {name}")
        python = find_on_system(name)
        if python is not None:
            text, status = run_on_system(python)
        elif name in FROM_DEBIAN or name.endswith("t"):
            text, status = run_in_chroot(chroot, name)
        else:
            problem = f"there is no CPython {name} here; install it, with pyenv for example"
    except DevError as error:
        problem = str(error)
    if not problem and not text:
        problem = f"ended with status {status} before any test ran"
    return read_result(name, text, status, problem, time.monotonic() - start)


def read_result(name: str, text: str, status: int, problem: str, seconds: float) -> Result:
    """Make a row of what the run wrote; one that is not about this version is a failure."""
    found: dict[str, Any] = (
        json.loads(text) if text else {"version": "", "name": name, "stages": []}
    )
    version, ran = str(found["version"]), str(found["name"])
    rows: list[dict[str, Any]] = list(found["stages"])
    passed = sum(row["passed"] for row in rows)
    failed = sum(row["failed"] for row in rows)
    bad = [str(row["name"]) for row in rows if not row["good"]]
    if ran != name:
        problem = problem or f"it was {ran} that ran"
    if bad or status:
        problem = problem or f"failed: {', '.join(bad) or f'status {status}'}"
    return Result(name, version, passed, failed, seconds, problem)


def main() -> int:
    """Run all that were asked for, then print one row each; return the exit status."""
    names = (os.environ.get("PYTHONS") or DEFAULT).replace(",", " ").split()
    wrong = [name for name in names if not NAME.fullmatch(name)]
    if wrong or not names:
        raise DevError(f"PYTHONS: no version: {' '.join(wrong)}; say 3.14, or 3.13t")
    LOGS.mkdir(parents=True, exist_ok=True)
    chroot = Chroot()
    results = [run_version(chroot, name) for name in names]
    print(f"\n{'interpreter':<12}{'ran':<10}{'passed':>8}{'failed':>8}{'seconds':>9}")
    for row in results:
        counts = f"{row.passed:>8}{row.failed:>8}{row.seconds:>9.0f}"
        print(f"{row.name:<12}{row.version or '-':<10}{counts}  {row.problem}".rstrip())
    bad = sum(bool(row.problem) for row in results)
    print(f"\n{len(results) - bad} of {len(results)} versions are good")
    failed = sum(row.failed for row in results)
    print(f"{sum(row.passed for row in results)} passed, {max(failed, bad)} failed", flush=True)
    return 1 if bad else 0
