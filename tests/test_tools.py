"""The project's own tools: finding an interpreter, naming what is missing, counting what ran."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.dev import matrix, stages
from tools.dev.chroot import Chroot, NoSource, find_mirror
from tools.dev.console import DevError

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


def test_every_end_to_end_file_is_in_one_stage() -> None:
    files = {path.name for path in (ROOT / "tests" / "end_to_end").glob("test_*.py")}
    assert files >= stages.MEASURING
    assert files - stages.MEASURING


def test_a_stage_in_which_nothing_ran_is_not_good() -> None:
    assert not stages.Outcome(0, 0, [], ROOT).good
    assert not stages.Outcome(5, 1, [], ROOT).good
    assert not stages.Outcome(5, 0, ["tests/test_x.py: no test ran"], ROOT).good
    assert stages.Outcome(5, 0, [], ROOT).good


ONE_LINE = """\
# deb http://old.example/debian bookworm main
deb-src http://source.example/debian bookworm main
deb [arch=amd64 signed-by=/k.gpg] http://tools.example/node nodistro main
deb [arch=amd64] http://mirror.example/debian bookworm main contrib
"""
STANZAS = """\
Types: deb
URIs: http://safe.example/debian-security
Suites: bookworm-security

# the archive
Types: deb deb-src
URIs: http://mirror.example/debian http://second.example/debian
Suites: bookworm bookworm-updates
Components: main
"""


@pytest.mark.parametrize("texts", [[ONE_LINE], [STANZAS], ["", STANZAS], [ONE_LINE, STANZAS]])
def test_the_mirror_is_the_one_of_the_systems_own_release(texts: list[str]) -> None:
    assert find_mirror(texts, "bookworm") == "http://mirror.example/debian"
    assert find_mirror(texts, "trixie") is None


def written(name: str, *failed: int) -> str:
    rows = [
        {"name": f"stage {i}", "passed": 5, "failed": n, "good": not n}
        for i, n in enumerate(failed)
    ]
    return json.dumps({"name": name, "version": f"{name}.1", "stages": rows})


def test_a_version_is_good_when_it_was_this_one_that_ran_and_all_stages_are() -> None:
    result = matrix.read_result("3.14", written("3.14", 0, 0), 0, "", 1.0)
    assert (result.version, result.passed, result.failed, result.problem) == ("3.14.1", 10, 0, "")


@pytest.mark.parametrize(
    ("text", "status", "problem"),
    [
        (written("3.13", 0), 0, "it was 3.13 that ran"),
        (written("3.14", 0, 2), 1, "failed: stage 1"),
        (written("3.14", 0), 1, "failed: status 1"),
        ("", 1, "ended with status 1 before any test ran"),
    ],
)
def test_any_doubt_about_a_version_is_a_failure(text: str, status: int, problem: str) -> None:
    early = "" if text else problem
    assert matrix.read_result("3.14", text, status, early, 1.0).problem == problem


def test_a_version_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONS", "3.14 pypy")
    with pytest.raises(DevError, match="no version: pypy"):
        matrix.main()


def test_a_version_that_cannot_run_fails_the_matrix(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONS", "3.99")
    assert matrix.main() == 1
    printed = capsys.readouterr().out
    assert "there is no CPython 3.99 here" in printed
    assert printed.endswith("0 of 1 versions are good\n0 passed, 1 failed\n")


class FakeChroot(Chroot):
    """Has the sources of some versions."""

    def __init__(self, *versions: str) -> None:
        self.versions = versions

    def prepare(self) -> None:
        pass

    def free_threaded_python(self, version: str) -> str:
        if version not in self.versions:
            raise NoSource(f"the mirror has no source of {version}")
        return f"/opt/python{version}t/bin/python{version}"


@pytest.mark.parametrize(
    ("versions", "name"),
    [(("3.14", "3.13"), "3.14t"), (("3.14",), "3.14t"), (("3.13",), "3.13t")],
)
def test_the_newest_build_without_the_gil_that_can_be_made_is_taken(
    versions: tuple[str, ...], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert matrix.find_free_threaded(FakeChroot(*versions)) == name
    says = capsys.readouterr().out
    assert ("no 3.14t: the mirror has no source of 3.14" in says) == (name == "3.13t")


def test_no_build_without_the_gil_at_all_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONS", "t")
    monkeypatch.setattr(matrix, "Chroot", FakeChroot)
    assert matrix.main() == 1
    assert "no source of 3.14; the mirror has no source of 3.13" in capsys.readouterr().out
