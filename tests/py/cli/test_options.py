"""Our options end at the target; what comes after it is the target's."""

from __future__ import annotations

import pytest

from proftrace.cli.options import TargetParser
from proftrace.errors import UsageError
from proftrace.run.launch import Target

Words = list[str]


@pytest.fixture
def parser() -> TargetParser:
    parser = TargetParser("tool")
    parser.add_argument("-v", "--view", action="store_true")
    parser.add_argument("-l", action="store_true")
    parser.add_argument("-o", "--outfile")
    return parser


@pytest.mark.parametrize(
    ("words", "target"),
    [
        (["a.py"], Target("script", "a.py")),
        (["-v", "a.py", "-v", "--", ""], Target("script", "a.py", ("-v", "--", ""))),
        (
            ["a.py", "-o", "x", "-m", "--help"],
            Target("script", "a.py", ("-o", "x", "-m", "--help")),
        ),
        (["-o", "x", "a.py"], Target("script", "a.py")),
        (["-ox", "a.py"], Target("script", "a.py")),
        (["-vox", "a.py"], Target("script", "a.py")),
        (["-vo", "x", "a.py"], Target("script", "a.py")),
        (["--outfile=x", "a.py"], Target("script", "a.py")),
        (["--outfile", "x", "a.py"], Target("script", "a.py")),
        (["--", "-a.py", "--"], Target("script", "-a.py", ("--",))),
        (["", "x"], Target("script", "", ("x",))),
        (["-m", "mod", "-m", "x"], Target("module", "mod", ("-m", "x"))),
        (["-mmod", "-v"], Target("module", "mod", ("-v",))),
        (["-lvm", "mod"], Target("module", "mod")),
        (["-lvmmod", "a"], Target("module", "mod", ("a",))),
        (["-m", "-v"], Target("module", "-v")),
        (["-c", "", "a"], Target("command", "", ("a",))),
        (["-c", "x = 1", "-c", "--"], Target("command", "x = 1", ("-c", "--"))),
        (["-vcx=1"], Target("command", "x=1")),
    ],
)
def test_the_target_keeps_its_words(parser: TargetParser, words: Words, target: Target) -> None:
    assert parser.parse_target(words)[1] == target


@pytest.mark.parametrize(
    ("words", "view", "outfile"),
    [
        (["-lv", "-ox", "a.py", "-o", "y"], True, "x"),
        (["-vcx=1"], True, None),
        (["--outfile", "x", "-m", "mod", "-v"], False, "x"),
    ],
)
def test_our_options(parser: TargetParser, words: Words, view: bool, outfile: str | None) -> None:
    options, _ = parser.parse_target(words)
    assert (options.view, options.outfile) == (view, outfile)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-v"], "nothing to run"),
        (["--"], "nothing to run"),
        (["-m"], "-m needs the name of a module"),
        (["-m", ""], "-m needs the name of a module"),
        (["-vc"], "-c needs the text of a program"),
        (["-"], "from standard input"),
        (["-x", "a.py"], "unrecognized arguments: -x"),
        (["--vie", "a.py"], "unrecognized arguments: --vie"),
        (["-o"], "expected one argument"),
        (["--outfile"], "expected one argument"),
        (["--outfile", "-m", "a.py"], "expected one argument"),
        (["-vo", "-m", "a.py"], "expected one argument"),
    ],
)
def test_errors_are_one_line(parser: TargetParser, words: Words, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parser.parse_target(words)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.status == 2
