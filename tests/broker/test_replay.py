"""Loading what a log keeps, in slices, while others are served."""

from io import StringIO

import pytest

from kohort.broker.cluster import replay
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.settings.broker_settings import Settings
from kohort.coordinator.context import Shard
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.groups.loading import Loading
from kohort.coordinator.offsets.offsets_topic_records import expiring_offset_value, offset_key
from kohort.protocol.batches import COMPRESSION_MASK
from kohort.storage.log import PartitionLog
from kohort.storage.topic import Topic
from tests.support.batches import Pair, batch
from tests.support.manual_clock import ManualClock

GZIP = 1


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice is one step, and a step one batch."""
    monkeypatch.setattr(replay, "SLICE_BYTES", 1)
    monkeypatch.setattr(replay, "STEP_BYTES", 1)


class Place:
    """A cluster whose offsets topic has one partition, which can be loaded again."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.cluster = BrokerCluster(Settings({"offsets.topic.num.partitions": "1"}), self.clock, seed=1)
        topic = self.cluster.topics.create("kept", 1)
        assert isinstance(topic, Topic)
        self.log: PartitionLog = topic.partitions[0].log
        self.coordinator: GroupCoordinator = self.cluster.nodes[0].coordinator

    def writes(self, *pairs: Pair, attributes: int = 0) -> None:
        self.log.append(batch(*pairs, attributes=attributes), wall_ms=0)

    def starts(self) -> replay.Replay:
        return self.cluster.replays.start("kept-0", self.log, Loading(self.coordinator, 0), self.clock.now_ms())

    def passes(self, length_ms: int) -> None:
        for _ in range(length_ms):
            self.cluster.purgatory.advance(self.clock.advance(1))

    @property
    def shard(self) -> Shard | None:
        return self.coordinator.shards.get(0)

    def offsets(self, group: str = "g") -> dict[int, int]:
        found = self.coordinator.groups[group].offsets
        assert found is not None
        return {partition: committed.offset for _, partition, committed in found}


def commit(partition: int, offset: int, group: str = "g") -> Pair:
    return offset_key(group, "t", partition), expiring_offset_value(offset, "", 5, 9)


def test_empty_log_loads_immediately() -> None:
    place = Place()
    assert place.starts().over
    assert place.shard is Shard.ACTIVE


def test_load_is_sliced() -> None:
    place = Place()
    for number in range(3):
        place.writes(commit(number, number + 10))
    running = place.starts()
    for _ in range(2):
        assert place.shard is Shard.LOADING
        place.passes(replay.PAUSE_MS)
    assert not running.over
    assert place.coordinator.groups == {}
    place.passes(replay.PAUSE_MS)
    assert (running.over, place.shard) == (True, Shard.ACTIVE)
    assert place.offsets() == {0: 10, 1: 11, 2: 12}


def test_later_records_count_and_tombstones_delete() -> None:
    place = Place()
    place.writes(commit(0, 1), commit(1, 1), commit(2, 1, "gone"))
    place.writes(commit(0, 2), (commit(1, 0)[0], None), (commit(2, 0, "gone")[0], None), attributes=GZIP)
    place.writes(commit(0, 3), (b"\x00\x00\x00\x00", b""), attributes=1 << 5)  # a control batch is not a commit
    place.starts()
    place.cluster.replays.run_at_once()
    assert GZIP & COMPRESSION_MASK
    assert place.offsets() == {0: 2}
    assert "gone" not in place.coordinator.groups


def test_one_after_the_other() -> None:
    place = Place()
    place.writes(commit(0, 1))
    place.writes(commit(0, 2))
    first = place.starts()
    other = Loading(place.coordinator, 1)
    second = place.cluster.replays.start("kept-1", place.log, other, 0)
    for _ in range(2):
        place.passes(1)
    assert (first.over, second.over) == (True, False)
    place.passes(2)
    assert second.over


def test_cancelled_load_leaves_nothing() -> None:
    place = Place()
    place.writes(commit(0, 1))
    place.writes(commit(0, 2))
    running = place.starts()
    place.passes(1)
    running.cancel()
    assert place.shard is None
    place.starts()
    place.passes(5)
    assert place.shard is Shard.ACTIVE
    assert place.offsets() == {0: 2}
    running.cancel()  # too late, and no matter
    assert place.shard is Shard.ACTIVE


def test_append_and_compaction_during_load() -> None:
    place = Place()
    place.writes(commit(0, 1))
    place.writes(commit(1, 1))
    place.starts()
    place.passes(1)
    place.log.delete_before(place.log.log_end_offset)
    place.writes(commit(2, 7))
    place.passes(5)
    assert place.offsets() == {0: 1, 2: 7}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ((None, b""), "a record from offset 1 on cannot be read: a record without a key"),
        ((b"\x00", b""), "a record from offset 1 on cannot be read: ends inside an int16"),
        (
            (commit(0, 0)[0], b"\x00\x09"),
            "a record before offset 2 cannot be read: OffsetKey(group_id='g', topic='t', partition=0): unsupported",
        ),
    ],
)
def test_unreadable_record_stops_load(record: Pair, message: str, lines: StringIO) -> None:
    place = Place()
    place.writes(commit(0, 1))
    place.writes(record)
    assert not place.starts().over
    place.passes(5)
    assert place.shard is None
    assert place.coordinator.groups == {}
    assert f"kept-0: {message}" in lines.getvalue()
    assert "Traceback" not in lines.getvalue()


def test_load_is_logged(lines: StringIO) -> None:
    place = Place()
    place.writes(commit(0, 1), commit(1, 1, "h"))
    place.starts()
    place.passes(1)
    assert "kept-0: loaded 2 groups from 2 records in 1 ms" in lines.getvalue()


def test_start_loads_up_to_limit() -> None:
    place = Place()
    for number in range(3):
        place.writes(commit(number, number + 10))
    running = place.starts()
    place.cluster.replays.run_at_once(max_bytes=1)
    assert (running.over, place.shard) == (False, Shard.LOADING)
    place.cluster.purgatory.advance(place.clock.now_ms())  # requests that already arrived precede the next slice
    assert not running.over
    place.passes(3 * replay.PAUSE_MS)
    assert place.offsets() == {0: 10, 1: 11, 2: 12}


def test_last_load_is_reported() -> None:
    place = Place()
    reports: list[int] = []
    place.cluster.replays.when_loaded(lambda: reports.append(1))
    assert reports == [1]
    place.writes(commit(0, 1))
    place.writes(commit(0, 2))
    place.starts()
    place.cluster.replays.when_loaded(lambda: reports.append(2))
    place.passes(1)
    assert reports == [1]
    place.passes(1)
    assert reports == [1, 2]
    place.passes(5)
    assert reports == [1, 2]
