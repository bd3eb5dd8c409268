"""A program under `lprof` finds everything as in a plain run."""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import proftrace
from proftrace.run.launch import BOOT_FOLDER, BOOT_VARIABLE

DUMP = """\
import json, os, signal, sys
ours = ("proftrace", "__future__", "atexit", "opcode", "_opcode")
json.dump({
    "argv": sys.argv,
    "path": sys.path,
    "flags": list(sys.flags),
    "xoptions": sys._xoptions,
    "warnoptions": sys.warnoptions,
    "environ": {k: v for k, v in os.environ.items() if k != "ENV_NOTE"},
    "modules": sorted(n for n in sys.modules if not n.startswith(ours)),
    "importers": sorted(p for p in sys.path_importer_cache if "site-packages" not in p),
    "sitecustomize": getattr(sys.modules.get("sitecustomize"), "__file__", None),
    "hooks": [sys.excepthook is sys.__excepthook__, sys.gettrace(), sys.getprofile()],
    "main": [__name__, globals().get("__file__"), getattr(__spec__, "name", None), __package__],
    "cwd": os.getcwd(),
    "gil": getattr(sys, "_is_gil_enabled", lambda: True)(),
    "fds": sorted(os.listdir("/proc/self/fd")),
    "signals": [str(signal.getsignal(s)) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)],
    "stdio": [f"{s.encoding} {s.errors} {s.line_buffering}" for s in (sys.stdout, sys.stderr)],
}, sys.stdout, indent=0, sort_keys=True)
"""

Words = list[str]


