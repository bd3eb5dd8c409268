"""Shell patterns mean what fnmatch says, but for names of character classes."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proftrace.lines.globs import matches


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("*", "", True),
        ("", "", True),
        ("", "a", False),
        ("a*c*e", "abcde", True),
        ("a*c*e", "abcd", False),
        ("*.py", "/x/y.py", True),
        ("*/tests/*", "/x/tests/y.py", True),
        ("?", "", False),
        ("[!a-c]x", "dx", True),
        ("[!a-c]x", "bx", False),
        ("[]]", "]", True),
        ("[", "[", True),
        ("a[", "a[", True),
        ("**", "anything", True),
    ],
)
def test_patterns(pattern: str, text: str, *, expected: bool) -> None:
    assert matches(pattern, text) is expected


@given(st.text("ab*?", max_size=8), st.text("ab/", max_size=10))
def test_stars_and_question_marks_are_those_of_fnmatch(pattern: str, text: str) -> None:
    assert matches(pattern, text) is fnmatch.fnmatchcase(text, pattern)
