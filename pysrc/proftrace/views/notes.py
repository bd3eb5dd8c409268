"""What a reader of a report has to know about what it shows, besides damage to the file."""

from __future__ import annotations

from proftrace.model.profile import Profile
from proftrace.views.selection import Selection

_PYTHON_ALLOCATORS = 2  # option flag of the file header
_NO_PYMALLOC = ("malloc", "malloc_debug")  # values of PYTHONMALLOC


def notes_on(profile: Profile, selection: Selection) -> list[str]:
    """Return a line for each thing that could be misread in a report of this selection.

    META key `pythonmalloc` names the allocator of objects as PYTHONMALLOC does.
    """
    notes = []
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
