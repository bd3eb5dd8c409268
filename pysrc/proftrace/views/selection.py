"""Which of the values of a memory profile a report is about."""

from __future__ import annotations

from enum import Enum

from proftrace.model.profile import (
    LEAKED_BLOCKS,
    LEAKED_BYTES,
    PEAK_BLOCKS,
    PEAK_BYTES,
    TEMPORARY_BLOCKS,
    TEMPORARY_BYTES,
    TOTAL_BLOCKS,
    TOTAL_BYTES,
    Column,
    Metric,
    Profile,
)


class Selection(Enum):
    """What was live at the peak or at the end, everything ever allocated, or what of that was freed
    before its thread had made more than one further allocation."""

    PEAK = "peak"
    LEAKS = "leaks"
    ALL = "all"
    TEMPORARY = "temporary"

    @property
    def bytes_metric(self) -> Metric:
        """The bytes of the selected blocks."""
        return _METRICS[self][0]

    @property
    def blocks_metric(self) -> Metric:
        """The number of the selected blocks."""
        return _METRICS[self][1]

    def title(self, profile: Profile) -> str:
        """Say what the selected blocks are; the end point of leaks is the one that was used."""
        if self is Selection.PEAK:
            return "at the peak"
        if self is Selection.ALL:
            return "allocated in all"
        if self is Selection.TEMPORARY:
            return "freed at once (temporary)"
        script = profile.header.get("end_of_script", 1)
        return "live at the end of the script" if script else "live when the recording ended"

    def columns(self, profile: Profile) -> tuple[Column, Column]:
        """Return bytes and blocks by row of the sample table."""
        values = profile.samples.values
        return values[self.bytes_metric.name], values[self.blocks_metric.name]


_METRICS = {
    Selection.PEAK: (PEAK_BYTES, PEAK_BLOCKS),
    Selection.LEAKS: (LEAKED_BYTES, LEAKED_BLOCKS),
    Selection.ALL: (TOTAL_BYTES, TOTAL_BLOCKS),
    Selection.TEMPORARY: (TEMPORARY_BYTES, TEMPORARY_BLOCKS),
}
