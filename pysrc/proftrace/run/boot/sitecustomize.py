"""The first code of ours in a target: put everything back as it was, then start the tracer.

`run/launch.py` puts this folder first in PYTHONPATH, so that `site` imports this module in place
of the user's own `sitecustomize`. Afterwards the process looks as if we had never been here: the
environment, `sys.path`, `sys.modules` and the user's `sitecustomize` are those of a plain run.
"""

from __future__ import annotations

import os
import sys


def _take_boot_data() -> dict[str, object]:
    """Remove every trace of the launch from the process and return what it was given."""
    text = os.environ.pop("PROFTRACE_BOOT")
    # A Python literal, written by run/launch.py: eval needs no import, ast.literal_eval a dozen.
    data: dict[str, object] = eval(text, {"__builtins__": {}})
    settings: dict[str, object] = data["settings"]  # type: ignore[assignment]
    settings.setdefault("child_boot", text)
    folder = os.path.dirname(os.path.abspath(__file__))
    _remove_from_path_variable(folder)
    restore: dict[str, str | None] = data["environ"]  # type: ignore[assignment]
    for name, value in restore.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    os.environ.pop("PROFTRACE_PRELOAD_BEFORE", None)
    sys.path[:] = [path for path in sys.path if path != folder]
    sys.path_importer_cache.pop(folder, None)
    sys.modules.pop("sitecustomize", None)
    return data


def _remove_from_path_variable(folder: str) -> None:
    """Undo what a followed child finds in its PYTHONPATH; the first process restores its own."""
    first, _, rest = os.environ.get("PYTHONPATH", "").partition(os.pathsep)
    if first == folder and rest:
        os.environ["PYTHONPATH"] = rest
    elif first == folder:
        os.environ.pop("PYTHONPATH")


def _start_tracer(data: dict[str, object]) -> None:
    tag = sys.implementation.cache_tag
    if data.get("tag", tag) != tag:
        return  # another Python, started by a shell that was followed
    root: str = data["root"]  # type: ignore[assignment]
    known = set(sys.path_importer_cache)
    try:
        from proftrace.run import bootstrap
    except ModuleNotFoundError:
        # Not on the target's path: `lprof` itself was started from a source folder, or from
        # PYTHONPATH and -E. The package finds its own modules again through its __path__.
        sys.path.append(root)
        try:
            from proftrace.run import bootstrap
        finally:
            sys.path.remove(root)
    bootstrap.start(data["tool"], data["settings"])  # type: ignore[arg-type]
    for folder in sys.path_importer_cache.keys() - known:
        # Looked through for our modules only: the program has not asked for anything there yet.
        del sys.path_importer_cache[folder]


if "PROFTRACE_BOOT" in os.environ:
    _data = _take_boot_data()
    try:
        # What it raises goes on to `site`, which is going to treat it as it always does. If there
        # is none, the ImportError tells `site` just that, and no module of this name is left.
        import sitecustomize  # noqa: F401
    finally:
        _start_tracer(_data)
