"""Records that are read again for dead letters of share groups (KIP-1191)."""

from __future__ import annotations

import pytest

from kohort.broker.cluster.dead_letter_topics import Originals
from kohort.protocol.batches import Record, build_batch
from kohort.storage.log import PartitionLog
from kohort.storage.topic import Partition
from kohort.storage.topic_configs import LogConfig


@pytest.fixture
def partition() -> Partition:
    """Return a partition with offsets 0 to 5 in two batches."""
    log = PartitionLog(LogConfig())
    for values in (b"abc", b"def"):
        log.append(build_batch([Record(None, bytes([value]), 1) for value in values]), wall_ms=1)
    return Partition(index=0, log=log, replicas=(1,), leader=1)


@pytest.mark.parametrize("offsets", [(0, 1, 2, 3, 4, 5), (1, 4), (4, 0, 5), (2, 2)])
def test_records_in_any_order(partition: Partition, offsets: tuple[int, ...]) -> None:
    originals = Originals(partition)
    records = [originals.find(offset) for offset in offsets]
    assert [record and record.value for record in records] == [b"abcdef"[offset : offset + 1] for offset in offsets]


def test_missing_record_does_not_hide_others(partition: Partition) -> None:
    originals = Originals(partition)
    assert originals.find(9) is None
    record = originals.find(3)
    assert record is not None
    assert record.value == b"d"


def test_deleted_record_is_missing(partition: Partition) -> None:
    partition.log.delete_before(3)
    assert Originals(partition).find(2) is None


def test_no_records_without_partition() -> None:
    assert Originals(None).find(0) is None
