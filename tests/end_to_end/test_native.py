"""Native stacks: recorded by `memtrace run --native`, named by reports and `memtrace symbolize`."""

from __future__ import annotations

import http.server
import os
import re
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from case_runs import CASES, COMMANDS, at_line, csv_rows, line_of, memtrace, run
from native_programs import build, frames_of, marked, record_native, stack_of
from proftrace.model.load import load_profile

FRAME_POINTERS = {
    "frame pointers": ("-O2", "-g", "-fno-omit-frame-pointer"),
    "none": ("-O2", "-g", "-fomit-frame-pointer"),
    "aligned stack": ("-O2", "-g", "-mstackrealign", "-mpreferred-stack-boundary=5"),
}
SIZE = 5_000_005
CALL_OUTER = f"""
import ctypes
lib = ctypes.CDLL("./libchain.so")
lib.outer.restype = ctypes.c_void_p
lib.outer.argtypes = [ctypes.c_size_t]
lib.outer({SIZE - 2})
"""


def own_frames(capture: Path, size: int) -> list[tuple[str, str]]:
    """Return the frames that are not those of ctypes and libffi."""
    files = ("app.py:", "chain.c:", "names.cpp:", "places.c:", "libchain.so:")
    return [frame for frame in frames_of(capture, size) if frame[1].startswith(files)]


def stripped_symbols(library: Path) -> None:
    subprocess.run(["strip", "--strip-unneeded", str(library)], check=True)


def build_id_of(library: Path) -> str:
    text = subprocess.run(
        ["readelf", "-n", str(library)], check=True, capture_output=True, text=True
    ).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", text)
    assert found
    return found[1]


@pytest.mark.parametrize("flags", FRAME_POINTERS.values(), ids=FRAME_POINTERS)
def test_python_frames_stand_where_c_called_them(tmp_path: Path, flags: tuple[str, ...]) -> None:
    build("chain.c", tmp_path / "libchain.so", *flags)
    script = f"""
import ctypes
lib = ctypes.CDLL("./libchain.so")
lib.outer.restype = ctypes.c_void_p
lib.outer.argtypes = [ctypes.c_size_t]
kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
def nested(value):
    lib.outer({SIZE - 2})
    return value
def callback(value):
    return nested(value)
def program():
    assert lib.call_back(kind(callback), 1) == 2
program()
"""
    capture = record_native(script, tmp_path)
    assert own_frames(capture, SIZE) == [
        ("inner", marked("chain.c", "INNER")),
        ("middle", marked("chain.c", "MIDDLE")),
        ("outer", marked("chain.c", "OUTER")),
        ("nested", "app.py:8"),
        ("callback", "app.py:11"),
        ("call_back", marked("chain.c", "CALLBACK")),
        ("program", "app.py:13"),
        ("<module>", "app.py:14"),
    ]
    assert [name for name, _ in frames_of(capture, SIZE, "--no-native")] == [
        *("nested", "callback", "program", "<module>")
    ]


def test_no_frame_is_of_the_tracer_or_of_the_machinery(tmp_path: Path) -> None:
    capture = record_native(
        "import json\nkept = sorted(map(str, range(20000)), key=json.dumps)\n", tmp_path
    )
    frames = {frame for row in csv_rows(capture, "--all") for frame in row.stack}
    assert not [frame for frame in frames if "proftrace" in frame[1]]
    names = {name for name, _, _ in frames}
    assert "list_sort_impl" in names or any(name.startswith("PyUnicode_") for name in names)
    hidden = ("_PyEval_EvalFrameDefault", "PyObject_Vectorcall", "_PyMem_RawMalloc", "Py_BytesMain")
    assert not names & set(hidden)


