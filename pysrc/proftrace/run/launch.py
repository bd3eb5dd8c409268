"""Start a Python program under a tracer by becoming its interpreter.

`launch` replaces this process (same pid) with the interpreter that runs the target; the only thing
added is `boot/sitecustomize.py`, which takes itself out of sight again before the first line of
the program runs. The settings travel in one environment variable, BOOT_VARIABLE, as a Python
literal (not JSON: reading JSON would import `json` and `re` into the target):

    {"tool": "lprof" | "memtrace", "settings": {...}, "environ": {name: text | None}, "root": path}

`tag` is the kind of interpreter that this is for: a followed shell may start another one.
`environ` is what the target's environment has to look like again, `root` the folder to import this
package from when the target's `sys.path` does not have it. With the setting "follow_children" the
session gives every Python that the target starts such a variable too: "child_boot", in
whose settings "child" is true.
"""

from __future__ import annotations

import os
import sys

from proftrace.errors import ProftraceError, UsageError

# The program waits for what is imported here: neither typing nor collections is.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Literal, NoReturn

BOOT_VARIABLE = "PROFTRACE_BOOT"
PRELOAD_BEFORE_VARIABLE = "PROFTRACE_PRELOAD_BEFORE"
_HERE = os.path.dirname(os.path.realpath(__file__))
BOOT_FOLDER = os.path.join(_HERE, "boot")
PACKAGE_ROOT = os.path.dirname(os.path.dirname(_HERE))

type SettingsValue = str | int | float | bool | list[str] | None
type Setting = SettingsValue | dict[str, SettingsValue]
type TargetKind = Literal["script", "module", "command", "stdin"]


