"""The session of `memtrace` inside the target: starts the recording and marks its end."""

from __future__ import annotations

import atexit
import os
import sys

from proftrace import _capture
from proftrace.errors import OutputError, ProftraceError

# Not from typing, which would import collections and re into the target.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BOOT_FOLDER = os.path.join(PACKAGE_FOLDER, "run", "boot")
INTERVAL_NS = 10_000_000  # how often the size of the process is looked at
LARGEST_SAMPLE = 1 << 30  # bytes; see csrc/capture/sampler.h
_MOST_NAMES = 1000


def start(settings: Mapping[str, object]) -> None:
    """Record all allocations from here to the end of the process.

    `settings`: "output" (absolute path), "force", "quiet", "native", "follow_fork",
    "follow_children", "python_allocators", "verify_stacks", "sample_bytes", "aggregate",
    "ring_bytes", "program" and "argv"; in a followed child also "child".
    Afterwards nothing of this is left in the program but one exit handler, in C.
    """
    if not _capture.is_preloaded():
        raise ProftraceError(
            "the capture library was not loaded: LD_PRELOAD is ignored by static and set-uid"
            " interpreters"
        )
    if settings["follow_children"]:
        _capture.follow_children(BOOT_FOLDER, str(settings["child_boot"]))
    # First registered, last run: the mark comes after the program's own exit handlers.
    atexit.register(_capture.mark_end_of_script)
    no_stacks = _start_child(settings) if settings.get("child") else _start_first(settings)
    # faulthandler lists the modules in C that are none of Python's own when a program crashes. The
    # package still has it, for whoever imports it from there.
    sys.modules.pop("proftrace._capture", None)
    if no_stacks is not None:
        print(f"memtrace: no Python stacks: {no_stacks}", file=sys.stderr)


def _start_first(settings: Mapping[str, object]) -> str | None:
    """Start the recording of the process that `memtrace run` became."""
    output = str(settings["output"])
    try:
        return _record(
            output,
            describe(str(settings["program"]), _words(settings["argv"])),
            settings,
            force=bool(settings["force"]),
            quiet=bool(settings["quiet"]),
            follow_forks=bool(settings["follow_fork"]),
        )
    except FileExistsError as error:
        raise OutputError(f"{output} exists already (-f replaces it)") from error
    except OSError as error:
        raise OutputError(f"cannot write {output}: {error.strerror}") from error


def _start_child(settings: Mapping[str, object]) -> str | None:
    """Start the recording of a followed child, in a file named after its process id.

    A process that becomes another Python keeps its id: the next file has a number behind it.
    """
    first = f"{settings['output']}.{os.getpid()}"
    argv = _own_argv()
    meta = describe(argv[0] if argv else "", argv)
    for number in range(1, _MOST_NAMES):
        path = first if number == 1 else f"{first}.{number}"
        try:
            return _record(path, meta, settings, force=False, quiet=True, follow_forks=True)
        except FileExistsError:
            continue
        except OSError as error:
            text = f"cannot write {path}: {error.strerror}; this child process is not recorded"
            raise OutputError(text) from error
    raise OutputError(f"{first} exists already, and {_MOST_NAMES} more")


def _record(
    path: str,
    meta: dict[str, str],
    settings: Mapping[str, object],
    *,
    force: bool,
    quiet: bool,
    follow_forks: bool,
) -> str | None:
    """Start a recording in the way that all processes of a run share."""
    return _capture.start(
        path,
        meta,
        force=force,
        quiet=quiet,
        own_folder=PACKAGE_FOLDER,
        python_allocators=bool(settings["python_allocators"]),
        follow_forks=follow_forks,
        stem=str(settings["output"]),
        verify_stacks=bool(settings["verify_stacks"]),
        native=bool(settings["native"]),
        sample_bytes=int(str(settings["sample_bytes"])),
        aggregate=bool(settings["aggregate"]),
        ring_bytes=int(str(settings["ring_bytes"])),
        interval_ns=INTERVAL_NS,
    )


def _own_argv() -> list[str]:
    """Return what `sys.argv` is going to be, as far as the command line tells; it is not set yet.

    For -m and -c it begins with the option and its value.
    """
    words = sys.orig_argv[1:]
    index = 0
    while index < len(words) and words[index].startswith("-") and words[index] not in ("-", "--"):
        word = words[index]
        if word.startswith("--"):
            index += 2 if word == "--check-hash-based-pycs" else 1
            continue
        for position, letter in enumerate(word[1:], 1):
            if letter in "mc":
                value = word[position + 1 :]
                return ["-" + letter, *([value] if value else []), *words[index + 1 :]]
            if letter in "WX":
                index += 0 if word[position + 1 :] else 1
                break
        index += 1
    return words[index:]


def _words(argv: object) -> list[str]:
    return [str(word) for word in argv] if isinstance(argv, list) else []


def describe(program: str, argv: Sequence[str]) -> dict[str, str]:
    """Return what the capture says about the run."""
    meta = {
        "program": program,
        "argv": "[" + ", ".join(_quote(word) for word in argv) + "]",
        "python": sys.version.split()[0],
        "tool": "memtrace",
        # Whether small objects come out of arenas: see views/notes.py.
        "pythonmalloc": _capture.allocator_name(),
    }
    # Arguments that are not UTF-8 are surrogates here; a capture holds UTF-8 only.
    return {key: text.encode("utf-8", "replace").decode("utf-8") for key, text in meta.items()}


def _quote(text: str) -> str:
    """Return a JSON string. The json module would bring `re` and more into the target."""
    parts = ['"']
    for char in text:
        if char in '"\\':
            parts.append("\\" + char)
        elif char < " ":
            parts.append(f"\\u{ord(char):04x}")
        else:
            parts.append(char)
    return "".join([*parts, '"'])
