"""`make <target>` ends here: python -m tools.dev <target>."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
import traceback
from collections.abc import Callable, Sequence

from tools.dev import bench, demo, matrix, stages, system
from tools.dev.console import LOGS, DevError, run, say, tail
from tools.dev.environment import Environment


def prepare(
    *groups: str,
    package: bool = True,
    folder: str | None = None,
    test_needs: tuple[system.Need, ...] = system.TEST_NEEDS,
) -> Environment:
    """Bring an environment up to date with the working tree."""
    needs = system.BUILD_NEEDS + (test_needs if "test" in groups else ())
    system.ensure(needs if package else ())
    environment = Environment(folder)
    environment.create()
    environment.install_dependencies(*groups)
    if package:
        environment.install_package()
    return environment


def run_stage(stage: stages.Stage, environment: Environment) -> stages.Outcome:
    """Run one stage; a step of it that cannot even start counts as one failure."""
    try:
        outcome = stage.action(environment)
    except DevError as error:
        outcome = stages.Outcome(0, 1, [str(error)], LOGS)
    if not outcome.good:
        if outcome.log.is_file():
            print(tail(outcome.log, 300), flush=True)
        for problem in outcome.problems or ["no test ran"]:
            say(f"{stage.name}: {problem}")
    return outcome


def save_outcomes(environment: Environment, rows: Sequence[tuple[str, stages.Outcome]]) -> None:
    """Write what ran for those who started this one: see matrix.py."""
    found = [
        {"name": name, "passed": row.passed, "failed": row.failed, "good": row.good}
        for name, row in rows
    ]
    result = {"name": environment.version, "version": platform.python_version(), "stages": found}
    (LOGS / matrix.RESULT).write_text(json.dumps(result))


def run_stages(chosen: Sequence[stages.Stage], environment: Environment) -> int:
    """Run every stage, also after one has failed, and print the table of what ran."""
    rows = []
    for stage in chosen:
        start = time.monotonic()
        outcome = run_stage(stage, environment)
        rows.append((stage.name, outcome, time.monotonic() - start))
    print(f"\n{'stage':<20}{'passed':>8}{'failed':>8}{'seconds':>9}")
    for name, outcome, seconds in rows:
        verdict = "" if outcome.good else "  FAILED"
        print(f"{name:<20}{outcome.passed:>8}{outcome.failed:>8}{seconds:>9.0f}{verdict}")
    save_outcomes(environment, [(name, outcome) for name, outcome, _ in rows])
    bad = sum(not outcome.good for _, outcome, _ in rows)
    passed = sum(outcome.passed for _, outcome, _ in rows)
    failed = sum(outcome.failed for _, outcome, _ in rows)
    print(f"\nPython {environment.version}: {len(rows) - bad} of {len(rows)} stages are good")
    print(f"{passed} passed, {max(failed, bad)} failed", flush=True)
    return 1 if bad else 0


def format_sources(environment: Environment, *, check: bool) -> int:
    """Rewrite the sources, or tell whether the formatters would."""
    status = 0
    for title, command in stages.format_commands(environment, check=check):
        bad = run(title, command, environment=environment.variables, log="format.log", check=False)
        if bad:
            print(tail(LOGS / "format.log", 40))
            status = 1
    return status


def format_target(name: str) -> int:
    return format_sources(prepare("lint", package=False), check=name == "check-format")


def version_target() -> int:
    """Run what `make test-matrix` runs, on one interpreter and without a browser."""
    return run_stages(stages.VERSION, prepare("test", test_needs=system.VERSION_NEEDS))


def main() -> int:
    """Do what the target says; return the exit status."""
    parser = argparse.ArgumentParser(prog="make", add_help=False)
    parser.add_argument("target")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    targets: dict[str, Callable[[], int]] = {
        "demo": lambda: demo.main(prepare()),
        "test": lambda: run_stages(stages.ALL, prepare("test", "lint")),
        "test-python": lambda: run_stages(stages.PYTHON_ONLY, prepare("test", "lint")),
        "test-matrix": matrix.main,
        "test-version": version_target,
        "lint": lambda: run_stages(stages.LINT_ONLY, prepare("test", "lint")),
        "format": lambda: format_target("format"),
        "check-format": lambda: format_target("check-format"),
        "bench": lambda: bench.main(prepare(folder=".bench"), options.arguments),
    }
    if options.target not in targets:
        raise DevError(f"no such target: {options.target}")
    return targets[options.target]()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DevError as error:
        sys.exit(str(error) or 1)
    except KeyboardInterrupt:
        traceback.print_exc(limit=0)
        sys.exit(130)
