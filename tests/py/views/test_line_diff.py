"""Two line profiles compared: what is the same line, what changed, and what is noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from line_logs import functions_of, random_line_log
from log_writer import LogWriter, function_details, function_record, line_details, line_record
from proftrace.model.load import load_profile
from proftrace.model.profile import Profile
from proftrace.views import line_matching
from proftrace.views.line_diff import FunctionDiff, ProfileDiff, diff_profiles

BEFORE = """\
def f(a):
    b = slow(a)
    c = b + 1
    if c:
        log(c)
    return c


def g():
    return 1
"""
# f stands lower, `log` moved up, one line changed, g is gone and h is new.
AFTER = """\
import log


def h():
    return 2


def f(a):
    log(c)
    b = slow(a)
    c = b + 2
    if c:
        pass
    return c
"""


def write(
    path: Path,
    text: str,
    times: Mapping[str, int],
    *,
    file: str = "/src/app.py",
    pid: int = 1,
    error: int = 0,
    text_known: bool = True,
) -> Profile:
    """A result in which each line of `times`, by its text, ran once and took so many ns."""
    log = LogWriter(content=2, pid=pid)
    log.source(1, file, text)
    lines = text.splitlines()
    records = []
    for code in functions_of(text, file):
        number = log.code(code.co_name, file, code.co_firstlineno)
        own = {line for _, _, line in code.co_lines() if line and line != code.co_firstlineno}
        values = {line: times.get(lines[line - 1].strip(), 0) for line in sorted(own)}
        total = sum(values.values())
        details = function_details(error=error)
        records.append(function_record(number, int(text_known), 1, total, total, details=details))
        records += [
            line_record(number, line, 1, time, time, details=line_details(error=error))
            for line, time in values.items()
            if time
        ]
    log.lines(*records)
    log.end()
    path.write_bytes(log.data())
    return load_profile(str(path))


def by_name(diff: ProfileDiff) -> dict[str, FunctionDiff]:
    return {one.key[2]: one for one in diff.functions}


def test_lines_are_matched_by_their_text_wherever_they_stand(tmp_path: Path) -> None:
    before = write(
        tmp_path / "a",
        BEFORE,
        {
            "b = slow(a)": 100,
            "c = b + 1": 10,
            "if c:": 1,
            "log(c)": 7,
            "return c": 2,
            "return 1": 5,
        },
    )
    after = write(
        tmp_path / "b",
        AFTER,
        {
            "log(c)": 9,
            "b = slow(a)": 150,
            "c = b + 2": 20,
            "if c:": 1,
            "return c": 2,
            "return 2": 3,
        },
    )
    functions = by_name(diff_profiles([before], [after]))
    assert {name: one.status for name, one in functions.items()} == {
        "f": "both",
        "g": "gone",
        "h": "new",
    }
    f = functions["f"]
    assert (f.before or ("", 0))[1] == 1
    assert (f.after or ("", 0))[1] == 8
    found = [
        (line.pair.text, line.pair.before, line.pair.after, line.pair.moved,
         line.changes["time"].amount)
        for line in f.lines
    ]  # fmt: skip
    assert found == [
        ("log(c)", 5, 9, True, 2),
        ("b = slow(a)", 2, 10, False, 50),
        ("c = b + 1", 3, None, False, -10),
        ("c = b + 2", None, 11, False, 20),
        ("if c:", 4, 12, False, 0),
        ("return c", 6, 14, False, 0),
    ]
    assert f.changes["time"].amount == 182 - 120
    assert [one.key[2] for one in diff_profiles([before], [after]).functions] == ["f", "g", "h"]


@pytest.mark.parametrize("seed", range(1, 7))
def test_a_profile_differs_from_itself_in_nothing(tmp_path: Path, seed: int) -> None:
    profile = load_profile(str(random_line_log(tmp_path / "r", seed)))
    diff = diff_profiles([profile], [profile])
    assert {change.amount for change in diff.total.values()} == {0}
    for one in diff.functions:
        assert one.status == "both"
        assert {change.amount for change in one.changes.values()} == {0}
        assert {c.amount for line in one.lines for c in line.changes.values()} <= {0}
        assert not any(line.pair.moved for line in one.lines)


@pytest.mark.parametrize("seeds", [(1, 2), (3, 4), (5, 6), (2, 1)])
def test_turned_round_all_changes_are_negated(tmp_path: Path, seeds: tuple[int, int]) -> None:
    one, other = (load_profile(str(random_line_log(tmp_path / str(s), s))) for s in seeds)
    there, back = diff_profiles([one], [other]), diff_profiles([other], [one])
    for metric, change in there.total.items():
        assert back.total[metric].amount == -change.amount
        assert back.total[metric].noise == change.noise
    amounts = {one.key[:3]: one.changes["time"].amount for one in there.functions}
    for function in back.functions:
        keys = [key[:3] for key in (function.before, function.after) if key]
        assert -function.changes["time"].amount in [amounts.get(key) for key in keys]


@pytest.mark.parametrize("seeds", [(1, 2), (3, 4), (5, 6), (7, 7)])
def test_the_lines_of_a_function_and_the_functions_add_up(
    tmp_path: Path, seeds: tuple[int, int]
) -> None:
    """Nothing is counted twice and nothing is lost, whatever was matched with what."""
    one, other = (
        load_profile(str(random_line_log(tmp_path / f"{s}{k}", s))) for k, s in enumerate(seeds)
    )
    diff = diff_profiles([one], [other])
    for function in diff.functions:
        for side in ("before", "after"):
            for metric in ("time", "self", "hits", "await"):
                lines = sum(getattr(line.changes[metric], side) for line in function.lines)
                assert lines == getattr(function.changes[metric], side)
            numbers = [getattr(line.pair, side) for line in function.lines]
            numbers = [number for number in numbers if number is not None]
            assert len(numbers) == len(set(numbers))
    for metric in ("self", "hits", "calls", "await"):
        total = sum(one.changes[metric].amount for one in diff.functions)
        assert total == diff.total[metric].amount


def test_a_program_in_another_folder_is_the_same_program(tmp_path: Path) -> None:
    before = write(tmp_path / "a", BEFORE, {"b = slow(a)": 100}, file="/old/app.py")
    after = write(tmp_path / "b", BEFORE, {"b = slow(a)": 130}, file="/new/app.py")
    f = by_name(diff_profiles([before], [after]))["f"]
    assert (f.status, f.changes["time"].amount, f.key[0]) == ("both", 30, "/new/app.py")


def test_without_a_text_lines_are_matched_by_their_place(tmp_path: Path) -> None:
    moved = "\n\n\n" + BEFORE
    before = write(tmp_path / "a", BEFORE, {"b = slow(a)": 100, "return c": 3})
    after = write(tmp_path / "b", moved, {"b = slow(a)": 130}, text_known=False)
    f = by_name(diff_profiles([before], [after]))["f"]
    found = [(line.pair.before, line.pair.after, line.changes["time"].amount) for line in f.lines]
    assert found == [(2, 5, 30), (6, 9, -3)]


def test_equal_lines_are_matched_in_their_order(tmp_path: Path) -> None:
    text = "def f():\n    x()\n    x()\n    y()\n    x()\n"
    before = write(tmp_path / "a", text, {"x()": 5, "y()": 1})
    after = write(
        tmp_path / "b", text.replace("    x()\n    x()\n", "    x()\n"), {"x()": 5, "y()": 1}
    )
    f = by_name(diff_profiles([before], [after]))["f"]
    assert sum(1 for line in f.lines if line.pair.after is None) == 1
    assert sum(1 for line in f.lines if line.pair.moved) == 0
    assert f.changes["time"].amount == -5


@pytest.mark.parametrize("n_texts", [1, 50, 5000])
def test_long_functions_are_matched_in_no_long_time(
    monkeypatch: pytest.MonkeyPatch, n_texts: int
) -> None:
    """Each line on one side is matched once, however often its text is there; counted by what is
    compared, since a clock says nothing on a busy machine."""
    compared = 0

    class Counted(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    monkeypatch.setattr(line_matching, "_MOST_COMPARED", 10_000)
    old = [Counted(f"text {n % n_texts}") for n in range(5000)]
    new = [*old[:2000], Counted("new"), *old[2000:4990], Counted("end"), Counted("end 2")]
    pairs = line_matching._in_order(old, new)
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    assert all(old[a] == new[b] for a, b in pairs)
    assert pairs == sorted(pairs)
    assert len(pairs) >= 2000
    assert compared < 60_000


def test_noise_comes_from_the_errors_of_both_sides(tmp_path: Path) -> None:
    before = write(tmp_path / "a", BEFORE, {"b = slow(a)": 1000}, error=30)
    after = write(tmp_path / "b", BEFORE, {"b = slow(a)": 1090}, error=40)
    f = by_name(diff_profiles([before], [after]))["f"]
    for change in (f.changes["time"], f.lines[0].changes["time"]):
        assert (change.amount, change.noise, change.is_certain) == (90, 50, False)
        assert change.percent == pytest.approx(9)


def runs(folder: Path, name: str, times: Sequence[int]) -> list[Profile]:
    return [
        write(folder / f"{name}{n}", BEFORE, {"b = slow(a)": time}, pid=100 * ord(name) + n)
        for n, time in enumerate(times)
    ]


def test_several_runs_are_means_and_their_spread_is_noise(tmp_path: Path) -> None:
    before = runs(tmp_path, "a", [1000, 1200, 1100])
    after = runs(tmp_path, "b", [2000])
    diff = diff_profiles(before, after)
    assert diff.runs == (3, 1)
    f = by_name(diff)["f"]
    for change in (f.changes["time"], f.lines[0].changes["time"], diff.total["time"]):
        # The spread is 100, of a mean of three 100 / sqrt(3).
        assert (change.before, change.after, change.noise) == (1100, 2000, 58)
    assert f.changes["hits"].before == 1


def test_nothing_on_either_side_is_no_change(tmp_path: Path) -> None:
    empty = write(tmp_path / "e", "x = 1\n", {})
    assert diff_profiles([empty], [empty]).functions == []
    full = write(tmp_path / "f", BEFORE, {"b = slow(a)": 10})
    diff = diff_profiles([empty], [full])
    assert [one.status for one in diff.functions] == ["new", "new"]
    assert diff.total["time"].percent is None
