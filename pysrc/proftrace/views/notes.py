"""What a reader of a report has to know about what it shows, besides damage to the file."""

from __future__ import annotations

from proftrace.model.profile import Profile
from proftrace.units import format_bytes
from proftrace.views.selection import Selection

_PYTHON_ALLOCATORS = 2  # option flag of the file header
_NO_PYMALLOC = ("malloc", "malloc_debug")  # values of PYTHONMALLOC


def estimate_notes(profile: Profile) -> list[str]:
    """Return what to know about the numbers of a sampled profile; nothing for others.

    The error of a sum of small blocks is about the square root of distance / sum.
    """
    distance = profile.sample_bytes
    if not distance:
        return []
    return [
        f"sampled, one allocation about every {format_bytes(distance)}: all numbers are estimates; "
        f"{format_bytes(16 * distance)} of small blocks are right within some 25 %, "
        f"{format_bytes(400 * distance)} within 5 %"
    ]


def about(profile: Profile) -> str:
    """Return what stands in front of a number that is an estimate: "~"."""
    return "~" if profile.sample_bytes else ""


def notes_on(profile: Profile, selection: Selection) -> list[str]:
    """Return a line for each thing that could be misread in a report of this selection.

    META key `pythonmalloc` names the allocator of objects as PYTHONMALLOC does.
    """
    notes = estimate_notes(profile)
    if len(profile.processes) > 1 and selection is Selection.PEAK:
        notes.append(
            f"{len(profile.processes)} processes, each as it was at its own peak: they need not "
            "have been there at the same time"
        )
    traced = bool(profile.header["options"] & _PYTHON_ALLOCATORS)
    pymalloc = profile.meta.get("pythonmalloc", "") not in _NO_PYMALLOC
    if selection is Selection.LEAKS and pymalloc and not traced:
        notes.append(
            "pymalloc, Python's allocator of small objects, keeps freed memory for later: its "
            "arenas look like leaks of the line that needed one, and small leaked objects do not "
            "show; memtrace run --trace-python-allocators records each object"
        )
    return notes
