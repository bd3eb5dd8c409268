"""What a LineProfiler has counted, and what is in result files."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import TextIO

from proftrace._version import __version__
from proftrace.model.profile import Profile
from proftrace.model.results import load_results
from proftrace.render.line_table import TableOptions, render_classic, render_summary
from proftrace.render.line_terminal import render_terminal
from proftrace.render.terminal import terminal_of
from proftrace.views.line_stats import function_stats
from proftrace.views.line_table import FunctionLines, line_table

type Path = str | os.PathLike[str]
type TimingKey = tuple[str, int, str]


class LineStats:
    """Hits and times by line; sums with `+`, compares with `==`."""

    unit = 1e-9

    def __init__(self, profiles: Sequence[Profile], files: Sequence[bytes] = ()) -> None:
        """`profiles` as they were loaded, `files` the bytes that they are made of."""
        self._profiles = list(profiles)
        self._files = list(files)

    @classmethod
    def from_files(cls, *files: Path) -> LineStats:
        """Return the sum of result files, of lprof's or of line_profiler's.

        Raises CaptureFileError, with one line, when one cannot be read.
        """
        paths = [os.fspath(file) for file in files]
        profiles = load_results(paths).profiles
        texts = []
        for path in paths:
            with open(path, "rb") as file:
                texts.append(file.read())
        return cls(profiles, texts)

    @classmethod
    def from_stats_objects(cls, *stats: LineStats) -> LineStats:
        """Return the sum of several."""
        return cls(
            [profile for one in stats for profile in one._profiles],
            [file for one in stats for file in one._files],
        )

    def __add__(self, other: LineStats) -> LineStats:
        return LineStats.from_stats_objects(self, other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LineStats) and self.timings == other.timings

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        """Make pickles and copies of what the files say."""
        return _from_bytes, (self._files,)

    def __repr__(self) -> str:
        return f"<proftrace.LineStats of {len(self.timings)} functions>"

    @property
    def functions(self) -> list[FunctionLines]:
        """Everything by function, in the order in which they were registered."""
        return line_table(self._profiles)

    @property
    def profiles(self) -> list[Profile]:
        """The profiles that are added up here."""
        return self._profiles

    @property
    def timings(self) -> Mapping[TimingKey, list[tuple[int, int, int]]]:
        """(file, first line, name) -> (line, hits, time in `unit`s) of each line that ran."""
        found: dict[TimingKey, dict[int, tuple[int, int]]] = {}
        for function in self.functions:
            lines = found.setdefault((function.file, function.first_line, function.name), {})
            for line, values in function.lines.items():
                hits, time = lines.get(line, (0, 0))
                lines[line] = (hits + values.hits, time + values.inclusive)
        return {
            key: [(line, hits, time) for line, (hits, time) in sorted(lines.items())]
            for key, lines in found.items()
        }

    def to_file(self, filename: Path) -> None:
        """Write a result file, for `lprof show` and the others."""
        with open(filename, "wb") as file:
            file.writelines(self._files)

    def print(  # noqa: PLR0917 - line_profiler's order
        self,
        stream: TextIO | None = None,
        output_unit: float | None = None,
        stripzeros: bool = False,
        details: bool = True,
        summarize: bool = False,
        sort: bool = False,
        rich: bool = False,
        *,
        config: object = None,
    ) -> None:
        """Print the table, as `lprof show` does; `config` is accepted and not used."""
        del config
        stream = sys.stdout if stream is None else stream
        options = TableOptions(
            unit=output_unit, skip_zero=stripzeros, sort=sort, summarize=details and summarize
        )
        sections = self.functions
        if rich and details:
            stats = function_stats(self._profiles)
            title = f"lprof {__version__}"
            shown = [one.lines for one in stats.values()]
            stream.write(render_terminal(shown, options, terminal_of(stream, "auto"), title))
            return
        stream.write(render_classic(sections if details else [], options))
        if summarize and not details:
            stream.write(render_summary(sections, options))


def _from_bytes(files: Sequence[bytes]) -> LineStats:
    """Return what the files with these bytes hold."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, str(number)) for number in range(len(files))]
        for path, data in zip(paths, files, strict=True):
            with open(path, "wb") as file:
                file.write(data)
        return LineStats.from_files(*paths)


def load_stats(*files: Path) -> LineStats:
    """Return the sum of result files (`LineStats.from_files`)."""
    return LineStats.from_files(*files)
