"""Full disks, limits, places that cannot be written to, programs that change their surroundings."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from case_runs import COMMANDS, bytearray_bytes, csv_rows, memtrace
from proftrace.model.load import load_profile

MEMTRACE = str(COMMANDS / "memtrace")
IS_ROOT = os.geteuid() == 0

# Sizes that do not compress; prints, so that one sees it run to its end.
WORK = (
    "keep = [bytearray(1_000_000 + i) for i in range(20)]\n"
    "seed = 1\n"
    "for i in range(150_000):\n"
    "    seed = (seed * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1\n"
    "    bytearray(600 + (seed >> 48))\n"
    "print('done')\n"
)


def limited(words: list[str], folder: Path, limits: str) -> subprocess.CompletedProcess[str]:
    """Run memtrace under limits of the shell (`ulimit`)."""
    command = ["bash", "-c", f'{limits}; exec "$@"', "bash", MEMTRACE, *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=100, check=False
    )


# ---- full disks ---------------------------------------------------------------------------------


@pytest.fixture(params=[24, 64, 200])
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file system of so many KiB; where none may be mounted, a limit on the size of files."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = (
        IS_ROOT
        and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={request.param}k", "none", str(folder)],
            stderr=subprocess.DEVNULL,
            check=False,
        ).returncode
        == 0
    )
    if not mounted:
        (folder / "limit").write_text(f"ulimit -f {request.param}")
    yield folder
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_ends_the_recording_and_not_the_program(small_disk: Path) -> None:
    limit = small_disk / "limit"
    limits = limit.read_text() if limit.exists() else "true"
    done = limited(["run", "-o", "out.bin", "-c", WORK], small_disk, limits)
    assert (done.returncode, done.stdout) == (0, "done\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"memtrace: cannot write {small_disk / 'out.bin'}: ")
    assert line.endswith("; recording has stopped, the program goes on")
    assert {name for name in os.listdir(small_disk) if name != "limit"} == {"out.bin"}
    profile = load_profile(str(small_disk / "out.bin"))
    (warning,) = profile.warnings
    # The reason is in the END block, where that still fits.
    assert "writing failed" in warning or "ends early" in warning
    # What fits is there: a block of events that did not is not lost whole.
    assert profile.totals["n_allocations"] > 150


@pytest.mark.parametrize("kib", [16, 64, 200])
def test_a_limit_on_file_sizes_does_not_end_the_program(tmp_path: Path, kib: int) -> None:
    program = (
        "import os, resource, signal\n"
        "print(signal.getsignal(signal.SIGXFSZ), resource.getrlimit(resource.RLIMIT_FSIZE)[0])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n" + WORK
    )
    done = limited(["run", "-o", "out.bin", "-c", program], tmp_path, f"ulimit -f {kib}")
    assert (done.returncode, done.stdout.splitlines()[1:]) == (0, ["done"])
    (line,) = done.stderr.splitlines()
    assert "File too large; recording has stopped" in line
    profile = load_profile(str(tmp_path / "out.bin"))
    assert "File too large" in profile.warnings[0]
    assert profile.totals["n_allocations"] > 100


def test_the_programs_own_writes_over_the_limit_raise_as_ever(tmp_path: Path) -> None:
    program = (
        "import os, signal\n"
        "signal.signal(signal.SIGXFSZ, lambda *a: print('caught'))\n"
        "try: os.write(os.open('big', os.O_CREAT | os.O_WRONLY), bytes(5_000_000)); \n"
        "except OSError as error: print(error.strerror)\n"
        "descriptor = os.open('more', os.O_CREAT | os.O_WRONLY)\n"
        "print(os.write(descriptor, bytes(4_000_000)))\n"
        "try: os.write(descriptor, bytes(10))\n"
        "except OSError as error: print(error.strerror)\n"
    )
    command = [sys.executable, "-c", program]
    limit = ["bash", "-c", 'ulimit -f 2000; exec "$@"', "bash"]
    plain = subprocess.run(
        [*limit, *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    for name in ("big", "more"):
        (tmp_path / name).unlink()
    done = limited(["run", "-q", "-o", "out.bin", "-c", program], tmp_path, "ulimit -f 2000")
    assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, "")


def test_little_address_space(tmp_path: Path) -> None:
    program = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))\n"
        "keep = []\n"
        "try:\n"
        "    while True: keep.append(bytearray(5_000_000))\n"
        "except MemoryError: print('MemoryError')\n"
        "n = len(keep)\n"
        "try:\n"
        "    while True: keep.append(bytearray(10_000))\n"
        "except MemoryError: pass\n"
        "while len(keep) > n: keep.pop()\n"  # del keep[n:] would ask for memory
        "print(len(keep))\n"
    )
    result = memtrace(["run", "-q", "-o", "out.bin", "-c", program], tmp_path)
    assert (result.status, result.stderr) == (0, "")
    first, n = result.stdout.split()
    assert first == "MemoryError"
    rows = [row for row in csv_rows(tmp_path / "out.bin", "--leaks") if row.size >= 5_000_000]
    assert sum(row.blocks for row in rows) == int(n)
    assert sum(row.size for row in rows) == int(n) * bytearray_bytes(5_000_000)


NO_MORE_MEMORY = (
    "import resource\n"
    "spare = [bytearray(50_000) for _ in range(20)]\n"
    "def allow_no_more():\n"
    "    del spare[:]\n"  # what the interpreter itself may need
    "    with open('/proc/self/statm') as file: pages = int(file.read().split()[0])\n"
    "    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize(),) * 2)\n"
)


@pytest.mark.parametrize("options", [[], ["--native"], ["--aggregate"]])
def test_no_address_space_from_the_first_flush_on(tmp_path: Path, options: list[str]) -> None:
    # The stack is known before, and the loop specialised: noting native frames may need memory.
    program = NO_MORE_MEMORY + (
        "for i in range(50_000):\n"
        "    n = len(bytearray(10_000))\n"
        "    if i == 5_000: allow_no_more()\n"
        "print(n)\n"
    )
    result = memtrace(["run", "-q", *options, "-o", "out.bin", "-c", program], tmp_path)
    assert (result.status, result.stdout, result.stderr) == (0, "10000\n", "")
    warnings = load_profile(str(tmp_path / "out.bin")).warnings
    if "--native" in options:  # a frame may come to be on the stack that was not before
        assert all("no memory left to note some stacks" in warning for warning in warnings)
    else:
        assert warnings == ()
    size = bytearray_bytes(10_000)
    rows = [
        row
        for row in csv_rows(tmp_path / "out.bin", "--all")
        if row.blocks > 5 and row.size == row.blocks * size
    ]
    assert sum(row.blocks for row in rows) == 50_000


def test_stacks_that_no_memory_is_left_for_are_told(tmp_path: Path) -> None:
    # Each function is a stack of its own; what notes them cannot grow.
    program = NO_MORE_MEMORY + (
        "functions = []\n"
        "for i in range(20_000):\n"
        "    names = {}\n"
        "    exec(f'def f{i}(): return len(bytearray(10_000))', names)\n"
        "    functions.append(names[f'f{i}'])\n"
        "allow_no_more()\n"
        "for function in functions: n = function()\n"
        "print(n)\n"
    )
    result = memtrace(["run", "-o", "out.bin", "-c", program], tmp_path)
    assert (result.status, result.stdout) == (0, "10000\n")
    first, last = result.stderr.splitlines()
    assert first == (
        f"memtrace: cannot record all of this process in {tmp_path / 'out.bin'}: "
        "Cannot allocate memory (a limit on address space: see ulimit -v); the program goes on"
    )
    assert last.startswith("memtrace: wrote ")
    profile = load_profile(str(tmp_path / "out.bin"))
    (warning,) = profile.warnings
    assert ": there was no memory left to note some stacks or threads (a limit" in warning
    # The allocations are all there, some of them at the caller.
    rows = csv_rows(tmp_path / "out.bin", "--all")
    size = bytearray_bytes(10_000)
    assert sum(row.blocks for row in rows if row.size == row.blocks * size) >= 20_000


def test_a_slow_pipe_gets_what_it_would_get(tmp_path: Path) -> None:
    # On a line of its own: what is printed has buffers too.
    program = (
        "for i in range(4000):\n"
        "    n = len(bytearray(1000))\n"
        "    print(i, '.' * 60, n)\n"
        "print('end')\n"
    )
    command = [str(COMMANDS / "memtrace"), "run", "-q", "-o", "out.bin", "-c", program]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE)
    assert process.stdout is not None
    pieces = []
    while piece := os.read(process.stdout.fileno(), 4096):
        pieces.append(piece)
        time.sleep(0.001)
    process.stdout.close()
    assert process.wait() == 0
    lines = b"".join(pieces).decode().splitlines()
    assert lines == [*(f"{i} {'.' * 60} 1000" for i in range(4000)), "end"]
    assert list(load_profile(str(tmp_path / "out.bin")).warnings) == []
    rows = [row for row in csv_rows(tmp_path / "out.bin", "--all") if row.stack]
    # The same stack asks for an object now and then for which pymalloc has no room.
    size = bytearray_bytes(1000)
    assert any(row.blocks >= 4000 and row.size >= 4000 * size for row in rows)


def test_few_descriptors(tmp_path: Path) -> None:
    program = (
        "import os, resource\n"
        "opened = []\n"
        "try:\n"
        "    while True: opened.append(os.open('/dev/null', os.O_RDONLY))\n"
        "except OSError as error: print(error.strerror, len(opened))\n" + WORK
    )
    plain = subprocess.run(
        ["bash", "-c", 'ulimit -n 40; exec "$@"', "bash", sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    done = limited(["run", "-q", "-o", "out.bin", "-c", program], tmp_path, "ulimit -n 40")
    assert (done.returncode, done.stderr) == (0, "")
    # One of them is ours.
    before, after = (int(text.split()[4]) for text in (plain.stdout, done.stdout))
    assert before - 1 <= after <= before
    assert list(load_profile(str(tmp_path / "out.bin")).warnings) == []


# ---- places that cannot be written to, targets that cannot be run -------------------------------


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["-o", "no/out.bin", "app.py"], 1, "there is no folder"),
        (["-o", "folder", "app.py"], 1, "it is a folder"),
        (["-o", "fifo", "app.py"], 1, "not a regular file"),
        (["-o", "/dev/full", "app.py"], 1, "not a regular file"),
        (["-f", "-o", "/dev/full", "app.py"], 1, "not a regular file"),
        (["-o", "/proc/out.bin", "app.py"], 1, "cannot write /proc/out.bin"),
        (["-o", "", "app.py"], 2, "-o needs the name of a file"),
        (["-o", "-", "app.py"], 2, "-o needs the name of a file"),
        (["-o", "x" * 300, "app.py"], 1, "File name too long"),
        (["-o", "out.bin", "missing.py"], 2, "No such file"),
        (["-o", "out.bin"], 2, "nothing to run"),
        (["-o"], 2, "expected one argument"),
        (["--no-such-option", "app.py"], 2, "unrecognized"),
        (["-o", "out.bin", "/bin/true"], 2, "only Python"),
        (["-f", "-o", "app.py", "app.py"], 1, "it is the file to read from"),
    ],
)
def test_what_cannot_be_done_is_said_before_the_program_runs(
    tmp_path: Path, words: list[str], status: int, text: str
) -> None:
    (tmp_path / "app.py").write_text("open('ran', 'w')")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    before = sorted(os.listdir(tmp_path))
    result = memtrace(["run", *words], tmp_path)
    assert (result.status, result.stdout) == (status, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("memtrace: ")
    assert text in line
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("words", [[], ["-f"]])
@pytest.mark.parametrize("name", ["/dev/stdout", "out.txt", "err.txt", "/proc/self/fd/2"])
def test_the_programs_output_is_not_replaced(tmp_path: Path, words: list[str], name: str) -> None:
    out, err = tmp_path / "out.txt", tmp_path / "err.txt"
    command = [MEMTRACE, "run", *words, "-o", name, "-c", "print('hi')"]
    with out.open("w") as stdout, err.open("w") as stderr:
        done = subprocess.run(command, cwd=tmp_path, stdout=stdout, stderr=stderr, check=False)
    assert (done.returncode, out.read_text()) == (1, "")
    (line,) = err.read_text().splitlines()
    assert line == f"memtrace: cannot write {name}: the program's output goes there"


def test_a_name_with_control_characters_stays_on_one_line(tmp_path: Path) -> None:
    result = memtrace(["run", "-o", "a\nb\x1b[2J\x7f.bin", "-c", "pass"], tmp_path)
    text = f"memtrace: wrote {tmp_path}/a\\nb\\x1b[2J\\x7f.bin\n"
    assert (result.status, result.stdout, result.stderr) == (0, "", text)


def test_a_folder_without_permission(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    if IS_ROOT:  # whom only a file system stops
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", str(locked)], check=True)
    try:
        result = memtrace(["run", "-o", "locked/out.bin", "-c", "print(1)"], tmp_path)
    finally:
        if IS_ROOT:
            subprocess.run(["umount", str(locked)], check=True)
    assert (result.status, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert "no permission to write" in line


# ---- programs that change what is around them ---------------------------------------------------

CLOSE_ALL = (
    "import os\n"
    "keep = bytearray(2_000_000)\n"
    "os.closerange(3, 65536)\n"
    "own = [os.open(f'own{i}', os.O_CREAT | os.O_RDWR) for i in range(5)]\n"
    "os.dup2(own[0], 1000)\n"
    "for i in range(60_000): bytearray(700)\n"
    "more = bytearray(3_000_000)\n"
    "print([os.fstat(n).st_size for n in [*own, 1000]])\n"
)


def test_a_program_that_closes_every_descriptor(tmp_path: Path) -> None:
    result = memtrace(["run", "-q", "-o", "out.bin", "-c", CLOSE_ALL], tmp_path)
    assert (result.status, result.stdout, result.stderr) == (0, "[0, 0, 0, 0, 0, 0]\n", "")
    profile = load_profile(str(tmp_path / "out.bin"))
    assert list(profile.warnings) == []
    leaked = profile.samples.values["leaked_bytes"]
    assert {bytearray_bytes(2_000_000), bytearray_bytes(3_000_000)} <= set(leaked)
    assert not (tmp_path / "out.bin.ring").exists()


DAEMON = """
import os, sys, time
def daemonise():
    if os.fork(): os._exit(0)
    os.setsid()
    if os.fork(): os._exit(0)
    os.chdir("/")
    os.umask(0o077)
    os.closerange(0, 65536)
    os.open("/dev/null", os.O_RDWR); os.dup2(0, 1); os.dup2(0, 2)
