"""Checks the batches of a Produce request: at once, unless there is so much that others would wait.

How long it takes depends on the number of records and on what compressed ones come to, which a client may make as large
as it likes. What is too much for a turn is checked in a thread (`Worker`).
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

RECORDS_PER_TURN = 10_000
"""Records of one request that are checked at once: half a microsecond each, and more where something is wrong."""
BYTES_PER_TURN = 4 << 20
"""Bytes of one request whose checksums are looked at at once: a millisecond."""
DECOMPRESSED_PER_TURN = 1 << 20
"""Bytes that its compressed records may come to: a few milliseconds of gzip."""


class Candidate(NamedTuple):
    """A batch that only the log itself may still refuse."""

    topic: Topic
    partition: Partition
    config: LogConfig
    batch: bytes
    header: BatchInfo
    refusal: PartitionProduceResponse | None = None
    """What is answered nevertheless: another batch for the partition was refused."""


candidate = partial(tuple.__new__, Candidate)
"""As `Candidate._make`, without a call in Python: every batch is one."""


def check_in_a_turn(candidates: Sequence[Candidate], wall_ms: int) -> list[Verdict] | None:
    """What is to be done with each batch; None: that would take too long."""
    records = size = 0
    for each in candidates:
        size += len(each.batch)
        if each.header.record_count > 0:  # as it says itself; below that nothing is looked at
            records += each.header.record_count
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
    """What is to be done with each batch; one whose records come to more than `most_bytes` is too large."""
    return [_check_limited(each, wall_ms, most_bytes) for each in candidates]


def _check_limited(candidate: Candidate, wall_ms: int, most_bytes: int) -> Verdict:
    topic, partition, config, batch, header, _ = candidate
    try:
        return check_batch(batch, header, config, (topic.name, partition.index), wall_ms, most_bytes)
    except TooLargeError:
        return Rejection(
            ErrorCode.message_too_large,
            f"The records come to more than {most_bytes} bytes when decompressed (kohort.batch.decompressed.max.bytes)",
        )