def run(words: Words, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "LD_PRELOAD"))}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def under_lprof(words: Words, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `python [flags] target` under lprof, which gets the same flags."""
    return under(["proftrace.cli.lprof", "-q", "-o", str(folder / "r.lprof")], words, folder, env)


def under_memtrace(words: Words, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `python [flags] target` under memtrace; its open file is no concern of the program."""
    command = ["proftrace.cli.memtrace", "run", "-q", "-f", "-o", str(folder / "m.bin")]
    done = under(command, words, folder, env)
    done.stdout = re.sub(r'^"1\d{3}",\n', "", done.stdout, count=1, flags=re.M)
    return done


def under(
    command: Words, words: Words, folder: Path, env: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    at = 0
    while words[at] in ("-X", "-W") or (words[at].startswith("-") and words[at][1] not in "mc"):
        at += 2 if words[at] in ("-X", "-W") else 1
    return run([*words[:at], "-m", *command, *words[at:]], folder, **env)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The current folder, with the program as a script, a package, a folder and a zip file."""
    (tmp_path / "dump.py").write_text(DUMP)
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").touch()
    (tmp_path / "pack" / "__main__.py").write_text(DUMP)
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as file:
        file.writestr("__main__.py", DUMP)
    return tmp_path


def write_sitecustomize(folder: Path, text: str) -> str:
    site = folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(text)
    return str(site)


@pytest.mark.parametrize(
    "words",
    [
        ["dump.py", "-v", "--", "", "-m"],
        ["./dump.py"],
        ["pack"],
        ["app.zip", "x"],
        ["-m", "pack", "-c"],
        ["-m", "dump"],
        ["-c", DUMP, "-v", ""],
        ["-O", "dump.py"],
        ["-b", "-u", "-X", "dev", "-W", "error::UserWarning", "dump.py"],
        ["-X", "utf8", "-B", "-s", "dump.py"],
        ["-P", "dump.py"],
        ["-X", "int_max_str_digits=5000", "-q", "dump.py"],
    ],
    ids=" ".join,
)
def test_everything_is_as_in_a_plain_run(folder: Path, words: Words) -> None:
    expected = run(words, folder)
    assert expected.returncode == 0, expected.stderr
    for found in (under_lprof(words, folder), under_memtrace(words, folder)):
        assert (found.returncode, found.stderr) == (0, expected.stderr)
        assert found.stdout.splitlines() == expected.stdout.splitlines()


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONPATH": ""},
        {"PYTHONPATH": "/no/such:"},
        {"PYTHONSAFEPATH": "1"},
        {"PYTHONOPTIMIZE": "2", "PYTHONUTF8": "1", "PYTHONDEVMODE": "1"},
        {"PYTHONIOENCODING": "latin-1:replace"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
        {"PROFTRACE_DEBUG": "1"},
        {"LD_PRELOAD": "libm.so.6"},
        {"LD_PRELOAD": ""},
    ],
    ids=str,
)
def test_variables_are_those_of_the_user(folder: Path, env: dict[str, str]) -> None:
    expected = run(["dump.py"], folder, **env)
    for found in (
        under_lprof(["dump.py"], folder, **env),
        under_memtrace(["dump.py"], folder, **env),
    ):
        assert (found.returncode, found.stderr) == (0, expected.stderr)
        assert found.stdout.splitlines() == expected.stdout.splitlines()


def test_isolation_keeps_variables_for_children_but_not_for_itself(folder: Path) -> None:
    (folder / "json.py").write_text("raise SystemExit('the wrong json')")
    path = str(folder)
    for flags in (["-I"], ["-E", "-P"]):
        found = under_lprof([*flags, "dump.py"], folder, PYTHONPATH=path, PYTHONOPTIMIZE="1")
        expected = run([*flags, "dump.py"], folder, PYTHONPATH=path, PYTHONOPTIMIZE="1")
        assert (found.returncode, found.stderr) == (0, "")
        differing = {
            a.split(":")[0].strip()
            for a, b in zip(found.stdout.split(","), expected.stdout.split(","), strict=True)
            if a != b
        }
        assert len(differing) <= 3, differing  # the flags themselves: isolated, ignore_environment


def test_without_site_it_is_refused_in_one_line(folder: Path) -> None:
    copy_installed_package(folder / "lib")
    found = run(["-S", "-m", "proftrace.cli.lprof", "../dump.py"], folder / "lib")
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == "lprof: cannot run under -S: the tracer starts from the site module\n"


def test_the_users_sitecustomize_runs_as_always(folder: Path) -> None:
    text = "import sys\nsys.path.append('/a')\nprint('site', __name__, __file__, file=sys.stderr)\n"
    site = write_sitecustomize(folder, text)
    expected = run(["dump.py"], folder, PYTHONPATH=site)
    found = under_lprof(["dump.py"], folder, PYTHONPATH=site)
    line = f"site sitecustomize {site}/sitecustomize.py\n"
    # lprof is a Python program too: the first line is from its own start.
    assert (expected.stderr, found.stderr) == (line, line * 2)
    assert found.stdout.splitlines() == expected.stdout.splitlines()


@pytest.mark.parametrize(
    "text", ["1 / 0", "import missing_module", "raise ImportError('x', name='sitecustomize')"]
)
def test_errors_of_the_users_sitecustomize_are_those_of_site(folder: Path, text: str) -> None:
    site = write_sitecustomize(folder, text)
    expected = run(["dump.py"], folder, PYTHONPATH=site)
    found = under_lprof(["dump.py"], folder, PYTHONPATH=site)
    assert (found.returncode, found.stderr) == (0, expected.stderr * 2)
    assert found.stdout.splitlines() == expected.stdout.splitlines()


def test_the_package_may_be_in_pythonpath_only(folder: Path, tmp_path: Path) -> None:
    """`lprof` from a folder that the interpreter of the target does not know by itself."""
    venv.create(tmp_path / "bare", symlinks=True)
    library = tmp_path / "lib"
    copy_installed_package(library)
    words = ["-m", "proftrace.cli.lprof", "-q", "-o", str(folder / "r"), str(folder / "s.py")]
    (folder / "s.py").write_text("print(callable(profile))")
    # From PYTHONPATH; under -E, with the folder on the path of -m; from the current folder.
    for env, flags, place in (
        ({"PYTHONPATH": str(library)}, [], folder),
        ({"PYTHONPATH": "/no/such"}, ["-E"], library),
        ({}, [], library),
    ):
        done = subprocess.run(
            [str(tmp_path / "bare" / "bin" / "python"), *flags, *words],
            cwd=place,
            env={"PATH": os.environ["PATH"], **env},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def copy_installed_package(target: Path) -> None:
    """Copy every file of the package, from wherever the build has put it, to target/proftrace."""
    shutil.copytree(Path(BOOT_FOLDER).parents[1], target / "proftrace", dirs_exist_ok=True)
    for module in pkgutil.iter_modules(proftrace.__path__, "proftrace."):
        spec = importlib.util.find_spec(module.name)
        assert spec is not None
        if spec.origin and not spec.submodule_search_locations:
            shutil.copy(spec.origin, target / "proftrace")


def test_a_failing_start_ends_before_the_program(folder: Path) -> None:
    (folder / "s.py").write_text("print('ran')")
    boot = {"tool": "lprof", "settings": {}, "environ": {"PYTHONPATH": None}, "root": "/"}
    env = {"PYTHONPATH": BOOT_FOLDER, BOOT_VARIABLE: ascii(boot)}
    found = run(["s.py"], folder, **env)
    assert (found.returncode, found.stdout) == (1, "")
    (line,) = found.stderr.splitlines()
    assert line.startswith("lprof: cannot start: KeyError: ")
    found = run(["s.py"], folder, PROFTRACE_DEBUG="1", **env)
    assert found.stderr.startswith("Traceback (most recent call last):\n")
    assert found.stderr.endswith(line + "\n")


@pytest.mark.parametrize("ending", ["sys.exit(5)", "os.kill(os.getpid(), 9)", "1/0", "os.abort()"])
def test_the_status_is_the_programs(folder: Path, ending: str) -> None:
    (folder / "s.py").write_text(f"import os, sys\nprint('up', flush=True)\n{ending}\n")
    expected = run(["s.py"], folder)
    found = under_lprof(["s.py"], folder)
    assert (found.returncode, found.stdout, found.stderr) == (
        expected.returncode,
        expected.stdout,
        expected.stderr,
    )
    assert found.returncode in (5, -signal.SIGKILL, 1, -signal.SIGABRT)


def test_the_process_stays_the_same(folder: Path) -> None:
    (folder / "s.py").write_text("import os; print(os.getpid())")
    with subprocess.Popen(
        [sys.executable, "-m", "proftrace.cli.lprof", "-q", "s.py"],
        cwd=folder,
        stdout=subprocess.PIPE,
    ) as process:
        out, _ = process.communicate(timeout=60)
        assert int(out) == process.pid
