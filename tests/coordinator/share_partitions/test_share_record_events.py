"""Events of records of share groups, each kind reached by a conversation (offsets-topic §9.6)."""

import pytest

from kohort.coordinator.at_once import at_once
from kohort.coordinator.events.group_event import RECORD_KINDS, GroupEvent
from kohort.coordinator.share_partitions.acquiring import LogBatch
from kohort.coordinator.share_partitions.record_observer import CONNECTION_CLOSED
from kohort.coordinator.share_partitions.record_states import AVAILABLE
from kohort.coordinator.share_partitions.share_partition import InvalidState, Progress
from kohort.coordinator.share_state.state_batches import StateBatch, StateBatches
from kohort.protocol.errors import ErrorCode as E
from tests.coordinator.share.share_group_world import ShareGroupWorld
from tests.coordinator.share_partitions.share_world import World


class ListeningWorld(World):
    """World with an observer of the records of the topic foo."""

    def __init__(self, **config: object) -> None:
        super().__init__(**config)  # type: ignore[arg-type]
        self.groups = ShareGroupWorld(foo=1)
        self.groups.listen()
        observer = self.groups.coordinator.record_observer
        assert observer is not None
        self.record_observer = observer

    def told(self) -> list[str]:
        """Return the events since the last call, such as `records_acquired ada 0-3 x1`."""
        self.groups.now_ms = self.now_ms
        return [_text(event) for event in self.taken()]

    def taken(self) -> list[GroupEvent]:
        self.groups.settle()
        events, self.groups.events[:] = list(self.groups.events), []
        return events


def _text(event: GroupEvent) -> str:
    detail = dict(event.detail or {})
    assert (detail.pop("topic"), detail.pop("partition"), event.group_id) == ("foo", "0", "g")
    words = [event.kind, event.member_id or "", f"({event.cause})" if event.cause else ""]
    if "start" in detail:
        words.append(f"from {detail['start']}")
    elif "to" in detail:
        words.append(f"{detail['from']} -> {detail['to']}")
    else:
        words.append(f"{detail['first_offset']}-{detail['last_offset']} x{detail['delivery_count']}")
    return " ".join(filter(None, words))


def listening(**config: object) -> ListeningWorld:
    return ListeningWorld(**config)


def test_records_are_acquired_and_accepted() -> None:
    world = listening()
    world.produces(4)
    world.fetches()
    (acquired,) = world.taken()
    assert (acquired.kind, acquired.group_id, acquired.group_type) == ("records_acquired", "g", "share")
    assert (acquired.co_partition, acquired.co_epoch) == (-1, -1), "the event is not from a coordinator"
    assert acquired.detail == {
        "topic": "foo",
        "partition": "0",
        "first_offset": "0",
        "last_offset": "3",
        "delivery_count": "1",
    }
    world.says("0-1 accept")
    assert world.told() == ["records_accepted ada 0-1 x1", "share_start_moved 0 -> 2"]
    world.says("3 accept")
    assert world.told() == ["records_accepted ada 3-3 x1"]
    world.says("2 accept")
    assert world.told() == ["records_accepted ada 2-2 x1", "share_start_moved 2 -> 4"]


def test_event_covers_a_range() -> None:
    world = listening()
    for _ in range(100):
        world.produces(1)
    world.fetches(batch_size=1)
    assert world.told() == ["records_acquired ada 0-99 x1"]
    world.says(", ".join(f"{offset} accept" for offset in range(100)))
    assert world.told() == ["records_accepted ada 0-99 x1", "share_start_moved 0 -> 100"]


def test_one_type_per_offset() -> None:
    world = listening()
    world.produces(6)
    world.fetches()
    world.told()
    world.says("0-5 accept release reject gap renew accept")
    assert world.told() == [
        "records_renewed ada 4-4 x1",
        "records_accepted ada 0-0 x1",
        "records_released ada (acknowledged) 1-1 x1",
        "records_rejected ada 2-2 x1",
        "records_accepted ada 5-5 x1",
        "records_archived ada (gap) 3-3 x1",
        "share_start_moved 0 -> 1",
    ]
    world.fetches("bob")
    assert world.told() == ["records_acquired bob 1-1 x2"]


