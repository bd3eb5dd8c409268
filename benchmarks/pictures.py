"""The pictures of docs/how-lprof-measures.md, as SVG that reads on light and dark pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
# Colours that people with any colour vision tell apart, and that show on white and on black.
COLORS = ("#7f7f7f", "#0072b2", "#d55e00")
ROW = 40
BAR = 10
LEFT = 330
WIDTH = 860
TOP = 44


def bars(title: str, rows: Mapping[str, Sequence[float]], names: Sequence[str], unit: str) -> str:
    """Return a chart of horizontal bars: for each row one bar a name, all on one scale."""
    most = max(value for values in rows.values() for value in values) or 1.0
    height = TOP + ROW * len(rows) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#7f7f7f">',
        f"<title>{escape(title)}</title>",
    ]
    for index, name in enumerate(names):
        x = LEFT + index * 140
        parts.append(f'<rect x="{x}" y="12" width="12" height="12" fill="{COLORS[index]}"/>')
        parts.append(f'<text x="{x + 18}" y="22">{escape(name)}</text>')
    for number, (label, values) in enumerate(rows.items()):
        top = TOP + number * ROW
        parts.append(
            f'<text x="{LEFT - 10}" y="{top + 20}" text-anchor="end" '
            f'font-family="ui-monospace, monospace" xml:space="preserve">{escape(label)}</text>'
        )
        for index, value in enumerate(values):
            width = max(1.0, value / most * (WIDTH - LEFT - 80))
            y = top + index * (BAR + 1)
            parts.append(
                f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" '
                f'fill="{COLORS[index]}"/>'
                f'<text x="{LEFT + width + 5:.1f}" y="{y + 9}" font-size="10">'
                f"{value:.1f} {escape(unit)}</text>"
            )
    return "\n".join([*parts, "</svg>", ""])


def write(name: str, picture: str) -> None:
    """Put a picture where the page looks for it."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.svg").write_text(picture)
