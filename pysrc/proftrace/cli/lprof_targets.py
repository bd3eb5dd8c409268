"""What `lprof` profiles without decorators: -p, --all, --include and --exclude, checked in advance.

A mistake in a name must not come out after an hour's run, so names are looked up before the program
starts, as far as that is possible without importing anything.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder

from proftrace.errors import UsageError
from proftrace.run.launch import SettingsValue, Target
from proftrace.units import printable

# Not of the standard library, and there to run other code.
_RUNNERS = ("pytest", "coverage")
_TEXTS = ("command", "stdin")
_BUILTIN_KINDS = ("built-in", "frozen")


def add_target_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is profiled besides what is decorated."""
    add = parser.add_argument
    add(
        "-p",
        "--prof-mod",
        metavar="TARGET",
        action="append",
        default=[],
        help="profile a file, folder, module, class or function (repeatable; a,b,c)",
    )
    add(
        "--all",
        dest="all_code",
        action="store_true",
        help="profile all code below the folder of the program",
    )
    for name, what in (("include", "profile"), ("exclude", "leave out")):
        add(
            f"--{name}",
            metavar="GLOB",
            action="append",
            default=[],
            help=f"{what} the files whose path, name or folder matches (repeatable)",
        )
    add("--prof-imports", action="store_true", help="profile what the program's file imports too")
    add("--no-prof-imports", dest="prof_imports", action="store_false", help=argparse.SUPPRESS)
    for name in ("--preimports", "--no-preimports"):
        add(
            name,
            action="store_true",
            help="accepted: code is found when it runs, so nothing is imported in advance"
            if name == "--no-preimports"
            else argparse.SUPPRESS,
        )


def read_targets(options: argparse.Namespace, target: Target) -> dict[str, SettingsValue] | None:
    """Return what the session looks for (`lines/targets.py`); None: decorated functions only.

    Raise UsageError when something that is named is not there.
    """
    items = [item.strip() for text in _since_cleared(options.prof_mod) for item in text.split(",")]
    items = list(dict.fromkeys(filter(None, items)))
    if not (items or options.all_code or options.include):
        if options.exclude:
            raise UsageError("--exclude leaves out nothing: say what to profile (-p, --all)")
        return None
    finder = _Finder(target)
    paths, names = [], []
    for item in items:
        if _is_path(item):
            paths.append(_existing(item))
        else:
            finder.check_name(item)
            names.append(item)
    wants_imports = options.prof_imports and finder.profiles_script(paths, names)
    return {
        "paths": paths,
        "names": names,
        "imports": finder.imports() if wants_imports else [],
        "include": [*options.include],
        "exclude": [*options.exclude],
        "all": finder.program_folder() if options.all_code else None,
        "script": finder.script_name,
    }


def _since_cleared(texts: Sequence[str]) -> Sequence[str]:
    """An empty text takes back what was said before it, as in a configuration file."""
    for index in range(len(texts) - 1, -1, -1):
        if not texts[index]:
            return texts[index + 1 :]
    return texts


def _is_path(item: str) -> bool:
    looks_like_a_name = all(part.isidentifier() for part in item.split("."))
    return not looks_like_a_name or item.endswith(".py") or os.path.isfile(item)


def _existing(item: str) -> str:
    """Return the path as the session compares it."""
    if not os.path.exists(item):
        hint = "; patterns are for --include" if any(sign in item for sign in "*?[") else ""
        raise UsageError(
            f"-p {printable(item)}: there is no such file or folder, and it is no name of Python's"
            + hint
        )
    return os.path.realpath(item)


