"""`lprof check`: prove on the user's machine what the numbers of this installation are worth."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from proftrace._version import __version__
from proftrace.cli.options import Parser
from proftrace.errors import ProftraceError
from proftrace.model.load import load_profile
from proftrace.model.profile import EXCLUSIVE, Profile

DESCRIPTION = """\
Check what this installation can promise on this machine: that hits derived from block counters are
those of every single instruction, over modules of the standard library, and how true times are,
with the clock and with samples, over programs whose costs are known. Takes about two minutes.
"""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was measured. `limit` is the most that it should be: what is above is said,
    but only `must` fails the check."""

    key: str
    title: str
    value: float
    unit: str
    limit: float
    must: bool = False

    @property
    def is_met(self) -> bool:
        return self.value <= self.limit


# Key of accuracy.figures: what it is, its unit, and what lprof's design promises of it.
_ACCURACY = {
    "A1": ("two equal loops, one through a helper: error of the worst split", "points", 3.0),
    "A2": ("an unprofiled function while another one is profiled", "x", 1.05),
    "A3": ("lines of known cost: mean error of a line", "%", 5.0),
    "A4": ("one line's work scaled: change of the other lines' ratio", "%", 10.0),
    "A5": ("sleep, C without the GIL, Python: time at the wrong one", "%", 5.0),
}
_QUICK = 8  # how much less is done for a look


@dataclass(frozen=True, slots=True)
class Regime:
    """A way in which `lprof` times code, and what its check takes.

    `rounds` of the programs of known cost: the clock sees every one, samples have to be enough,
    and need the same code to run often. `share_limit`, in %: what is left of a probe's cost bends
    the shares of the cheapest lines.
    """

    name: str
    shown: str
    options: Sequence[str]
    rounds: int
    one_code: bool
    share_limit: float


CLOCK = Regime("clock", "--clock", ["--clock"], rounds=60, one_code=False, share_limit=8.0)
SAMPLES = Regime("samples", "default", [], rounds=8000, one_code=True, share_limit=3.0)
_REGIMES = CLOCK, SAMPLES


