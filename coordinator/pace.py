"""How much work is done before other clients are served, counted in elements whatever a request looks like."""

from typing import Final

ELEMENTS_AT_ONCE: Final = 500
"""Ranges of records, state batches or partitions in one slice: a few milliseconds at most."""

COLUMN_ELEMENTS: Final = 10  # elements of columns that take about as long as one other element


def column_weight(count: int) -> int:
    """Return the number of elements that take as long as `count` elements of columns."""
    return -(-count // COLUMN_ELEMENTS)


class Pace:
    """Counts the elements that are worked on. A generator yields whenever a slice is full."""

    __slots__ = ("_remaining",)

    def __init__(self) -> None:
        self._remaining = ELEMENTS_AT_ONCE

    def add(self, count: int = 1) -> bool:
        """Count elements. Return whether the slice is full, so that others should be served; then a new one begins."""
        self._remaining -= count
        if self._remaining > 0:
            return False
        self._remaining = ELEMENTS_AT_ONCE
        return True
