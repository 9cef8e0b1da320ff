"""Batch of records of a coordinator topic, the common output of all sources."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kohort.pipeline.records.offset_commits import Ints, RecordSpans

OFFSETS_TOPIC = "__consumer_offsets"
SHARE_STATE_TOPIC = "__share_group_state"

NO_TRANSACTION, COMMITTED, ABORTED, PENDING = 0, 1, 2, 3
TRANSACTION_NAMES = (None, "committed", "aborted", "pending")


LogRow = tuple[int, int, int, bytes | None, bytes | None]  # partition, offset, timestamp, key and value of a record


@dataclass(slots=True)
class Issue:
    """Data quality issue, a row of `dq_issues`.

    rule: Short fixed identifier.
    keys: Location, such as a file and line.
    detail: Explanation in a sentence.
    """

    rule: str
    keys: str
    detail: str


@dataclass(slots=True)
class Chunk:
    """Data records (no control records), in offset order within each partition.

    gap: Number of offsets missing before the record; control records count as present. -1 if unknown.
    transaction: One of the constants above.
    leader_epoch: -1 if the source doesn't contain it.
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
    """Make a chunk of rows in any order; the later of two rows with the same partition and offset wins."""
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
    """Return the number of offsets missing before each record; 0 for the first of a partition."""
    result = np.zeros(len(offset), np.int64)
    if len(offset) > 1:
        result[1:] = np.where(np.diff(partition) == 0, np.diff(offset) - 1, 0)
    return result
