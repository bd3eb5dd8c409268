"""Results that no run would write: every command says what it can, or one line of what is wrong."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from log_writer import (
    LogWriter,
    call_record,
    function_details,
    function_record,
    line_details,
    line_record,
)
from proftrace.cli.lprof import main
from proftrace.model.load import load_profile
from proftrace.views.line_stats import function_stats

NUMBERS = [0, 1, 2, 3, 7, 100, 2**31 - 1, 2**32 - 1, 2**40, 2**53, 2**62]
LINES = [0, 1, 2, 9, 2**31, 2**32 - 1]
TEXTS = ["", "def f():\n    pass\n", "x\n" * 30, "def (:\n  '''", "\u2028\x0c\r\r\n" * 5]
META = {
    "program": ["", "-c", "x/y.py", "\0", "a" * 500, "<b>"],
    "argv": ["[1, 2]", "{", '["a"]', "null"],
    "calibration": ["{", "[]", '{"ns": 3}', '{"ns": {"a": null}, "slowness": [1]}'],
    "sampling": ["{", "[]", '{"mechanism": 3}', '{"handler_ns": "x"}', '{"rate": null}'],
}


def odd_result(path: Path, seed: int) -> str:
    """Write a result with a right form and wrong content: ids of nothing, numbers too large."""
    rng = random.Random(seed)
    log = LogWriter(content=2, pid=rng.randrange(1, 5))
    for key, values in META.items():
        if rng.random() < 0.5:
            log.meta(key, rng.choice(values))
    log.source(1, "f.py", rng.choice(TEXTS))
    codes = [
        log.code(rng.choice(["f", "<lambda>", "<module>", "", "\0"]), "f.py", rng.choice(LINES))
        for _ in range(rng.randrange(5))
    ] or [1]
    records = [_odd_record(rng, rng.choice([*codes, *codes, 0, 99])) for _ in range(12)]
    log.lines(*records[: rng.randrange(13)])
    if rng.random() < 0.8:
        log.end()
    path.write_bytes(log.data())
    return str(path)


def _odd_record(rng: random.Random, code: int) -> bytes:
    def number() -> int:
        return rng.choice(NUMBERS)

    def time() -> int:
        return number() * rng.choice([1, 1, 1, -1])

    kind = rng.randrange(3)
    if kind == 0:
        details = function_details(rng.randrange(20), number(), number(), number(), number())
        regime = rng.randrange(3)
        return function_record(
            code, rng.randrange(3), number(), time(), time(), details=details, regime=regime
        )
    if kind == 1:
        histogram = [number() for _ in range(rng.randrange(70))]
        details = line_details(number(), number(), histogram, number(), number())
        return line_record(
            code, rng.choice(LINES), number(), time(), time(), suspended=time(), details=details
        )
    return call_record(rng.choice([code, 0, 99]), rng.choice(LINES), code, number(), number())


@pytest.mark.parametrize("seed", range(30))
def test_no_command_fails_on_odd_results(
    tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = odd_result(tmp_path / "1", 2 * seed), odd_result(tmp_path / "2", 2 * seed + 1)
    merged, out = str(tmp_path / "m"), str(tmp_path / "out")
    if main(["merge", "-o", merged, one, two]) != 0:  # one was never closed and has no function
        assert "nothing stands before" in capsys.readouterr().err
        return
    commands = [
        ["html", "-f", "-o", out, one],
        ["html", "-f", "-o", out, merged],
        ["diff", one, two],
        ["diff", "--all", "--format", "json", merged, two, "--fail-if", "time > +1%"],
        ["diff", "--all", "--format", "md", one, merged],
        *(
            ["export", "-f", "-o", out, "--to", name, merged]
            for name in ("callgrind", "collapsed", "pstats", "speedscope")
        ),
    ]
    for words in commands:
        assert main(words) in (0, 1), words
    assert "Traceback" not in capsys.readouterr().err


def test_lines_and_calls_of_functions_that_are_missing_are_left_out(tmp_path: Path) -> None:
    """As in a file that was cut in front of their function."""
    log = LogWriter(content=2)
    known, missing = log.code("known", "f.py", 1), log.code("missing", "f.py", 5)
    log.lines(
        line_record(missing, 6, 1, 10, 10),
        function_record(known, 0, 1, 7, 7),
        line_record(known, 2, 3, 7, 7, details=line_details(1, 2, [0, 3])),
        call_record(missing, 6, known, 1, 7),
        call_record(known, 2, missing, 1, 7),
        call_record(0, 0, known, 1, 7),
    )
    log.end()
    (tmp_path / "r").write_bytes(log.data())
    profile = load_profile(str(tmp_path / "r"))
    (one,) = function_stats([profile]).values()
    assert {n: (v.hits, v.histogram) for n, v in one.lines.lines.items()} == {2: (3, (0, 3))}
    assert [call.other for call in one.lines.callers] == [None]
    assert list(one.lines.callees) == []
