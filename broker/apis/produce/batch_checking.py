"""Checks of the batches of a Produce request: immediate, or in a thread if they would delay other requests.

The time depends on the number of records and on the size of decompressed ones, which clients can make as large as they
like. Checks that exceed the limits below run in a thread (`Worker`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kohort.protocol.compression import TooLargeError
from kohort.protocol.errors import ErrorCode
from kohort.storage.validation import Rejection, Verdict, check_batch

if TYPE_CHECKING:
    from kohort.protocol.batches import BatchInfo
    from kohort.protocol.messages.produce import PartitionProduceResponse
    from kohort.storage.topic import Partition, Topic
    from kohort.storage.topic_configs import LogConfig

# Records of one request that are checked immediately: half a microsecond each, more if some are invalid.
RECORDS_PER_TURN = 10_000
BYTES_PER_TURN = 4 << 20  # bytes of one request whose checksums are verified immediately: a millisecond
DECOMPRESSED_PER_TURN = 1 << 20  # decompressed bytes of one request: a few milliseconds for gzip


class Candidate(NamedTuple):
    """A batch that passed all checks except those of its records."""

    topic: Topic
    partition: Partition
    config: LogConfig
    batch: bytes
    header: BatchInfo
    refusal: PartitionProduceResponse | None = None  # the response if another batch for the partition was rejected


candidate = partial(tuple.__new__, Candidate)  # `Candidate._make` without a Python call, because every batch needs one


def check_in_a_turn(candidates: Sequence[Candidate], wall_ms: int) -> list[Verdict] | None:
    """Return a verdict for each batch, or None if the checks exceed the limits."""
    records = size = 0
    for batch_candidate in candidates:
        size += len(batch_candidate.batch)
        if batch_candidate.header.record_count > 0:  # a declared count; the records of other batches are not checked
            records += batch_candidate.header.record_count
    if records > RECORDS_PER_TURN or size > BYTES_PER_TURN:
        return None
    try:
        most_bytes = DECOMPRESSED_PER_TURN // (len(candidates) or 1)
        return [
            check_batch(batch, header, config, (topic.name, partition.index), wall_ms, most_bytes)
            for topic, partition, config, batch, header, _ in candidates
        ]
    except TooLargeError:
        return None


def check_all(candidates: Sequence[Candidate], wall_ms: int, most_bytes: int) -> list[Verdict]:
    """Return a verdict for each batch. Batches with more than `most_bytes` decompressed bytes are too large."""
    return [_check_limited(batch_candidate, wall_ms, most_bytes) for batch_candidate in candidates]


def _check_limited(candidate: Candidate, wall_ms: int, most_bytes: int) -> Verdict:
    topic, partition, config, batch, header, _ = candidate
    try:
        return check_batch(batch, header, config, (topic.name, partition.index), wall_ms, most_bytes)
    except TooLargeError:
        return Rejection(
            ErrorCode.message_too_large,
            f"The records exceed {most_bytes} bytes when decompressed (kohort.batch.decompressed.max.bytes)",
        )