def check(words: list[str]) -> int:
    """Run `lprof check` with its arguments; return 0, or 1 when a promise is broken."""
    parser = Parser("lprof check", usage="lprof check [options]", description=DESCRIPTION)
    parser.add_argument(
        "--quick", action="store_true", help="a look, with fewer rounds and samples"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    options = parser.parse_args(words)
    found: list[Check] = []
    with tempfile.TemporaryDirectory(prefix="lprof-check-") as folder:
        facts = _facts()
        if not options.json:
            print(f"lprof {__version__} check: {', '.join(facts.values())}", flush=True)
        for one in _checks(Path(folder), facts, options.quick):
            found.append(one)
            if not options.json:
                print(_line(one), flush=True)
    broken = [one for one in found if one.must and not one.is_met]
    if options.json:
        print(json.dumps({"schema_version": 1, "facts": facts, "checks": list(map(_row, found))}))
    else:
        print(_verdict(found, facts))
    return 1 if broken else 0


def _facts() -> dict[str, str]:
    return {
        "python": f"CPython {platform.python_version()}",
        "machine": f"{platform.system()} {platform.machine()}",
        "processors": f"{os.cpu_count()} processors",
    }


def _checks(folder: Path, facts: dict[str, str], quick: bool) -> Iterator[Check]:
    """Yield everything that is measured, as it comes; add to the facts what is learned."""
    yield from _exactness(facts)
    for regime in _REGIMES:
        for one in known_costs(folder, regime, _QUICK if quick else 1):
            yield replace(
                one, key=f"{one.key} {regime.name}", title=f"{one.title} ({regime.shown})"
            )
    yield from _shares(folder, facts, quick)


def _exactness(facts: dict[str, str]) -> Iterator[Check]:
    """Compare derived counts of instructions with true ones."""
    found = json.loads(_output([sys.executable, "-m", "proftrace.lines.exactness"], may_fail=True))
    facts["exactness"] = (
        f"{found['codes']:,} code objects, {found['executions']:,} executions, "
        f"{found['raises']:,} exceptions"
    )
    title = f"hits: derived counts that differ, over {facts['exactness']}"
    yield Check("exactness", title, len(found["differences"]), "", 0, must=True)


def known_costs(folder: Path, regime: Regime, less: int = 1) -> Iterator[Check]:
    """Run the programs of known cost; `less` divides the rounds."""
    from proftrace.lines.accuracy import Measured, Truth, figures

    file = folder / f"{regime.name}.lprof"
    command = ["-m", "proftrace.lines.accuracy", "--rounds", str(regime.rounds // less)]
    if regime.one_code:
        command.append("--one-code")
    truth = Truth.from_json(_output(_lprof(file, regime.options) + command))
    profile = load_profile(str(file))
    errors = figures(truth, Measured(_by_function(profile), _by_line(profile)))
    worst = max(value for name, value in errors.items() if name.startswith("A1 "))
    for key, (title, unit, limit) in _ACCURACY.items():
        value = worst if key == "A1" else errors[key]
        yield Check(key, title, value, unit, limit)


def _shares(folder: Path, facts: dict[str, str], quick: bool) -> Iterator[Check]:
    """Compare the shares of a loop's lines with samples of the same loop as plain code."""
    from proftrace.lines.shares import share_error

    command = ["-m", "proftrace.lines.shares", "--seconds", "1" if quick else "4"]
    profiles: dict[str, Profile] = {}
    watched = "truth", SAMPLES.options, ["--watch"]
    for name, options, extra in watched, *((r.name, r.options, []) for r in _REGIMES):
        file = folder / f"shares-{name}.lprof"
        _output(_lprof(file, options) + command + extra)
        profiles[name] = load_profile(str(file))
    facts["sampling"] = profiles["samples"].meta.get("sampling", "no samples can be taken here")
    times = {
        name: {line: time for (_, line), time in _by_line(profile).items()}
        for name, profile in profiles.items()
    }
    if not any(times["truth"].values()):
        return
    for regime in _REGIMES:
        error = share_error(times[regime.name], times["truth"])
        title = f"sixteen cheap lines: time at the wrong line ({regime.shown})"
        yield Check(f"A7 {regime.name}", title, error, "%", regime.share_limit)


def _lprof(file: Path, options: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "proftrace.cli.lprof", "-q", *options, "-o", str(file)]


def _output(command: list[str], *, may_fail: bool = False) -> str:
    """Run a part of the check and return its last line."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    if (done.returncode and not may_fail) or (may_fail and not lines):
        last = (done.stderr.splitlines() or ["it said nothing"])[-1]
        raise ProftraceError(f"a part of the check failed ({' '.join(command[2:])}): {last}")
    return lines[-1] if lines else ""


def _by_function(profile: Profile) -> Mapping[tuple[str, str], int]:
    """Return the inclusive times by file and function name."""
    functions, strings = profile.functions, profile.strings
    return {
        (strings[functions.file[function]], strings[functions.name[function]]): (
            profile.calls.inclusive[row]
        )
        for row, function in enumerate(profile.calls.function)
    }


def _by_line(profile: Profile) -> Mapping[tuple[str, int], int]:
    """Return the exclusive times by file and line."""
    files, strings = profile.functions.file, profile.strings
    times: dict[tuple[str, int], int] = {}
    for row, function in enumerate(profile.lines.function):
        place = strings[files[function]], profile.lines.line[row]
        time = max(0, profile.lines.values[EXCLUSIVE.name][row])
        times[place] = times.get(place, 0) + time
    return times


def _line(one: Check) -> str:
    value = f"{one.value:,.0f}" if not one.unit else f"{one.value:.2f} {one.unit}"
    if one.must:
        word = "ok" if one.is_met else "BROKEN"
    else:
        word = "ok" if one.is_met else f"more than the {one.limit:g} {one.unit} it should be"
    return f"  {one.title}: {value}  {word}"


def _row(one: Check) -> dict[str, object]:
    return {
        "key": one.key,
        "title": one.title,
        "value": round(one.value, 4),
        "unit": one.unit,
        "limit": one.limit,
        "met": one.is_met,
    }


def _verdict(found: list[Check], facts: Mapping[str, str]) -> str:
    """Return what this installation can promise."""
    exact = all(one.is_met for one in found if one.must)
    hits = "hits are exact" if exact else "hits are NOT exact here: please report this"
    of = {one.key: one for one in found}
    times = [
        f"{regime.name}: shares of cheap lines within {of[key].value:.1f} %, splits within "
        f"{of[f'A1 {regime.name}'].value:.1f} points"
        for regime in _REGIMES
        if (key := f"A7 {regime.name}") in of
    ]
    rows = [f"promise: {hits}", *(f"times by {text}" for text in times)]
    if not times and "sampling" in facts:
        rows.append(f"times are the clock's: {facts['sampling']}")
    return "\n".join(rows)
