"""What `[tool.lprof.write]` and `[tool.lprof.show]` say about `profile` in plain programs."""

from __future__ import annotations

from collections.abc import Mapping

from proftrace import pyproject
from proftrace.lines.register import warn
from proftrace.units import printable


def read_tables(defaults: Mapping[str, Mapping[str, object]]) -> dict[str, dict[str, object]]:
    """Return the tables of [tool.lprof] that `defaults` has, with what the nearest pyproject.toml
    says, from the current folder upwards.

    What is wrong there is said in one line and left out: the program goes on.
    """
    tables = {name: dict(table) for name, table in defaults.items()}
    path = pyproject.find()
    said = {} if path is None else _read(path)
    for name, table in tables.items():
        given = said.get(name, {})
        if not isinstance(given, dict):
            warn(f"{printable(path or pyproject.FILE)}: tool.lprof.{name} must be a table")
            continue
        for key, value in given.items():
            place = f"{printable(path or pyproject.FILE)}: tool.lprof.{name}.{printable(key)}"
            if key not in table:
                warn(f"{place}: there is no such key, only {', '.join(table)}")
            elif type(value) is not type(table[key]):
                kind = "true or false" if isinstance(table[key], bool) else "a text"
                warn(f"{place} must be {kind}, not {value!r}")
            else:
                table[key] = value
    return tables


def _read(path: str) -> Mapping[str, object]:
    try:
        with open(path, "rb") as file:
            data = file.read()
        if b"lprof" not in data:  # the usual case: nothing has to be imported to read it
            return {}
        import tomllib

        tool = tomllib.loads(data.decode()).get("tool", {})
    except (OSError, ValueError) as error:
        warn(f"{printable(path)}: {error}")
        return {}
    table = tool.get("lprof", {}) if isinstance(tool, dict) else {}
    if isinstance(table, dict):
        return table
    warn(f"{printable(path)}: tool.lprof must be a table")
    return {}
