"""Acknowledged and possible changes of a broker: what must and may exist after its restart."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from uuid import UUID

V = TypeVar("V")

MONEY = "money"
"""The topic that transactions write to. It is never deleted."""
ID = "x"
"""The transactional id."""

ANYTHING: Any = object()
"""The result of the request is unknown, since the broker died."""

Found = list[tuple[int, bytes | None, bytes | None]]
"""Offset, key and value of every record."""


class Registers(Generic[V]):
    """Values that replace each other. One whose write was not acknowledged may count or not."""

    def __init__(self, initial: V) -> None:
        self._initial = initial
        self._values: dict[Hashable, list[V]] = {}

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._values)

    def asked(self, key: Hashable, value: V) -> None:
        self._values.setdefault(key, [self._initial]).append(value)

    def acknowledged(self, key: Hashable, value: V) -> None:
        """Record that a write succeeded, so that older pending ones do not count.

        Responses on other connections may arrive in another order; then the write may have been superseded already.
        """
        values = self._values[key]
        if value in values:
            del values[: values.index(value)]

    def found(self, key: Hashable, value: V) -> None:
        """Record the current value. Raises AssertionError if it is impossible."""
        may_be = self._values.get(key, [self._initial])
        assert value in may_be or ANYTHING in may_be, f"{key}: found {value}, not one of {may_be}"
        self._values[key] = [value]


@dataclass
class Partition:
    """The records of one partition."""

    compacted: bool = False
    retention_ms: int | None = None
    """After which records may be dropped."""
    acknowledged: dict[int, tuple[bytes | None, bytes | None]] = field(default_factory=dict)
    asked: dict[tuple[bytes | None, bytes | None], int] = field(default_factory=dict)
    """And when."""
    start_asked: int = 0
    start: int = 0

    def may_drop(self, pair: tuple[bytes | None, bytes | None], now_ms: int) -> bool:
        return self.retention_ms is not None and now_ms - self.asked[pair] > self.retention_ms

    def found(self, start: int, end: int, records: Found, now_ms: int) -> None:
        """Record the existing records. Raises AssertionError if they differ from the required ones."""
        offsets = [offset for offset, _, _ in records]
        assert offsets == sorted(set(offsets)), f"out of order: {offsets}"
        assert start >= self.start, f"the log starts at {start}, and was cut at {self.start}"
        if self.retention_ms is None:
            assert start <= max(self.start_asked, self.start), f"records before {start} were not deleted"
        assert end > max(self.acknowledged, default=-1), f"offsets up to {max(self.acknowledged)} are given again"
        unknown = [record for record in records if (record[1], record[2]) not in self.asked]
        assert not unknown, f"{unknown} was never written"
        values = [value for _, _, value in records]
        assert len(set(values)) == len(values), "a record is there twice"
        there = {offset: (key, value) for offset, key, value in records}
        last = {key: offset for offset, key, _ in records}
        for offset, (key, value) in self.acknowledged.items():
            replaced = self.compacted and last.get(key, -1) > offset
            if offset >= start and not replaced and not self.may_drop((key, value), now_ms):
                assert there.get(offset) == (key, value), f"{value!r} at {offset} is lost, there is {there.get(offset)}"
        if self.retention_ms is None:  # what retention has dropped may come back, if its files could not be removed
            self.start = start
        self.acknowledged = there


@dataclass
class Transaction:
    """What was written in one, and how it ended."""

    values: list[bytes] = field(default_factory=list)
    ending: bool | None = None
    """Whether it must be committed, or None while undecided."""
    over: bool = False

    def found(self, visible: set[bytes]) -> None:
        """Record the records that read_committed consumers see."""
        seen = [value in visible for value in self.values]
        if self.ending and self.over:
            assert all(seen), f"committed, and lost: {self.values} {seen}"
        elif self.ending:
            assert all(seen) or not any(seen), f"half committed: {self.values} {seen}"
        else:
            assert not any(seen), f"never committed, and visible: {self.values} {seen}"


@dataclass
class Truth:
    """All of it."""

    topics: Registers[object] = field(default_factory=lambda: Registers(None))
    """Id, number of partitions and settings by name, or None."""
    records: dict[tuple[UUID, int], Partition] = field(default_factory=dict)
    commits: Registers[int] = field(default_factory=lambda: Registers(-1))
    generations: dict[str, int] = field(default_factory=dict)
    """Last generation whose assignment was received, by group."""
    assignments: dict[tuple[str, int, str], bytes] = field(default_factory=dict)
    """By group, generation and member."""
    producer_ids: set[int] = field(default_factory=set)
    transactions: list[Transaction] = field(default_factory=list)
