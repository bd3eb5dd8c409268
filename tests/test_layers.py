"""The edges of docs/internals/architecture.md: who may include and import whom."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CSRC = ROOT / "csrc"
PACKAGE = ROOT / "pysrc" / "proftrace"

# What each folder of csrc/ may include besides itself.
C_LAYERS = {
    "base": set[str](),
    "format": {"base"},
    "history": {"base", "format"},
    "interp": {"base"},
    "capture": {"base", "format", "history", "interp"},
    "lines": {"base", "format", "interp"},
    "profile": {"base", "format", "history"},
    "launch": set[str](),
    "python": {"base", "format", "history", "interp", "capture", "lines", "profile"},
}
# The one file each side that may ask which CPython it meets.
VERSION_SEAMS = {"python/compat.h", "interp/layout.c"}

# What each part of the package may import besides itself, as the first name after "proftrace".
# Parts that are modules, not folders, are named with their own row; "." is proftrace/__init__.py.
SHARED = {"errors", "units", "pyproject", "_version"}
PY_LAYERS = {
    "errors": set[str](),
    "_version": set[str](),
    "units": {"errors"},
    "pyproject": set[str](),
    # What it exports is imported when it is asked for.
    ".": SHARED | {"api", "lines", "memory", "model.load"},
    "model": SHARED | {"_reader"},
    "views": SHARED | {"model"},
    "render": SHARED | {"model", "views"},
    "cli": SHARED | {"model", "views", "render", "run.launch", "lines.accuracy", "lines.shares"},
    "run": SHARED,
    "run.launch": SHARED | {"run", "_capture"},
    "run.bootstrap": SHARED | {"run", "lines", "memory"},
    "lines": SHARED | {"_lines"},
    "memory": SHARED | {"_capture"},
    "api": SHARED | {"_lines", "lines", "model", "views", "render"},
    # `profile.enable()` outside of lprof has results, which it imports then.
    "lines.decorator": SHARED | {"lines", "api.explicit", "api.line_profiler"},
    "pytest_plugin": SHARED | {"_capture", "memory", "model", "views"},
    # Tracker.snapshot() reads what was recorded, and imports the reader when it is called.
    "memory.tracker": SHARED | {"_capture", "memory", "model.load", "model.profile"},
}
# These run inside the traced program, whatever is installed there.
TARGET_SIDE = {
    "errors",
    "units",
    "pyproject",
    "_version",
    ".",
    "run",
    "run.bootstrap",
    "lines",
    "memory",
    "memory.tracker",
}
ONLY_IMPORTER_OF_READER = "model.load"


def c_files() -> list[Path]:
    return sorted(path for path in CSRC.rglob("*") if path.suffix in {".c", ".h"})


def includes(path: Path) -> list[tuple[str, str]]:
    """Return the (bracket, name) of every include: bracket is `"` or `<`."""
    return re.findall(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', path.read_text(), re.M)


def py_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_of(path: Path) -> str:
    """Return a module's name below the package: "" for proftrace itself, "model.load"."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module: str) -> str:
    """Return the row of PY_LAYERS that a module belongs to."""
    if module in PY_LAYERS:
        return module
    return module.split(".")[0] or "."


def imports(path: Path) -> Iterator[str]:
    """Yield the full name of everything a module imports, wherever the statement stands."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


def is_allowed(source: str, target: str) -> bool:
    """Tell whether a part may import a module (both without the "proftrace." in front)."""
    allowed = PY_LAYERS[source] | {source, source.split(".")[0]} - {"."}
    names = target.split(".")
    return any(".".join(names[:n]) in allowed for n in range(1, len(names) + 1))


@pytest.mark.parametrize("path", c_files(), ids=lambda path: path.relative_to(CSRC).as_posix())
def test_c_file_includes_only_layers_below(path: Path) -> None:
    layer = path.relative_to(CSRC).parts[0]
    for bracket, name in includes(path):
        if bracket == '"':
            assert (CSRC / name).exists(), f"{name}: includes are relative to csrc/"
            assert name.split("/")[0] in C_LAYERS[layer] | {layer}, f"{layer} may not use {name}"


def test_every_c_folder_is_a_layer_with_a_row() -> None:
    folders = {path.relative_to(CSRC).parts[0] for path in c_files()}
    assert folders <= set(C_LAYERS)


def test_only_the_python_folder_includes_the_c_api() -> None:
    users = {
        path.relative_to(CSRC).parts[0]
        for path in c_files()
        for _, name in includes(path)
        if re.fullmatch(r"(.*/)?(Python\.h|cpython/.*|internal/.*|frameobject\.h)", name)
    }
    assert users <= {"python"}


def test_the_version_of_cpython_is_asked_at_the_seams_only() -> None:
    pattern = re.compile(r"^[ \t]*#[ \t]*(?:el)?if.*\bPY_(?:VERSION_HEX|MINOR_VERSION)\b", re.M)
    askers = {
        path.relative_to(CSRC).as_posix() for path in c_files() if pattern.search(path.read_text())
    }
    assert askers <= VERSION_SEAMS


def test_every_part_of_the_package_has_a_row() -> None:
    assert {part_of(module_of(path)) for path in py_files()} <= set(PY_LAYERS)


@pytest.mark.parametrize("path", py_files(), ids=lambda path: module_of(path) or "proftrace")
def test_module_imports_only_layers_below(path: Path) -> None:
    part = part_of(module_of(path))
    for name in imports(path):
        package, _, rest = name.partition(".")
        if package == "proftrace" and rest and not is_allowed(part, rest):
            pytest.fail(f"{part} may not import {name}")


@pytest.mark.parametrize(
    "path",
    [path for path in py_files() if part_of(module_of(path)) in TARGET_SIDE],
    ids=lambda path: module_of(path) or "proftrace",
)
def test_what_runs_in_the_target_needs_the_standard_library_only(path: Path) -> None:
    packages = {name.split(".")[0] for name in imports(path)}
    # The user's own sitecustomize is run, not needed.
    assert packages <= sys.stdlib_module_names | {"proftrace", "sitecustomize"}


def test_only_the_loader_imports_the_reader() -> None:
    users = {
        module_of(path)
        for path in py_files()
        if any(name.startswith("proftrace._reader") for name in imports(path))
    }
    assert users <= {ONLY_IMPORTER_OF_READER}


@pytest.mark.parametrize(
    ("source", "target", "allowed"),
    [
        ("views", "model.profile.Profile", True),
        ("model", "views.hot_spots", False),
        ("cli", "run.launch.launch", True),
        ("cli", "run.bootstrap", False),
        ("lines", "run.launch", False),
        ("run", "lines.session", False),
        ("run.bootstrap", "lines.session", True),
        ("run.bootstrap", "run.launch", True),
        ("render", "cli.lprof", False),
        ("memory", "lines", False),
    ],
)
def test_the_rule_itself(source: str, target: str, *, allowed: bool) -> None:
    assert is_allowed(source, target) is allowed
