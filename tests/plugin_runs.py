"""Runs pytest with our plugin in a process of its own, and reads what came of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from case_runs import CASES

LONGEST_S = 280
PROGRAMS = Path(__file__).parent / "programs"
# Plugins that only our own suite needs, or that would ask for more than the test is about.
QUIET = ("-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")


@dataclass(frozen=True)
class Suite:
    """How a run of pytest ended: names of tests by outcome, the text of each failure."""

    status: int
    output: str
    passed: set[str]
    failed: dict[str, str]
    errors: dict[str, str]
    skipped: set[str]
    properties: dict[str, dict[str, str]]

    @property
    def n_tests(self) -> int:
        """Return how many tests were reported."""
        return len(self.passed) + len(self.failed) + len(self.errors) + len(self.skipped)


def run_pytest(folder: Path, *words: str, env: dict[str, str] | None = None) -> Suite:
    """Run the tests in a folder."""
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *QUIET, f"--junitxml={report}", *words],
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    return _read(done, report)


def _read(done: subprocess.CompletedProcess[str], report: Path) -> Suite:
    passed, skipped = set[str](), set[str]()
    failed: dict[str, str] = {}
    errors: dict[str, str] = {}
    properties: dict[str, dict[str, str]] = {}
    assert report.exists(), done.stdout + done.stderr
    for case in ElementTree.parse(report).iter("testcase"):
        # "test_file.Class", of which the class belongs to the name.
        classes = case.attrib["classname"].split(".")[1:]
        name = ".".join([*classes, case.attrib["name"]])
        assert name not in passed | set(failed) | skipped, f"{name} is reported twice"
        properties[name] = {
            one.attrib["name"]: one.attrib["value"] for one in case.iter("property")
        }
        outcome = [child for child in case if child.tag in ("failure", "error", "skipped")]
        if not outcome:
            passed.add(name)
        elif outcome[0].tag == "skipped":
            skipped.add(name)
        else:
            texts = failed if outcome[0].tag == "failure" else errors
            texts[name] = outcome[0].text or outcome[0].attrib.get("message", "")
    output = done.stdout + done.stderr
    return Suite(done.returncode, output, passed, failed, errors, skipped, properties)


def copy_case(name: str, folder: Path) -> Path:
    """Copy a case of tests/cases, so that what it writes stays out of there."""
    return Path(shutil.copytree(CASES / name, folder / name))


def write_suite(folder: Path, text: str, ini: str = "") -> Path:
    """Write a file with tests, and a configuration, so that none above is found."""
    (folder / "test_it.py").write_text(text)
    (folder / "pytest.ini").write_text(f"[pytest]\naddopts = -q --strict-markers\n{ini}\n")
    return folder


def copy_corpus(folder: Path) -> Path:
    """Copy the functions that leak and those that do not, and build their extension module."""
    target = Path(shutil.copytree(PROGRAMS / "leaks", folder / "leaks"))
    (target / "pytest.ini").write_text("[pytest]\naddopts = -q --strict-markers\n")
    include = f"-I{sysconfig.get_path('include')}"
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    words: Sequence[str] = (
        "gcc", "-shared", "-fPIC", "-O1", include, "leaky.c", "-o", f"leaky{suffix}"
    )  # fmt: skip
    subprocess.run(words, cwd=target, check=True, env=os.environ)
    return target
