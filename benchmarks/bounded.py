"""Bounded captures on a long run: what the file, the process and the reader take, and how far the
numbers are from those of a capture of every event.

BENCH_ALLOCATIONS says how many allocations the program makes: 50 million unless given, in a quick
run 2 million. A capture of all of them is some 300 MB.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.figures import Figure
from proftrace.model.load import load_profile
from proftrace.model.profile import Profile

GROUP = "bounded"
ALLOCATIONS = 50_000_000
QUICK_ALLOCATIONS = 2_000_000
MODES: Mapping[str, tuple[str, ...]] = {
    "every event": (),
    "--sample": ("--sample", "64 KiB"),
    "--aggregate": ("--aggregate",),
    "--ring": ("--ring", "16 MB"),
}
# Least and most bytes of the blocks of each place.
PLACES = ((16, 64), (64, 600), (600, 5_000), (16, 5_000))
PROGRAM = """\
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.churn.restype = ctypes.c_uint64
library.churn.argtypes = [ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32]
for place, (least, most) in enumerate({places}):
    scope = {{"churn": library.churn}}
    name = f"place_{{place}}"
    exec(f"def {{name}}(n, *how): return churn(n, *how)", scope)
    scope[name](int(sys.argv[2]), place + 1, least, most)
"""


def compile_library(folder: Path) -> Path:
    """Return the shared library that allocates."""
    library = folder / "bounded_program.so"
    source = Path(__file__).with_name("bounded_program.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    return library


def run(words: list[str]) -> tuple[float, int]:
    """Run a command; return its CPU time in s, and the largest it was in KiB."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{words}: status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def bytes_by_place(profile: Profile, metric: str) -> dict[str, int]:
    """Return a metric by the name of the place."""
    functions, frames, samples = profile.functions, profile.frames, profile.samples
    found: dict[str, int] = {}
    for stack, value in zip(samples.stack, samples.values[metric], strict=True):
        if stack:
            function = frames.function[profile.stacks.frame[stack]]
            name = profile.strings[functions.name[function]]
            if name.startswith("place_"):
                found[name] = found.get(name, 0) + value
    return found


def largest_error(profile: Profile, truth: Profile, metric: str) -> float:
    """Return how far the place that is off the most is from the truth, in percent."""
    here, there = bytes_by_place(profile, metric), bytes_by_place(truth, metric)
    return max(100 * abs(here.get(name, 0) - value) / value for name, value in there.items())


def figures(folder: Path, *, quick: bool) -> Iterator[Figure]:
    """Yield the figures of all modes; "every event" is what they are compared with."""
    given = int(os.environ.get("BENCH_ALLOCATIONS", "0"))
    allocations = given or (QUICK_ALLOCATIONS if quick else ALLOCATIONS)
    program = folder / "bounded.py"
    program.write_text(PROGRAM.format(places=PLACES))
    script = [str(program), str(compile_library(folder)), str(allocations // len(PLACES))]
    tools = Path(sys.executable).parent / "memtrace"
    plain_s, plain_kib = run([sys.executable, *script])
    title = f"{allocations / 1e6:g} million allocations"
    captures = {mode: folder / f"bounded{mode.replace(' ', '')}.bin" for mode in MODES}
    for mode, options in MODES.items():
        capture = captures[mode]
        cpu_s, peak_kib = run([str(tools), "run", "-q", *options, "-o", str(capture), *script])
        started = time.perf_counter()
        run([str(tools), "stats", str(capture)])
        reader_s = time.perf_counter() - started
        yield Figure(GROUP, f"{title}: file", mode, capture.stat().st_size, "bytes")
        added_ns = (cpu_s - plain_s) / allocations * 1e9
        yield Figure(
            GROUP, f"{title}: CPU time added, an allocation and its free", mode, added_ns, "ns"
        )
        added_mib = (peak_kib - plain_kib) / 1024
        yield Figure(GROUP, f"{title}: memory added to the process", mode, added_mib, "MiB")
        yield Figure(GROUP, f"{title}: file to statistics", mode, reader_s, "s")
    yield from errors(title, captures)


def errors(title: str, captures: Mapping[str, Path]) -> Iterator[Figure]:
    """Yield how far each capture is from that of every event.

    Comes after all runs: what this process has been as large as, the kernel counts as the largest
    that a child was.
    """
    truth = load_profile(str(captures["every event"]))
    for mode, capture in captures.items():
        profile = load_profile(str(capture))
        for metric, name in (
            ("total_bytes", "bytes in all"),
            ("peak_bytes", "bytes at the peak"),
            ("leaked_bytes", "bytes left"),
            ("total_blocks", "allocations"),
        ):
            error = largest_error(profile, truth, metric)
            yield Figure(GROUP, f"{title}: error of the worst place, {name}", mode, error, "%")
