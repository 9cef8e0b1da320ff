"""What is known of stretches of offsets: ranges that don't overlap, each with a value."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

ValueT = TypeVar("ValueT")


class OffsetRange(NamedTuple, Generic[ValueT]):
    """first, last: offsets, both included."""

    first: int
    last: int
    value: ValueT

    @property
    def records(self) -> int:
        return self.last - self.first + 1


class RangeMap(Generic[ValueT]):
    """Ranges in the order of their offsets. What is taken or put cuts those that it overlaps."""

    def __init__(self) -> None:
        self._ranges: list[OffsetRange[ValueT]] = []

    def __iter__(self) -> Iterator[OffsetRange[ValueT]]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)

    def take(self, first: int, last: int) -> list[OffsetRange[ValueT]]:
        """Removes what lies from first to last, and gives it."""
        begin = bisect_left(self._ranges, first, key=_last)
        taken: list[OffsetRange[ValueT]] = []
        kept: list[OffsetRange[ValueT]] = []
        end = begin
        while end < len(self._ranges) and self._ranges[end].first <= last:
            each = self._ranges[end]
            taken.append(each._replace(first=max(each.first, first), last=min(each.last, last)))
            if each.first < first:
                kept.append(each._replace(last=first - 1))
            if each.last > last:
                kept.append(each._replace(first=last + 1))
            end += 1
        self._ranges[begin:end] = kept
        return taken

    def put(self, first: int, last: int, value: ValueT) -> None:
        """Says something of a stretch of which nothing is said."""
        at = bisect_left(self._ranges, first, key=_first)
        self._ranges.insert(at, OffsetRange(first, last, value))

    def pieces(self, first: int, last: int) -> Iterator[OffsetRange[ValueT | None]]:
        """Takes a stretch in pieces, in order; None: nothing was said of that piece."""
        at = first
        for each in self.take(first, last):
            if each.first > at:
                yield OffsetRange(at, each.first - 1, None)
            yield OffsetRange(each.first, each.last, each.value)
            at = each.last + 1
        if at <= last:
            yield OffsetRange(at, last, None)


def _first(each: OffsetRange[ValueT]) -> int:
    return each.first


def _last(each: OffsetRange[ValueT]) -> int:
    return each.last
