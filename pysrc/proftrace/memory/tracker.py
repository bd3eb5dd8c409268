"""`Tracker`: records what a part of a program allocates, from inside the program."""

from __future__ import annotations

import atexit
import os
import sys

from proftrace import _capture
from proftrace.errors import OutputError, OutputExistsError, ProftraceError, TrackerError
from proftrace.memory.session import LARGEST_SAMPLE, describe

# Not from typing, which would import collections and re into the target.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Protocol, Self

    from proftrace.model.profile import Profile

    type Path = str | os.PathLike[str]

    class Destination(Protocol):
        """What memray's FileDestination has: where to write, and whether over what is there."""

        path: Path
        overwrite: bool

    class FileFormat(Protocol):
        """What a member of memray's FileFormat has."""

        @property
        def name(self) -> str: ...


# What stands on the stack at a start and is not recorded. This alone: the pytest plugin stays on
# the stack below what it wants recorded.
_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__))


class Tracker:
    """Records every allocation of the process, all threads, between its start and its stop.

    A context manager, or `start` and `stop`. Each start writes a new capture to `path`; a file that
    is there is refused with OutputExistsError (a FileExistsError) unless `overwrite`. One recording
    at a time: starting another one is a TrackerError (a RuntimeError). See docs/tracker.md.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        native: bool = False,
        python_allocators: bool = False,
        follow_fork: bool = False,
        sample: int | None = None,
        aggregate: bool = False,
        interval_ms: int = 10,
        overwrite: bool = False,
        file_name: Path | None = None,
        destination: Destination | Path | None = None,
        native_traces: bool | None = None,
        trace_python_allocators: bool | None = None,
        memory_interval_ms: int | None = None,
        file_format: FileFormat | None = None,
    ) -> None:
        """Check the arguments; nothing is written or changed before the start.

        `native`: native stacks too. `python_allocators`: the calls of Python's own allocators
        instead of what they make of them. `follow_fork`: forked children record too, each into
        `path` and its process id. `sample`: record one allocation about every so many bytes.
        `aggregate`: keep sums by site instead of events. `interval_ms`: how often the size of the
        process is looked at. The last six are what memray calls some of these.
        """
        target, replace = _choose_path(path, file_name, destination)
        self._path = target
        self._overwrite = _is_flag("overwrite", overwrite) or replace
        self._native = _choose("native", native, "native_traces", native_traces)
        self._python_allocators = _choose(
            "python_allocators",
            python_allocators,
            "trace_python_allocators",
            trace_python_allocators,
        )
        self._follow_fork = _is_flag("follow_fork", follow_fork)
        self._aggregate = _is_flag("aggregate", aggregate) or _is_aggregated(file_format)
        self._sample = None if sample is None else _is_positive("sample", sample)
        if self._sample is not None and self._sample > LARGEST_SAMPLE:
            raise ValueError(f"sample is {LARGEST_SAMPLE} (1 GiB) at most, not {sample}")
        interval = interval_ms if memory_interval_ms is None else memory_interval_ms
        self._interval_ms = _is_positive("interval_ms", interval)
        if self._native and not _capture.has_native():
            raise ProftraceError("native stacks cannot be recorded on this kind of machine")
        self._session = 0

    @property
    def path(self) -> str:
        """The absolute path of the capture."""
        return self._path

    @property
    def is_active(self) -> bool:
        """Whether this tracker is recording, paused or not."""
        return self._session != 0 and _capture.session() == self._session

    def start(self) -> None:
        """Record from here on, into a new file.

        Raise TrackerError when this or another tracker, or `memtrace run`, is recording;
        OutputExistsError when there is such a file already, OutputError when it cannot be written.
        """
        meta = describe(sys.argv[0] if sys.argv else "", sys.argv[1:])
        _refuse_what_is_no_file(self._path)
        try:
            _capture.start(
                self._path,
                meta,
                force=self._overwrite,
                own_folder=_OWN_FOLDER,
                follow_forks=self._follow_fork,
                python_allocators=self._python_allocators,
                native=self._native,
                sample_bytes=self._sample or 0,
                aggregate=self._aggregate,
                threads=_running_threads(),
                interval_ns=self._interval_ms * 1_000_000,
            )
        except RuntimeError as error:
            raise TrackerError(_why_not(self)) from error
        except FileExistsError as error:
            text = f"{self._path} exists already (overwrite=True replaces it)"
            raise OutputExistsError(text) from error
        except OSError as error:
            raise OutputError(f"cannot write {self._path}: {error.strerror}") from error
        self._session = _capture.session()
        atexit.register(self._mark_end)

    def stop(self) -> None:
        """End the recording and close its file; without one nothing happens."""
        session, self._session = self._session, 0
        if session:
            _capture.stop_session(session)
            atexit.unregister(self._mark_end)

    def pause(self) -> None:
        """Leave out what is allocated from here on; what goes is recorded all the same.

        So blocks from before that are freed meanwhile are no leaks. Without a recording nothing
        happens.
        """
        if self.is_active:
            _capture.set_paused(True)

    def resume(self) -> None:
        """Record again what is allocated, after `pause`."""
        if self.is_active:
            _capture.set_paused(False)

    def mark(self, label: str) -> None:
        """Put a mark into the capture: reports tell what was live there.

        Raise TrackerError when this tracker is not recording.
        """
        if not isinstance(label, str):
            raise TypeError(f"a label is a str, not {type(label).__name__}")
        self._must_be_active("mark")
        _capture.mark(_encodable(label))

    def snapshot(self) -> Profile:
        """Return the profile of what was recorded up to now; "leaked" is what is live now.

        Raise TrackerError when this tracker is not recording.
        """
        self._must_be_active("take a snapshot")
        _capture.set_aside(True)
        try:
            from proftrace.model.load import load_running

            _capture.flush()
            return load_running(self._path, native=self._native)
        finally:
            _capture.set_aside(False)

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop, whatever happened inside."""
        self.stop()

    def __repr__(self) -> str:
        state = "recording" if self.is_active else "stopped"
        return f"<proftrace.Tracker {self._path!r}, {state}>"

    def _mark_end(self) -> None:
        """Say at the program's end that what is live now is what it leaves."""
        if self.is_active:
            _capture.mark_end_of_script()

    def _must_be_active(self, what: str) -> None:
        if not self.is_active:
            raise TrackerError(f"cannot {what}: this tracker is not recording")


