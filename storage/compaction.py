"""Compaction: of the records with the same key only the last one stays, at its offset. Bytes in, bytes out.

A log is gone through from its newest chunk to its oldest: the first time a key is met, its record is the one to keep.
So every record is read once, and a batch of which nothing or everything stays is never taken apart.

The first compaction that meets a tombstone notes in its batch when it may go, the delete horizon: `delete.retention.ms`
from then on (KIP-534). So whoever reads the log from its start within that time hears of every deletion, however late
the first compaction comes. What cannot be read stays as it is; while there is such a batch tombstones stay too, because
a record that they delete might be in there.

Of transactions only those come here that have ended: records of aborted ones go, and a marker goes, as a tombstone
does, once no batch of its transaction is left. Of each producer that is remembered the last batch stays, with or
without records: its sequence numbers must be found by whoever reads the log. Source: Kafka's `Cleaner`,
`MemoryRecords.filterTo`, `CleanedTransactionMetadata`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator
from operator import attrgetter
from struct import Struct
from typing import TYPE_CHECKING, Final

import google_crc32c

from kohort.protocol.batches import (
    COMPRESSION_MASK,
    CONTROL,
    DELETE_HORIZON,
    HEADER_SIZE,
    TRANSACTIONAL,
    read_batch,
)
from kohort.protocol.errors import DecodeError
from kohort.storage.batch_records import Newest, later_by, records_in_steps
from kohort.storage.overtaken import Overtaken
from kohort.storage.segment import Chunk, batches_of, starts_of_batches

if TYPE_CHECKING:
    from kohort.storage.producers import Producers
    from kohort.storage.transactions import Aborted

LATEST_MS: Final = 2**63 - 1
"""No timestamp is after this."""

_END: Final = 2**63
_ATTRIBUTES: Final = Struct(">h")
_ATTRIBUTES_AT: Final = 21
_LAST_OF_ATTRIBUTES_AT: Final = 22
_BASE_TIMESTAMP: Final = Struct(">q")
_BASE_TIMESTAMP_AT: Final = 27
_COUNT: Final = Struct(">i")
_COUNT_AT: Final = 57
_NOT_PLAIN: Final = COMPRESSION_MASK | CONTROL | TRANSACTIONAL

AT_ONCE: Final = 400
"""How much of what `Compaction.effort` counts is done in one step: a millisecond."""
_EFFORT_OF_BATCH: Final = 4
_EFFORT_OF_CHUNK: Final = 20


class Compaction:
    """One pass over the closed part of a log, from its newest chunk to its oldest."""

    __slots__ = (
        "_aborted",
        "_dropped_tombstones",
        "_empty_markers",
        "_horizon_ms",
        "_last_batches",
        "_markers",
        "_now_ms",
        "_opaque",
        "_overtaken",
        "_seen",
        "_tombstones_go",
        "effort",
        "gone_markers",
    )

    def __init__(
        self, now_ms: int, retention_ms: int, producers: Producers | None = None, *, tombstones_go: bool = True
    ) -> None:
        """`retention_ms`: how long tombstones and markers stay from `now_ms` on (`delete.retention.ms`)."""
        self._now_ms = now_ms
        self._horizon_ms = now_ms + retention_ms
        self._tombstones_go = tombstones_go
        self._seen: set[bytes] = set()
        self._overtaken = Overtaken(self._seen)
        self._dropped_tombstones = False
        self._opaque = False
        self._aborted: dict[int, list[Aborted]] = {}
        """By producer, in order."""
        for each in () if producers is None else producers.transactions.aborted_in(0, _END):
            self._aborted.setdefault(each.producer_id, []).append(each)
        self._last_batches = {} if producers is None else producers.last_batches()
        self._markers: dict[int, int] = {}
        """The marker met last of each producer: what is met before it belongs to the transaction that it ends."""
        self._empty_markers: set[int] = set()
        """Where markers stand of whose transactions no batch was met."""
        self.gone_markers: set[int] = set()
        """Where those of them stood that `finish` has dropped."""
        self.effort = AT_ONCE  # the first step is short: a topic's files are opened in it
        """What the step has cost, in batches that were only looked at."""

    @property
    def unsafe(self) -> bool:
        """Whether tombstones went although something that was not looked into may hold what they delete."""
        return self._dropped_tombstones and self._opaque

    def compact(self, chunk: Chunk) -> Generator[None, None, list[Chunk]]:
        """What stays of a chunk, in order. Must be called with the newest chunk first.

        A batch may have millions of records: it is gone through a little at a step.
        """
        kept: list[Chunk] = []
        data = bytes(chunk)
        view = memoryview(data)
        starts = starts_of_batches(data)
        self.effort += _EFFORT_OF_CHUNK + len(starts)
        end = len(data)
        for at in reversed(starts):
            if not self._is_overtaken(data, at, end):
                remaining = yield from self._compact_batch(view[at:end])
                if remaining is not None:
                    kept.append(remaining)
            end = at
        kept.reverse()
        return kept

    def _is_overtaken(self, data: bytes, at: int, end: int) -> bool:
        """Whether nothing of a batch would stay, as far as that is seen at a glance."""
        if data[at + _LAST_OF_ATTRIBUTES_AT] & _NOT_PLAIN or not self._overtaken.has(data, at + HEADER_SIZE, end):
            return False
        return not self._last_batches or not self._is_last_of_its_producer(memoryview(data)[at:end])

    @property
    def finished(self) -> bool:
        """Whether `finish` would leave every chunk as it is."""
        return not self._empty_markers

    def finish(self, chunk: Chunk) -> bytes:
        """What stays of what stayed, when the pass is over and it is known which markers end nothing any more."""
        return b"".join(remaining for batch in batches_of(chunk) if (remaining := self._finish_batch(batch)))

    def _compact_batch(self, batch: memoryview) -> Generator[None, None, Chunk | None]:
        attributes = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0]
        if attributes & CONTROL:
            header = read_batch(batch)
            self._markers[header.producer_id] = header.base_offset
            self._empty_markers.add(header.base_offset)
            return batch
        if attributes & TRANSACTIONAL and self._is_aborted(batch):
            return self._rest(batch, [])
        try:
            records = yield from records_in_steps(batch)
            if records is None:
                self._opaque = True
                return batch
            newest = Newest(records, self._seen)
            yield from newest.find()
            self.effort += _EFFORT_OF_BATCH + newest.count
        except DecodeError:  # what a producer sent while the topic was not compacted is not looked into
            self._opaque = True
            return batch
        # What has no key is from a time when the topic was not compacted; Kafka drops it too.
        self._seen.update(newest.by_key)
        kept: list[bytes] = []
        tombstones_stay = False
        tombstones_go = self._tombstones_go and self._time_is_over(batch)
        for start, end, is_tombstone in sorted(newest.by_key.values()):
            if is_tombstone and tombstones_go:
                self._dropped_tombstones = True
                continue
            tombstones_stay |= is_tombstone
            kept.append(records[start:end])
        to_be_dated = tombstones_stay and self._dates(batch)
        if kept and len(kept) == newest.count and not to_be_dated:
            return batch
        return self._dated(batch, kept) if to_be_dated else self._rest(batch, kept)

    def _rest(self, batch: memoryview, records: list[bytes]) -> Chunk | None:
        """A batch of which only these records stay; None: nothing of it."""
        if not records and not self._is_last_of_its_producer(batch):
            return None
        attributes = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0]
        base_timestamp = _BASE_TIMESTAMP.unpack_from(batch, _BASE_TIMESTAMP_AT)[0]
        return _rebuilt(batch, attributes & ~COMPRESSION_MASK, base_timestamp, records)

    def _dates(self, batch: Chunk) -> bool:
        """Whether it has to be noted in a batch when its tombstones, or its marker, may go."""
        return _delete_horizon_ms(batch) is None and self._horizon_ms <= LATEST_MS

    def _time_is_over(self, batch: Chunk) -> bool:
        """Whether it has been noted in a batch when its tombstones, or its marker, may go, and that has come."""
        horizon_ms = _delete_horizon_ms(batch)
        return horizon_ms is not None and horizon_ms <= self._now_ms

    def _dated(self, batch: Chunk, records: list[bytes]) -> bytes:
        """A batch of these records that says so: in place of the first one's time, from which their times count."""
        attributes = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0]
        later = _BASE_TIMESTAMP.unpack_from(batch, _BASE_TIMESTAMP_AT)[0] - self._horizon_ms
        dated = [later_by(later, record) for record in records]
        return _rebuilt(batch, attributes & ~COMPRESSION_MASK | DELETE_HORIZON, self._horizon_ms, dated)

    def _finish_batch(self, batch: Chunk) -> Chunk | None:
        if not _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0] & CONTROL:
            return batch
        header = read_batch(batch)
        if header.base_offset not in self._empty_markers:
            return batch
        if self._dates(batch):
            body = bytes(batch[HEADER_SIZE:])  # a marker is one record, if it was not emptied
            return self._dated(batch, [body] if body else []) if header.record_count < 2 else batch
        carries_the_epoch = self._last_batches.get(header.producer_id) == (header.producer_epoch, None)
        if carries_the_epoch or not self._time_is_over(batch):
            return batch
        self.gone_markers.add(header.base_offset)
        return None

    def _is_aborted(self, batch: memoryview) -> bool:
        """Whether a batch belongs to an aborted transaction; if not, to a committed one. Its marker is not empty."""
        header = read_batch(batch)
        marker = self._markers.get(header.producer_id)
        if marker is not None:
            self._empty_markers.discard(marker)
        aborted = self._aborted.get(header.producer_id, ())
        after = bisect_right(aborted, header.base_offset, key=attrgetter("last_offset"))
        return after < len(aborted) and aborted[after].first_offset <= header.base_offset

    def _is_last_of_its_producer(self, batch: memoryview) -> bool:
        if not self._last_batches:
            return False
        header = read_batch(batch)
        last = self._last_batches.get(header.producer_id)
        return last is not None and last[1] == header.base_offset


def _delete_horizon_ms(batch: Chunk) -> int | None:
    """When tombstones of a batch, or its marker, may go; None: no compaction has met them."""
    if not _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0] & DELETE_HORIZON:
        return None
    horizon_ms: int = _BASE_TIMESTAMP.unpack_from(batch, _BASE_TIMESTAMP_AT)[0]
    return horizon_ms


def _rebuilt(batch: Chunk, attributes: int, base_timestamp: int, records: list[bytes]) -> bytes:
    """A batch with these records, uncompressed. Offsets and the latest time stay."""
    body = b"".join(records)
    covered = b"".join(
        (
            _ATTRIBUTES.pack(attributes),
            batch[_ATTRIBUTES_AT + 2 : _BASE_TIMESTAMP_AT],
            _BASE_TIMESTAMP.pack(base_timestamp),
            batch[_BASE_TIMESTAMP_AT + 8 : _COUNT_AT],
            _COUNT.pack(len(records)),
            body,
        )
    )
    length = HEADER_SIZE - 12 + len(body)
    return b"".join(
        (batch[:8], _COUNT.pack(length), batch[12:17], google_crc32c.value(covered).to_bytes(4, "big"), covered)
    )
