"""Which code is meant by `-p`, `--all`, `--include` and `--exclude`, told when it starts.

Nothing is imported to find it and no source is read: a code object says its file and its qualified
name, and the globals that it runs with say its module.
"""

from __future__ import annotations

import os
import sys

from proftrace.lines.globs import matches
from proftrace.lines.selection import CannotProfileError, find_code
from proftrace.lines.sources import TEXT_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import CodeType

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Folders with other people's code below the folder of a program: environments.
_FOREIGN = ("site-packages", "dist-packages", "__pypackages__", "node_modules")
_MAIN = ("__main__", "__mp_main__")


class Targets:
    """Decides which code objects are wanted, and remembers what was asked for in vain."""

    def __init__(self, settings: Mapping[str, object], start_folder: str, is_command: bool) -> None:
        """`settings`: see `cli/lprof_targets.py`, which makes them; `start_folder` is where
        relative file names start; `is_command`: the program is a text without a file.
        """
        self._is_command = is_command
        self._start_folder = start_folder
        self._paths: Sequence[str] = settings["paths"]  # type: ignore[assignment]
        asked_for: Sequence[str] = settings["names"]  # type: ignore[assignment]
        imported: Sequence[str] = settings["imports"]  # type: ignore[assignment]
        self._names = [*asked_for, *imported]
        self._include: Sequence[str] = settings["include"]  # type: ignore[assignment]
        self._exclude: Sequence[str] = settings["exclude"]  # type: ignore[assignment]
        self._all: str | None = settings["all"]  # type: ignore[assignment]
        self._script: str = settings["script"]  # type: ignore[assignment]
        self._last_parts = {name.rpartition(".")[2] for name in self._names}
        self._missed = {*self._paths, *asked_for}
        # By file name as code objects have it: False = nothing of it is ever wanted.
        self.verdicts: dict[str, bool] = {}
        self._wanted_by: dict[str, str | None] = {}

    def wants(self, code: CodeType, namespace: Mapping[str, object] | None) -> bool:
        """Tell whether a code object that starts with these globals is meant."""
        module = self._module_of(namespace)
        name = code.co_filename
        if name not in self._wanted_by:
            self._look_at_file(name, module)
        if self.verdicts.get(name) is False:
            return False
        by_file = self._wanted_by[name]
        if by_file is not None:
            self._missed.discard(by_file)
            return True
        return self._wants_name(code, module)

    def missed(self) -> list[str]:
        """Return what was asked for with -p and did not run, as it was written."""
        return [item for item in (*self._paths, *self._names) if item in self._missed]

    def keep_asking(self, name: str) -> None:
        """Decide about this file's code one by one: some of it is wanted for other reasons."""
        self.verdicts[name] = True
        self._wanted_by.setdefault(name, None)

    # ---- by file --------------------------------------------------------------------------------

    def _look_at_file(self, name: str, module: str) -> None:
        """Decide about all code of a file, as far as its name says it."""
        wanted_by = self._reason_for_file(name, module)
        excluded = self._is_excluded(name)
        if excluded or (wanted_by is None and not self._names):
            self.verdicts[name] = False
        self._wanted_by[name] = wanted_by  # last: from here on other threads need not look

    def _reason_for_file(self, name: str, module: str) -> str | None:
        """Return what wants all of a file: a path, or "" for --all and --include; None: nothing."""
        if name.startswith("<"):
            is_main = self._is_command and module in (*_MAIN, self._script) and name in TEXT_NAMES
            return "" if self._all is not None and is_main else None
        for path in self._all_names_of(name):
            for wanted in self._paths:
                if _is_below(path, wanted):
                    return wanted
            if self._all is not None and _is_own(path, self._all):
                return ""
            if any(matches(pattern, path) for pattern in self._include):
                return ""
        relative = os.path.relpath(self._absolute(name), self._start_folder)
        return "" if self._match_any(self._include, relative) else None

    def _is_excluded(self, name: str) -> bool:
        if name.startswith("<frozen "):
            return True
        names = self._all_names_of(name)
        if any(_is_below(path, _OURS) for path in names):
            return True
        relative = os.path.relpath(names[0], self._start_folder)
        return any(self._match_any(self._exclude, path) for path in (*names, relative))

    @staticmethod
    def _match_any(patterns: Sequence[str], path: str) -> bool:
        """A pattern means a path, a file's name, or a folder with all that is below."""
        return any(
            matches(pattern, path)
            or matches(pattern, os.path.basename(path))
            or matches(pattern.rstrip("/") + "/*", path)
            for pattern in patterns
        )

    def _absolute(self, name: str) -> str:
        return os.path.normpath(os.path.join(self._start_folder, name))

    def _all_names_of(self, name: str) -> list[str]:
        """Return the absolute path of a file, and where its links lead."""
        path = self._absolute(name)
        real = os.path.realpath(path)
        return [path] if path == real else [path, real]

    # ---- by name --------------------------------------------------------------------------------

    def _module_of(self, namespace: Mapping[str, object] | None) -> str:
        """Return the module's name, also of what runs as `__main__`."""
        name = namespace.get("__name__") if namespace is not None else None
        if name not in _MAIN:
            return name if isinstance(name, str) else ""
        spec = namespace.get("__spec__") if namespace is not None else None
        spec_name = getattr(spec, "name", None)
        if not isinstance(spec_name, str) or spec_name in _MAIN:
            return self._script
        return spec_name.removesuffix(".__main__") if spec_name.endswith(".__main__") else spec_name

    def _wants_name(self, code: CodeType, module: str) -> bool:
        qualname = code.co_qualname
        is_wanted = False
        for name in self._names:
            if (
                _is_module(module, name)
                or _is_inside(qualname, module, name)
                or (module == self._script and _is_part(qualname, name))
                or self._is_reached(code, name)
            ):
                self._missed.discard(name)
                is_wanted = True
        return is_wanted

    def _is_reached(self, code: CodeType, name: str) -> bool:
        """Tell whether a dotted name leads to this code, which was defined elsewhere."""
        last = name.rpartition(".")[2]
        if last not in self._last_parts or last not in code.co_qualname.split("."):
            return False
        parts = name.split(".")
        for n_parts in range(len(parts) - 1, 0, -1):
            module = sys.modules.get(".".join(parts[:n_parts]))
            if module is not None:
                return _leads_to(module, parts[n_parts:], code)
        return False


