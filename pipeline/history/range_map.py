"""Values of offset ranges that don't overlap."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

ValueT = TypeVar("ValueT")


class OffsetRange(NamedTuple, Generic[ValueT]):
    """A range of offsets; `first` and `last` are inclusive."""

    first: int
    last: int
    value: ValueT

    @property
    def records(self) -> int:
        return self.last - self.first + 1


class RangeMap(Generic[ValueT]):
    """Ranges ordered by offset. Taking or putting a range splits the ranges that it overlaps."""

    def __init__(self) -> None:
        self._ranges: list[OffsetRange[ValueT]] = []

    def __iter__(self) -> Iterator[OffsetRange[ValueT]]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)

    def take(self, first: int, last: int) -> list[OffsetRange[ValueT]]:
        """Remove and return the ranges from `first` to `last`."""
        begin = bisect_left(self._ranges, first, key=_last)
        ranges: list[OffsetRange[ValueT]] = []
        kept: list[OffsetRange[ValueT]] = []
        end = begin
        while end < len(self._ranges) and self._ranges[end].first <= last:
            entry = self._ranges[end]
            ranges.append(entry._replace(first=max(entry.first, first), last=min(entry.last, last)))
            if entry.first < first:
                kept.append(entry._replace(last=first - 1))
            if entry.last > last:
                kept.append(entry._replace(first=last + 1))
            end += 1
        self._ranges[begin:end] = kept
        return ranges

    def put(self, first: int, last: int, value: ValueT) -> None:
        """Add a value for a range that must be empty."""
        at = bisect_left(self._ranges, first, key=_first)
        self._ranges.insert(at, OffsetRange(first, last, value))

    def pieces(self, first: int, last: int) -> Iterator[OffsetRange[ValueT | None]]:
        """Remove a range and yield its parts in order, with None as the value of empty parts."""
        at = first
        for entry in self.take(first, last):
            if entry.first > at:
                yield OffsetRange(at, entry.first - 1, None)
            yield OffsetRange(entry.first, entry.last, entry.value)
            at = entry.last + 1
        if at <= last:
            yield OffsetRange(at, last, None)


def _first(entry: OffsetRange[ValueT]) -> int:
    return entry.first


def _last(entry: OffsetRange[ValueT]) -> int:
    return entry.last
