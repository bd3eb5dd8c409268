from __future__ import annotations

import pytest

from proftrace.units import format_bytes, format_count, format_share, format_time, printable


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1_048_575, "1.0 MiB"),
        (419_430_400, "400.0 MiB"),
        (-2048, "-2.0 KiB"),
        (1 << 63, "8.0 EiB"),
        ((1 << 70) + 1, "1024.0 EiB"),
    ],
)
def test_bytes(value: int, text: str) -> None:
    assert format_bytes(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1000, "1.00 us"),
        (14_240, "14.2 us"),
        (310_000_000, "310 ms"),
        (999_499_999, "999 ms"),
        (999_999_999, "1.00 s"),
        (2_130_000_000, "2.13 s"),
        (-1_500_000, "-1.50 ms"),
        (7_200_000_000_000, "7,200 s"),
    ],
)
def test_times(value: int, text: str) -> None:
    assert format_time(value) == text


def test_counts_and_shares() -> None:
    assert format_count(1_204_331) == "1,204,331"
    assert format_share(1, 3) == "33.3"
    assert format_share(1, 0) == "-"


def test_names_stay_on_one_line_and_move_no_cursor() -> None:
    assert printable("naïve_größe") == "naïve_größe"
    assert printable("a\nb\x1b[2J\0") == "a\\nb\\x1b[2J\\x00"
    assert printable("\u202eevil\udcff") == "\\u202eevil\\udcff"