def _leads_to(thing: object, attributes: Sequence[str], code: CodeType) -> bool:
    """Tell whether attributes of a module lead to something with this code in it."""
    for attribute in attributes:
        try:
            thing = vars(thing)[attribute]
        except (KeyError, TypeError):
            thing = _inherited(thing, attribute)
    try:
        found = [other for other, _ in find_code(thing)]
    except CannotProfileError:
        return False
    return any(
        code is other
        or (
            code.co_filename == other.co_filename
            and code.co_qualname.startswith(other.co_qualname + ".<locals>.")
        )
        for other in found
    )


def _inherited(thing: object, attribute: str) -> object:
    """Return what a class has from one of its bases, without running code of the program."""
    for base in getattr(thing, "__mro__", ()) if isinstance(thing, type) else ():
        if attribute in vars(base):
            inherited: object = vars(base)[attribute]
            return inherited
    return None


def _is_module(module: str, wanted: str) -> bool:
    """Tell whether a module is meant: by its name, or as part of a package."""
    if wanted.endswith(".__init__"):  # the package without what is below it
        return module == wanted.removesuffix(".__init__")
    return module == wanted or module.startswith(wanted + ".")


def _is_inside(qualname: str, module: str, wanted: str) -> bool:
    """Tell whether a name `module.Class.method` means this code, or what it is nested in."""
    return wanted.startswith(module + ".") and _is_part(qualname, wanted[len(module) + 1 :])


def _is_part(qualname: str, wanted: str) -> bool:
    return qualname == wanted or qualname.startswith(wanted + ".")


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _is_own(path: str, folder: str) -> bool:
    """Tell whether a file below the program's folder is the program's, not of an environment."""
    if not _is_below(path, folder):
        return False
    parts = path[len(folder) :].split("/")[:-1]
    if any(part in _FOREIGN for part in parts):
        return False
    prefixes = {sys.prefix, sys.base_prefix}
    return not any(
        _is_below(prefix, folder) and prefix != folder and _is_below(path, prefix)
        for prefix in prefixes
    )