def test_expired_lock_at_delivery_limit() -> None:
    world = listening(delivery_count_limit=2)
    world.produces(2)
    world.fetches()
    world.told()
    world.waits(1_000)
    assert world.told() == ["lock_expired ada 0-1 x1"]
    world.fetches("bob")
    world.says("0 release", "bob")
    world.waits(1_000)
    assert world.told() == [
        "records_acquired bob 0-1 x2",
        "records_released bob (acknowledged) 0-0 x2",
        "records_archived bob (delivery_limit) 0-0 x2",
        "share_start_moved 0 -> 1",
        "lock_expired bob 1-1 x2",
        "records_archived bob (delivery_limit) 1-1 x2",
        "share_start_moved 1 -> 2",
    ]


def test_member_leaves_with_acquired_records() -> None:
    world = listening()
    world.produces(2)
    world.fetches("ada", 1, exactly=True)
    world.fetches("bob")
    world.told()
    world.leaves("ada")
    assert world.told() == ["records_released ada (session_closed) 0-0 x1"]
    world.leaves("bob", CONNECTION_CLOSED)
    assert world.told() == ["records_released bob (connection_closed) 1-1 x1"]
    world.leaves("bob")
    assert world.told() == []


def test_pending_write_is_not_reported() -> None:
    world = listening(writes_at_once=False)
    world.produces(3)
    world.fetches()
    world.told()
    world.says("0 accept, 1 release")
    assert world.told() == []
    world.lets_write(E.kafka_storage_error)
    assert world.told() == []
    world.says("0 accept, 1 release")
    world.lets_write()
    assert world.told() == [
        "records_accepted ada 0-0 x1",
        "records_released ada (acknowledged) 1-1 x1",
        "share_start_moved 0 -> 1",
    ]


def test_lock_expires_during_failing_write() -> None:
    world = listening(writes_at_once=False, delivery_count_limit=1)
    world.produces(2)
    world.fetches()
    world.says("0 accept")
    world.told()
    world.waits(1_000)
    assert world.told() == ["lock_expired ada 1-1 x1", "records_archived ada (delivery_limit) 1-1 x1"]
    world.lets_write(E.kafka_storage_error)
    assert world.told() == [
        "lock_expired ada 0-0 x1",
        "records_archived ada (delivery_limit) 0-0 x1",
        "share_start_moved 0 -> 2",
    ]


def test_rejected_request_only_renews() -> None:
    world = listening()
    world.produces(3)
    world.fetches()
    world.told()
    refused = world.says("0 renew, 1 accept, 7 accept")
    assert refused is not None
    assert refused[0] is E.invalid_request
    assert world.told() == ["records_renewed ada 0-0 x1"]


def test_log_start_advances() -> None:
    world = listening()
    world.produces(4)
    world.produces(2)
    world.fetches("ada", batches=1)
    world.says("0-1 release")
    world.told()
    world.deletes_before(3)
    assert world.fetches("bob") == []
    assert world.told() == ["records_archived (below_start) 0-1 x1", "share_start_moved 0 -> 3"]
    world.says("3 accept")
    assert world.told() == [
        "records_accepted ada 3-3 x1",
        "records_archived ada (below_start) 2-2 x1",
        "share_start_moved 3 -> 4",
    ], "records that ada still held below the start have no owner"


def test_log_start_advances_during_release() -> None:
    world = listening(writes_at_once=False)
    world.produces(4)
    world.fetches()
    world.says("0-3 release")
    world.told()
    at_once(world.partition.move_log_start(2))
    assert world.told() == ["share_start_moved 0 -> 2"]
    world.lets_write()
    assert world.told() == [
        "records_released ada (acknowledged) 0-1 x1",
        "records_released ada (acknowledged) 2-3 x1",
        "records_archived ada (below_start) 0-1 x1",
    ]
    assert world.states == "2-3 available 1"


