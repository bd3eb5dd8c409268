"""Print the files of the Python package, relative to the folder given, one a line."""

from __future__ import annotations

import sys
from pathlib import Path

SUFFIXES = {".py", ".pyi", ".typed", ".html", ".css", ".js", ".txt"}


def main() -> None:
    root = Path(sys.argv[1])
    for path in sorted(root.rglob("*")):
        if path.suffix in SUFFIXES and "__pycache__" not in path.parts:
            print(path.relative_to(root).as_posix())


if __name__ == "__main__":
    main()
