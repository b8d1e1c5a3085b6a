"""Numbers of threads or children that studies go through."""

from __future__ import annotations


def doubling(first: int, last: int) -> list[int]:
    """first, twice as many, …, and the last."""
    numbers = []
    while first < last:
        numbers.append(first)
        first *= 2
    return [*numbers, last]
