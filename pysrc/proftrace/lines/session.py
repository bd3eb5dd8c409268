"""The session of the line tracer inside the target."""

from __future__ import annotations

import atexit
import builtins
import os
import sys

from proftrace import _lines
from proftrace.errors import ProftraceError
from proftrace.lines.decorator import profile
from proftrace.lines.follow import follow
from proftrace.lines.register import Register, warn
from proftrace.lines.setup import own_argv, run_setup
from proftrace.lines.sources import SourceTexts, decode_source
from proftrace.lines.targets import Targets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BOOT_FOLDER = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "run", "boot"
)
# How many lines a function runs before its hits are counted by blocks and its time by samples.
_EVENTS_UNTIL_HOT = 2000
# For tests of counts: how many lines a function runs before its hits are counted by blocks.
_HOT_AFTER_VARIABLE = "PROFTRACE_TEST_HOT_AFTER"


# Set while `lprof` records this process: what profiles from inside goes through the same register.
running: Register | None = None


def start(settings: Mapping[str, object]) -> None:
    """Begin to profile what is wanted, and see to it that the result is written at the end.

    `settings`: "targets" (what to profile besides what is decorated, see `lines/targets.py`, or
    None), "output" (absolute path of the result), "report" (command that shows it at the end,
    or None), "quiet" (bool: do not say where the result is), "clock" (bool: time every line by the
    clock), "interval" (seconds between two writes of what there is so far, 0: only at the end),
    "setup" (a file to run first, or None), "follow_children" and "parts" (folder for the results of
    children, see csrc/lines/parts.h), "child" (this process is one), "program" and "argv" (of the
    first process). Raises ProftraceError if the tracer cannot start.
    """
    global running
    is_child = bool(settings.get("child"))
    argv: Sequence[str] = settings.get("argv") or []  # type: ignore[assignment]
    program = str(settings.get("program", ""))
    if is_child:
        argv = own_argv()
        program = argv[0] if argv and not argv[0].startswith("-") else ""
    try:
        _start_tracer(settings, is_child)
        allow_hot(bool(settings.get("clock")))
    except RuntimeError as error:
        raise ProftraceError(f"cannot profile: {error}") from error
    describe_run(program, argv, settings.get("targets") is not None)
    folder = os.getcwd()
    command = _command_text(argv)
    script = program if command is None else None
    register = Register(SourceTexts(folder, command, script or None))
    running = register
    wanted: Mapping[str, object] | None = settings.get("targets")  # type: ignore[assignment]
    targets = None if wanted is None else Targets(wanted, folder, _is_own_command(command))
    # Handlers run in reverse order of registration, so this one runs after all of the program's.
    atexit.register(_finish, targets, None if is_child else os.getpid(), settings.get("parts"))
    profile.connect(register.add)
    builtins.profile = profile  # type: ignore[attr-defined]
    if settings.get("follow_children"):
        _follow(settings)
    setup = settings.get("setup")
    if setup is not None and not is_child:
        run_setup(str(setup))
    if targets is not None:
        register.watch(targets)


def _start_tracer(settings: Mapping[str, object], is_child: bool) -> None:
    output = str(settings["output"])
    report: Sequence[str] | None = settings.get("report")  # type: ignore[assignment]
    parts = settings.get("parts") if settings.get("follow_children") else None
    interval = settings.get("interval") or 0
    _lines.start(
        os.fsencode(output),
        os.fsencode(f"{output}.{os.getpid()}.tmp"),
        None if report is None or is_child else [os.fsencode(word) for word in report],
        [name + b"=" + value for name, value in os.environb.items()],
        is_child or bool(settings.get("quiet")),
        settings.get("targets") is not None,
        None if parts is None else os.fsencode(str(parts)),
        is_child,
    )
    if is_child or interval:
        _lines.save_every(float(str(interval)))


def _follow(settings: Mapping[str, object]) -> None:
    """Follow children; if this process becomes another Python it stays what it is."""
    child_boot = str(settings["child_boot"])
    if settings.get("child"):
        own_boot = child_boot
    else:
        data: dict[str, object] = eval(child_boot, {"__builtins__": {}})
        own = {name: value for name, value in settings.items() if name != "setup"}
        own_boot = ascii({**data, "settings": own})
    follow(child_boot, own_boot, BOOT_FOLDER)


def allow_hot(clock: bool) -> None:
    """Say when functions may leave the clock; never if the user wants it."""
    forced = os.environ.get(_HOT_AFTER_VARIABLE, "")
    if clock:
        _lines.allow_hot(0, False)
    elif forced.isdecimal():
        _lines.allow_hot(int(forced), True)
    else:
        _lines.allow_hot(_EVENTS_UNTIL_HOT, False)


def _finish(targets: Targets | None, first_pid: int | None, parts: object) -> None:
    """End the session: what the program printed comes before the report.

    A program that Python could not start leaves no result, only Python's own message.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # closed or broken: for the interpreter to complain about
            continue
    if _never_started():
        return
    # Children may have run what this process did not.
    is_alone = os.getpid() == first_pid and not (parts and os.path.isdir(str(parts)))
    for item in targets.missed() if targets is not None and is_alone else ():
        warn(f"-p {item}: nothing of it ran in this program; check its spelling, or leave it out")
    _lines.finish()


def _never_started() -> bool:
    """Tell whether Python found no module to run, or a program that does not compile."""
    if sys.argv[:1] == ["-m"]:  # the name of the module's file takes its place
        return True
    error = getattr(sys, "last_value", None)
    return isinstance(error, SyntaxError) and getattr(sys, "last_traceback", None) is None


def _command_text(argv: Sequence[str]) -> str | None:
    """Return the program of `python -c` or `python -`, which is in no file."""
    words = sys.orig_argv
    if list(argv[:1]) == ["-"]:
        return _text_on_standard_input()
    if list(argv[:1]) != ["-c"] or "-c" not in words:
        return None
    position = words.index("-c") + 1
    return words[position] if position < len(words) else None


def _text_on_standard_input() -> str | None:
    """Return what the interpreter is going to read there, if that takes nothing away from it."""
    try:
        start = os.lseek(0, 0, os.SEEK_CUR)
        return decode_source(os.pread(0, os.fstat(0).st_size - start, start))
    except (OSError, ValueError):  # a pipe, or nothing at all
        return None


def _is_own_command(text: str | None) -> bool:
    """Tell whether `python -c` runs a text of the program's, not the start of a worker."""
    if text is None:
        return False
    # The server of forkserver imports sys first, since 3.15.
    return not text.removeprefix("import sys; ").startswith("from multiprocessing.")


def describe_run(program: str, argv: Sequence[str], has_targets: bool) -> None:
    """Put into the result what was run and by what."""
    facts = {
        "tool": "lprof",
        "program": program,
        "argv": "[" + ", ".join(_json_text(word) for word in argv) + "]",
        "python": sys.version.split()[0],
        "clock": _lines.CLOCK,
        **({"targets": "yes"} if has_targets else {}),
    }
    for key, value in facts.items():
        _lines.add_meta(key, value.encode("utf-8", "surrogatepass"))


def _json_text(text: str) -> str:
    """Return a JSON string in ASCII; the `json` module would be an import in the target."""
    parts = []
    for character in text:
        number = ord(character)
        if character in '"\\':
            parts.append("\\" + character)
        elif 0x20 <= number < 0x7F:
            parts.append(character)
        elif number < 0x10000:
            parts.append(f"\\u{number:04x}")
        else:
            number -= 0x10000
            parts.append(f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}")
    return '"' + "".join(parts) + '"'
