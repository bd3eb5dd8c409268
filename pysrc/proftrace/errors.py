"""Errors that a user can do something about; the commands print them as one line."""

from __future__ import annotations


class ProftraceError(Exception):
    """What happened, where, and what to do, in one line; the commands exit with `status`."""

    status = 1


class UsageError(ProftraceError):
    """The command line cannot be followed."""

    status = 2


class CaptureFileError(ProftraceError):
    """A file is missing, not a capture, empty, or of a newer version."""


class TrackerError(ProftraceError, RuntimeError):
    """Recording is on already, or is not on where that is needed."""


class OutputError(ProftraceError):
    """An output file exists already or cannot be written."""


class OutputExistsError(OutputError, FileExistsError):
    """An output file exists already, and was not to be replaced."""
