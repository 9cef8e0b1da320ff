"""Compaction: of the records with the same key only the last one stays, at its offset. Bytes in, bytes out.

A log is gone through from its newest chunk to its oldest: the first time a key is met, its record is the one to keep.
So every record is read once, and a batch of which nothing or everything stays is never taken apart.

A tombstone goes once it is older than `delete.retention.ms`, counted from the largest timestamp of its batch. (Kafka
counts from the first compaction that saw it, KIP-534, for which it rewrites all timestamps of the batch.) Transactional
and control batches stay as they are, and so does what cannot be read; while there are such, tombstones stay
too, because a record that they delete might be in there.
"""

from struct import Struct

import google_crc32c

from kohort.protocol.batches import COMPRESSION_MASK, CONTROL, HEADER_SIZE, TRANSACTIONAL
from kohort.protocol.errors import DecodeError
from kohort.storage.records import record_spans, records_of
from kohort.storage.segment import Chunk, batches_of

KEEP_TOMBSTONES = -(2**63)
"""Nothing is older than this."""

_ATTRIBUTES = Struct(">h")
_ATTRIBUTES_AT = 21
_MAX_TIMESTAMP = Struct(">q")
_MAX_TIMESTAMP_AT = 35
_COUNT = Struct(">i")
_COUNT_AT = 57


class Compaction:
    """One pass over the closed part of a log, from its newest chunk to its oldest."""

    __slots__ = ("_dropped_tombstones", "_opaque", "_seen", "_tombstones_before_ms")

    def __init__(self, tombstones_before_ms: int) -> None:
        """`tombstones_before_ms`: wall-clock time before which tombstones may go."""
        self._seen: set[bytes] = set()
        self._tombstones_before_ms = tombstones_before_ms
        self._dropped_tombstones = False
        self._opaque = False

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
        try:
            records = None if attributes & (TRANSACTIONAL | CONTROL) else records_of(batch)
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
        if len(kept) == len(spans):
            return batch if kept else None
        if not kept:
            return None
        kept.reverse()
        return _rebuilt(batch, attributes & ~COMPRESSION_MASK, kept)


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
