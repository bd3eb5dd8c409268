"""Result files of the line profiler: several of them read as one, and put into one.

A merged file holds the log of each process behind the other, so nothing is lost by merging: reports
add up what they show, and can still tell the processes apart.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass

from proftrace.errors import CaptureFileError
from proftrace.model.load import append_logs, load_profiles
from proftrace.model.profile import HITS, Profile, Recording, recording_of
from proftrace.units import printable


@dataclass(frozen=True, slots=True)
class ResultFile:
    """One file: the processes in it that count, and the recordings that are left out."""

    path: str
    profiles: Sequence[Profile]
    skipped: Set[Recording] = frozenset()


@dataclass(frozen=True, slots=True)
class Results:
    """What was read: `notes` are lines about the files together, for stderr."""

    files: Sequence[ResultFile]
    notes: Sequence[str] = ()

    @property
    def profiles(self) -> list[Profile]:
        """Return all processes that count, in the order in which they were named."""
        return [profile for file in self.files for profile in file.profiles]

    @property
    def warnings(self) -> list[str]:
        """Return all there is to say on stderr, file by file, each line once."""
        of_files = [line for profile in self.profiles for line in profile.warnings]
        return list(dict.fromkeys([*of_files, *self.notes]))


def load_results(paths: Sequence[str], say: Callable[[str], None] = lambda now: None) -> Results:
    """Return what is in result files; `say` is told which one is read.

    A recording that is in a merged file and in another file too counts once, as when a merged file
    is named beside its parts. Raise `CaptureFileError` with one line when a file cannot be read or
    holds no line results.
    """
    files: list[ResultFile] = []
    notes: list[str] = []
    known: dict[Recording, tuple[str, bool]] = {}
    for number, path in enumerate(paths, 1):
        say(f"file {number} of {len(paths)}")
        profiles = _load_lines(os.fspath(path))
        merged = len(profiles) > 1
        skipped: set[Recording] = set()
        for profile in profiles:
            first, first_merged = known.get(recording_of(profile.header), ("", False))
            if first and (merged or first_merged):
                skipped.add(recording_of(profile.header))
            elif first:
                notes.append(
                    f"{printable(path)} is the same recording as {printable(first)}: added twice"
                )
        known |= {recording_of(profile.header): (path, merged) for profile in profiles}
        if skipped:
            notes.append(_skipped_note(path, len(skipped)))
        kept = [profile for profile in profiles if recording_of(profile.header) not in skipped]
        files.append(ResultFile(path, kept, frozenset(skipped)))
    return Results(files, [*notes, *_source_notes(files)])


def merge_results(
    results: Results, descriptor: int, say: Callable[[str], None] = lambda now: None
) -> None:
    """Write everything that counts to a descriptor, as one result file; `say` is told which file
    is written."""
    for number, file in enumerate(results.files, 1):
        say(f"file {number} of {len(results.files)}")
        append_logs(file.path, descriptor, file.skipped)


def _load_lines(path: str) -> list[Profile]:
    profiles = load_profiles(path)
    if any(HITS not in profile.metrics for profile in profiles):
        raise CaptureFileError(f"{printable(path)}: a memory capture: memtrace reports on it")
    return profiles


def _skipped_note(path: str, n_skipped: int) -> str:
    recordings = "one recording" if n_skipped == 1 else f"{n_skipped} recordings"
    return f"{printable(path)}: {recordings} that another file has too, counted once"


def _source_notes(files: Sequence[ResultFile]) -> Iterator[str]:
    """Yield which source files are not the same text in all result files."""
    texts: dict[str, tuple[str, str]] = {}
    changed: dict[str, tuple[str, str]] = {}
    for result in files:
        for profile in result.profiles:
            for source in profile.sources.values():
                text, first = texts.setdefault(source.file, (source.text, result.path))
                # Every `python -c` has a text of its own under the same name.
                if text != source.text and not source.file.startswith("<"):
                    changed.setdefault(source.file, (first, result.path))
    for file, (first, second) in changed.items():
        where = (
            printable(first) if first == second else f"{printable(first)} and {printable(second)}"
        )
        everywhere = "all processes of " if first == second else ""
        yield (
            f"{printable(file)} is not the same text in {everywhere}{where}:"
            " its functions are apart, each with the text that ran"
        )
