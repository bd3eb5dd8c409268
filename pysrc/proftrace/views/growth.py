"""What grew from mark to mark of a capture: for each sample, what was live at every mark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proftrace.model.profile import Profile


def live_at_marks(profile: Profile) -> Mapping[int, Sequence[int]]:
    """Return the live bytes at each mark, by sample (row of the sample table).

    Samples of which nothing was live at any mark are left out.
    """
    marks = profile.marks
    series: dict[int, list[int]] = {}
    for mark, sample, size in zip(marks.mark, marks.sample, marks.bytes, strict=True):
        values = series.setdefault(sample, [])
        # A row says that the value changed; it stays until the next.
        values.extend([values[-1] if values else 0] * (mark - len(values)))
        values.append(size)
    for values in series.values():
        values.extend([values[-1]] * (len(marks) - len(values)))
    return series
