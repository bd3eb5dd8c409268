"""Threads have the names that Python gave them, on every version."""

from __future__ import annotations

from pathlib import Path

from case_runs import csv_rows, memtrace, plain

NAMES = """
import ctypes, threading
from concurrent.futures import ThreadPoolExecutor

def work(n=0):
    return bytearray(300_000)

class Own(threading.Thread):
    @property
    def name(self):
        print("asked")
        return "wrong"
    @name.setter
    def name(self, name):
        self._name = name

threads = [
    threading.Thread(target=work, name="a name of more than fifteen characters"),
    threading.Thread(target=work, name="caf\\u00e9 " + "\\u20ac" * 30),
    threading.Thread(target=work),
    Own(target=work, name="own"),
]
for thread in threads:
    thread.start()
    thread.join()
with ThreadPoolExecutor(2, thread_name_prefix="pool") as pool:
    list(pool.map(work, range(4)))
    kernel = ctypes.CDLL(None)
    renamed = lambda: (kernel.prctl(15, b"of the kernel", 0, 0, 0), work())
    thread = threading.Thread(target=renamed, name="first")
    thread.start()
    thread.join()
print(len(threading.enumerate()))
"""


def test_names_are_those_that_python_gave(tmp_path: Path) -> None:
    result = memtrace(["run", "-q", "-o", "a.bin", "-c", NAMES], tmp_path)
    assert result == plain(["-c", NAMES], tmp_path)  # no code of the program is run for them
    rows = csv_rows(tmp_path / "a.bin", "--all")
    found = {row.thread for row in rows if row.stack and row.stack[0][0] == "work"}
    assert found >= {
        "a name of more than fifteen characters",
        "café " + "€" * 19,  # 63 bytes at most, whole characters
        "Thread-1 (work)",
        "own",
        "pool_0",
        "of the kernel",
    }
    assert {row.thread for row in rows} - found <= {"MainThread", "pool_1"}


def test_a_thread_that_cannot_start_is_no_thread(tmp_path: Path) -> None:
    program = (
        "import threading, resource\n"
        "threading.stack_size(1 << 46)\n"
        "try:\n"
        "    threading.Thread(target=print).start()\n"
        "except RuntimeError:\n"
        "    print('refused')\n"
        "threading.stack_size(0)\n"
        "threading.Thread(target=print, args=('ran',)).start()\n"
    )
    result = memtrace(["run", "-q", "-o", "a.bin", "-c", program], tmp_path)
    assert (result.status, result.stdout, result.stderr) == (0, "refused\nran\n", "")
