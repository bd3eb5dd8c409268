"""Statistics, above all of odd distributions."""

from __future__ import annotations

import pytest

from helpers import profile_from_text
from proftrace.views.statistics import Share, module_of_file, size_classes, statistics
from proftrace.views.threads import thread_names


def test_equal_sizes_zero_sizes_and_one_giant() -> None:
    profile = profile_from_text(
        """
        zero 0 blocks=3
        equal 560008 blocks=8
        giant 419430400
        """
    )
    stats = statistics(profile)
    assert sum(size.count for size in stats.sizes) == stats.n_allocations == 12
    assert stats.sizes[0].least == 0
    assert stats.sizes[-1].least <= stats.largest_bytes <= stats.sizes[-1].most
    assert stats.sizes[-1].most <= 2 * stats.largest_bytes
    uppers = [size.most for size in stats.sizes]
    assert len(set(uppers)) == len(uppers)
    assert stats.peak_bytes == 419_990_408


@pytest.mark.parametrize("bits", range(65))
def test_a_size_class_is_a_power_of_two_wide(bits: int) -> None:
    histogram = [0] * 65
    histogram[bits] = 5
    (size,) = size_classes(histogram)
    assert size.count == 5
    assert size.least.bit_length() == size.most.bit_length() == bits


def test_classes_between_are_there_and_those_outside_are_not() -> None:
    classes = size_classes([0, 2, 0, 1] + [0] * 61)
    assert [(size.least, size.most, size.count) for size in classes] == [
        (1, 1, 2), (2, 3, 0), (4, 7, 1),
    ]  # fmt: skip
    assert size_classes([0] * 65) == []


def test_places_modules_allocators_and_threads_add_up() -> None:
    stats = statistics(
        profile_from_text(
            """
            main;f@pkg/a.py:3 100 blocks=2
            f@pkg/a.py:3 11 allocator=10 tid=7 thread=worker leaked
            main;g@pkg/a.py:9 5 gone tid=7 thread=worker
            """
        )
    )
    assert stats.places == [Share("f:pkg/a.py:3", 111, 3), Share("g:pkg/a.py:9", 5, 1)]
    assert stats.modules == [Share("a", 116, 4)]
    assert stats.allocators == [Share("MALLOC", 105, 3), Share("MMAP", 11, 1)]
    assert [(t.tid, t.name, t.count, t.n_bytes, t.peak_bytes, t.leaked_bytes)
            for t in stats.threads] == [(1, "MainThread", 2, 100, 100, 0),
                                        (7, "worker", 2, 16, 11, 11)]  # fmt: skip


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("/usr/lib/python3.13/json/decoder.py", "json.decoder"),
        ("/usr/lib/python3.13/json/__init__.py", "json"),
        ("/venv/lib/python3.13/site-packages/numpy/linalg/core.py", "numpy.linalg.core"),
        ("/home/me/app/script.py", "script"),
        ("/home/me/app/__init__.py", "app"),
        ("script.py", "script"),
        ("<frozen importlib._bootstrap>", "importlib._bootstrap"),
        ("<string>", "string"),
        ("", ""),
    ],
)
def test_the_module_of_a_file(file: str, module: str) -> None:
    assert module_of_file(file) == module


def test_the_first_thread_has_a_name_even_if_the_system_knows_none() -> None:
    profile = profile_from_text("f 1 thread= tid=1\nf 1 thread= tid=2\nf 1 thread=w tid=3")
    assert thread_names(profile) == ["MainThread", "", "w"]
