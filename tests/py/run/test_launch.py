"""What the interpreter of a target is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from proftrace.errors import ProftraceError, UsageError
from proftrace.run import launch
from proftrace.run.launch import (
    BOOT_FOLDER,
    InterpreterOptions,
    Target,
    build_environment,
    check_target,
    read_interpreter_options,
)

Words = list[str]


@pytest.mark.parametrize(
    ("argv", "flags"),
    [
        (["python", "lprof", "-O"], []),
        (["python", "-m", "proftrace.cli.lprof", "-b"], []),
        (["python", "-OO", "-X", "dev", "-Wd", "lprof"], ["-O", "-O", "-X", "dev", "-W", "d"]),
        (["python", "-buWerror", "lprof"], ["-b", "-u", "-W", "error"]),
        (["python", "-Xutf8", "-Pm", "proftrace.cli.lprof"], ["-X", "utf8", "-P"]),
        (["python", "-c", "import x", "-I"], []),
        (["python", "--", "lprof", "-I"], []),
        (
            ["python", "--check-hash-based-pycs", "never", "-s", "x"],
            ["--check-hash-based-pycs", "never", "-s"],
        ),
        (["python", "-X"], ["-X", ""]),
        (["python"], []),
    ],
)
def test_options_of_the_interpreter_are_passed_on(argv: Words, flags: Words) -> None:
    assert read_interpreter_options(argv) == InterpreterOptions(flags=tuple(flags))


def test_isolation_is_translated() -> None:
    assert read_interpreter_options(["python", "-I", "x"]) == InterpreterOptions(
        flags=("-s", "-P"), ignore_environment=True
    )
    assert read_interpreter_options(["python", "-bE", "x"]) == InterpreterOptions(
        flags=("-b",), ignore_environment=True
    )


def test_without_site_there_is_no_start() -> None:
    assert read_interpreter_options(["python", "-S", "lprof"]).no_site
    assert not read_interpreter_options(["python", "lprof", "-S"]).no_site


@pytest.mark.parametrize(
    ("target", "words", "argv", "name"),
    [
        (
            Target("script", "a/b.py", ("-m", "")),
            ["a/b.py", "-m", ""],
            ["a/b.py", "-m", ""],
            "b.py",
        ),
        (Target("script", "-x.py"), ["--", "-x.py"], ["-x.py"], "-x.py"),
        (Target("script", "folder/"), ["folder/"], ["folder/"], "folder"),
        (Target("module", "a.b", ("--",)), ["-m", "a.b", "--"], ["a.b", "--"], "a.b"),
        (Target("command", "x=1", ("-v",)), ["-c", "x=1", "-v"], ["-c", "-v"], "command"),
    ],
)
def test_targets(target: Target, words: Words, argv: Words, name: str) -> None:
    assert target.interpreter_args() == words
    assert target.program_argv() == argv
    assert target.base_name() == name


def restored(environment: dict[str, str]) -> object:
    """Return what the boot code is told to put back."""
    return eval(environment[launch.BOOT_VARIABLE])["environ"]


def build(environ: dict[str, str], preload: str | None = None, **options: bool) -> dict[str, str]:
    return build_environment(environ, "lprof", {}, InterpreterOptions(**options), preload)


@pytest.mark.parametrize(
    ("before", "inside"),
    [
        ({}, BOOT_FOLDER),
        ({"PYTHONPATH": ""}, BOOT_FOLDER),
        ({"PYTHONPATH": "/a:"}, f"{BOOT_FOLDER}:/a:"),
    ],
)
def test_the_boot_folder_comes_first_in_the_path(before: dict[str, str], inside: str) -> None:
    environment = build(before)
    assert environment["PYTHONPATH"] == inside
    assert restored(environment) == {"PYTHONPATH": before.get("PYTHONPATH")}


def test_variables_of_python_are_put_aside_when_they_are_to_be_ignored() -> None:
    environment = build(
        {"PYTHONPATH": "/a", "PYTHONHASHSEED": "1", "HOME": "/h"}, ignore_environment=True
    )
    assert restored(environment) == {"PYTHONPATH": "/a", "PYTHONHASHSEED": "1"}
    del environment[launch.BOOT_VARIABLE]
    assert environment == {"PYTHONPATH": BOOT_FOLDER, "HOME": "/h"}


def test_the_library_is_preloaded_before_those_of_the_user() -> None:
    environment = build({"LD_PRELOAD": "/x.so"}, preload="/our.so")
    assert environment["LD_PRELOAD"] == "/our.so:/x.so"
    assert environment[launch.PRELOAD_BEFORE_VARIABLE] == "/x.so"
    assert restored(environment) == {"PYTHONPATH": None, "LD_PRELOAD": "/x.so"}
    environment = build({}, preload="/our.so")
    assert environment["LD_PRELOAD"] == "/our.so"
    assert launch.PRELOAD_BEFORE_VARIABLE not in environment
    assert restored(environment) == {"PYTHONPATH": None, "LD_PRELOAD": None}


def test_settings_survive_whatever_text_is_in_them() -> None:
    hostile = "a'\"\\\n\udc80\U0001f600"
    settings = {"output": hostile, "argv": [hostile, ""], "report": None, "quiet": True}
    environment = build_environment({}, "memtrace", settings, InterpreterOptions(), None)
    data = eval(environment[launch.BOOT_VARIABLE])
    assert data["settings"] == settings
    assert data["tool"] == "memtrace"
    assert environment[launch.BOOT_VARIABLE].isascii()


def test_a_boot_folder_that_pythonpath_cannot_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "BOOT_FOLDER", "/a:b/boot")
    with pytest.raises(ProftraceError, match="cannot start from /a:b/boot"):
        build({})


def test_a_script_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a folder without a __main__\.py"):
        check_target(Target("script", str(tmp_path)))
    (tmp_path / "__main__.py").touch()
    check_target(Target("script", str(tmp_path)))
    check_target(Target("module", "missing"))
    with pytest.raises(UsageError, match=r"cannot read script '.*/missing.py': No such file"):
        check_target(Target("script", str(tmp_path / "missing.py")))
    with pytest.raises(UsageError, match="null byte"):
        check_target(Target("script", "a\0b"))
