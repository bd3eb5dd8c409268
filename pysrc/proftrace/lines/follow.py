"""Children of the program are profiled too: forked ones, and every Python of the same kind.

A forked child begins a session of its own (`_lines.restart`). A Python that is started gets two
variables more in its environment, which `run/boot/sitecustomize.py` takes out again before its
program runs; any other program is started with exactly what it was given.
"""

from __future__ import annotations

import os
import sys

from proftrace import _lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    type Args = tuple[object, ...]
    type Kwargs = dict[str, object] | None

_BOOT_VARIABLE = "PROFTRACE_BOOT"  # as in run/launch.py
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "ash")
# Options under which the interpreter does not look at PYTHONPATH, or does not run `site`.
_DEAF_OPTIONS = "IES"
_OPTIONS_WITH_VALUE = "WXmc"


def follow(child_boot: str, own_boot: str, boot_folder: str) -> None:
    """Follow what this process forks and starts.

    `child_boot` is the variable for children, `own_boot` the one for this process if it becomes
    another Python (both as run/launch.py makes them), `boot_folder` what PYTHONPATH begins with.
    """
    starts = _Starts(child_boot, own_boot, boot_folder)
    os.register_at_fork(before=_lines.expect_children, after_in_child=starts.restart)
    _lines.follow_starts(starts.adjust)


class _Starts:
    """Changes the arguments with which Python programs are started."""

    def __init__(self, child_boot: str, own_boot: str, boot_folder: str) -> None:
        self._child_boot = child_boot
        self._own_boot = own_boot
        self._boot_folder = boot_folder
        self._python = os.path.realpath(sys.executable)

    def restart(self) -> None:
        """Begin anew in a forked child; it is nobody's first process."""
        self._own_boot = self._child_boot
        _lines.restart()

    def adjust(self, name: str, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        """Return the arguments to call a function with; see csrc/python/starts.h."""
        if name == "fork_exec":
            return self._adjust_fork_exec(args), kwargs
        if name == "system":
            return self._adjust_system(args, kwargs)
        if name in ("execv", "execve"):
            return self._adjust_exec(name, args, kwargs)
        return self._adjust_spawn(args, kwargs)

    def _adjust_fork_exec(self, args: Args) -> Args:
        words: list[object] = list(args[0])  # type: ignore[call-overload]
        programs: tuple[object, ...] = tuple(args[1])  # type: ignore[arg-type]
        if not any(self._is_followed(program, words) for program in programs):
            return args
        environ = dict(os.environb)
        if args[5] is not None:
            pairs = [bytes(pair).split(b"=", 1) for pair in args[5]]  # type: ignore[attr-defined]
            environ = {pair[0]: pair[1] for pair in pairs}
        added = self._added(environ, self._child_boot)
        return (*args[:5], [name + b"=" + value for name, value in added.items()], *args[6:])

    def _adjust_spawn(self, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        if len(args) != 3 or not self._is_followed(args[0], list(args[1])):  # type: ignore[call-overload]
            return args, kwargs
        environ = _encoded(args[2])  # type: ignore[arg-type]
        return (args[0], args[1], self._added(environ, self._child_boot)), kwargs

    def _adjust_exec(self, name: str, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        _lines.exec_is_followed(False)
        wanted = 3 if name == "execve" else 2
        if len(args) != wanted or kwargs or not self._is_followed(args[0], list(args[1])):  # type: ignore[call-overload]
            return args, kwargs
        environ = dict(os.environb) if name == "execv" else _encoded(args[2])  # type: ignore[arg-type]
        _lines.exec_is_followed(True)
        # Without an environment of its own it is called as execve.
        return (args[0], args[1], self._added(environ, self._own_boot)), kwargs

    def _adjust_system(self, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        command = args[0] if args else None
        if len(args) != 1 or kwargs:
            return args, kwargs
        text = os.fsencode(command)  # type: ignore[arg-type]
        if b"python" not in text:
            return args, kwargs
        added = self._added(dict(os.environb), self._child_boot)
        exports = b" ".join(
            name + b"=" + _quoted(added[name]) for name in (b"PYTHONPATH", _BOOT_VARIABLE.encode())
        )
        return (b"export " + exports + b"; " + text,), kwargs

    def _added(self, environ: dict[bytes, bytes], boot: str) -> dict[bytes, bytes]:
        """Return an environment with what makes a Python profile."""
        _lines.expect_children()
        path = environ.get(b"PYTHONPATH")
        folder = os.fsencode(self._boot_folder)
        return environ | {
            b"PYTHONPATH": folder if not path else folder + os.pathsep.encode() + path,
            _BOOT_VARIABLE.encode(): boot.encode(),
        }

    # ---- which programs ------------------------------------------------------------------------

    def _is_followed(self, program: object, words: list[object]) -> bool:
        """Tell whether a program is this Python, a script for it, or a shell that starts one."""
        path = os.fsdecode(program)  # type: ignore[arg-type]
        texts = [os.fsdecode(word) for word in words]  # type: ignore[arg-type]
        if os.path.basename(path) in _SHELLS:
            return any("python" in text for text in texts[1:])
        try:
            if os.path.realpath(path) == self._python:
                return _listens(texts[1:])
            with open(path, "rb") as file:
                first = file.read(256).split(b"\n", 1)[0]
        except (OSError, ValueError):
            return False
        return first.startswith(b"#!") and b"python" in first


def _listens(words: list[str]) -> bool:
    """Tell whether an interpreter with these arguments reads PYTHONPATH."""
    for word in words:
        if not word.startswith("-") or word in ("-", "--"):
            return True
        for position, letter in enumerate(word[1:], 1):
            if word.startswith("--") or letter in _OPTIONS_WITH_VALUE:
                if letter in "mc" or word[position + 1 :] == "":
                    return True  # what follows is a value: no option of ours is behind it
                break
            if letter in _DEAF_OPTIONS:
                return False
    return True


def _encoded(environ: Mapping[object, object] | None) -> dict[bytes, bytes]:
    if environ is None:
        return dict(os.environb)
    return {
        os.fsencode(name): os.fsencode(value)  # type: ignore[arg-type]
        for name, value in environ.items()
    }


def _quoted(value: bytes) -> bytes:
    return b"'" + value.replace(b"'", b"'\\''") + b"'"