def test_every_python_frame_is_there_once(tmp_path: Path) -> None:
    """Destructors, generators and callbacks run the interpreter's loop at odd moments."""
    script = """
import sys
def make(size):
    kept = bytearray(size)
    frame, names = sys._getframe(), []
    while frame:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    print(len(kept), *names)
class Dies:
    def __del__(self):
        make(2000002)
def holds():
    local = Dies()
def generates():
    yield make(3000003)
def compares(one):
    make(4000004)
    return one
class Made:
    def __init__(self):
        make(5000005)
def program():
    holds()
    next(generates())
    sorted([0], key=compares)
    Made()
    exec("make(6000006)")
    [make(size) for size in (7000007,)]
program()
"""
    (tmp_path / "app.py").write_text(script)
    words = ["run", "--native", "-q", "-o", "out.bin", "app.py"]
    done = memtrace(words, tmp_path)
    assert (done.status, done.stderr) == (0, "")
    wanted = {int(size): names for size, *names in map(str.split, done.stdout.splitlines())}
    assert len(wanted) == 6
    found = {}
    for row in csv_rows(tmp_path / "out.bin", "--all"):
        for size in wanted:
            if size <= row.size <= size + 100:
                found[size] = [name for name, file, _ in row.stack if file.endswith((".py", ">"))]
    assert found == wanted


def test_names_come_from_symbols_without_debug_information(tmp_path: Path) -> None:
    build("chain.c", tmp_path / "libchain.so", "-O2")
    capture = record_native(CALL_OUTER, tmp_path)
    names = ["inner", "outer", "<module>"]
    assert [name for name, _ in own_frames(capture, SIZE)] == names


def test_an_address_without_name_is_an_offset(tmp_path: Path) -> None:
    build("chain.c", tmp_path / "libchain.so", "-O2")
    stripped_symbols(tmp_path / "libchain.so")
    frames = own_frames(record_native(CALL_OUTER, tmp_path), SIZE)
    assert re.fullmatch(r"libchain\.so\+0x[0-9a-f]+", frames[0][0])
    assert frames[1:] == [("outer", "libchain.so:0"), ("<module>", "app.py:6")]


FULL = [
    ("inner", marked("chain.c", "INNER")),
    ("middle", marked("chain.c", "MIDDLE")),
    ("outer", marked("chain.c", "OUTER")),
    ("<module>", "app.py:6"),
]


def split_debug_file(library: Path) -> Path:
    """Move the debug information into a file of its own; the library names it no more."""
    debug = library.with_suffix(".debug")
    subprocess.run(["objcopy", "--only-keep-debug", str(library), str(debug)], check=True)
    stripped_symbols(library)
    return debug


def test_a_separate_debug_file_is_found_by_its_link(tmp_path: Path) -> None:
    build("chain.c", tmp_path / "libchain.so", "-O2", "-g", "-Wl,--build-id=none")
    debug = split_debug_file(tmp_path / "libchain.so")
    subprocess.run(
        ["objcopy", f"--add-gnu-debuglink={debug.name}", "libchain.so"], check=True, cwd=tmp_path
    )
    assert own_frames(record_native(CALL_OUTER, tmp_path), SIZE) == FULL


@pytest.mark.parametrize("version", [4, 5])
def test_functions_that_are_described_apart_from_the_object(tmp_path: Path, version: int) -> None:
    split = ("-g", "-gsplit-dwarf", f"-gdwarf-{version}")
    build("chain.c", tmp_path / "libchain.so", "-O2", *split)
    assert own_frames(record_native(CALL_OUTER, tmp_path), SIZE) == FULL


def test_descriptions_that_are_gone_cost_no_more_than_what_is_inlined(tmp_path: Path) -> None:
    """Names come from symbols then, and the lines are in the object all the same."""
    build("chain.c", tmp_path / "libchain.so", "-O2", "-g", "-gsplit-dwarf")
    for file in tmp_path.glob("*.dwo"):
        file.unlink()
    frames = own_frames(record_native(CALL_OUTER, tmp_path), SIZE)
    assert frames == [FULL[0], ("outer", marked("chain.c", "MIDDLE")), *FULL[3:]]