folder = os.getcwd()
before = bytearray(1_500_000)
daemonise()
keep = bytearray(2_500_000)
with open(os.path.join(folder, "done.tmp"), "w") as file:
    file.write(str(os.getpid()))
"""


@pytest.mark.parametrize("follow", [False, True])
def test_a_daemon(tmp_path: Path, follow: bool) -> None:
    (tmp_path / "daemon.py").write_text(DAEMON)
    options = ["--follow-fork"] if follow else []
    result = memtrace(["run", "-q", *options, "-o", "out.bin", "daemon.py"], tmp_path)
    assert (result.status, result.stdout, result.stderr) == (0, "", "")
    first = load_profile(str(tmp_path / "out.bin"))
    assert list(first.warnings) == []
    assert bytearray_bytes(1_500_000) in first.samples.values["leaked_bytes"]
    wait = f"while ! [ -s {tmp_path}/done.tmp ]; do sleep 0.05; done"
    subprocess.run(["bash", "-c", wait], timeout=60, check=True)
    pid = (tmp_path / "done.tmp").read_text()
    capture = tmp_path / f"out.bin.{pid}"
    assert wait_until_ended(int(pid))
    assert capture.exists() == follow
    if follow:
        profile = load_profile(str(capture))
        assert list(profile.warnings) == []
        assert bytearray_bytes(2_500_000) in profile.samples.values["leaked_bytes"]
        assert not Path(f"{capture}.ring").exists()


def wait_until_ended(pid: int) -> bool:
    """Wait for a process that is nobody's child here."""
    loop = f"while [ -e /proc/{pid} ]; do sleep 0.05; done"
    return subprocess.run(["bash", "-c", loop], timeout=60, check=False).returncode == 0