def _why_not(tracker: Tracker) -> str:
    if tracker.is_active:
        return f"this tracker is recording into {tracker.path} already"
    return "allocations are being recorded already: one recording at a time"


def _running_threads() -> dict[int, str]:
    """Return the names of the threads that Python started, by the kernel's ids."""
    threading = sys.modules.get("threading")
    if threading is None:
        return {}
    known = ((thread.native_id, thread.name) for thread in threading.enumerate())
    return {tid: _encodable(name) for tid, name in known if tid is not None}


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _choose_path(
    path: Path | None, file_name: Path | None, destination: Destination | Path | None
) -> tuple[str, bool]:
    """Return the absolute path, and whether memray's destination says to replace what is there."""
    given = [value for value in (path, file_name, destination) if value is not None]
    if len(given) != 1:
        problem = "one of path, file_name and destination only" if given else "a path to write to"
        raise TypeError(f"Tracker needs {problem}")
    replace = False
    target = given[0]
    if not isinstance(target, (str, os.PathLike)):
        replace = bool(getattr(target, "overwrite", False))
        target = getattr(target, "path", target)
    text = os.fspath(target)  # type: ignore[arg-type]  # it says itself what is wrong
    if not isinstance(text, str):
        raise TypeError(f"a path is a str or os.PathLike, not {type(text).__name__}")
    if not text or "\0" in text:
        raise ValueError("the path is empty" if not text else "the path has a NUL in it")
    return os.path.abspath(text), replace


def _choose(name: str, value: object, other_name: str, other: object) -> bool:
    """Return the value of an option that has two names."""
    if other is None:
        return _is_flag(name, value)
    return _is_flag(other_name, other) or _is_flag(name, value)


def _is_aggregated(file_format: object) -> bool:
    """Return what memray's FileFormat asks for."""
    name = "ALL_ALLOCATIONS" if file_format is None else getattr(file_format, "name", None)
    if name not in ("ALL_ALLOCATIONS", "AGGREGATED_ALLOCATIONS"):
        raise TypeError(f"file_format is one of memray's FileFormat, not {file_format!r}")
    return bool(name == "AGGREGATED_ALLOCATIONS")


def _is_flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} is True or False, not {value!r}")
    return value


def _is_positive(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is a whole number, not {value!r}")
    if value <= 0:
        raise ValueError(f"{name} has to be above 0, not {value}")
    return value


def _refuse_what_is_no_file(path: str) -> None:
    """Raise OutputError for folders, devices and pipes: a capture cannot take their place."""
    if os.path.isdir(path):
        raise OutputError(f"cannot write {path}: it is a folder")
    if os.path.exists(path) and not os.path.isfile(path):
        raise OutputError(f"cannot write {path}: it is not a regular file")
