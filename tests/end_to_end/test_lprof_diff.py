"""`lprof diff` as people type it, on runs of two versions of a program."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from case_runs import COMMANDS, lprof, run

BEFORE = """\
import time
from proftrace import profile


@profile
def work(n):
    time.sleep(0.01)
    for i in range(n):
        pass


@profile
def steady():
    time.sleep(0.02)


work(100)
steady()
"""
# `work` stands lower, sleeps longer and goes round more often.
AFTER = BEFORE.replace("import time\n", "import time\n# a line more\n").replace(
    "sleep(0.01)", "sleep(0.05)"
).replace("work(100)", "work(250)")  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with results of both versions."""
    folder = tmp_path_factory.mktemp("diff")
    for name, text in (("a", BEFORE), ("b", AFTER), ("c", BEFORE)):
        (folder / "app.py").write_text(text)
        assert lprof(["-q", "--clock", "-o", f"{name}.lprof", "app.py"], folder).status == 0
    return folder


def diff(results: Path, *words: str) -> tuple[int, str, str]:
    done = lprof(["diff", *words], results)
    return done.status, done.stdout, done.stderr


def test_what_became_slower_stands_first(results: Path) -> None:
    status, out, err = diff(results, "a.lprof", "b.lprof")
    assert (status, err) == (0, "")
    names = re.findall(r"  (work|steady)  app\.py:\d+(.*)", out)
    assert names[0] == ("work", "  (was line 5)")
    assert re.search(r"\+\d\S* ms .*  7? *\d \(new\)  time\.sleep\(0\.05\)", out)
    assert re.search(r"-\d\S* ms +-100\.0 .*\(gone\)  time\.sleep\(0\.01\)", out)
    assert re.search(r"\+150 +9  for i in range\(n\):", out)
    assert "what differs from run to run is not in it" in " ".join(out.split())


def test_json_has_every_change(results: Path) -> None:
    status, out, _ = diff(results, "a.lprof", "b.lprof", "--format", "json")
    assert status == 0
    read = json.loads(out)
    assert read["schema_version"] == 1
    assert (read["before"], read["after"]) == (
        {"path": "a.lprof", "runs": 1},
        {"path": "b.lprof", "runs": 1},
    )
    work, steady = read["functions"]
    assert (work["name"], work["status"]) == ("work", "both")
    assert (work["first_line_before"], work["first_line_after"]) == (5, 6)
    assert work["time"]["change"] == work["time"]["after"] - work["time"]["before"] > 0
    assert work["hits"]["change"] == 300
    assert work["calls"] == {
        "before": 1, "after": 1, "change": 0, "percent": 0.0, "noise": 0, "within_noise": True
    }  # fmt: skip
    lines = {line["text"]: line for line in work["lines"]}
    loop = lines["for i in range(n):"]
    assert (loop["line_before"], loop["line_after"], loop["moved"]) == (8, 9, False)
    assert (loop["hits"]["before"], loop["hits"]["after"]) == (101, 251)
    assert lines["time.sleep(0.05)"]["line_before"] is None
    assert lines["time.sleep(0.01)"]["line_after"] is None
    assert steady["name"] == "steady"
    assert read["total"]["hits"]["change"] == 300


def test_markdown_is_a_table(results: Path) -> None:
    status, out, _ = diff(results, "a.lprof", "b.lprof", "--format", "md", "--fail-if", "time>+5%")
    assert status == 1
    assert out.startswith("### lprof: `a.lprof` → `b.lprof`\n")
    assert "- **`time>+5%: the whole run " in out
    assert re.search(r"^\| \+\S+ ms \| \+\S+ \|.*\| \*\*`work`\*\* `app\.py:6` \|$", out, re.M)
    rows = [row for row in out.splitlines() if row.startswith("|")]
    assert {row.count("|") for row in rows} == {7, 8}