CHANGES = {
    "folder": "os.mkdir('sub'); os.chdir('sub')",
    "folder removed": "os.mkdir('sub'); os.chdir('sub'); os.rmdir('../sub')",
    "mask": "os.umask(0o777)",
    "root": "os.mkdir('jail'); os.chroot('jail'); os.chdir('/')",
    "user": "os.setgid(65534); os.setuid(65534)",
    "no stderr": "os.close(2)",
    "no streams": "os.closerange(0, 3)",
    "session": "os.setsid() if os.getpid() != os.getpgid(0) else None",
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_program_that_changes_its_surroundings(tmp_path: Path, name: str) -> None:
    if name in ("root", "user") and not IS_ROOT:
        name = "folder"  # only root can do these
    program = (
        f"import os, threading\n{CHANGES[name]}\n"
        "keep = bytearray(2_000_000)\n"
        "def work():\n"
        "    for i in range(30_000): bytearray(700)\n"
        "threads = [threading.Thread(target=work) for _ in range(12)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
        "os._exit(5)\n"
    )
    result = memtrace(["run", "-o", "out.bin", "-c", program], tmp_path)
    assert result.status == 5
    wrote = f"memtrace: wrote {tmp_path / 'out.bin'}\n"
    assert result.stderr == ("" if name.startswith("no ") else wrote)
    profile = load_profile(str(tmp_path / "out.bin"))
    assert list(profile.warnings) == []
    assert bytearray_bytes(2_000_000) in profile.samples.values["leaked_bytes"]
    blocks = sum(
        row.blocks
        for row in csv_rows(tmp_path / "out.bin", "--all")
        if row.stack and row.stack[0][0] == "work" and row.size == row.blocks * bytearray_bytes(700)
    )
    assert blocks == 12 * 30_000


# ---- programs in which nothing can be preloaded -------------------------------------------------


def compile_program(folder: Path, name: str, source: str, *options: str) -> Path:
    (folder / f"{name}.c").write_text(source)
    compiler = shutil.which("cc") or "gcc"
    command = [compiler, f"{name}.c", "-o", name, *options]
    subprocess.run(command, cwd=folder, check=True)
    return folder / name


def test_static_and_set_user_id_children_run_as_ever(tmp_path: Path) -> None:
    source = (
        "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
        "int main(int n, char **a) {\n"
        '    const char *preload = getenv("LD_PRELOAD");\n'
        '    printf("%d %p\\n", n, malloc(1000000) ? (void *)0 : (void *)1);\n'
        "    fflush(stdout);\n"
        "    if (n > 1) execvp(a[1], a + 1);\n"
        "    return 6;\n"
        "}\n"
    )
    static = compile_program(tmp_path, "static", source, "-static")
    setuid = compile_program(tmp_path, "setuid", source)
    setuid.chmod(0o4755)
    program = (
        "import subprocess, sys\n"
        "code = 'keep = bytearray(int(2_000_000)); print(len(keep))'\n"
        f"for name in ({str(static)!r}, {str(setuid)!r}):\n"
        "    for more in ([], [sys.executable, '-c', code]):\n"
        "        done = subprocess.run([name, *more], capture_output=True, text=True)\n"
        "        print(done.returncode, done.stdout.split(), done.stderr)\n"
    )
    plain = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert plain.stdout.startswith("6 ['1', '(nil)'] \n0 ['4', '(nil)', '2000000'] \n")
    for options in ([], ["--follow-children"]):
        words = ["run", "-q", "-f", *options, "-o", "out.bin", "-c", program]
        result = memtrace(words, tmp_path)
        assert (result.status, result.stdout, result.stderr) == (0, plain.stdout, "")
    # A static program passes on what its child needs.
    children = [name for name in os.listdir(tmp_path) if name.startswith("out.bin.")]
    assert len(children) >= 1
    for name in children:
        profile = load_profile(str(tmp_path / name))
        assert bytearray_bytes(2_000_000) in profile.samples.values["total_bytes"]


def test_a_python_that_takes_no_library_says_so(tmp_path: Path) -> None:
    """The loader takes no LD_PRELOAD where real and effective user differ."""
    if not IS_ROOT:
        return
    source = (
        "#include <unistd.h>\n"
        "int main(int n, char **a) { return setreuid(65534, 0) || execv(a[1], a + 1); }\n"
    )
    launcher = compile_program(tmp_path, "as-other", source)
    done = subprocess.run(
        [str(launcher), MEMTRACE, "run", "-o", "out.bin", "-c", "print(1)"],
        cwd="/tmp",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "set-uid" in done.stderr
    assert len(done.stderr.splitlines()) == 1
