"""What the markers accept, and which of them hold for a test."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from proftrace.errors import UsageError
from proftrace.pytest_plugin.markers import LeakLimit, MemoryLimit, NoLeaks, requests_of
from proftrace.pytest_plugin.scope import Counted


def one(mark: pytest.MarkDecorator) -> object:
    """Return what a test with this marker asks for."""
    item = SimpleNamespace(own_markers=[mark.mark])
    item.listchain = lambda: [item]
    (request,) = requests_of(item)  # type: ignore[arg-type]
    return request


def test_limits_are_read() -> None:
    mark, every, own = pytest.mark, Counted(), Counted(current_thread_only=True)
    assert one(mark.limit_memory("24 MB")) == MemoryLimit(24_000_000, "24 MB", every)
    assert one(mark.limit_memory(limit="24 MiB", current_thread_only=True)) == MemoryLimit(
        24 << 20, "24 MiB", own
    )
    assert one(mark.limit_leaks("0B", filter_fn=callable)) == LeakLimit(0, "0B", every, callable)
    assert one(mark.limit_leaks(location_limit="1.5 kB")) == LeakLimit(1500, "1.5 kB", every, None)
    assert one(mark.no_leaks()) == NoLeaks(2, 5, 16, "16 B", every, None)
    assert one(mark.no_leaks(0, 2, "1 KiB")) == NoLeaks(0, 2, 1024, "1 KiB", every, None)


def test_fixtures_count_where_the_marker_says_so() -> None:
    mark, wide = pytest.mark, Counted(setup=True)
    assert one(mark.limit_memory("1 B", setup=True)) == MemoryLimit(1, "1 B", wide)
    assert one(mark.limit_leaks("1 B", setup=True)) == LeakLimit(1, "1 B", wide, None)
    assert one(mark.no_leaks(setup=True)) == NoLeaks(2, 5, 16, "16 B", wide, None)


BAD = [
    (pytest.mark.limit_memory(), "limit_memory: missing a required argument: 'limit'"),
    (pytest.mark.limit_memory("1 MB", "2 MB"), "limit_memory: too many positional arguments"),
    (
        pytest.mark.limit_memory("1 MB", filter_fn=callable),
        "limit_memory: got an unexpected keyword argument 'filter_fn'",
    ),
    (pytest.mark.limit_memory("lots"), "limit_memory: 'lots' is not a size"),
    (pytest.mark.limit_memory("24"), 'limit_memory: limit needs a unit: "24 B"'),
    (pytest.mark.limit_memory("-1 MB"), "limit_memory: '-1 MB' is not a size"),
    (pytest.mark.limit_memory("24 MX"), "limit_memory: '24 MX' is not a size: the unit"),
    (pytest.mark.limit_memory(24), "limit_memory: limit is a text"),
    (pytest.mark.limit_memory(None), "limit_memory: limit is a text"),
    (pytest.mark.limit_memory("1 MB", current_thread_only=1), "is True or False, not 1 (int)"),
    (pytest.mark.limit_memory("1 MB", setup=None), "setup is True or False, not None (NoneType)"),
    (pytest.mark.limit_leaks(["1 MB"]), "limit_leaks: location_limit is a text"),
    (pytest.mark.limit_leaks("1 MB", filter_fn="f"), "limit_leaks: filter_fn is a function"),
    (pytest.mark.limit_leaks("1 MB", limt="1"), "unexpected keyword argument 'limt'"),
    (pytest.mark.no_leaks(repeat=1), "no_leaks: repeat is at least 2, not 1"),
    (pytest.mark.no_leaks(repeat=2.5), "no_leaks: repeat is a whole number, not 2.5 (float)"),
    (pytest.mark.no_leaks(repeat=True), "no_leaks: repeat is a whole number, not True (bool)"),
    (pytest.mark.no_leaks(warmup=-1), "no_leaks: warmup is at least 0, not -1"),
    (pytest.mark.no_leaks(per_call=16), "no_leaks: per_call is a text"),
    (pytest.mark.no_leaks(repeats=3), "no_leaks: got an unexpected keyword argument 'repeats'"),
]


@pytest.mark.parametrize(("mark", "text"), BAD, ids=[text[:30] for _, text in BAD])
def test_what_cannot_be_followed_is_named_in_one_line(
    mark: pytest.MarkDecorator, text: str
) -> None:
    with pytest.raises(UsageError) as caught:
        one(mark)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_argument_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        one(pytest.mark.limit_leaks("1 MB", limt=3))
    assert "location_limit, filter_fn=None, current_thread_only=False" in str(caught.value)
