"""A run of records of a coordinators' topic, the form in which every source hands them on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kohort.pipeline.records.offset_commits import Ints, RecordSpans

OFFSETS_TOPIC = "__consumer_offsets"
SHARE_STATE_TOPIC = "__share_group_state"

NO_TRANSACTION, COMMITTED, ABORTED, PENDING = 0, 1, 2, 3
TRANSACTION_NAMES = (None, "committed", "aborted", "pending")


LogRow = tuple[int, int, int, bytes | None, bytes | None]
"""Partition, offset, timestamp, key and value of a record."""


@dataclass(slots=True)
class Issue:
    """Something a person must know about the data: a row of `dq_issues`.

    rule: a short fixed word; keys: where; detail: in a sentence.
    """

    rule: str
    keys: str
    detail: str


@dataclass(slots=True)
class Chunk:
    """Data records (no control records), each partition's in offset order.

    gap: offsets missing before the record, control records counted as present; -1 where that can't be known.
    transaction: one of the constants above. leader_epoch: -1 where the source doesn't hold it.
    """

    spans: RecordSpans
    partition: Ints
    offset: Ints
    timestamp: Ints
    leader_epoch: Ints
    transaction: Ints
    gap: Ints
    issues: list[Issue] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.offset)


def chunk_of_rows(rows: list[LogRow], issues: list[Issue] | None = None) -> Chunk:
    """Makes a chunk of rows in any order. Of two rows with one partition and offset it keeps the later."""
    rows = sorted({(row[0], row[1]): row for row in rows}.values(), key=lambda row: row[:2])
    blob = bytearray()
    numbers = np.zeros((7, len(rows)), np.int64)
    for n, (partition, offset, timestamp, key, value) in enumerate(rows):
        lies: list[int] = []
        for part in (key, value):
            lies += (len(blob), -1 if part is None else len(part))
            blob += part or b""
        numbers[:, n] = (partition, offset, timestamp, *lies)
    partitions, offsets, timestamps, key_start, key_length, value_start, value_length = numbers
    return Chunk(
        RecordSpans(np.frombuffer(bytes(blob), np.uint8), key_start, key_length, value_start, value_length),
        partitions,
        offsets,
        timestamps,
        np.full(len(rows), -1, np.int64),
        np.zeros(len(rows), np.int64),
        gaps(partitions, offsets),
        issues or [],
    )


def gaps(partition: Ints, offset: Ints) -> Ints:
    """Offsets missing before each record; 0 for the first of a partition."""
    result = np.zeros(len(offset), np.int64)
    if len(offset) > 1:
        result[1:] = np.where(np.diff(partition) == 0, np.diff(offset) - 1, 0)
    return result