def test_functions_that_are_written_within_a_namespace_are_found(tmp_path: Path) -> None:
    """As LLVM does it, for Rust and for C++; GCC writes them beside their namespace."""
    build("spaces.c", tmp_path / "libchain.so", "-O2", "-fno-toplevel-reorder")
    frames = own_frames(record_native(CALL_OUTER, tmp_path), SIZE)
    assert [name for name, _ in frames] == ["within", "function_in_space", "<module>"]


@contextmanager
def debuginfod(files: dict[str, bytes]) -> Iterator[str]:
    """Serve files by path, as a debuginfod server does."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = files.get(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("library_is_there", [True, False])
def test_debug_information_comes_from_debuginfod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library_is_there: bool
) -> None:
    library = tmp_path / "libchain.so"
    build("chain.c", library, "-O2", "-g", "-Wl,--build-id=sha1")
    debug = split_debug_file(library)
    path = f"/buildid/{build_id_of(library)}/debuginfo"
    capture = record_native(CALL_OUTER, tmp_path)
    files = {path: debug.read_bytes()}
    debug.unlink()
    if not library_is_there:
        library.unlink()
    with debuginfod(files) as url:
        monkeypatch.setenv("DEBUGINFOD_URLS", url)
        monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache"))
        assert own_frames(capture, SIZE) == FULL


def test_stored_names_outlive_the_library(tmp_path: Path) -> None:
    build("chain.c", tmp_path / "libchain.so", "-O2", "-g")
    capture = record_native(CALL_OUTER, tmp_path)
    before = csv_rows(capture, "--all")
    done = memtrace(["symbolize", str(capture)], tmp_path)
    assert (done.status, done.stderr) == (0, "")
    assert re.fullmatch(r"Stored [\d,]+ of [\d,]+ names in .*out\.bin\n", done.stdout)
    (tmp_path / "libchain.so").rename(tmp_path / "elsewhere.so")
    assert csv_rows(capture, "--all") == before
    report = memtrace(["summary", "--all", str(capture)], tmp_path)
    assert report.stderr == ""
    assert marked("chain.c", "INNER") in report.stdout


def test_a_library_that_is_gone_is_said(tmp_path: Path) -> None:
    build("chain.c", tmp_path / "libchain.so", "-O2", "-g")
    capture = record_native(CALL_OUTER, tmp_path)
    (tmp_path / "libchain.so").unlink()
    report = memtrace(["summary", "--all", str(capture)], tmp_path)
    assert "libchain.so have no names: it is not here" in report.stderr
    assert re.search(r"libchain\.so libchain\.so\+0x[0-9a-f]+", report.stdout)


def test_a_library_that_was_replaced_gives_no_names(tmp_path: Path) -> None:
    build("chain.c", tmp_path / "libchain.so", "-O2", "-g", "-Wl,--build-id=sha1")
    capture = record_native(CALL_OUTER, tmp_path)
    build("chain.c", tmp_path / "libchain.so", "-O1", "-g", "-Dinner=wrong", "-Wl,--build-id=sha1")
    done = memtrace(["symbolize", str(capture)], tmp_path)
    assert "libchain.so have no names: it is another file than the one that was loaded" in (
        done.stderr
    )
    (row,) = stack_of(capture, SIZE)
    assert not {name for name, _, _ in row.stack} & {"wrong", "inner", "outer"}


def test_another_library_at_the_same_address_has_its_own_names(tmp_path: Path) -> None:
    build("chain.c", tmp_path / "libchain.so", "-O2", "-g", "-Dinner=first")
    build("chain.c", tmp_path / "libother.so", "-O2", "-g", "-Dinner=second")
    # Now and then something else takes the place that has become free.
    script = """
import _ctypes, ctypes
def load(name, size):
    lib = ctypes.CDLL(name)
    lib.outer.restype = ctypes.c_void_p
    lib.outer.argtypes = [ctypes.c_size_t]
    lib.outer(size)
    address = ctypes.cast(lib.outer, ctypes.c_void_p).value
    _ctypes.dlclose(lib._handle)
    return address