class _Finder:
    """Looks modules up where the program is going to find them, without importing anything."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._script: str | None = None
        if target.kind == "script":
            self._script = os.path.realpath(target.value)
        first = os.getcwd() if self._script is None else _folder_of(self._script)
        safe = sys.flags.safe_path
        self._path = [*([] if safe else [first]), *sys.path[not safe :]]
        if target.kind == "module":
            self.script_name = target.value
        else:
            name = os.path.basename(self._script) if self._script else "__main__"
            self.script_name = name.removesuffix(".py")

    def _find(self, name: str) -> ModuleSpec | None:
        path: Sequence[str] | None = self._path
        spec: ModuleSpec | None = None
        parts = name.split(".")
        for n_parts in range(1, len(parts) + 1):
            if path is None:
                return None
            spec = PathFinder.find_spec(".".join(parts[:n_parts]), path)
            if spec is None:
                return None
            path = spec.submodule_search_locations
        return spec

    def check_name(self, item: str) -> None:
        """Raise UsageError when a dotted name cannot lead to anything."""
        parts = item.removesuffix(".__init__").split(".")
        if ".".join(parts) == self.script_name or self._is_in_script(parts):
            return
        for n_parts in range(len(parts), 0, -1):
            module = ".".join(parts[:n_parts])
            if module == self.script_name:
                text = self._script_text()
            elif module in sys.builtin_module_names:
                raise UsageError(f"-p {item}: {module} is not written in Python")
            else:
                spec = self._find(module)
                if spec is None:
                    continue
                text = _text_of(spec, item)
            self._check_attribute(item, module, parts[n_parts:], text)
            return
        where = "sys.path" if self._script is None else "its folder and sys.path"
        raise UsageError(
            f"-p {item}: no module or function of this name in the program, {where}; "
            "check its spelling, or give its path"
        )

    @staticmethod
    def _check_attribute(item: str, module: str, rest: Sequence[str], text: str | None) -> None:
        """What is not even written in a module's text is not defined there."""
        if rest and text is not None and not re.search(rf"\b{re.escape(rest[0])}\b", text):
            if re.search(r"\bdef __getattr__\b|\bimport \*|\bglobals\(\)", text):
                return
            raise UsageError(f"-p {item}: {module} has no {rest[0]!r}; check its spelling")

    def _is_in_script(self, parts: Sequence[str]) -> bool:
        """Tell whether the program's own file defines a class or function of this name."""
        text = self._script_text()
        pattern = rf"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+{re.escape(parts[0])}\b"
        return text is not None and re.search(pattern, text, re.M) is not None

    def _script_file(self) -> str | None:
        if self._target.kind == "module":
            spec = self._find(self._target.value)
            if spec is not None and spec.submodule_search_locations is not None:
                spec = self._find(f"{self._target.value}.__main__")
            return None if spec is None else spec.origin
        if self._script is not None and os.path.isdir(self._script):
            return os.path.join(self._script, "__main__.py")
        return self._script

    def _script_text(self) -> str | None:
        if self._target.kind in _TEXTS:
            return self._target.value
        return _read(self._script_file())

    def program_folder(self) -> str:
        """Return the folder whose code is the program's own; for a lone module, its file. What runs
        other code (`-m unittest`) runs that of the current folder."""
        if self._target.kind in _TEXTS:
            return os.getcwd()
        if self._script is not None:
            return _folder_of(self._script)
        name = self._target.value.partition(".")[0]
        top = self._find(name)
        if top is None:  # Python is going to say so
            return os.getcwd()
        if name in _RUNNERS or (name in sys.stdlib_module_names and _is_pythons(top)):
            return os.getcwd()
        for folder in top.submodule_search_locations or ():
            return os.path.realpath(folder)
        origin = os.path.realpath(top.origin or os.getcwd())
        libraries = (os.path.dirname(os.path.realpath(os.__file__)), *sys.path[1:])
        return origin if os.path.dirname(origin) in libraries else os.path.dirname(origin)

    def profiles_script(self, paths: Sequence[str], names: Sequence[str]) -> bool:
        """Tell whether the program's own file is among the targets."""
        file = self._script_file()
        real = None if file is None else os.path.realpath(file)
        return self.script_name in names or any(
            real is not None and (real == path or real.startswith(path + os.sep)) for path in paths
        )

    def imports(self) -> list[str]:
        """Return the modules that the program's file imports and that are not Python's own."""
        import ast

        try:
            tree = ast.parse(self._script_text() or "")
        except (SyntaxError, ValueError):
            return []  # Python is going to say so
        names: dict[str, None] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names.update((alias.name, None) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                names.update((f"{node.module}.{alias.name}", None) for alias in node.names)
        return [n for n in names if n.partition(".")[0] not in sys.stdlib_module_names]


def _is_pythons(spec: ModuleSpec) -> bool:
    """Tell whether a module with a name of the standard library is the one that is there."""
    library = os.path.dirname(os.path.realpath(os.__file__))
    return spec.origin is None or os.path.realpath(spec.origin).startswith(library + os.sep)


def _folder_of(script: str) -> str:
    return script if os.path.isdir(script) else os.path.dirname(script)


def _text_of(spec: ModuleSpec, item: str) -> str | None:
    """Return the text of a module, None if it has none; UsageError if it is not Python."""
    origin = spec.origin
    if origin is not None and origin.endswith((".so", ".pyd")):
        raise UsageError(f"-p {item}: {spec.name} is not written in Python ({printable(origin)})")
    if origin is None or origin in _BUILTIN_KINDS:
        return None
    return _read(origin)


def _read(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None
