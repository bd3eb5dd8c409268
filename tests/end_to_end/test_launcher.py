"""The command `memtrace` starts programs by itself; `memtrace-python` is the same in Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from case_runs import COMMANDS, Run, run
from proftrace import _reader

PROBE = """
import json, os, sys
print(json.dumps({
    "environ": {name: text for name, text in os.environ.items() if name != "LC_CTYPE"},
    "argv": sys.argv, "orig_argv": sys.orig_argv, "executable": sys.executable,
    "path": sys.path, "flags": list(sys.flags), "name": __name__, "modules": sorted(sys.modules),
    "folder": os.getcwd(), "descriptors": sorted(os.listdir("/proc/self/fd")),
}))
sys.exit(3)
"""
NAMES = "memtrace", "memtrace-python"


def in_both(words: list[str], folder: Path, env: dict[str, str] | None = None) -> list[Run]:
    """Run both commands with the same words, each in a new folder of the same name."""
    runs = []
    for name in NAMES:
        folder.mkdir()
        (folder / "probe.py").write_text(PROBE)
        (folder / "there.bin").write_bytes(b"")
        (folder / "folder").mkdir()
        runs.append(run([str(COMMANDS / name), *words], folder, env))
        folder.rename(folder.with_name(name))
    return runs


@pytest.mark.parametrize(
    "words",
    [
        ["-q", "-o", "out.bin", "probe.py"],
        ["--quiet", "--force", "--output", "there.bin", "probe.py", "-q", "it's", "a\\b", "", "é"],
        ["-q", "-o", "out.bin", "--trace-python-allocators", "-m", "probe", "word"],
        ["-q", "-o", "out.bin", "-c", PROBE, "word", "\t\n"],
        ["-q", "-o", "out.bin", "./probe.py"],
        ["-q", "-f", "-o", "é.bin", "probe.py"],
        ["-q", "-o", "out.bin", "--native", "probe.py"],
    ],
)
def test_programs_and_captures_are_the_same(words: list[str], tmp_path: Path) -> None:
    one, other = in_both(["run", *words], tmp_path / "run")
    assert (one.status, one.stderr) == (other.status, other.stderr) == (3, "")
    assert json.loads(one.stdout) == json.loads(other.stdout)
    captures = [
        _reader.read_log(str(path))
        for name in NAMES
        for path in (tmp_path / name).glob("*.bin")
        if path.stat().st_size
    ]
    assert len(captures) == 2
    assert captures[0]["meta"] == captures[1]["meta"]


@pytest.mark.parametrize("variable", ["PYTHONPATH", "PYTHONUTF8", "PROFTRACE_DEBUG"])
def test_variables_reach_the_program(variable: str, tmp_path: Path) -> None:
    env = {variable: str(tmp_path) if variable == "PYTHONPATH" else "1"}
    one, other = in_both(["run", "-q", "-o", "out.bin", "probe.py"], tmp_path / "run", env)
    assert (one.status, other.status) == (3, 3)
    environ = json.loads(one.stdout)["environ"]
    assert environ == json.loads(other.stdout)["environ"]
    assert environ[variable] == env[variable]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["run"],
        ["run", "--help"],
        ["--version"],
        ["summary", "there.bin"],
        ["nonsense"],
        ["run", "-o"],
        ["run", "missing.py"],
        ["run", "folder"],
        ["run", "-o", "there.bin", "probe.py"],
        ["run", "-f", "-o", "folder", "probe.py"],
        ["run", "-f", "-o", "probe.py", "probe.py"],
        ["run", "-o", "nowhere/out.bin", "probe.py"],
        ["run", "-o", "/dev/full", "-f", "probe.py"],
    ],
)
def test_what_is_no_plain_run_is_answered_alike(words: list[str], tmp_path: Path) -> None:
    one, other = in_both(words, tmp_path / "run")
    assert one == other
    assert one.stdout or one.stderr


def test_no_capture_replaces_what_the_program_prints(tmp_path: Path) -> None:
    for name in NAMES:
        line = f"'{COMMANDS / name}' run -q -f -o out.txt -c 'print(1)' {{}}>> out.txt"
        for descriptor in 1, 2:
            result = run(["sh", "-c", line.format(descriptor)], tmp_path)
            said = result.stderr + (tmp_path / "out.txt").read_text()
            assert (result.status, said.count("output goes there")) == (1, 1)
            (tmp_path / "out.txt").unlink()


def test_without_a_name_the_output_has_the_programs(tmp_path: Path) -> None:
    in_both(["run", "-q", "probe.py"], tmp_path / "run")
    for name in NAMES:
        [capture] = (tmp_path / name).glob("memtrace-probe.py.*.bin")
        assert capture.name.split(".")[-2].isdecimal()


def test_it_starts_from_a_link_to_it(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(COMMANDS / "memtrace")
    result = run(
        [str(tmp_path / "linked"), "run", "-q", "-o", "out.bin", "-c", "print(5)"], tmp_path
    )
    assert (result.status, result.stdout, result.stderr) == (0, "5\n", "")
    assert (tmp_path / "out.bin").stat().st_size
