"""A figure: one value of one tool, in JSON for machines and as a row of the page for people."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """`value` in `unit`, of `tool`; `goal` is the most it may be, None where nothing was set."""

    group: str
    name: str
    tool: str
    value: float
    unit: str
    goal: float | None = None

    @property
    def met(self) -> bool | None:
        """Tell whether the goal is met, None without one."""
        return None if self.goal is None else self.value <= self.goal

    def as_json(self) -> str:
        """Return one line that says everything."""
        return json.dumps(
            {
                "figure": f"{self.group}: {self.name}",
                "tool": self.tool,
                "value": round(self.value, 4),
                "unit": self.unit,
                "goal": self.goal,
                "met": self.met,
            }
        )


def show(value: float, unit: str) -> str:
    """Return a value as people read it, with three figures that mean something."""
    if unit == "bytes":
        return f"{value:,.0f}"
    digits = 3 if unit == "x" and value < 10 else 2 if value < 10 else 1
    return f"{value:,.{digits}f}"
