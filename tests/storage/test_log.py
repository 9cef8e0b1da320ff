"""A log: offsets, reading, looking up by time, segments that come and go."""

import pytest

from kohort.storage.log import PartitionLog
from kohort.storage.memory import Memory
from kohort.storage.segment import CHUNK_BYTES
from kohort.storage.topic_configs import LogConfig
from tests.support.batches import batch, contents, found_at, offsets, result_of, split

EVERYTHING = 1 << 30


def log_of(*batches: bytes, **config: object) -> PartitionLog:
    log = PartitionLog(LogConfig(**config))  # type: ignore[arg-type]
    for each in batches:
        log.append(each, wall_ms=1_000)
    return log


def test_append_stamps_offset_and_epoch() -> None:
    log = PartitionLog(LogConfig())
    assert log.append(batch(b"a", b"b"), wall_ms=0, leader_epoch=3) == 0
    assert log.append(batch(b"c"), wall_ms=0, leader_epoch=3) == 2
    assert log.log_end_offset == log.high_watermark == 3
    first, second = split(log.read(0, EVERYTHING))
    assert second[:8] == (2).to_bytes(8, "big")
    assert first[12:16] == second[12:16] == (3).to_bytes(4, "big")
    assert contents([first, second]) == [(0, None, b"a"), (1, None, b"b"), (2, None, b"c")]


def test_read_starts_with_containing_batch() -> None:
    log = log_of(batch(b"a", b"b", b"c"), batch(b"d"), batch(b"e", b"f"))
    assert offsets(log.read(1, EVERYTHING)) == [0, 3, 4]
    assert offsets(log.read(3, EVERYTHING)) == [3, 4]
    assert offsets(log.read(5, EVERYTHING)) == [4]
    assert log.read(6, EVERYTHING) == []


def test_read_returns_at_least_one_batch() -> None:
    each = batch(b"x" * 100)
    log = log_of(*[each] * 10)
    assert offsets(log.read(0, 3 * len(each))) == [0, 1, 2]
    assert offsets(log.read(0, 4 * len(each) - 1)) == [0, 1, 2]
    assert offsets(log.read(4, 1)) == [4]
    assert log.read(4, 1, at_least_one=False) == []


def test_oversized_batch_is_not_skipped() -> None:
    small, large = batch(b"s"), batch(b"x" * 20_000)
    log = log_of(small, large, small)
    assert offsets(log.read(0, 2 * len(small))) == [0]


def test_fetch_stops_at_kafka_segment_boundary() -> None:
    each = batch(b"x" * 10_000)
    for config, stops_at in (({"segment_bytes": 25_000}, 2), ({"retention_bytes": 100_000}, 4)):
        log = log_of(*[each] * 4, **config)
        assert log.segment_count == 2
        assert offsets(log.read_segment(0, EVERYTHING, at_least_one=True)[0]) == list(range(stops_at))
        assert offsets(log.read(0, EVERYTHING)) == [0, 1, 2, 3]
        assert log.is_in_older_segment(0, 3) == (stops_at == 2)
        assert not log.is_in_older_segment(2, 4)


def test_small_segment_reports_all_aborted_transactions() -> None:
    week_ms = 8 * 24 * 60 * 60_000
    log = log_of(batch(b"a"), batch(b"b"), batch(b"c", at=week_ms), batch(b"d", at=week_ms))
    assert log.segment_count == 2
    assert log.aborted_until(0, 1) == 2, "the next segment begins there"
    assert log.aborted_until(2, 3) == log.log_end_offset
    log.append(batch(b"x" * 5_000, at=week_ms), wall_ms=1_000)
    assert log.aborted_until(2, 3) == 3, "it has an index by now"


def test_small_and_large_batches_keep_order() -> None:
    sizes = [10, 9_000, 10, 20, 40_000, 5_000, 5_000, 7_000, 7_000, 7_000, 7_000, 10]
    log = log_of(*[batch(bytes([n]) * size) for n, size in enumerate(sizes)])
    for start in range(len(sizes)):
        read = contents(log.read(start, EVERYTHING))
        assert read == [(n, None, bytes([n]) * sizes[n]) for n in range(start, len(sizes))]


