"""The ways to install: the working tree as editable, and a source distribution."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Sources of the build, not of the package.
NOT_INSTALLED = {"meson.build", "_version.py.in"}
SHOW = """
import proftrace, proftrace.errors, pathlib
from proftrace._version import __version__
print(__version__, pathlib.Path(proftrace.errors.__file__).resolve().parent)
"""


def run(*command: str | Path, **variables: str) -> str:
    """Run a command that has to succeed; return what it printed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path} | variables
    done = subprocess.run(
        [str(word) for word in command],
        env=environment,
        capture_output=True,
        text=True,
        check=False,  # the output says more than the exception would
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def version_of_the_build() -> str:
    words = (ROOT / "meson.build").read_text().split("version: '", 1)[1]
    return words.split("'", 1)[0]


def package_files(repository: Path) -> set[str]:
    """Return the names of the package's own files, as git knows them."""
    listed = run("git", "-C", repository, "ls-files", "pysrc/proftrace").split()
    names = {name.removeprefix("pysrc/proftrace/") for name in listed}
    return {name for name in names if Path(name).name not in NOT_INSTALLED}


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A new environment that sees what the running one has installed, after its own packages."""
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    site = next((tmp_path / "venv" / "lib").glob("python3*")) / "site-packages"
    pytest_home = Path(pytest.__file__).parent.parent
    (site / "zz-outer.pth").write_text(f"{pytest_home}\n")
    return tmp_path / "venv" / "bin" / "python"


def pip_install(python: Path, build: Path, *what: str | Path) -> None:
    options = ("--no-build-isolation", "--no-deps", "--ignore-installed", "--no-index", "-q")
    build_folder = f"-Cbuild-dir={build}"
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, build_folder, *what)


def test_editable_install_runs_the_working_tree(python: Path, tmp_path: Path) -> None:
    pip_install(python, tmp_path / "build", "-e", ROOT)
    version, where = run(python, "-c", SHOW).split(maxsplit=1)
    assert version == version_of_the_build()
    assert Path(where.strip()) == ROOT / "pysrc" / "proftrace"
    help_text = run(python.parent / "lprof", "--help") + run(python.parent / "memtrace", "--help")
    assert "lprof" in help_text and "memtrace" in help_text


def test_source_distribution_builds_the_whole_package(python: Path, tmp_path: Path) -> None:
    make = f"import mesonpy; print(mesonpy.build_sdist({str(tmp_path)!r}))"
    clone = tmp_path / "clone"
    run("git", "clone", "-q", ROOT, clone)
    name = run("env", "-C", clone, sys.executable, "-c", make).split()[-1]
    with tarfile.open(tmp_path / name) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    pip_install(python, tmp_path / "build", source)
    shutil.rmtree(source)
    version, where = run(python, "-c", SHOW).split(maxsplit=1)
    assert version == version_of_the_build()
    assert name == f"proftrace-{version}.tar.gz"
    installed = {
        path.relative_to(where.strip()).as_posix() for path in Path(where.strip()).rglob("*.*")
    }
    assert package_files(clone) <= installed


def test_build_without_lz4_names_the_package(tmp_path: Path) -> None:
    meson = shutil.which("meson", path=str(Path(sys.executable).parent))
    assert meson is not None
    hidden = {"PKG_CONFIG_LIBDIR": str(tmp_path), "PKG_CONFIG_PATH": "", "CMAKE": "/nonexistent"}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [meson, "setup", tmp_path / "build", ROOT],
        env=os.environ | hidden | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "lz4 is missing: install it with" in done.stdout
    assert "liblz4-dev" in done.stdout
