"""A compaction goes through hostile batches a little at a time, and keeps little of them in memory."""

from __future__ import annotations

import tracemalloc

import pytest

from kohort.storage.batch_records import COMPACTED_AT_ONCE, DECOMPRESSED_AT_ONCE, Newest
from kohort.storage.compaction import AT_ONCE, Compaction
from kohort.storage.log import PartitionLog
from kohort.storage.topic_configs import LogConfig
from tests.storage.odd_batches import GZIP, ZSTD, batch, gz, record, zstd
from tests.support.batches import contents, result_of

MIB = 1 << 20


def steps_of(data: bytes) -> tuple[list[bytes | memoryview], int]:
    """Return the remaining batches of a chunk and the number of steps."""
    steps, count = Compaction(0, 0).compact(data), 0
    while True:
        count += 1
        try:
            next(steps)
        except StopIteration as end:
            return end.value, count


@pytest.mark.parametrize("packed", [False, True])
def test_many_records_take_many_steps(packed: bool) -> None:
    count = 5 * COMPACTED_AT_ONCE
    body = b"".join(record(n, b"%d" % (n % 7)) for n in range(count))
    assert not packed or len(body) < DECOMPRESSED_AT_ONCE
    data = batch(gz(body) if packed else body, now=0, count=count, attributes=GZIP if packed else 0)
    kept, steps = steps_of(data)
    assert [offset for offset, _, _ in contents(kept)] == list(range(count - 7, count))
    assert steps == 5


def test_few_records_take_one_step() -> None:
    data = b"".join(batch(record(key=b"%d" % n), now=0, base=n) for n in range(100))
    kept, steps = steps_of(data)
    assert (b"".join(kept), steps) == (data, 1)


@pytest.mark.parametrize("keys", [1, 20, 10_000])
def test_slices_have_a_few_hundred_batches(keys: int) -> None:
    log = PartitionLog(LogConfig(compact=True, delete=False, segment_bytes=64 << 10))
    count = 10_000
    for number in range(count):
        log.append(batch(record(key=b"key %d" % (number % keys)), now=0), wall_ms=0)
    compaction = log.compact(0)
    assert sum(1 for _ in compaction) > 0.8 * count / (2 * AT_ONCE)


def test_large_batch_is_decompressed_in_thread() -> None:
    body = record(0, b"k", bytes(8 * MIB)) + record(1, b"k", b"v")
    kept, steps = steps_of(batch(zstd(body), now=0, count=2, attributes=ZSTD))
    assert contents(kept) == [(1, b"k", b"v")]
    assert steps >= 1


def test_oversized_batch_is_kept() -> None:
    data = batch(zstd(bytes(100 * MIB)), now=0, count=1, attributes=ZSTD)
    (kept,), _ = steps_of(data)
    assert kept == data


@pytest.mark.long
def test_few_keys_use_little_memory() -> None:
    body = record(0, b"k", b"v") * 200_000
    tracemalloc.start()
    try:
        newest = Newest(body, ())
        result_of(newest.find())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (newest.count, list(newest.by_key)) == (200_000, [b"k"])
    assert peak < 10_000


def test_compaction_stops_when_log_is_deleted() -> None:
    log = PartitionLog(LogConfig(compact=True, segment_bytes=MIB))
    body = b"".join(record(n, b"%d" % n) for n in range(3 * COMPACTED_AT_ONCE))
    for _ in range(20):
        log.append(batch(body, now=0, count=3 * COMPACTED_AT_ONCE), wall_ms=0)
    steps = log.compact(0)
    next(steps)
    log.clear()
    assert list(steps) == []
