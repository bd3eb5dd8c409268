"""The capture library: records what the process allocates. All functions work from any thread."""

from os import PathLike

def start(
    path: str | bytes | PathLike[str],
    meta: dict[str, str],
    *,
    force: bool = False,
    quiet: bool = True,
    own_folder: str | bytes | PathLike[str] = ...,
    follow_forks: bool = False,
    stem: str | bytes | PathLike[str] = ...,
    python_allocators: bool = False,
    verify_stacks: bool = False,
    sample_bytes: int = 0,
    aggregate: bool = False,
    ring_bytes: int = 0,
    threads: dict[int, str] = ...,
    interval_ns: int = 0,
    native: bool = False,
) -> str | None:
    """Start recording into the absolute `path`; `meta` goes into the file as it is.

    An existing file is refused (FileExistsError) unless `force`, which replaces it in one step.
    Frames of files in `own_folder` that are on the stack now are never recorded. Unless `quiet`,
    the end of the recording is told on stderr. With `follow_forks` forked children record too,
    each into `stem` (default: `path`) and its process id. `python_allocators`: record the calls of
    Python's own allocators, not what these make of them; that is always so where they are not built
    on the C library's (mimalloc). With `verify_stacks` each stack is compared with the
    interpreter's own view; the end tells on stderr what came out. `native`: native stacks too
    (OSError where `has_native` is false). `threads`: what those that run already are
    called, by the kernel's ids. Returns why Python stacks cannot be read, or None.
    RuntimeError: recording is on already.
    """

def follow_children(boot_folder: str, boot: str) -> None:
    """Let every Python that is started from here on record too.

    It gets `boot_folder` in front of its PYTHONPATH, `boot` as PROFTRACE_BOOT, and the library.
    """

def stop() -> None:
    """End the recording and close the file; nothing happens when there is none."""

def session() -> int:
    """Return the number of the recording that is on, 0 = none; each start has another.

    In a followed child it is that of the parent's recording, which the child's goes on for.
    """

def stop_session(number: int, /) -> bool:
    """Do what `stop` does for this recording only; False when it is not on any more."""

def set_paused(paused: bool, /) -> None:
    """Record, or do not record, what is allocated from here on; what is freed always is."""

def set_aside(aside: bool, /) -> None:
    """Leave out what this thread allocates until it is called with False: it works for us."""

def mark(label: str, /) -> bool:
    """Write a mark of the program's own; False when nothing is being recorded."""

def mark_end_of_script() -> None:
    """Write the mark at which reports judge what has leaked."""

def is_on() -> bool:
    """Tell whether allocations are being recorded."""

def has_native() -> bool:
    """Tell whether native stacks can be recorded on this kind of machine."""

def is_preloaded() -> bool:
    """Tell whether the library was preloaded: otherwise nothing can be recorded."""

def name_thread(name: str) -> None:
    """Name the calling thread in the recording."""

def library_path() -> str:
    """Return the path of the library that LD_PRELOAD has to name."""

def allocator_name() -> str:
    """Return the allocator of objects by its name for PYTHONMALLOC, "" when it is not known."""

def flush() -> bool:
    """Write everything recorded so far to the file; False when nothing is being recorded."""

def verify_stacks() -> bool:
    """Compare the cached walk of the calling thread's stack with a full one."""
