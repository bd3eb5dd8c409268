"""The project's own tools: finding an interpreter, naming what is missing, counting what ran."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.dev import stages

ROOT = Path(__file__).resolve().parents[1]
# A stand-in for an interpreter that answers the probe of find_python.sh.
ANSWER = "#!/bin/sh\necho {kind} {version} {path}\n"


def fake(folder: Path, name: str, text: str) -> Path:
    """Put a command into a folder of a PATH."""
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def interpreter(folder: Path, version: str, kind: str = "complete") -> str:
    path = folder / f"python{version}"
    fake(folder, path.name, ANSWER.format(kind=kind, version=version, path=path))
    return str(path)


def run_script(name: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one of the tools' shell scripts with the folder's commands first on PATH."""
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    variables = {"PATH": path, "HOME": str(folder), "PYENV_ROOT": str(folder)}
    command = ["sh", str(ROOT / "tools" / name), *arguments]
    return subprocess.run(
        command, env=os.environ | variables, capture_output=True, text=True, check=False, cwd=folder
    )


def test_the_newest_supported_interpreter_wins(tmp_path: Path) -> None:
    interpreter(tmp_path, "3.12")
    wanted = interpreter(tmp_path, "3.13")
    interpreter(tmp_path, "3.14")
    assert run_script("find_python.sh", tmp_path).stdout.strip() == wanted


def test_an_interpreter_that_does_not_start_is_passed_over(tmp_path: Path) -> None:
    fake(tmp_path, "python3.13", "#!/bin/sh\nexit 127\n")
    works = tmp_path / "versions" / "3.13.9" / "bin"
    works.mkdir(parents=True)
    path = works / "python"
    fake(works, "python", ANSWER.format(kind="complete", version="3.13", path=path))
    assert run_script("find_python.sh", tmp_path).stdout.strip() == str(path)


def test_a_version_can_be_asked_for(tmp_path: Path) -> None:
    wanted = interpreter(tmp_path, "3.12")
    interpreter(tmp_path, "3.13")
    for spelling in "3.12", "python3.12", wanted:
        assert run_script("find_python.sh", tmp_path, spelling).stdout.strip() == wanted


def test_an_unusable_interpreter_is_named_with_what_to_install(tmp_path: Path) -> None:
    old = fake(tmp_path, "snake", "#!/bin/sh\n")
    done = run_script("find_python.sh", tmp_path, str(old))
    assert done.returncode == 1 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("missing: a usable CPython >= 3.12") and "apt-get install" in line


def test_packages_are_named_to_a_user_who_may_not_install_them(tmp_path: Path) -> None:
    fake(tmp_path, "id", "#!/bin/sh\necho 1000\n")
    fake(tmp_path, "apt-get", "#!/bin/sh\necho called >&2\n")
    done = run_script("apt_install.sh", tmp_path, "liblz4-dev", "nodejs")
    assert done.returncode == 1
    assert done.stderr == (
        "missing: liblz4-dev nodejs; install with: sudo apt-get install -y liblz4-dev nodejs\n"
    )


def test_packages_are_installed_by_root_after_an_update(tmp_path: Path) -> None:
    fake(tmp_path, "id", "#!/bin/sh\necho 0\n")
    fake(tmp_path, "apt-get", '#!/bin/sh\necho "$@" >>calls\n')
    done = run_script("apt_install.sh", tmp_path, "liblz4-dev")
    assert done.returncode == 0 and done.stderr == ""
    update, install = (tmp_path / "calls").read_text().splitlines()
    assert update.endswith("update") and install.endswith(
        "install -y --no-install-recommends liblz4-dev"
    )


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A folder of tests under the project's conftest."""
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def run_suite(suite: Path, name: str, text: str) -> tuple[int, int, list[str]]:
    """Run one test file there; return what the junit reader of `make test` says."""
    (suite / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "--junitxml=report.xml", name]
    subprocess.run(command, cwd=suite, check=False, capture_output=True)
    return stages.read_junit([suite / "report.xml"])


@pytest.mark.parametrize(
    "text",
    [
        "import pytest\n@pytest.mark.skip(reason='tired')\ndef test_a(): pass\n",
        "import pytest\ndef test_a(): pytest.skip('tired')\n",
        "import pytest\npytest.skip('tired', allow_module_level=True)\ndef test_a(): pass\n",
        "import pytest\npytest.importorskip('no_such_module_here')\ndef test_a(): pass\n",
    ],
)
def test_a_skip_is_a_failure(suite: Path, text: str) -> None:
    passed, failed, _ = run_suite(suite, "test_it.py", text)
    assert (passed, failed) == (0, 1)
    assert "a skip is a failure" in (suite / "report.xml").read_text()


def test_passes_and_failures_are_counted(suite: Path) -> None:
    text = "def test_a(): pass\ndef test_b(): pass\ndef test_c(): assert False\n"
    passed, failed, ran = run_suite(suite, "test_it.py", text)
    assert (passed, failed) == (2, 1)
    assert ran == ["test_it test_a", "test_it test_b", "test_it test_c"]


def test_a_stage_in_which_nothing_ran_is_not_good() -> None:
    assert not stages.Outcome(0, 0, [], ROOT).good
    assert not stages.Outcome(5, 1, [], ROOT).good
    assert not stages.Outcome(5, 0, ["tests/test_x.py: no test ran"], ROOT).good
    assert stages.Outcome(5, 0, [], ROOT).good