def test_read_views_stay_unchanged() -> None:
    log = log_of(batch(b"first"))
    read = log.read(0, EVERYTHING)
    for _ in range(CHUNK_BYTES // 60):
        log.append(batch(b"more"), wall_ms=0)
    assert contents(read) == [(0, None, b"first")]


def test_finds_offset_by_time() -> None:
    log = log_of(batch(b"a", at=1_000), batch(b"b", b"c", at=3_000), batch(b"d", b"e", at=(4_000, 6_000)))
    assert found_at(log, 500) == (1_000, 0)
    assert found_at(log, 1_000) == (1_000, 0)
    assert found_at(log, 2_000) == (3_000, 1)
    assert found_at(log, 5_000) == (6_000, 4)
    assert found_at(log, 6_001) is None
    assert result_of(log.offset_of_max_timestamp()) == (6_000, 4)


def test_max_timestamp_survives_record_deletion() -> None:
    log = log_of(batch(b"a", at=1_000), batch(b"b", at=3_000), batch(b"c", at=2_000))
    for start in (2, 3):
        log.delete_before(start)
        assert result_of(log.offset_of_max_timestamp()) == (3_000, 1)
    log.append(batch(b"d", at=2_500), wall_ms=0)
    assert result_of(log.offset_of_max_timestamp()) == (3_000, 1)
    log.append(batch(b"e", at=4_000), wall_ms=0)
    assert result_of(log.offset_of_max_timestamp()) == (4_000, 4)


def test_times_inside_compressed_batches_are_found() -> None:
    log = log_of(batch(b"a", b"b", at=(1_000, 2_000), attributes=1))
    assert found_at(log, 1_500) == (2_000, 1)


def test_log_append_time_is_batch_time() -> None:
    log = log_of(batch(b"a", b"b", at=(1_000, 2_000), attributes=8))
    assert found_at(log, 1_500) == (2_000, 0)


def test_empty_log_has_no_timestamps() -> None:
    log = log_of()
    assert found_at(log, 0) is None
    assert result_of(log.offset_of_max_timestamp()) is None
    assert log.read(0, EVERYTHING) == []
    assert list(log.batches()) == []


def test_epoch_ends_at_next_start() -> None:
    log = PartitionLog(LogConfig())
    for epoch in (0, 0, 2, 5):
        log.append(batch(b"x"), wall_ms=0, leader_epoch=epoch)
    assert [log.end_offset_for_epoch(n) for n in (-1, 0, 1, 2, 4, 5, 6)] == [
        (-1, -1),
        (0, 2),
        (0, 2),
        (2, 3),
        (2, 3),
        (5, 4),
        (-1, -1),
    ]
    assert [log.epoch_at(n) for n in range(5)] == [0, 0, 2, 5, 5]


def test_empty_epoch_leaves_no_trace() -> None:
    log = PartitionLog(LogConfig())
    log.start_epoch(1)
    log.append(batch(b"x"), wall_ms=0, leader_epoch=1)
    assert log.end_offset_for_epoch(0) == (0, 0)
    assert log.epoch_at(0) == 1


# Retention


def test_retention_bytes_drops_whole_segments() -> None:
    each = batch(b"x" * 5_000)
    log = log_of(*[each] * 40, retention_bytes=80_000)
    assert 80_000 <= log.size_bytes < 80_000 + 2 * 20_000
    assert log.log_start_offset > 0
    assert offsets(log.read(log.log_start_offset, EVERYTHING)) == list(range(log.log_start_offset, 40))


def test_retention_ms_drops_open_segment() -> None:
    log = PartitionLog(LogConfig(retention_ms=10_000))
    for at in (0, 4_000, 8_000, 12_000):
        log.append(batch(b"x", at=at), wall_ms=at)
    assert log.trim(10_000) == 0
    log.trim(14_001)
    assert log.log_start_offset == 2
    log.trim(60_000)
    assert log.log_start_offset == log.log_end_offset == 4
    assert log.size_bytes == 0
    assert log.append(batch(b"y", at=60_000), wall_ms=60_000) == 4
    assert contents(log.read(4, EVERYTHING)) == [(4, None, b"y")]


@pytest.mark.parametrize("config", [{"delete": False}, {"retention_ms": -1}])
def test_without_retention_nothing_goes(config: dict[str, object]) -> None:
    log = log_of(batch(b"x"), **config)
    assert log.trim(1 << 50) == 0
    assert log.log_start_offset == 0


def test_delete_before_offset() -> None:
    log = log_of(batch(b"a", b"b"), batch(b"c"))
    log.delete_before(1)
    assert log.log_start_offset == 1
    assert contents(log.read(1, EVERYTHING))[1:] == [(1, None, b"b"), (2, None, b"c")]
    log.clear()
    assert log.log_start_offset == log.log_end_offset == 3
    assert log.size_bytes == 0


def test_memory_limit_drops_oldest_records() -> None:
    memory = Memory(limit_bytes=100_000)
    log = PartitionLog(LogConfig(segment_bytes=20_000), memory)
    for _ in range(100):
        log.append(batch(b"x" * 5_000), wall_ms=0)
    assert log.size_bytes == memory.used_bytes <= 100_000 + 20_000
    assert memory.dropped_bytes > 0
    assert log.log_end_offset == 100


def test_memory_limit_spares_compacted_logs() -> None:
    log = PartitionLog(LogConfig(segment_bytes=20_000, compact=True, delete=False), Memory(limit_bytes=0))
    for _ in range(10):
        log.append(batch((b"k", b"x" * 5_000)), wall_ms=0)
    assert log.log_start_offset == 0
