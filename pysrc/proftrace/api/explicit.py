"""`profile` in a program that runs plainly: its results, shown and written at the end."""

from __future__ import annotations

import atexit
import os
import sys
import time
from typing import TextIO

from proftrace.lines.decorator import Profile

_owner_pid = 0  # of the process that shows the result


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
    written = []
    prefix = profile.output_prefix
    stamp = time.strftime("%Y-%m-%dT%H%M%S")
    for key, path in (("text", f"{prefix}.txt"), ("timestamped_text", f"{prefix}_{stamp}.txt")):
        if profile.write_config[key]:
            with open(path, "w", encoding="utf-8") as file:
                print_to(file, rich=False, details=True)
            written.append(path)
    if profile.write_config["lprof"]:
        stats.to_file(f"{prefix}.lprof")
        written.append(f"{prefix}.lprof")
    if not profile.write_config["stdout"]:
        return
    for path in written:
        print(f"Wrote profile results to {path}")
    if profile.write_config["lprof"]:
        print(f"To view details run:\nlprof show -rtmz {prefix}.lprof")
