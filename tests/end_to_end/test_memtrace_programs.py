"""Programs of the kind that people run: servers, embedded interpreters, event loops, arrays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from case_runs import bytearray_bytes, csv_rows, memtrace, plain
from proftrace.model.load import load_profile


def assert_as_plain(program: str, folder: Path, *words: str) -> Path:
    """Assert that a program runs as ever and leaves a whole capture; return the capture."""
    (folder / "program.py").write_text(program)
    before = plain(["program.py"], folder)
    assert before.status == 0, before.stderr
    result = memtrace(["run", "-q", *words, "-o", "out.bin", "program.py"], folder)
    assert (result.status, result.stdout, result.stderr) == (0, before.stdout, before.stderr)
    assert list(load_profile(str(folder / "out.bin")).warnings) == []
    return folder / "out.bin"


def blocks_of(capture: Path, function: str, size: int) -> int:
    """Return how many blocks of a size a function made, directly."""
    return sum(
        row.blocks
        for row in csv_rows(capture, "--all")
        if row.stack and row.stack[0][0] == function and row.size == row.blocks * size
    )


SERVER = """
import http.server, threading, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = make(int(self.path[1:]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments): pass
def make(n): return bytearray(50_000)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
thread = threading.Thread(target=server.serve_forever)
thread.start()
url = f"http://127.0.0.1:{server.server_port}/"
sizes = []
def fetch(k):
    for i in range(25):
        sizes.append(len(urllib.request.urlopen(f"{url}{k * 100 + i}").read()))
clients = [threading.Thread(target=fetch, args=(k,)) for k in range(8)]
[client.start() for client in clients]
[client.join() for client in clients]
server.shutdown()
thread.join()
print(len(sizes), set(sizes))
"""


def test_an_http_server_with_a_thread_for_each_request(tmp_path: Path) -> None:
    capture = assert_as_plain(SERVER, tmp_path)
    assert blocks_of(capture, "make", bytearray_bytes(50_000)) == 200


EVENT_LOOP = """
import asyncio, concurrent.futures, sys
async def child(n):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", f"keep = bytearray({n}); print(len(keep))",
        stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    return int(out)
async def inner(n):
    await asyncio.sleep(0)
    return bytearray(30_000)
def blocking(n): return bytearray(40_000)
async def main():
    loop = asyncio.get_running_loop()
    kept = await asyncio.gather(*(inner(n) for n in range(100)))
    more = await asyncio.gather(*(loop.run_in_executor(None, blocking, n) for n in range(50)))
    sizes = await asyncio.gather(*(child(2_000_000 + n) for n in range(3)))
    print(len(kept), len(more), sizes)
asyncio.run(main())
"""


def test_an_event_loop_with_executors_and_subprocesses(tmp_path: Path) -> None:
    capture = assert_as_plain(EVENT_LOOP, tmp_path, "--follow-children")
    assert blocks_of(capture, "inner", bytearray_bytes(30_000)) == 100
    assert blocks_of(capture, "blocking", bytearray_bytes(40_000)) == 50
    found = []
    for name in os.listdir(tmp_path):
        if name.startswith("out.bin.") and not name.endswith(".ring"):
            rows = csv_rows(tmp_path / name, "--all")
            found += [row.size for row in rows if row.size >= 2_000_000 and row.size % 1_048_576]
    assert sorted(found) == [bytearray_bytes(2_000_000 + n) for n in range(3)]


ARRAYS = """
import numpy, threading
def make(n): return numpy.ones(n)
def work():
    for i in range(20):
        a = make(100_000); b = a @ a
kept = [make(1_000_000) for _ in range(3)]
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(float(numpy.linalg.norm(kept[0])), numpy.__version__)
"""


def test_arrays_in_threads(tmp_path: Path) -> None:
    capture = assert_as_plain(ARRAYS, tmp_path)
    rows = csv_rows(capture, "--all")
    made = [row for row in rows if any(name == "make" for name, _, _ in row.stack)]
    # numpy's own functions in between make a few objects of their own.
    assert 88_000_000 <= sum(row.size for row in made) <= 88_100_000
    leaks = [row for row in csv_rows(capture, "--leaks") if "'make'" in str(row.stack)]
    assert 24_000_000 <= sum(row.size for row in leaks) <= 24_100_000


GREENLETS = """
import greenlet, os, threading
def leaf_a(): return bytearray(60_000)
def leaf_b(): return bytearray(70_000)
def run(name, other):
    for i in range(50):
        kept.append(leaf_a() if name == "a" else leaf_b())
        others[other].switch()
kept, others = [], {}
def both():
    a = greenlet.greenlet(lambda: run("a", "b"))
    b = greenlet.greenlet(lambda: run("b", "a"))
    others["a"], others["b"] = a, b
    a.switch()
both()
pid = os.fork()
if pid == 0:
    os._exit(0 if len(kept) >= 99 else 1)
print(len(kept) >= 99, os.waitpid(pid, 0)[1])
"""


def test_greenlets_that_fork(tmp_path: Path) -> None:
    capture = assert_as_plain(GREENLETS, tmp_path, "--follow-fork")
    assert blocks_of(capture, "leaf_a", bytearray_bytes(60_000)) == 50
    assert blocks_of(capture, "leaf_b", bytearray_bytes(70_000)) >= 49


EMBEDDING = r"""
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
/* As application servers do it: the interpreter first, then workers by fork. */
int main(void) {
    Py_Initialize();
    PyRun_SimpleString("keep = bytearray(2_000_000)\n"
                       "def handle(n): return bytearray(1_500_000 + n)\n");
    for (int i = 0; i < 3; i++) {
        int status;
        pid_t pid;
        PyOS_BeforeFork();
        pid = fork();
        if (pid == 0) {
            char code[100];
            PyOS_AfterFork_Child();
            snprintf(code, sizeof code, "kept = [handle(%d * 10 + k) for k in range(5)]", i);
            PyRun_SimpleString(code);
            if (i == 0) exit(Py_FinalizeEx() + 4);
            if (i == 1) _exit(5);
            kill(getpid(), SIGTERM);
            pause();
        }
        PyOS_AfterFork_Parent();
        waitpid(pid, &status, 0);
        printf("%d %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 0, WTERMSIG(status));
    }
    return Py_FinalizeEx() < 0 ? 1 : 0;
}
"""


def build_embedding(folder: Path) -> list[str]:
    """Build a program with an interpreter in it; return its command line."""
    (folder / "server.c").write_text(EMBEDDING)
    variables = sysconfig.get_config_vars()
    version = variables["LDVERSION"]
    library = Path(variables["LIBDIR"])
    command = [shutil.which("cc") or "gcc", "server.c", "-o", "server"]
    command += [
        f"-I{sysconfig.get_paths()['include']}",
        f"-I{sysconfig.get_paths()['platinclude']}",
    ]
    command += [f"-L{library}", f"-L{variables['LIBPL']}", f"-lpython{version}"]
    command += [f"-Wl,-rpath,{library}", "-Wl,--export-dynamic"]
    command += [*variables["LIBS"].split(), *variables["SYSLIBS"].split(), "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return [str(folder / "server")]


def test_an_embedded_interpreter_that_forks_workers(tmp_path: Path) -> None:
    server = build_embedding(tmp_path)
    program = (
        "import os, subprocess, sys\n"
        f"environment = {{**os.environ, 'PYTHONHOME': {sys.base_prefix!r}}}\n"
        f"done = subprocess.run({server!r}, env=environment, capture_output=True, text=True)\n"
        "print(done.returncode, done.stdout.split(), done.stderr)\n"
    )
    assert_as_plain(program, tmp_path, "--follow-children")
    assert memtrace(["run", "-q", "-f", "-o", "x.bin", "program.py"], tmp_path).stdout == (
        "0 ['4', '0', '5', '0', '0', '15'] \n"
    )
    found: dict[int, int] = {}
    for name in os.listdir(tmp_path):
        if name.startswith("out.bin."):
            profile = load_profile(str(tmp_path / name))
            assert list(profile.warnings) == []
            assert json.loads(profile.meta["argv"]) == []
            rows = csv_rows(tmp_path / name, "--all")
            big = [row for row in rows if row.size >= 1_500_000 and row.size % 1_048_576]
            found[sum(row.size for row in big)] = sum(row.blocks for row in big)
    workers = [sum(bytearray_bytes(1_500_000 + i * 10 + k) for k in range(5)) for i in range(3)]
    assert found == {bytearray_bytes(2_000_000): 1, **dict.fromkeys(workers, 5)}


def test_temporary_allocations_are_those_freed_at_once(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    source = tmp_path / "calls.c"
    source.write_text(
        "#include <stdlib.h>\n"
        "void *volatile first, *volatile other;\n"
        "void at_once(void) { first = malloc(3000); free(first); }\n"
        "void after_one_more(void) { first = malloc(4000); other = malloc(5000); free(first); }\n"
        "void after_two_more(void)\n"
        "{ first = malloc(6000); other = malloc(7000); other = malloc(8000); free(first); }\n"
    )
    library = tmp_path / "calls.so"
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
    script.write_text(
        "import ctypes\n"
        f"c = ctypes.CDLL({str(library)!r})\n"
        "def at_once():\n"
        "    for _ in range(100): c.at_once()\n"
        "def after_one_more():\n"
        "    for _ in range(10): c.after_one_more()\n"
        "def after_two_more():\n"
        "    for _ in range(10): c.after_two_more()\n"
        "at_once()\nafter_one_more()\nafter_two_more()\n"
    )
    done = memtrace(["run", "-q", "-o", "out.bin", str(script)], tmp_path)
    assert done.status == 0
    rows = csv_rows(tmp_path / "out.bin", "--temporary-allocations")
    found = {
        row.stack[0][0]: (row.blocks, row.size)
        for row in rows
        if row.stack and row.stack[0][1] == str(script) and row.allocator == "MALLOC"
    }
    assert found == {"at_once": (100, 300_000), "after_one_more": (10, 40_000)}