first = {load("./libchain.so", 60000 + k) for k in range(0, 100, 10) for _ in range(2)}
others = [load("./libother.so", 70000 + k) for k in range(0, 100, 10)]
assert first & set(others)
again = [load("./libchain.so", 80000 + k) for k in range(0, 100, 10)]
assert set(again) & set(others)
"""
    capture = record_native(script, tmp_path)
    tops: dict[int, set[str]] = {}
    for row in csv_rows(capture, "--all"):
        if [name for name, _, _ in row.stack[1:2]] == ["middle"]:
            tops.setdefault(row.size // row.blocks // 10_000, set()).add(row.stack[0][0])
    assert tops == {6: {"first"}, 7: {"second"}, 8: {"first"}}


def test_a_library_may_come_before_the_end_of_the_old_one_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["-Dinner=second", "-Douter=again"]
    build("chain.c", tmp_path / "libchain.so", "-O2", "-g")
    build("chain.c", tmp_path / "libother.so", "-O2", "-g", "-fno-omit-frame-pointer", *names)
    build("reloads.c", tmp_path / "libreloads.so", "-O2", "-ldl")
    monkeypatch.setenv("LD_PRELOAD", str(tmp_path / "libreloads.so"))
    script = f"""
import _ctypes, ctypes
lib = ctypes.CDLL("./libchain.so")
lib.outer.argtypes = [ctypes.c_size_t]
lib.outer({SIZE - 2})
where = ctypes.cast(lib.outer, ctypes.c_void_p).value >> 12
ctypes.CDLL(None).reload_at_close(b"./libother.so", b"again", ctypes.c_size_t({SIZE + 8}))
_ctypes.dlclose(lib._handle)
other = ctypes.CDLL("./libother.so").again
assert ctypes.cast(other, ctypes.c_void_p).value >> 12 == where
"""
    capture = record_native(script, tmp_path)
    assert [name for name, _ in frames_of(capture, SIZE)][:3] == ["inner", "middle", "outer"]
    frames = frames_of(capture, SIZE + 10)
    assert [name for name, _ in frames][:4] == ["second", "middle", "again", "dlclose"]
    assert frames[-1] == ("<module>", "app.py:8")


def test_names_of_cpp_are_shown_as_in_the_source(tmp_path: Path) -> None:
    build("names.cpp", tmp_path / "libchain.so", "-O2", "-g")
    script = CALL_OUTER.replace("lib.outer", "lib.fill_basket")
    frames = own_frames(record_native(script, tmp_path), SIZE - 2)
    assert frames[:2] == [
        ("shop::Basket::fill(unsigned long)", marked("names.cpp", "FILL")),
        ("fill_basket", "names.cpp:" + frames[1][1].partition(":")[2]),
    ]


def test_a_signal_handler_stands_on_what_it_interrupted(tmp_path: Path) -> None:
    build("places.c", tmp_path / "libplaces.so", "-O2", "-g")
    script = 'import ctypes\nctypes.CDLL("./libplaces.so").in_handler()\n'
    frames = frames_of(record_native(script, tmp_path), 3_000_003)
    names = [name for name, _ in frames]
    assert frames[0] == ("handler", marked("places.c", "HANDLER"))
    assert names[1] == "<signal handler>"
    below = names.index("interrupted")
    assert frames[below] == ("interrupted", marked("places.c", "RAISE"))
    assert names[below + 1] == "in_handler"
    assert frames[-1] == ("<module>", "app.py:2")


def test_a_thread_without_python_has_its_native_stack(tmp_path: Path) -> None:
    build("places.c", tmp_path / "libplaces.so", "-O2", "-g")
    script = 'import ctypes\nctypes.CDLL("./libplaces.so").in_thread()\n'
    frames = frames_of(record_native(script, tmp_path), 4_000_004)
    assert frames == [("work", marked("places.c", "THREAD"))]


def test_mt09_the_function_of_the_extension_is_innermost(tmp_path: Path) -> None:
    script = CASES / "MT-09" / "main.py"
    capture = tmp_path / "out.bin"
    words = ["run", "-q", "-o", str(capture)]
    done = memtrace([*words, str(script)], tmp_path)
    assert (done.status, done.stdout) == (0, "done 10 3\n")
    leaks = csv_rows(capture, "--leaks")
    assert at_line(leaks, script, "LOSE") == (10, 123_450)
    assert at_line(leaks, script, "MAKE") == (3, 150_162)
    done = memtrace([*words, "-f", "--native", str(script)], tmp_path)
    assert (done.status, done.stdout) == (0, "done 10 3\n")
    rows = [row for row in csv_rows(capture, "--leaks") if row.size == 123_450]
    assert [(row.blocks, row.stack[0][0]) for row in rows] == [(10, "lose")]
    callers = [(Path(file).name, line) for _, file, line in rows[0].stack]
    assert callers[1] == ("main.py", line_of(script, "LOSE"))


@pytest.mark.parametrize("options", [[], ["--native"]])
def test_mt18_libraries_that_come_and_go(tmp_path: Path, options: list[str]) -> None:
    script = CASES / "MT-18" / "main.py"
    capture = tmp_path / "out.bin"
    done = memtrace(["run", "-q", "-o", str(capture), *options, str(script)], tmp_path)
    wanted = ["init 0", "text b'owned by the plugin'", "deepbind 0", "closed"]
    assert (done.status, done.stdout.splitlines()) == (0, wanted), done.stderr
    number = line_of(script, "MAKE")

    def made(*which: str) -> int:
        return sum(
            row.size
            for row in csv_rows(capture, *which)
            if row.size >= 5_000_011 and ("main.py", number) in places(row.stack)
        )

    def places(stack: tuple[tuple[str, str, int], ...]) -> set[tuple[str, int]]:
        return {(Path(file).name, line) for _, file, line in stack}

    # What ctypes takes for itself at the line has the same Python stack.
    assert 0 <= made("--all") - 15_000_033 < 4096
    assert 0 <= made("--leaks") - 5_000_011 < 4096


def test_symbolize_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("kept = bytearray(1000000)\n")
    memtrace(["run", "-q", "-o", "plain.bin", "app.py"], tmp_path)
    before = (tmp_path / "plain.bin").read_bytes()
    for name, text in [
        ("plain.bin", "plain.bin: no native stacks (memtrace run --native)"),
        ("missing.bin", "missing.bin: cannot be read: no such file"),
    ]:
        done = memtrace(["symbolize", name], tmp_path)
        assert (done.status, done.stderr) == (1, f"memtrace: {text}\n")
    assert (tmp_path / "plain.bin").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["app.py", "plain.bin"]


def test_a_killed_process_keeps_its_native_stacks(tmp_path: Path) -> None:
    build("chain.c", tmp_path / "libchain.so", "-O2", "-g")
    (tmp_path / "app.py").write_text(CALL_OUTER + "import os\nos.kill(os.getpid(), 9)\n")
    capture = tmp_path / "out.bin"
    done = memtrace(["run", "--native", "-q", "-o", str(capture), "app.py"], tmp_path)
    assert done.status == -9
    assert own_frames(capture, SIZE) == FULL
    # The names go into it, and the ring still fits.
    assert memtrace(["symbolize", str(capture)], tmp_path).status == 0
    shutil.move(tmp_path / "libchain.so", tmp_path / "elsewhere.so")
    assert own_frames(capture, SIZE) == FULL


def test_followed_children_have_native_stacks_of_their_own(tmp_path: Path) -> None:
    build("chain.c", tmp_path / "libchain.so", "-O2", "-g")
    script = "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nelse:\n"
    script += "".join(f"    {line}\n" for line in CALL_OUTER.strip().splitlines())
    record_native(script, tmp_path, "--follow-fork")
    (child,) = (path for path in tmp_path.glob("out.bin.*") if not path.name.endswith(".ring"))
    assert [name for name, _ in own_frames(child, SIZE)] == ["inner", "middle", "outer", "<module>"]


def test_the_page_tells_native_code_from_python(tmp_path: Path) -> None:
    build("chain.c", tmp_path / "libchain.so", "-O2", "-g")
    capture = record_native(CALL_OUTER, tmp_path)
    words = [str(COMMANDS / "memtrace"), "flamegraph", "-o", "page.html", str(capture)]
    assert run(words, tmp_path).status == 0
    assert "native code" in (tmp_path / "page.html").read_text()


def python_frames(capture: Path, *, native: bool) -> Counter[tuple[tuple[str, int], ...]]:
    """Return the number of allocations by the Python frames of their stacks."""
    profile = load_profile(str(capture), native=native)
    strings, functions, frames = profile.strings, profile.functions, profile.frames
    names: list[tuple[tuple[str, int], ...]] = [()]
    for row in range(1, len(profile.stacks)):
        frame = profile.stacks.frame[row]
        function = frames.function[frame]
        own = (strings[functions.qualname[function]], frames.line[frame])
        below = names[profile.stacks.parent[row]]
        names.append(below if functions.native[function] else (*below, own))
    counts: Counter[tuple[tuple[str, int], ...]] = Counter()
    blocks = profile.samples.values["total_blocks"]
    for stack, count in zip(profile.samples.stack, blocks, strict=True):
        counts[names[stack]] += count
    return counts


@pytest.mark.parametrize("options", [(), ("--trace-python-allocators",)])
def test_native_frames_take_no_python_frame_away(tmp_path: Path, options: tuple[str, ...]) -> None:
    script = (CASES.parent / "programs" / "odd_moments.py").read_text()
    (tmp_path / "app.py").write_text(script)
    done = memtrace(["run", "--native", "-q", *options, "-o", "out.bin", "app.py"], tmp_path)
    assert (done.status, done.stdout, done.stderr) == (0, "wrong: []\n", "")
    capture = tmp_path / "out.bin"
    assert python_frames(capture, native=True) == python_frames(capture, native=False)


def test_libraries_that_come_and_go_among_threads_disturb_nobody(tmp_path: Path) -> None:
    for number in range(4):  # of different code, so that what is known of one is wrong for another
        flags = ("-fno-omit-frame-pointer", f"-falign-functions={16 << 2 * number}")
        names = (f"-Dinner=inner{number}", f"-Douter=outer{number}")
        build("chain.c", tmp_path / f"lib{number}.so", "-O2", "-g", *flags[number % 2 :], *names)
    script = """
import _ctypes, ctypes, threading
free = ctypes.CDLL(None).free
free.argtypes = [ctypes.c_void_p]
def load(k):
    for n in range(100):
        number = (n + k) % 4
        lib = ctypes.CDLL(f"./lib{number}.so")
        outer = getattr(lib, f"outer{number}")
        outer.restype = ctypes.c_void_p
        outer.argtypes = [ctypes.c_size_t]
        free(outer(5000 + number))
        _ctypes.dlclose(lib._handle)
def work(k):
    for n in range(2000):
        sorted([bytearray(600 + j) for j in range(5)], key=len)
threads = [threading.Thread(target=target, args=(k,)) for k in range(3) for target in (load, work)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    capture = record_native(script, tmp_path)
    stacks: Counter[tuple[str, ...]] = Counter()
    for row in csv_rows(capture, "--all"):
        size = row.size // row.blocks
        if 5002 <= size <= 5005 and row.size == size * row.blocks:
            stacks[str(size - 5002), *(name for name, _, _ in row.stack[:3])] += row.blocks
    wanted = {(str(k), f"inner{k}", "middle", f"outer{k}"): 75 for k in range(4)}
    assert stacks == wanted
