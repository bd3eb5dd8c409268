"""What all pages have in common: the shell that is filled, and texts that are safe in it.

A page needs no network and no other file. Nothing of the environment or of the program's arguments
gets into one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import PurePath

from proftrace.units import printable

_SHARED_SCRIPT = re.compile(r"1\d_\w+\.js")  # scripts below 20 are every page's


def fill(template: str, text: Mapping[str, str], markup: Mapping[str, str]) -> str:
    """Put values in the place of their markers, {{name}}, in one pass: what a value holds is not
    looked at again. `text` is escaped."""
    values = {name: escape(value) for name, value in text.items()} | dict(markup)
    return re.sub(r"\{\{([a-z-]+)\}\}", lambda match: values[match[1]], template)


def fill_page(folder: str, text: Mapping[str, str], markup: Mapping[str, str]) -> str:
    """Return the page whose content, scripts and style are in a folder of the viewer ("": the flame
    graph's), with all that is in every page around them."""
    below = f"{folder}/" if folder else ""
    own_style = viewer_file(f"{below}{folder}.css") if folder else ""
    return fill(
        viewer_file("shell.html").replace("{{content}}", viewer_file(f"{below}page.html")),
        text=text,
        markup={
            **markup,
            "style": viewer_file("viewer.css") + own_style,
            "script": viewer_script(folder),
        },
    )


@cache
def viewer_file(name: str) -> str:
    """Return a file of the viewer; `name` is below its folder."""
    return files("proftrace.render").joinpath("viewer", name).read_text(encoding="utf-8")


@cache
def viewer_script(folder: str = "") -> str:
    """Return the scripts of a page as one, in the order of their names: those that all pages share,
    and those of the page's own folder ("": the flame graph's)."""
    viewer = files("proftrace.render").joinpath("viewer")
    names = {item.name: item.name for item in viewer.iterdir() if item.name.endswith(".js")}
    if folder:
        shared = {name for name in names if _SHARED_SCRIPT.fullmatch(name)}
        own = viewer.joinpath(folder).iterdir()
        names = {name: name for name in shared} | {
            item.name: f"{folder}/{item.name}" for item in own if item.name.endswith(".js")
        }
    return "".join(viewer_file(path) for _, path in sorted(names.items()))


def shown(text: str, limit: int = 300) -> str:
    """Return a text as people may see it, cut in its middle when it is very long."""
    text = printable(text)
    if len(text) > limit:
        text = f"{text[: limit // 2]}…{text[-limit // 2 :]}"
    return text


def program_name(path: str) -> str:
    """Return a name for what was run: a script without its folder, a module, code of -c."""
    return "code of -c" if path == "-c" else shown(PurePath(path).name) or "unnamed program"


def items(texts: Iterable[str]) -> str:
    """Return the items of a list."""
    return "".join(f"<li>{escape(shown(text))}</li>" for text in texts)


def recorded_at(header: Mapping[str, int]) -> str:
    """Return when a recording began, by its header."""
    start = datetime.fromtimestamp(header["start_wall_ns"] / 1e9, UTC)
    return f"recorded {start:%Y-%m-%d %H:%M:%S} UTC"


def python_of(meta: Mapping[str, str], header: Mapping[str, int]) -> str:
    """Return which Python ran: "Python 3.13.0", "" if that is not known."""
    number = header.get("python_hexversion", 0)
    by_number = f"{number >> 24}.{number >> 16 & 255}.{number >> 8 & 255}" if number else ""
    version = meta.get("python") or by_number
    return f"Python {shown(version)}" if version else ""
