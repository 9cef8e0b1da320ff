"""Compaction: the last record of each key stays, at its offset."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from kohort.protocol.batches import DELETE_HORIZON, LOG_APPEND_TIME, iterate_records, read_batch
from kohort.storage.compaction import LATEST_MS, Compaction
from kohort.storage.log import PartitionLog
from kohort.storage.topic_configs import LogConfig
from tests.support.batches import Pair, batch, contents, offsets, result_of, split

EVERYTHING = 1 << 30
DAY_MS = 86_400_000


def compacted(*batches: bytes) -> list[tuple[int, bytes | None, bytes | None]]:
    """Return the remaining batches of a log with these batches in one chunk."""
    log = PartitionLog(LogConfig())
    for each in batches:
        log.append(each, wall_ms=0)
    return contents(result_of(Compaction(0, DAY_MS).compact(b"".join(log.read(0, EVERYTHING)))))


def run(log: PartitionLog, wall_ms: int = 0) -> None:
    for _ in log.compact(wall_ms):
        pass


def compacted_log(pairs: Iterable[Pair], **config: object) -> PartitionLog:
    log = PartitionLog(LogConfig(compact=True, delete=False, segment_bytes=2_000, **config))  # type: ignore[arg-type]
    for pair in pairs:
        log.append(batch(pair), wall_ms=1_000)
    return log


def test_last_record_keeps_its_offset() -> None:
    assert compacted(batch((b"a", b"1")), batch((b"b", b"1")), batch((b"a", b"2"))) == [
        (1, b"b", b"1"),
        (2, b"a", b"2"),
    ]


def test_small_log_keeps_history_in_memory() -> None:
    # `kohort analyze` needs the recent past of a young offsets topic; in Kafka it is one segment
    log = PartitionLog(LogConfig(compact=True, delete=False))
    for number in range(3_000):
        log.append(batch((b"group %d" % (number % 20), bytes(60))), wall_ms=0)
    old_contents = contents(log.read(0, EVERYTHING))
    run(log)
    assert contents(log.read(0, EVERYTHING)) == old_contents


def test_within_a_batch_too() -> None:
    assert compacted(batch((b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1"))) == [
        (1, b"b", b"1"),
        (2, b"a", b"2"),
        (3, b"c", b"1"),
    ]


def log_with_a_tombstone(*, attributes: int = 0, delete_retention_ms: int = 1_000) -> PartitionLog:
    """Write key `a` and delete it at 5 s; compactions follow days later."""
    log = PartitionLog(LogConfig(compact=True, delete=False, segment_bytes=1, delete_retention_ms=delete_retention_ms))
    log.append(batch((b"a", b"1"), at=4_000), wall_ms=0)
    log.append(
        batch((b"b", b"1"), (b"a", None), (b"b", b"2"), at=[5_000, 5_007, 5_001], attributes=attributes), wall_ms=0
    )
    log.append(batch((b"z", b"open segment")), wall_ms=0)
    return log


def times(log: PartitionLog) -> list[int]:
    read = [bytes(each) for each in split(log.read(0, EVERYTHING))]
    return [record.timestamp_ms for each in read for record in iterate_records(each, read_batch(each))]


WITH_TOMBSTONE = [(2, b"a", None), (3, b"b", b"2"), (4, b"z", b"open segment")]
WITHOUT_TOMBSTONE = [(3, b"b", b"2"), (4, b"z", b"open segment")]


def test_tombstone_stays_until_delete_horizon() -> None:
    log = log_with_a_tombstone()
    for now_ms in (DAY_MS, DAY_MS + 1, DAY_MS + 999):
        run(log, now_ms)
        assert contents(log.read(0, EVERYTHING)) == WITH_TOMBSTONE
        met = read_batch(split(log.read(0, EVERYTHING))[0])
        assert met.attributes == DELETE_HORIZON
        assert met.base_timestamp == DAY_MS + 1_000
        assert met.max_timestamp == 5_007
        assert times(log) == [5_007, 5_001, 1_000]
    run(log, DAY_MS + 1_000)
    assert contents(log.read(0, EVERYTHING)) == WITHOUT_TOMBSTONE
    assert times(log) == [5_001, 1_000]


def test_zero_retention_drops_at_second_compaction() -> None:
    log = log_with_a_tombstone(delete_retention_ms=0)
    run(log, DAY_MS)
    assert contents(log.read(0, EVERYTHING)) == WITH_TOMBSTONE
    run(log, DAY_MS)
    assert contents(log.read(0, EVERYTHING)) == WITHOUT_TOMBSTONE


def test_tombstone_with_unlimited_retention_stays() -> None:
    log = log_with_a_tombstone(delete_retention_ms=LATEST_MS)
    before = split(log.read(0, EVERYTHING))[1]
    run(log, DAY_MS)
    run(log, 1_000 * DAY_MS)
    assert contents(log.read(0, EVERYTHING)) == WITH_TOMBSTONE
    assert read_batch(split(log.read(0, EVERYTHING))[0]).base_timestamp == read_batch(before).base_timestamp


def test_delete_horizon_of_compressed_batches() -> None:
    for attributes, then in ((1, [5_007, 5_001, 1_000]), (LOG_APPEND_TIME, [5_007, 5_007, 1_000])):
        log = log_with_a_tombstone(attributes=attributes)
        run(log, DAY_MS)
        assert contents(log.read(0, EVERYTHING)) == WITH_TOMBSTONE
        assert times(log) == then
        run(log, 2 * DAY_MS)
        assert contents(log.read(0, EVERYTHING)) == WITHOUT_TOMBSTONE


def test_overwritten_tombstone_is_dropped_immediately() -> None:
    assert compacted(batch((b"a", None)), batch((b"a", None))) == [(1, b"a", None)]


def test_records_without_a_key_go() -> None:
    assert compacted(batch(b"x", (b"a", b"1"))) == [(1, b"a", b"1")]


def test_compressed_batches_are_looked_into() -> None:
    assert compacted(
        batch((b"a", b"1"), (b"b", b"1"), attributes=1), batch((b"a", b"2")), batch((b"c", b"1"), attributes=1)
    ) == [(1, b"b", b"1"), (2, b"a", b"2"), (3, b"c", b"1")]


def test_unreadable_batches_preserve_old_tombstones() -> None:
    log = PartitionLog(LogConfig(compact=True, delete=False, segment_bytes=1, delete_retention_ms=0))
    broken = batch((b"a", b"1"), attributes=1)[:61] + b"no gzip"
    broken = broken[:8] + (len(broken) - 12).to_bytes(4, "big") + broken[12:]
    for each in (broken, batch((b"a", None)), batch((b"z", b"open segment"))):
        log.append(each, wall_ms=0)
    for days in (1, 2, 3):
        run(log, wall_ms=days * DAY_MS)
        assert offsets(log.read(0, EVERYTHING)) == [0, 1, 2]


def test_unreadable_batches_are_kept() -> None:
    log = PartitionLog(LogConfig(compact=True, delete=False, segment_bytes=1))
    broken = batch((b"a", b"1"), attributes=1)[:61] + b"no gzip, and no record either"
    broken = broken[:8] + (len(broken) - 12).to_bytes(4, "big") + broken[12:]
    for each in (broken, batch((b"a", b"1")), batch((b"a", b"2")), batch((b"a", b"3"))):
        log.append(each, wall_ms=0)
    run(log)
    assert offsets(log.read(0, EVERYTHING)) == [0, 2, 3]


def test_compacts_closed_segments_only() -> None:
    log = compacted_log((b"key %d" % (n % 3), b"%d" % n) for n in range(200))
    old_size_bytes = log.size_bytes
    assert log.needs_compaction(0)
    run(log)
    assert log.size_bytes < old_size_bytes / 3
    assert not log.needs_compaction(0)
    assert log.log_start_offset == 0
    assert log.log_end_offset == 200
    last = {key: (offset, value) for offset, key, value in contents(log.read(0, EVERYTHING))}
    assert last == {b"key 0": (198, b"198"), b"key 1": (199, b"199"), b"key 2": (197, b"197")}


def test_read_skips_compacted_offsets() -> None:
    log = compacted_log((b"same", b"%d" % n) for n in range(100))
    run(log)
    kept = [offset for offset, _, _ in contents(log.read(0, EVERYTHING))]
    for start in range(101):
        assert [offset for offset, _, _ in contents(log.read(start, EVERYTHING))] == [n for n in kept if n >= start]


def test_half_dirty_log_is_compacted_again() -> None:
    log = compacted_log((b"key %d" % n, b"x" * 30) for n in range(100))
    run(log)
    for n in range(30):
        log.append(batch((b"key %d" % n, b"y" * 30)), wall_ms=0)
    assert not log.needs_compaction(0)
    for n in range(100):
        log.append(batch((b"key %d" % n, b"z" * 30)), wall_ms=0)
    assert log.needs_compaction(0)


def test_min_compaction_lag_keeps_records() -> None:
    log = compacted_log(((b"same", b"x" * 100) for _ in range(100)), min_compaction_lag_ms=10_000)
    assert not log.needs_compaction(10_999)
    assert log.needs_compaction(11_000)


def test_concurrent_appends_survive_compaction() -> None:
    log = compacted_log((b"key %d" % (n % 5), b"%d" % n) for n in range(100))
    for _ in log.compact(0):
        log.append(batch((b"key %d" % (log.log_end_offset % 5), b"%d" % log.log_end_offset)), wall_ms=0)
    latest = {key: int(value or b"") for _, key, value in contents(log.read(0, EVERYTHING))}
    assert sorted(latest.values()) == list(range(log.log_end_offset - 5, log.log_end_offset))


def test_cleared_log_stays_cleared() -> None:
    log = compacted_log((b"same", b"x" * 100) for _ in range(100))
    steps = log.compact(0)
    next(steps)
    log.clear()
    for _ in steps:
        pass
    assert log.size_bytes == 0
    assert log.read(100, EVERYTHING) == []


keys = st.sampled_from([b"a", b"b", b"c", b"d"])
values = st.one_of(st.none(), st.just(b""), st.binary(max_size=300))


@given(
    batches=st.lists(st.tuples(st.lists(st.tuples(keys, values), min_size=1, max_size=5), st.booleans()), max_size=60)
)
def test_compaction_preserves_last_values(batches: list[tuple[list[Pair], bool]]) -> None:
    log = PartitionLog(LogConfig(compact=True, delete=False, segment_bytes=1_000))
    for pairs, compressed in batches:
        log.append(batch(*pairs, attributes=int(compressed)), wall_ms=0)
    old_contents = contents(log.read(0, EVERYTHING))
    run(log, wall_ms=500)
    after = contents(log.read(0, EVERYTHING))
    latest = {key: value for _, key, value in old_contents}
    assert {key: value for _, key, value in after} == latest
    assert [each for each in old_contents if each in after] == after
    assert log.size_bytes == sum(map(len, log.read(0, EVERYTHING)))
    run(log, wall_ms=2 * DAY_MS)
    remaining = {key: value for _, key, value in contents(log.read(0, EVERYTHING))}
    assert {key: value for key, value in remaining.items() if value is not None} == {
        key: value for key, value in latest.items() if value is not None
    }
