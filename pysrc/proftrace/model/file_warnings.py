"""What a reader of a report must know about the file that it is made from."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from typing import Any

from proftrace.units import format_count, printable

_NO_PYTHON_STACKS = 8  # option flags of the file header
_NO_MEMORY = 128
_END_WRITE_FAILED = 1  # reasons of an END block
_REASONS = {
    2: "recording ended where the process replaced itself (exec)",
    3: "saved while the process ran on: it was killed, or is still running",
}
_REMEDIES = {
    errno.ENOMEM: " (a limit on address space or memory: see ulimit -v)",
    errno.EFBIG: " (the limit on file sizes: see ulimit -f)",
    errno.ENOSPC: " (-o names a file on another disk; --aggregate and --ring keep it small)",
}
_NO_SYMBOLS = {
    "missing": "is not here",
    "replaced": "is another file than the one that was loaded",
    "unreadable": "cannot be read",
}


def file_warnings(log: Mapping[str, Any], *, memory: bool, running: bool) -> list[str]:
    """Return what is wrong with a log, or missing in it, a line each; it may be `running`."""
    return [
        *([] if running else _ending_warnings(log["ending"], memory)),
        *([] if memory else _remainder_warnings(log)),
        *_lost_warnings(log),
        *symbol_warnings(log["modules"]),
    ]


def _ending_warnings(ending: Mapping[str, Any], memory: bool) -> list[str]:
    read = (
        f"read {format_count(ending['n_events'])} events up to there"
        if memory
        else ("read what stands before")
    )
    kind = ending["kind"]
    if kind == "damaged":
        return [f"damaged at byte {format_count(ending['damaged_at'])}; {read}"]
    if kind in ("open", "cut"):
        if ending["ring"] and not ending["n_missing"]:
            return [
                "never closed: its process was killed, or still runs; "
                f"all {format_count(ending['n_events'])} events up to now were recovered"
            ]
        where = "in the middle of a block" if kind == "cut" else "it was never closed"
        return [f"ends early ({where}); {read}"]
    if ending["reason"] == _END_WRITE_FAILED:
        why = os.strerror(ending["error"]) + _REMEDIES.get(ending["error"], "")
        return [f"recording stopped before the program did, writing failed: {why}; {read}"]
    text = _REASONS.get(ending["reason"])
    return [] if text is None else [text]


def _remainder_warnings(log: Mapping[str, Any]) -> list[str]:
    """Return that there is something behind the last recording: it was one, of another process."""
    if log["ending"]["kind"] != "ended" or log["next_log"] or not log["n_behind"]:
        return []
    n_bytes = format_count(log["n_behind"])
    return [f"damaged: {n_bytes} bytes behind the last recording cannot be read"]


def _lost_warnings(log: Mapping[str, Any]) -> list[str]:
    warnings = []
    missing = log["totals"]["n_lost"] + log["ending"]["n_missing"]
    if missing:
        warnings.append(f"{format_count(missing)} events could not be recorded: sizes are too low")
    if log["header"]["options"] & _NO_MEMORY:
        warnings.append(
            "there was no memory left to note some stacks or threads (a limit on address space, as"
            " of ulimit -v?): some sizes stand at callers or are missing"
        )
    if log["header"]["options"] & _NO_PYTHON_STACKS:
        warnings.append("recorded without Python stacks: this interpreter's layout was not known")
    return warnings


def symbol_warnings(modules: Sequence[tuple[str, str]]) -> list[str]:
    """Return which files with native code have no names, by why."""
    warnings = []
    for verdict, text in _NO_SYMBOLS.items():
        paths = sorted({path for path, found in modules if found == verdict})
        if paths:
            more = f" (so are {len(paths) - 1} more)" if len(paths) > 1 else ""
            warnings.append(
                f"functions of {printable(paths[0])} have no names: it {text}{more};"
                " memtrace symbolize, run where they are, puts the names into the capture"
            )
    return warnings