def test_failed_write_below_start() -> None:
    world = listening(writes_at_once=False)
    world.produces(4)
    world.fetches()
    world.says("0-3 accept")
    at_once(world.partition.move_log_start(2))
    world.told()
    world.lets_write(E.kafka_storage_error)
    assert world.states == "2-3 acquired 1 ada"
    world.waits(1_000)
    assert world.told() == ["records_archived ada (below_start) 0-1 x1", "lock_expired ada 2-3 x1"]


def test_deleted_and_aborted_records() -> None:
    world = listening()
    world.produces(2)
    world.fetches()
    world.says("0-1 release")
    world.told()
    world.log.clear()
    world.produces(4)
    world.fetches("bob", aborted=(LogBatch(3, 4),))
    assert world.told() == [
        "records_archived (compacted) 0-1 x1",
        "records_archived (aborted) 3-4 x1",
        "records_acquired bob 2-2 x1",
        "records_acquired bob 5-5 x1",
    ]


def test_group_starts_after_gap() -> None:
    world = listening()
    world.produces(2, gap=5)
    world.fetches()
    assert world.told() == ["share_start_moved 0 -> 5", "records_acquired ada 5-6 x1"]


def test_leader_loses_its_state() -> None:
    world = listening(writes_at_once=False)
    world.produces(4)
    world.fetches()
    world.says("0 accept")
    world.says("1 release")
    world.told()
    world.partition.end(Progress.FENCED)
    assert world.told() == ["records_released ada (state_forgotten) 2-3 x1"]
    world.lets_write()
    assert world.told() == ["records_accepted ada 0-0 x1"], "it is written all the same"
    world.lets_write(E.fenced_leader_epoch)
    assert world.told() == ["records_released ada (state_forgotten) 1-1 x1"]
    world.partition.end(Progress.FENCED)
    assert world.told() == []
    world.begin()
    assert world.told() == ["share_partition_loaded from 1"]
    world.fetches("bob")
    assert world.told() == ["records_acquired bob 1-3 x1"]


def test_invalid_state_is_not_reported() -> None:
    world = listening()
    world.written = StateBatches.of([StateBatch(0, 3, AVAILABLE, 1), StateBatch(2, 5, AVAILABLE, 1)])
    with pytest.raises(InvalidState):
        world.begin()
    assert world.told() == []


def test_deleted_topic_is_shown_by_id() -> None:
    world = listening()
    world.produces(1)
    world.groups.topics.delete("foo")
    world.fetches()
    (acquired,) = world.taken()
    assert (acquired.detail or {})["topic"] == "00000000-0000-0000-0000-000000000001"


def test_dead_letters_are_reported() -> None:
    world = listening(dead_letter_topic="dlq.foo", delivery_count_limit=1)
    world.produces(3)
    world.fetches()
    world.says("0 reject, 1-2 release")
    world.taken()
    rejected, limit = world.letters
    world.record_observer.dead_letter_written(world.partition.key, rejected, "dlq.foo", 2)
    world.record_observer.dead_letter_failed(world.partition.key, limit, "dlq.foo", "topic_missing", "no such topic")
    written, failed = world.taken()
    assert _text(written) == "dead_letter_written (rejected) 0-0 x1"
    assert {"dead_letter_topic": "dlq.foo", "dead_letter_partition": "2"}.items() <= dict(written.detail or {}).items()
    assert _text(failed) == "dead_letter_failed (topic_missing) 1-2 x1"
    assert {"dead_letter_topic": "dlq.foo", "reason": "no such topic"}.items() <= dict(failed.detail or {}).items()


STORIES = [story for name, story in list(globals().items()) if name.startswith("test_")]


def test_conversations_cover_every_event_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    worlds: list[ListeningWorld] = []

    def remembered(**config: object) -> ListeningWorld:
        worlds.append(ListeningWorld(**config))
        return worlds[-1]

    monkeypatch.setattr(f"{__name__}.listening", remembered)
    for story in STORIES:
        story()
    assert set().union(*(world.groups.kinds_told for world in worlds)) >= RECORD_KINDS
