"""Compaction: of the records with the same key only the last one stays, at its offset. Bytes in, bytes out.

A log is gone through from its newest chunk to its oldest: the first time a key is met, its record is the one to keep.
So every record is read once, and a batch of which nothing or everything stays is never taken apart.

A tombstone goes once it is older than `delete.retention.ms`, counted from the largest timestamp of its batch. (Kafka
counts from the first compaction that saw it, KIP-534, for which it rewrites all timestamps of the batch.) What cannot
be read stays as it is; while there is such a batch tombstones stay too, because a record that they delete might be in
there.

Of transactions only those come here that have ended: records of aborted ones go, and a marker goes, as a tombstone
does, once no batch of its transaction is left. Of each producer that is remembered the last batch stays, with or
without records: its sequence numbers must be found by whoever reads the log. Source: Kafka's `Cleaner`,
`CleanedTransactionMetadata`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container
from operator import attrgetter
from struct import Struct
from typing import TYPE_CHECKING

import google_crc32c

from kohort.protocol.batches import COMPRESSION_MASK, CONTROL, HEADER_SIZE, TRANSACTIONAL, read_batch
from kohort.protocol.errors import DecodeError
from kohort.storage.records import record_spans, records_of
from kohort.storage.segment import Chunk, batches_of

if TYPE_CHECKING:
    from kohort.storage.producers import Producers
    from kohort.storage.transactions import Aborted

KEEP_TOMBSTONES = -(2**63)
"""Nothing is older than this."""

_END = 2**63
_ATTRIBUTES = Struct(">h")
_ATTRIBUTES_AT = 21
_MAX_TIMESTAMP = Struct(">q")
_MAX_TIMESTAMP_AT = 35
_COUNT = Struct(">i")
_COUNT_AT = 57


class Compaction:
    """One pass over the closed part of a log, from its newest chunk to its oldest."""

    __slots__ = (
        "_aborted",
        "_dropped_tombstones",
        "_last_batches",
        "_markers",
        "_opaque",
        "_seen",
        "_tombstones_before_ms",
        "empty_markers",
    )

    def __init__(self, tombstones_before_ms: int, producers: Producers | None = None) -> None:
        """`tombstones_before_ms`: wall-clock time before which tombstones, and markers, may go."""
        self._seen: set[bytes] = set()
        self._tombstones_before_ms = tombstones_before_ms
        self._dropped_tombstones = False
        self._opaque = False
        self._aborted: dict[int, list[Aborted]] = {}
        """By producer, in order."""
        for each in () if producers is None else producers.transactions.aborted_in(0, _END):
            self._aborted.setdefault(each.producer_id, []).append(each)
        self._last_batches = {} if producers is None else producers.last_batches()
        self._markers: dict[int, int] = {}
        """The marker met last of each producer: what is met before it belongs to the transaction that it ends."""
        self.empty_markers: set[int] = set()
        """Where old markers stand of whose transactions no batch was met. They go when the pass is over (`without`)."""

    @property
    def unsafe(self) -> bool:
        """Whether tombstones went although something that was not looked into may hold what they delete."""
        return self._dropped_tombstones and self._opaque

    def compact(self, chunk: Chunk) -> list[Chunk]:
        """What stays of a chunk, in order. Must be called with the newest chunk first."""
        kept: list[Chunk] = []
        for batch in reversed(list(batches_of(chunk))):
            remaining = self._compact_batch(batch)
            if remaining is not None:
                kept.append(remaining)
        kept.reverse()
        return kept

    def _compact_batch(self, batch: memoryview) -> Chunk | None:
        attributes = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0]
        if attributes & CONTROL:
            self._marker(batch)
            return batch
        if attributes & TRANSACTIONAL and self._is_aborted(batch):
            return self._rest(batch, [])
        try:
            records = records_of(batch)
            spans = None if records is None else record_spans(records)
        except DecodeError:  # what a producer sent while the topic was not compacted is not looked into
            records = spans = None
        if records is None or spans is None:
            self._opaque = True
            return batch
        tombstones_go = _MAX_TIMESTAMP.unpack_from(batch, _MAX_TIMESTAMP_AT)[0] < self._tombstones_before_ms
        seen = self._seen
        kept = []
        for start, end, key, is_tombstone in reversed(spans):
            if key is None:
                continue  # from a time when the topic was not compacted; Kafka drops these too
            if key not in seen:
                seen.add(key)
                if is_tombstone and tombstones_go:
                    self._dropped_tombstones = True
                else:
                    kept.append(records[start:end])
        if kept and len(kept) == len(spans):
            return batch
        kept.reverse()
        return self._rest(batch, kept)

    def _rest(self, batch: memoryview, records: list[bytes]) -> Chunk | None:
        """A batch of which only these records stay; None: nothing of it."""
        if not records and not self._is_last_of_its_producer(batch):
            return None
        attributes = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0]
        return _rebuilt(batch, attributes & ~COMPRESSION_MASK, records)

    def _marker(self, batch: memoryview) -> None:
        header = read_batch(batch)
        last = self._last_batches.get(header.producer_id)
        tells_the_epoch = last is not None and last == (header.producer_epoch, None)
        self._markers[header.producer_id] = header.base_offset
        if header.max_timestamp < self._tombstones_before_ms and not tells_the_epoch:
            self.empty_markers.add(header.base_offset)

    def _is_aborted(self, batch: memoryview) -> bool:
        """Whether a batch belongs to an aborted transaction; if not, to a committed one. Its marker is not empty."""
        header = read_batch(batch)
        marker = self._markers.get(header.producer_id)
        if marker is not None:
            self.empty_markers.discard(marker)
        aborted = self._aborted.get(header.producer_id, ())
        after = bisect_right(aborted, header.base_offset, key=attrgetter("last_offset"))
        return after < len(aborted) and aborted[after].first_offset <= header.base_offset

    def _is_last_of_its_producer(self, batch: memoryview) -> bool:
        if not self._last_batches:
            return False
        header = read_batch(batch)
        last = self._last_batches.get(header.producer_id)
        return last is not None and last[1] == header.base_offset


def without(chunk: Chunk, offsets: Container[int]) -> bytes:
    """A chunk without the control batches at these offsets."""
    return b"".join(
        batch
        for batch in batches_of(chunk)
        if not (
            _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0] & CONTROL and read_batch(batch).base_offset in offsets
        )
    )


def _rebuilt(batch: memoryview, attributes: int, records: list[bytes]) -> bytes:
    """A batch with fewer records. Its offsets and times stay: records hold differences to the batch's first ones."""
    body = b"".join(records)
    covered = b"".join(
        (
            _ATTRIBUTES.pack(attributes),
            batch[_ATTRIBUTES_AT + 2 : _COUNT_AT],
            _COUNT.pack(len(records)),
            body,
        )
    )
    length = HEADER_SIZE - 12 + len(body)
    return b"".join(
        (batch[:8], _COUNT.pack(length), batch[12:17], google_crc32c.value(covered).to_bytes(4, "big"), covered)
    )
