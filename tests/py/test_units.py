from __future__ import annotations

import pytest

from proftrace.units import (
    count_of,
    format_bytes,
    format_bytes_si,
    format_count,
    format_share,
    format_time,
    parse_bytes,
    printable,
)


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


def test_one_of_something_is_no_plural() -> None:
    texts = [count_of(value, "more block") for value in (0, 1, 2, 1204)]
    assert texts == ["0 more blocks", "1 more block", "2 more blocks", "1,204 more blocks"]


def test_names_stay_on_one_line_and_move_no_cursor() -> None:
    assert printable("naïve_größe") == "naïve_größe"
    assert printable("a\nb\x1b[2J\0") == "a\\nb\\x1b[2J\\x00"
    assert printable("\u202eevil\udcff") == "\\u202eevil\\udcff"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (18_000_173, "18.0 MB"),
        (999_960, "1.0 MB"),
        (-1500, "-1.5 kB"),
        (1 << 63, "9.2 EB"),
        (10**22, "10000.0 EB"),
    ],
)
def test_bytes_in_units_of_a_thousand(value: int, text: str) -> None:
    assert format_bytes_si(value) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("24 MB", 24_000_000),
        ("24 MiB", 24 << 20),
        ("5100000B", 5_100_000),
        (" 10 kb ", 10_000),
        ("10 KB", 10_000),
        ("1.5 GiB", 3 << 29),
        (".5 KiB", 512),
        ("0.0015 kB", 1),
        ("0 B", 0),
        ("16", 16),
        ("64K", 64 << 10),
        ("64 k", 64 << 10),
        ("1.5M", 3 << 19),
        ("2g", 2 << 30),
        ("1T", 1 << 40),
        ("8 EiB", None),
        ("", None),
        ("MB", None),
        ("K", None),
        ("64Ki", None),
        ("lots", None),
        ("-1 MB", None),
        ("+1 MB", None),
        ("1e3 MB", None),
        ("1. MB", None),
        ("1 000 MB", None),
        ("٣ MB", None),
        ("24 MBit", None),
        ("24 Mb/s", None),
        ("24 MB.", None),
        ("inf B", None),
        ("1" * 31, None),
    ],
)
def test_sizes_are_read_or_refused(text: str, value: int | None) -> None:
    if value is None:
        with pytest.raises(ValueError, match=r"size|memory") as caught:
            parse_bytes(text)
        assert repr(text) in str(caught.value)
    else:
        assert parse_bytes(text) == value


@pytest.mark.parametrize("value", [0, 17, 1000, 1024, 123_456_789])
def test_whole_sizes_are_read_as_they_are_written(value: int) -> None:
    assert parse_bytes(f"{value} B") == value
