"""Compaction: keeps the last record of each key, at its offset. Bytes in, bytes out.

A log is processed from its newest chunk to its oldest: the first record found for a key is the one to keep. Each record
is read once, and a batch that is kept or dropped completely is never decoded.

The first compaction that processes a tombstone stores its delete horizon in the batch: `delete.retention.ms` from then
on (KIP-534). A consumer that reads the log from its start within that time sees every deletion, however late the first
compaction runs. Unreadable batches are kept; while there is one, tombstones are kept, too, because it could contain
records that they delete.

Only transactions that have ended are compacted: records of aborted ones are dropped, and a marker is dropped, like a
tombstone, once no batch of its transaction is left. The last batch of each producer with state is kept, with or without
records, because its sequence numbers must be recoverable from the log. Source: Kafka's `Cleaner`,
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

LATEST_MS: Final = 2**63 - 1  # no timestamp is later

_END: Final = 2**63
_ATTRIBUTES: Final = Struct(">h")
_ATTRIBUTES_AT: Final = 21
_LAST_OF_ATTRIBUTES_AT: Final = 22
_BASE_TIMESTAMP: Final = Struct(">q")
_BASE_TIMESTAMP_AT: Final = 27
_COUNT: Final = Struct(">i")
_COUNT_AT: Final = 57
_NOT_PLAIN: Final = COMPRESSION_MASK | CONTROL | TRANSACTIONAL

AT_ONCE: Final = 400  # `Compaction.effort` per slice: a millisecond
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
        "_later_keys",
        "_markers",
        "_now_ms",
        "_opaque",
        "_overtaken",
        "_tombstones_go",
        "effort",
        "gone_markers",
    )

    def __init__(
        self, now_ms: int, retention_ms: int, producers: Producers | None = None, *, tombstones_go: bool = True
    ) -> None:
        """Start a pass.

        Args:
            retention_ms: Time from `now_ms` on for which tombstones and markers are kept (`delete.retention.ms`).
        """
        self._now_ms = now_ms
        self._horizon_ms = now_ms + retention_ms
        self._tombstones_go = tombstones_go
        self._later_keys: set[bytes] = set()
        self._overtaken = Overtaken(self._later_keys)
        self._dropped_tombstones = False
        self._opaque = False
        self._aborted: dict[int, list[Aborted]] = {}  # by producer, in order
        for transaction in () if producers is None else producers.transactions.aborted_in(0, _END):
            self._aborted.setdefault(transaction.producer_id, []).append(transaction)
        self._last_batches = {} if producers is None else producers.last_batches()
        # The last marker seen of each producer: earlier batches belong to the transaction that it ends.
        self._markers: dict[int, int] = {}
        self._empty_markers: set[int] = set()  # Offsets of markers for whose transactions no batch was found.
        self.gone_markers: set[int] = set()  # Offsets of those that `finish` has dropped.
        # Cost of the current slice, measured in batches whose header was read.
        self.effort = AT_ONCE  # the first step is short: a topic's files are opened in it

    @property
    def unsafe(self) -> bool:
        """Whether tombstones were dropped although an unread batch may contain records that they delete."""
        return self._dropped_tombstones and self._opaque

    def compact(self, chunk: Chunk) -> Generator[None, None, list[Chunk]]:
        """Yield between slices and return the kept part of a chunk, in order. Call it with the newest chunk first."""
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
        """Return whether it is certain without decoding that nothing of a batch is kept."""
        if data[at + _LAST_OF_ATTRIBUTES_AT] & _NOT_PLAIN or not self._overtaken.is_overtaken(
            data, at + HEADER_SIZE, end
        ):
            return False
        return not self._last_batches or not self._is_last_of_its_producer(memoryview(data)[at:end])

    @property
    def finished(self) -> bool:
        """Whether `finish` would return every chunk unchanged."""
        return not self._empty_markers

    def finish(self, chunk: Chunk) -> bytes:
        """Return the final content of a kept chunk, after the pass has found out which markers are obsolete."""
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
            newest = Newest(records, self._later_keys)
            yield from newest.find()
            self.effort += _EFFORT_OF_BATCH + newest.count
        except DecodeError:  # batches from before the topic was compacted are not decoded
            self._opaque = True
            return batch
        # Records without a key are from before the topic was compacted; Kafka drops them, too.
        self._later_keys.update(newest.by_key)
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
        """Return a batch with only these records, or None if it is dropped."""
        if not records and not self._is_last_of_its_producer(batch):
            return None
        attributes = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0]
        base_timestamp = _BASE_TIMESTAMP.unpack_from(batch, _BASE_TIMESTAMP_AT)[0]
        return _rebuilt(batch, attributes & ~COMPRESSION_MASK, base_timestamp, records)

    def _dates(self, batch: Chunk) -> bool:
        """Return whether the delete horizon must be stored in a batch."""
        return _delete_horizon_ms(batch) is None and self._horizon_ms <= LATEST_MS

    def _time_is_over(self, batch: Chunk) -> bool:
        """Return whether a batch has a delete horizon that has passed."""
        horizon_ms = _delete_horizon_ms(batch)
        return horizon_ms is not None and horizon_ms <= self._now_ms

    def _dated(self, batch: Chunk, records: list[bytes]) -> bytes:
        """Return a batch of these records with a delete horizon, which replaces the base timestamp."""
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
        """Return whether a batch belongs to an aborted transaction; otherwise mark its transaction as non-empty."""
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
    """Return the delete horizon of a batch, or None if no compaction has processed it."""
    if not _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0] & DELETE_HORIZON:
        return None
    horizon_ms: int = _BASE_TIMESTAMP.unpack_from(batch, _BASE_TIMESTAMP_AT)[0]
    return horizon_ms


def _rebuilt(batch: Chunk, attributes: int, base_timestamp: int, records: list[bytes]) -> bytes:
    """Return an uncompressed batch with these records and the same offsets and largest timestamp."""
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