class _Values:
    """Values that are equal when all of them are."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class Target(_Values):
    """What to run: a script (also a folder or zip file), a module or the text of a program, which
    may be on standard input."""

    def __init__(self, kind: TargetKind, value: str, args: tuple[str, ...] = ()) -> None:
        self.kind: TargetKind = kind
        self.value = value
        self.args = args

    def interpreter_args(self) -> list[str]:
        """Return the arguments that make the interpreter run this target."""
        if self.kind == "module":
            return ["-m", self.value, *self.args]
        if self.kind == "command":
            return ["-c", self.value, *self.args]
        if self.kind == "stdin":
            return ["-", *self.args]
        # A name that looks like an option needs the mark that ends the interpreter's own options.
        return [*(["--"] if self.value.startswith("-") else []), self.value, *self.args]

    def program_argv(self) -> list[str]:
        """Return `sys.argv` as the program is going to see it (for -m: with the module's name)."""
        nameless = {"command": "-c", "stdin": "-"}
        return [nameless.get(self.kind, self.value), *self.args]

    def base_name(self) -> str:
        """Return the text that names output files after this target."""
        if self.kind == "command":
            return "command"
        if self.kind == "module":
            return self.value
        return os.path.basename(os.path.abspath(self.value))


class InterpreterOptions(_Values):
    """Options of the interpreter in front of the program, as this process was given them."""

    def __init__(
        self, flags: tuple[str, ...] = (), ignore_environment: bool = False, no_site: bool = False
    ) -> None:
        self.flags = flags
        self.ignore_environment = ignore_environment
        self.no_site = no_site


_OPTIONS_WITH_VALUE = "WX"
_LONG_OPTION_WITH_VALUE = "--check-hash-based-pycs"


def read_interpreter_options(orig_argv: Sequence[str]) -> InterpreterOptions:
    """Return the options in `orig_argv` (`sys.orig_argv`) that stand before its program.

    They are read from the command line rather than from `sys.flags`, which does not have all of
    them (-u, -X pycache_prefix) and cannot tell them from PYTHON* variables, which are inherited.
    """
    flags: list[str] = []
    seen: set[str] = set()
    tokens = iter(orig_argv[1:])
    for token in tokens:
        if token == _LONG_OPTION_WITH_VALUE:
            flags += [token, next(tokens, "")]
            continue
        if not token.startswith("-") or token in ("-", "--"):
            break
        if token.startswith("--"):
            flags.append(token)
            continue
        if not _read_cluster(token[1:], tokens, flags, seen):
            break
    return InterpreterOptions(
        flags=tuple(flags),
        ignore_environment=bool(seen & {"E", "I"}),
        no_site="S" in seen,
    )


def _read_cluster(letters: str, rest: Iterator[str], flags: list[str], seen: set[str]) -> bool:
    """Add the options of one `-abc` word to `flags`; False when it names the program (-m, -c)."""
    for position, letter in enumerate(letters, 1):
        if letter in "mc":
            return False
        if letter in _OPTIONS_WITH_VALUE:
            flags += ["-" + letter, letters[position:] or next(rest, "")]
            return True
        seen.add(letter)
        if letter == "I":
            flags += ["-s", "-P"]
        elif letter not in "ESx":
            # -x skips the first line of *our* script and -E is imitated: neither is the target's.
            flags.append("-" + letter)
    return True


def build_environment(
    environ: Mapping[str, str],
    tool: str,
    settings: Mapping[str, Setting],
    options: InterpreterOptions,
    preload: str | None,
) -> dict[str, str]:
    """Return the environment of the target's interpreter; the boot code undoes every change."""
    result = dict(environ)
    restore: dict[str, str | None] = {"PYTHONPATH": environ.get("PYTHONPATH")}
    if options.ignore_environment:
        for name in [name for name in result if name.startswith("PYTHON")]:
            restore[name] = result.pop(name)
    boot = BOOT_FOLDER
    if os.pathsep in boot:
        raise ProftraceError(f"cannot start from {boot}: PYTHONPATH cannot hold a ':'")
    result["PYTHONPATH"] = os.pathsep.join(filter(None, [boot, result.get("PYTHONPATH")]))
    if preload is not None:
        before = environ.get("LD_PRELOAD")
        restore["LD_PRELOAD"] = before
        result["LD_PRELOAD"] = ":".join(filter(None, [preload, before]))
        if before is not None:
            result[PRELOAD_BEFORE_VARIABLE] = before
    result[BOOT_VARIABLE] = _boot_text(tool, settings, restore)
    return result


def _boot_text(
    tool: str, settings: Mapping[str, Setting], environ: Mapping[str, str | None]
) -> str:
    """Return the value of BOOT_VARIABLE."""
    data = {
        "tool": tool,
        "settings": dict(settings),
        "environ": dict(environ),
        "root": PACKAGE_ROOT,
        "tag": sys.implementation.cache_tag,
    }
    return ascii(data)


def launch(
    target: Target, tool: str, settings: Mapping[str, Setting], preload: str | None = None
) -> NoReturn:
    """Become the interpreter that runs `target` under `tool`.

    `settings` gets "program" and "argv" added and is given to the tool's session; `preload` is a
    library to load before all others. Raises ProftraceError if the interpreter cannot be started.
    """
    options = read_interpreter_options(sys.orig_argv)
    if options.no_site:
        raise UsageError("cannot run under -S: the tracer starts from the site module")
    if not sys.executable:
        raise ProftraceError("cannot find the Python interpreter: sys.executable is empty")
    argv = target.program_argv()
    settings = {**settings, "program": argv[0], "argv": argv}
    if settings.get("follow_children"):
        settings["child_boot"] = _boot_text(tool, {**settings, "child": True}, {})
    environment = build_environment(os.environ, tool, settings, options, preload)
    command = [sys.executable, *options.flags, *target.interpreter_args()]
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(sys.executable, command, environment)
    except OSError as error:
        raise ProftraceError(f"cannot start {sys.executable}: {error.strerror}") from error


def check_target(target: Target) -> None:
    """Raise UsageError if the script of `target` is not there, before anything is written."""
    if target.kind != "script":
        return
    path = target.value
    start = b""
    try:
        if not os.path.isdir(path):
            with open(path, "rb") as script:
                if os.path.isfile(path):  # a pipe's bytes would be gone
                    start = script.read(4)
    except OSError as error:
        raise UsageError(f"cannot read script {path!r}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"cannot read script {path!r}: {error}") from error

    if os.path.isdir(path) and not any(n.startswith("__main__.") for n in os.listdir(path)):
        raise UsageError(f"cannot run {path!r}: it is a folder without a __main__.py")
    # A zip file with a program in front of it is one that Python runs.
    if start == b"\x7fELF" and not _is_zip(path):
        raise UsageError(f"cannot run {path!r}: it is machine code, and only Python is recorded")


def _is_zip(path: str) -> bool:
    from zipfile import is_zipfile

    return is_zipfile(path)


def capture_library() -> str:
    """Return the path of the library that records allocations when it is preloaded."""
    from proftrace import _capture

    return _capture.library_path()


def has_native_stacks() -> bool:
    """Tell whether native stacks can be recorded on this kind of machine."""
    from proftrace import _capture

    return _capture.has_native()


def report_command(*arguments: str) -> list[str]:
    """Return a command line that runs `lprof` with `arguments` from anywhere.

    -P keeps modules in the program's current folder from standing in for ours, and the folder of
    this package is appended, since the program may have changed PYTHONPATH by then.
    """
    code = (
        f"import sys; sys.path.append({PACKAGE_ROOT!a}); "
        "from proftrace.cli.lprof import main; sys.exit(main())"
    )
    flags = ["-I"] if sys.flags.isolated else ["-P"]
    if sys.flags.utf8_mode:
        flags += ["-X", "utf8"]
    return [sys.executable, *flags, "-c", code, *arguments]
