"""`profile` in a program that runs plainly: its results, shown and written at the end."""

from __future__ import annotations

import atexit
import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from typing import TextIO

from proftrace.api.explicit_config import read_tables
from proftrace.lines.decorator import Profile
from proftrace.lines.register import warn
from proftrace.units import printable

_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "write": {
        "output_prefix": "profile_output",
        "lprof": True,
        "text": True,
        "timestamped_text": True,
        "stdout": True,
    },
    "show": {
        "sort": True,
        "stripzeros": True,
        "rich": True,
        "details": False,
        "summarize": True,
    },
}
_owner_pid = 0  # of the process that shows the result


def configure(profile: Profile) -> None:
    """Give `profile` what pyproject.toml or the defaults say, but for what it was given already."""
    known = vars(profile)
    tables = read_tables(_DEFAULTS)
    for name, value in (
        ("output_prefix", tables["write"].pop("output_prefix")),
        ("write_config", tables["write"]),
        ("show_config", tables["show"]),
    ):
        known.setdefault(name, value)


def start(profile: Profile) -> None:
    """See to it that the result is shown at the end of this process, once."""
    global _owner_pid
    if not _owner_pid:
        atexit.register(_show_at_end, profile)
    _owner_pid = os.getpid()


def _show_at_end(profile: Profile) -> None:
    # Workers of multiprocessing run the same file, and would write over what the program writes.
    # One that was spawned knows of its parent only when that file has run.
    processes = sys.modules.get("multiprocessing.process")
    is_worker = processes is not None and processes.parent_process() is not None
    if os.getpid() == _owner_pid and not is_worker:
        show(profile)


def show(profile: Profile) -> None:
    """Print and write what was counted so far, as the configuration of `profile` says."""
    stats = profile._started().get_stats()
    shown = profile.show_config

    def print_to(stream: TextIO, *, rich: bool, details: bool) -> None:
        stats.print(
            stream,
            stripzeros=shown["stripzeros"],
            details=details,
            summarize=shown["summarize"],
            sort=shown["sort"],
            rich=rich,
        )

    if profile.write_config["stdout"] and sys.stdout is not None:
        print_to(sys.stdout, rich=shown["rich"], details=shown["details"])
    prefix = profile.output_prefix
    stamp = time.strftime("%Y-%m-%dT%H%M%S")

    def write_text(path: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            print_to(file, rich=False, details=True)

    written = [
        path
        for key, path, write in (
            ("text", f"{prefix}.txt", write_text),
            ("timestamped_text", f"{prefix}_{stamp}.txt", write_text),
            ("lprof", f"{prefix}.lprof", stats.to_file),
        )
        if profile.write_config[key] and _is_written(path, write)
    ]
    if profile.write_config["stdout"] and sys.stdout is not None:
        for path in written:
            print(f"Wrote profile results to {path}")
        if f"{prefix}.lprof" in written:
            print(f"To view details run:\nlprof show -rtmz {shlex.quote(f'{prefix}.lprof')}")


def _is_written(path: str, write: Callable[[str], None]) -> bool:
    """Write a result; where that cannot be, say so in one line."""
    try:
        write(path)
    except OSError as error:
        warn(f"cannot write {printable(path)}: {error.strerror}")
        return False
    return True