@pytest.mark.parametrize(
    ("conditions", "status", "met"),
    [
        (["time > +10%"], 1, ["the whole run"]),
        (["time > +5000%"], 0, []),
        (["work: time > +10%"], 1, ["work"]),
        (["steady: time > +400%"], 0, []),
        (["*: hits > +0"], 1, ["work"]),
        (["calls > +0"], 0, []),
        (["work: hits > +300"], 0, []),
        (["work: hits >= +300"], 1, ["work"]),
        (["work: time > 1s", "work: time > 10ms"], 1, ["work"]),
        (["time < -10%"], 0, []),
        (["app.py:st*: time > 10ms"], 1, ["steady"]),
    ],
)
def test_the_status_tells_whether_a_condition_is_met(
    results: Path, conditions: list[str], status: int, met: list[str]
) -> None:
    words = [word for text in conditions for word in ("--fail-if", text)]
    ended, out, err = diff(results, "a.lprof", "b.lprof", *words)
    assert ended == status
    assert [
        re.search(r"^lprof: .*?(?:>|<)=? ?\S+: (.*?) \d", row)[1] for row in err.splitlines()
    ] == met  # type: ignore[index]
    assert out.startswith("lprof diff  a.lprof")


def test_a_result_differs_from_itself_in_nothing(results: Path) -> None:
    status, out, err = diff(results, "a.lprof", "a.lprof", "--fail-if", "*: time > +0%")
    assert (status, err) == (0, "")
    assert "2 functions left out" in out


def test_several_runs_are_compared_by_their_means(results: Path) -> None:
    assert lprof(["merge", "-f", "-o", "two.lprof", "a.lprof", "c.lprof"], results).status == 0
    status, out, err = diff(results, "two.lprof", "b.lprof", "--format", "json")
    read = json.loads(out)
    assert (status, err) == (0, "")
    assert read["before"]["runs"] == 2
    assert (read["total"]["hits"]["before"], read["total"]["hits"]["change"]) == (203, 300)
    assert read["functions"][0]["time"]["noise"] > 0
    text = diff(results, "two.lprof", "b.lprof")[1]
    assert "means of 2 runs before and 1 run after" in text


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_rows_fit_the_terminal(results: Path, columns: int) -> None:
    words = [str(COMMANDS / "lprof"), "diff", "--all", "a.lprof", "b.lprof"]
    out = run(words, results, {"COLUMNS": str(columns)}).stdout
    assert max(map(len, out.splitlines())) <= columns
    assert re.search(r"^ *\+.* work", out, re.M)


def test_the_report_goes_to_a_file_that_is_not_replaced(results: Path, tmp_path: Path) -> None:
    output = tmp_path / "report.md"
    words = ["a.lprof", "b.lprof", "-o", str(output)]
    assert diff(results, *words) == (0, "", "")
    assert output.read_text().startswith("### lprof:")
    status, out, err = diff(results, *words)
    assert (status, out) == (1, "")
    assert "exists already" in err
    assert diff(results, *words, "-f", "--format", "json")[0] == 0
    assert json.loads(output.read_text())["schema_version"] == 1


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["a.lprof"], 2, "the following arguments are required: AFTER"),
        (["a.lprof", "b.lprof", "c.lprof"], 2, "unrecognized arguments: c.lprof"),
        (["a.lprof", "missing"], 1, "missing: cannot be read: no such file"),
        (["a.lprof", "app.py"], 1, "app.py: "),
        (["a.lprof", "."], 1, ".: "),
        (["a.lprof", "b.lprof", "--fail-if", "time"], 2, "not a condition: 'time'"),
        (["a.lprof", "b.lprof", "--fail-if", "time > +10"], 2, "a time needs a unit"),
        (["a.lprof", "b.lprof", "--fail-if", "wrok: time > +1%"], 2, "no function matches wrok"),
        (["a.lprof", "b.lprof", "-n", "0"], 2, "not a number of functions: '0'"),
        (["a.lprof", "b.lprof", "-o", "no/x"], 1, "cannot write no/x: there is no folder no"),
        (["a.lprof", "b.lprof", "-fo", "a.lprof"], 1, "it is the file to read from"),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_line(
    results: Path, words: list[str], status: int, message: str
) -> None:
    before = sorted(os.listdir(results))
    ended, out, err = diff(results, *words)
    assert (ended, out) == (status, "")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(os.listdir(results)) == before
