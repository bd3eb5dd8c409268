"""Whose code a file is."""

from __future__ import annotations

import pytest

from proftrace.views.origin import Origin, origin_of


@pytest.mark.parametrize(
    ("file", "origin"),
    [
        ("/home/me/app/main.py", Origin.PROGRAM),
        ("<stdin>", Origin.PROGRAM),
        ("/home/me/lib/python/thing.py", Origin.PROGRAM),
        ("/home/me/python3.13/thing.py", Origin.PROGRAM),
        ("/venv/lib/python3.13/site-packages/numpy/core.py", Origin.PACKAGE),
        ("/usr/lib/python3/dist-packages/apt/cache.py", Origin.PACKAGE),
        ("/usr/lib/python3.13/json/decoder.py", Origin.STDLIB),
        ("/opt/py/lib64/python3.14t/ast.py", Origin.STDLIB),
        ("<frozen codecs>", Origin.STDLIB),
        ("<frozen importlib._bootstrap_external>", Origin.IMPORT),
        ("<frozen zipimport>", Origin.IMPORT),
        ("/usr/lib/python3.13/importlib/_bootstrap.py", Origin.IMPORT),
        ("", Origin.INTERPRETER),
    ],
)
def test_a_file_tells_whose_code_it_is(file: str, origin: Origin) -> None:
    assert origin_of(file) is origin
