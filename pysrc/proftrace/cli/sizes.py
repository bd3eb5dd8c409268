"""Sizes on the command line: "512 KiB", "64 MB"."""

from __future__ import annotations

from argparse import ArgumentTypeError

from proftrace.units import format_bytes, parse_bytes

LARGEST_SAMPLE = 1 << 30  # bytes; see csrc/capture/sampler.h
LEAST_RING = 256 << 10  # bytes; less could not hold the events between two checkpoints


def size(text: str) -> int:
    """Return the bytes of a size above 0."""
    try:
        value = parse_bytes(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
    if value == 0:
        raise ArgumentTypeError(f"{text!r}: has to be above 0")
    return value


def sample_size(text: str) -> int:
    """Return the mean distance of samples in bytes."""
    value = size(text)
    if value > LARGEST_SAMPLE:
        raise ArgumentTypeError(f"{text!r}: {format_bytes(LARGEST_SAMPLE)} at most")
    return value


def ring_size(text: str) -> int:
    """Return how many bytes of events are kept."""
    value = size(text)
    if value < LEAST_RING:
        raise ArgumentTypeError(f"{text!r}: {format_bytes(LEAST_RING)} at least")
    return value
