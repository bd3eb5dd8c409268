"""Numbers and names as text for people: the only place where a unit is chosen."""

from __future__ import annotations

_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_SI_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_SHORT_UNITS = ("", "K", "M", "G", "T", "P", "E")  # of 1024, as in dd and split
_LARGEST_SIZE = (1 << 63) - 1
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


def format_bytes_si(value: int) -> str:
    """Return a size in units of 1000: "17 B", "1.0 kB", "512.4 MB"."""
    size, exponent = float(abs(value)), 0
    while size >= 999.95 and exponent + 1 < len(_SI_UNITS):
        size, exponent = size / 1000, exponent + 1
    sign = "-" if value < 0 else ""
    return f"{sign}{size:.{1 if exponent else 0}f} {_SI_UNITS[exponent]}"


def parse_bytes(text: str) -> int:
    """Return the bytes of a size: "24 MB" is 24,000,000, "24 MiB" is 25,165,824, "512" is 512.

    A single letter is short for the unit with "i": "64K" is 65,536. Units are read in either case,
    with or without a space before them. Raise ValueError with a reason that names the text.
    """
    words = text.strip()
    number = words.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit = words[len(number) :].lower()
    for base, units in ((1000, _SI_UNITS), (1024, _BYTE_UNITS), (1024, _SHORT_UNITS)):
        names = [name.lower() for name in units]
        if unit in names:
            value = _decimal(number.strip(), base ** names.index(unit))
            break
    else:
        raise ValueError(
            f"{text!r} is not a size: the unit is one of B, kB, MB, GB, KiB, MiB, GiB, K, M, G"
        )
    if value is None:
        raise ValueError(f'{text!r} is not a size such as "24 MB" or "512 KiB"')
    if value > _LARGEST_SIZE:
        raise ValueError(f"{text!r} is more than any memory")
    return value


def _decimal(number: str, scale: int) -> int | None:
    """Return `number`, digits with a point at most, times `scale`, cut to a whole number."""
    whole, point, part = number.partition(".")
    digits = whole + part
    if not (digits.isascii() and digits.isdigit()) or (point and not part) or len(digits) > 30:
        return None
    value: int = int(digits) * scale // 10 ** len(part)
    return value


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


def count_of(value: int, noun: str) -> str:
    """Return how many there are of something: "1 call", "1,204 calls"."""
    return f"{format_count(value)} {noun}{'' if value == 1 else 's'}"


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


def separable(text: str, separators: str) -> str:
    """Return a name as `printable` does, for a field that ends at one of the separators: those in
    the name, and `%`, are written as in a URL, which `urllib.parse.unquote` undoes."""
    text = printable(text)
    for char in "%" + separators:
        if char in text:
            text = text.replace(char, f"%{ord(char):02X}")
    return text


def printable(text: str) -> str:
    """Return a name so that it stays on one line and moves no cursor: what cannot be printed is
    shown as its escape sequence. File and function names are data, they may hold anything."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )
