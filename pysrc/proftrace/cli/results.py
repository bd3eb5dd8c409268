"""The result files that a command of `lprof` is about."""

from __future__ import annotations

import os
from collections.abc import Sequence

from proftrace.cli.outcome import print_warnings
from proftrace.cli.output import refuse_to_replace
from proftrace.cli.progress import progress
from proftrace.errors import CaptureFileError
from proftrace.model.profile import Profile
from proftrace.model.results import Results, load_results
from proftrace.render.place import check_output
from proftrace.units import printable


def read_results(files: Sequence[str]) -> Results:
    """Return what is in these files; what is wrong but readable is said on stderr."""
    with progress("lprof", "reading") as say:
        results = load_results(files, say)
    print_warnings("lprof", results.warnings)
    return results


def read_profiles(files: Sequence[str]) -> list[Profile]:
    """Return the profile of each process in these files; what is wrong is said on stderr."""
    return read_results(files).profiles


def check_report(files: Sequence[str], output: str, *, force: bool) -> None:
    """Raise an error that can be said before any work: a file that is not there, an output that
    may not be written."""
    for file in files:
        if not os.path.exists(file):
            raise CaptureFileError(f"{printable(file)}: cannot be read: no such file")
    check_output(output, force)
    refuse_to_replace(output, *files)
