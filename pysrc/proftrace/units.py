"""Numbers and names as text for people: the only place where a unit is chosen."""

from __future__ import annotations

_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_TIME_UNITS = ((1, "ns"), (1_000, "us"), (1_000_000, "ms"), (1_000_000_000, "s"))


def format_bytes(value: int) -> str:
    """Return a size in IEC units: "17 B", "1.0 KiB", "512.4 MiB"."""
    size = abs(value)
    sign = "-" if value < 0 else ""
    if size < 1024:
        return f"{sign}{size} B"
    exponent = min((size.bit_length() - 1) // 10, len(_BYTE_UNITS) - 1)
    text = f"{size / (1 << 10 * exponent):.1f}"
    if text == "1024.0" and exponent + 1 < len(_BYTE_UNITS):
        text, exponent = "1.0", exponent + 1
    return f"{sign}{text} {_BYTE_UNITS[exponent]}"


def format_time(nanoseconds: int) -> str:
    """Return a duration with three significant digits: "310 ns", "14.2 us", "2.13 s"."""
    size = abs(nanoseconds)
    sign = "-" if nanoseconds < 0 else ""
    if size < 1000:
        return f"{sign}{size} ns"
    for scale, unit in _TIME_UNITS[1:]:
        number = size / scale
        for decimals, below in ((2, 9.995), (1, 99.95), (0, 999.5)):
            if number < below:
                return f"{sign}{number:.{decimals}f} {unit}"
    return f"{sign}{size / _TIME_UNITS[-1][0]:,.0f} s"


def format_count(value: int) -> str:
    """Return a count with separators: "1,204,331"."""
    return f"{value:,}"


def format_value(value: int, unit: str) -> str:
    """Return a value of a metric ("bytes", "count", "nanoseconds") as text."""
    if unit == "bytes":
        return format_bytes(value)
    if unit == "nanoseconds":
        return format_time(value)
    return format_count(value)


def format_share(part: int, whole: int) -> str:
    """Return part / whole as a percentage with one decimal; "-" when there is no whole."""
    if whole <= 0:
        return "-"
    return f"{100 * part / whole:.1f}"


def printable(text: str) -> str:
    """Return a name so that it stays on one line and moves no cursor: what cannot be printed is
    shown as its escape sequence. File and function names are data, they may hold anything."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )
