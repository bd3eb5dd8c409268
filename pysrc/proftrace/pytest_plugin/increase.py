"""`--memtrace-fail-on-increase`: what a test held when it passed last, in pytest's cache."""

from __future__ import annotations

import hashlib

import pytest

from proftrace.pytest_plugin.verdicts import Held

# A test does not hold the same number of bytes each time: tables and caches differ.
_SLACK_SHARE, _SLACK_BYTES = 50, 4096


def previous(item: pytest.Item) -> int | None:
    """Return what the test held when it passed last; None when that is not known."""
    cache = getattr(item.config, "cache", None)
    value = None if cache is None else cache.get(_key(item), None)
    return value if isinstance(value, int) else None


def is_more(held: Held, before: int) -> bool:
    """Tell whether a test holds more than before: by 2 % and 4 KiB at least."""
    return held.bytes > before + max(before // _SLACK_SHARE, _SLACK_BYTES)


def remember(item: pytest.Item, held: Held) -> None:
    """Keep what the test held, for the next run; without pytest's cache nothing happens."""
    cache = getattr(item.config, "cache", None)
    if cache is not None:
        cache.set(_key(item), held.bytes)


def _key(item: pytest.Item) -> str:
    digest = hashlib.sha256(item.nodeid.encode("utf-8", "surrogatepass")).hexdigest()
    return f"memtrace/{digest[:24]}"
