"""Caches that fill while a test is repeated, and free lists that hide what it takes from them."""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable, Mapping

type _LruCache = functools._lru_cache_wrapper[object]

# CPython 3.12 freezes some hundred objects of its own when it starts.
_MOST_FROZEN_BY_PYTHON = 1000


def empty_free_lists() -> None:
    """Give back the floats, tuples and the like that the interpreter keeps for reuse.

    What a test leaks shall be allocated while it runs, not be taken from what is left of others;
    and what others keep shall not be a block that the test has made and left there. Only a full
    collection does this; with all objects frozen it has nothing else to do, and takes no time.
    """
    if gc.get_freeze_count() > _MOST_FROZEN_BY_PYTHON:
        gc.collect()  # the program's own frozen objects stay frozen
        return
    gc.freeze()
    gc.collect()
    gc.unfreeze()


def clear_interpreter_caches() -> None:
    """Empty the interpreter's cache of attributes, which keeps the names that were looked up."""
    clear: Callable[[], None] | None = getattr(sys, "_clear_internal_caches", None)
    if clear is None:
        clear = sys._clear_type_cache
    clear()


class BoundedCaches:
    """The caches with a bound that were used between the start and `clear_used`."""

    def __init__(self) -> None:
        """Note how the caches stand now."""
        self._misses = {id(cache): misses for cache, misses in _lru_caches().items()}
        self._n_patterns = _n_patterns()

    def clear_used(self) -> None:
        """Empty those that took something in since then; caches without a bound stay."""
        for cache, misses in _lru_caches().items():
            if misses > self._misses.get(id(cache), 0):
                cache.cache_clear()
        if _n_patterns() != self._n_patterns:
            sys.modules["re"].purge()


def _lru_caches() -> Mapping[_LruCache, int]:
    """Return the `lru_cache` functions with a bound, and how often each has missed."""
    found = {}
    for one in gc.get_objects():
        if type(one) is functools._lru_cache_wrapper:
            info = one.cache_info()
            if info.maxsize is not None:
                found[one] = info.misses
    return found


def _n_patterns() -> int:
    cache = getattr(sys.modules.get("re"), "_cache", ())
    return len(cache)
