"""The examples of docs/tracker.md run, and print what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "tracker.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```\n```text\n(.*?)^```\n", PAGE.read_text(), re.M | re.S)


def test_each_example_says_what_it_prints() -> None:
    assert len(EXAMPLES) == PAGE.read_text().count("```python\n") >= 4


@pytest.mark.parametrize(("program", "output"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_prints_what_the_page_says(tmp_path: Path, program: str, output: str) -> None:
    (tmp_path / "example.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, output, "")
