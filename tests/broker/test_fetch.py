"""Fetch: at once, or when there is enough, or when the time is up."""

from typing import Any

import pytest

from kohort.broker.apis.fetch import reading
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.fetch import FetchPartition, FetchTopic
from kohort.protocol.messages.join_group import JoinGroupRequestProtocol
from tests.support.batches import batch
from tests.support.broker import Broker, Stopwatch
from tests.support.data_requests import (
    UNKNOWN_ID,
    delete,
    fetch,
    fetch_frame,
    given_topic,
    heard_fetch,
    produce,
    records,
)
from tests.support.frames import frame, heartbeat


@pytest.mark.parametrize("version", range(4, 19))
def test_records_are_fetched_in_every_version(version: int) -> None:
    ada = Broker().client()
    topic_id = given_topic(ada)
    produce(ada, batch((b"k", b"v"), b"second"))
    where = topic_id if version >= 13 else "topic"
    response = fetch(ada, (where, 0, 0), version=version)
    (part,) = response.responses[0].partitions
    assert (part.error_code, part.high_watermark, part.last_stable_offset) == (ErrorCode.none, 2, 2)
    assert part.aborted_transactions is None
    assert response.session_id == 0
    assert records(response) == [(0, b"k", b"v"), (1, None, b"second")]
    (beyond,) = fetch(ada, (where, 0, 99), version=version).responses[0].partitions
    assert (beyond.error_code, beyond.high_watermark) == (ErrorCode.offset_out_of_range, -1)


def test_refusals_look_as_kafka_s() -> None:
    ada = Broker().client()
    given_topic(ada)
    produce(ada, batch(b"one"))
    response = fetch(ada, ("topic", 0, -1), ("topic", 4, 0), ("nowhere", 0, 0))
    parts = [part for each in response.responses for part in each.partitions]
    assert [(part.error_code, part.aborted_transactions) for part in parts] == [
        (ErrorCode.offset_out_of_range, None),
        (ErrorCode.unknown_topic_or_partition, ()),
        (ErrorCode.unknown_topic_or_partition, ()),
    ]
    (unknown,) = fetch(ada, (UNKNOWN_ID, 0, 0), version=13).responses[0].partitions
    assert (unknown.error_code, unknown.aborted_transactions) == (ErrorCode.unknown_topic_id, ())
    (ahead,) = fetch(ada, ("topic", 0, 0), epoch=99).responses[0].partitions
    assert (ahead.error_code, ahead.log_start_offset) == (ErrorCode.unknown_leader_epoch, -1)


def test_read_committed_reports_no_aborts() -> None:
    ada = Broker().client()
    given_topic(ada)
    (part,) = fetch(ada, ("topic", 0, 0), isolation_level=1).responses[0].partitions
    assert part.aborted_transactions == ()


def test_fetch_at_end_waits() -> None:
    broker = Broker()
    ada, bob = broker.client(), broker.client()
    given_topic(ada)
    ada.says(fetch_frame(("topic", 0, 0), max_wait_ms=8_000))
    broker.loop.wait(300)
    assert ada.heard() == []
    produce(bob, batch(b"news"))
    assert records(heard_fetch(ada)) == [(0, None, b"news")]
    broker.loop.wait(10_000)
    assert ada.heard() == []


def test_but_not_longer_than_it_says() -> None:
    broker = Broker()
    ada = broker.client()
    given_topic(ada)
    ada.says(fetch_frame(("topic", 0, 0), max_wait_ms=600))
    broker.loop.wait(599)
    assert ada.heard() == []
    broker.loop.wait(1)
    (part,) = heard_fetch(ada).responses[0].partitions
    assert (part.error_code, part.high_watermark, list(part.records)) == (ErrorCode.none, 0, [])


def test_fetch_waits_for_min_bytes() -> None:
    broker = Broker()
    ada, bob = broker.client(), broker.client()
    given_topic(ada, partitions=2)
    ada.says(fetch_frame(("topic", 0, 0), ("topic", 1, 0), max_wait_ms=5_000, min_bytes=250))
    produce(bob, batch(b"x" * 100), index=0)
    assert ada.heard() == []
    produce(bob, batch(b"y" * 100), index=1)
    assert len(records(heard_fetch(ada))) == 2
    ada.says(fetch_frame(("topic", 0, 0), max_wait_ms=5_000, min_bytes=1_000))
    broker.loop.wait(5_000)
    assert len(records(heard_fetch(ada))) == 1


def test_min_bytes_limits_rereading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = Broker()
    ada, bob = broker.client(), broker.client()
    given_topic(ada)
    big = batch(b"x" * 100_000)
    produce(ada, big)
    looks = 0
    read = reading.PlainReading.read

    def counted(self: reading.PlainReading) -> Any:
        nonlocal looks
        looks += 1
        return read(self)

    monkeypatch.setattr(reading.PlainReading, "read", counted)
    small = batch(b"y")
    wanted = len(big) + 3 * len(small)
    bob.says(fetch_frame(("topic", 0, 0), max_wait_ms=1_000, min_bytes=wanted))
    for _ in range(2):
        produce(ada, small)
    assert (looks, bob.heard()) == (1, [])
    produce(ada, small)
    assert looks == 2
    assert len(records(heard_fetch(bob))) == 4


@pytest.mark.parametrize("what", ["deleted", "trimmed", "epoch"])
def test_other_changes_are_immediate(what: str) -> None:
    broker = Broker()
    ada, bob = broker.client(), broker.client()
    topic_id = given_topic(ada)
    produce(ada, batch(b"x" * 100_000))
    bob.says(fetch_frame(("topic", 0, 0), max_wait_ms=1_000, min_bytes=1 << 20))
    partition = broker.cluster.topics.by_id(topic_id).partitions[0]  # type: ignore[union-attr]
    if what == "deleted":
        delete(ada)
    elif what == "trimmed":
        partition.log.delete_before(1)
    else:
        partition.leader = 9
    broker.cluster.purgatory.check(partition, 0)
    broker.server.end_turn(0)
    expected = {"deleted": ErrorCode.unknown_topic_or_partition, "trimmed": ErrorCode.offset_out_of_range}
    error = heard_fetch(bob).responses[0].partitions[0].error_code
    assert error is expected.get(what, ErrorCode.not_leader_or_follower)


def test_error_is_immediate() -> None:
    ada = Broker().client()
    given_topic(ada, partitions=2)
    ((first, second),) = (
        response.partitions for response in fetch(ada, ("topic", 0, 0), ("topic", 1, 9), max_wait_ms=5_000).responses
    )
    assert first.error_code == ErrorCode.none
    assert second.error_code == ErrorCode.offset_out_of_range


def test_empty_fetch_is_immediate() -> None:
    assert fetch(Broker().client(), max_wait_ms=5_000).responses == ()


def test_unread_responses_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "ALL_UNREAD_BYTES", 1_000)
    broker = Broker()
    given_topic(broker.client(), partitions=1)
    for _ in range(4):
        produce(broker.client(), batch(b"x" * 400))
    hogs = [broker.client() for _ in range(3)]
    sizes = []
    for hog in hogs:
        hog.says(fetch_frame(("topic", 0, 0)))
        sizes.append(hog.wire.get_write_buffer_size() // 400)
        hog.connection.pause_writing()
    assert sizes == [2, 1, 1]
    hogs[0].connection.resume_writing()
    hogs[1].connection.connection_lost(None)
    assert broker.cluster.unread_bytes == hogs[2].wire.get_write_buffer_size()
    hogs[2].connection.connection_lost(None)
    assert broker.cluster.unread_bytes == 0


def test_topic_deletion_ends_fetch() -> None:
    broker = Broker()
    ada, bob = broker.client(), broker.client()
    topic_id = given_topic(ada)
    ada.says(fetch_frame((topic_id, 0, 0), version=13, max_wait_ms=5_000))
    delete(bob)
    (part,) = heard_fetch(ada, 13).responses[0].partitions
    assert part.error_code == ErrorCode.unknown_topic_or_partition


def test_disconnected_client_is_ignored() -> None:
    broker = Broker()
    ada, bob = broker.client(), broker.client()
    given_topic(ada)
    ada.says(fetch_frame(("topic", 0, 0), max_wait_ms=5_000))
    ada.connection.connection_lost(None)
    assert produce(bob, batch(b"x")).error_code == ErrorCode.none
    broker.loop.wait(6_000)


def test_limits_return_at_least_one_batch() -> None:
    ada = Broker().client()
    given_topic(ada, partitions=2)
    size = len(batch(b"x" * 1_000))
    for index in (0, 0, 0, 1, 1):
        produce(ada, batch(b"x" * 1_000), index=index)

    def fetched(**limits: int) -> list[int]:
        response = fetch(ada, ("topic", 0, 0), ("topic", 1, 0), **limits)
        return [sum(map(len, part.records)) // size for each in response.responses for part in each.partitions]

    assert fetched() == [3, 2]
    assert fetched(partition_max_bytes=2 * size) == [2, 2]
    assert fetched(partition_max_bytes=1) == [1, 0]
    assert fetched(max_bytes=4 * size) == [3, 1]
    assert fetched(max_bytes=1) == [1, 0]
    assert fetched(max_bytes=0, partition_max_bytes=0) == [1, 0]


def test_broker_fetch_limit() -> None:
    ada = Broker(fetch_max_bytes=1_024).client()
    given_topic(ada)
    for _ in range(5):
        produce(ada, batch(b"x" * 600))
    assert len(records(fetch(ada, ("topic", 0, 0), max_wait_ms=9_000, min_bytes=1 << 20))) == 1


def test_non_leader_names_the_leader() -> None:
    broker = Broker(nodes=2)
    topic_id = given_topic(broker.client(0))
    bob = broker.client(1)
    (part,) = fetch(bob, ("topic", 0, 0), version=11).responses[0].partitions
    assert (part.error_code, part.aborted_transactions) == (ErrorCode.not_leader_or_follower, None)
    response = fetch(bob, (topic_id, 0, 0), version=16)
    assert response.responses[0].partitions[0].current_leader.leader_id == 1
    assert [node_endpoint.node_id for node_endpoint in response.node_endpoints] == [1]


def test_waiting_fetch_holds_no_records() -> None:
    broker = Broker()
    ada, bob = broker.client(), broker.client()
    given_topic(ada)
    produce(bob, batch(b"1"))
    ada.says(fetch_frame(("topic", 0, 0), max_wait_ms=8_000, min_bytes=1_000_000))
    assert held(broker) == [[]]
    produce(bob, batch(b"2"))
    assert held(broker) == [[]], "nor after it was tried again"
    broker.loop.wait(8_000)
    assert [value for _, _, value in records(heard_fetch(ada))] == [b"1", b"2"]


def test_fetch_ends_with_connection() -> None:
    broker = Broker()
    ada, bob, eve = broker.client(), broker.client(), broker.client()
    given_topic(ada)
    waiting = len(broker.cluster.purgatory)
    for member in ada, bob, eve:
        member.says(fetch_frame(("topic", 0, 0), max_wait_ms=8_000))
    assert len(broker.cluster.purgatory) == waiting + 3
    ada.connection.connection_lost(None)
    assert len(broker.cluster.purgatory) == waiting + 2
    bob.connection.close("it was rude")
    assert len(broker.cluster.purgatory) == waiting + 1
    produce(broker.client(), batch(b"news"))
    assert records(heard_fetch(eve)) == [(0, None, b"news")]
    assert ada.heard() == bob.heard() == []


def test_join_survives_disconnect() -> None:
    # as in Kafka, a disconnected member stays until its session expires
    broker = Broker()
    broker.cluster.offsets_topic.create(0)
    broker.loop.wait(50)
    ada = broker.client()
    join: dict[str, Any] = {"group_id": "g", "session_timeout_ms": 30_000, "protocol_type": "consumer", "member_id": ""}
    ada.says(frame("join_group", 0, 1, **join, protocols=(JoinGroupRequestProtocol(name="range", metadata=b""),)))
    ada.connection.connection_lost(None)
    (member,) = broker.cluster.coordinators[0].groups["g"].members.values()
    broker.loop.wait(5_000)
    assert broker.cluster.coordinators[0].groups["g"].members == {member.member_id: member}


def held(broker: Broker) -> list[list[object]]:
    """Return the data that waiting fetches have read and still hold."""
    partition = broker.cluster.topics.by_name("topic").partitions[0]  # type: ignore[union-attr]
    return [each.reading._datas for each in broker.cluster.purgatory._watched[partition]]  # type: ignore[attr-defined]


def long_fetch(max_wait_ms: int, min_bytes: int = 1) -> bytes:
    parts = tuple(FetchPartition(partition=n, fetch_offset=0, partition_max_bytes=1 << 20) for n in range(100))
    topics = (FetchTopic(topic="topic", partitions=parts),)
    return frame("fetch", 12, 77, topics=topics, max_wait_ms=max_wait_ms, min_bytes=min_bytes, max_bytes=1 << 20)


def run_out(broker: Broker) -> None:
    while broker.loop.run_soon():
        pass


def test_large_fetch_waits_for_its_turn() -> None:
    broker = Broker()
    ada, bob = broker.client(), broker.client()
    given_topic(ada, partitions=100)
    Stopwatch(broker, 100)
    ada.says(long_fetch(8_000))
    run_out(broker)
    assert ada.heard() == []
    produce(bob, batch(b"news"), index=99)
    assert ada.heard() == [], "the producer does not wait until all have read"
    produce(bob, batch(b"more"), index=0)
    run_out(broker)
    assert sorted(value or b"" for _, _, value in records(heard_fetch(ada))) == [b"more", b"news"]
    assert waiting_fetches(broker) == 0


def test_concurrent_append_retries_fetch() -> None:
    broker = Broker()
    ada, bob = broker.client(), broker.client()
    given_topic(ada, partitions=100)
    Stopwatch(broker, 100)
    size = len(batch(b"1"))
    ada.says(long_fetch(8_000, min_bytes=2 * size))
    run_out(broker)
    produce(bob, batch(b"1"), index=50)
    broker.loop.run_soon()  # has read the first partitions
    produce(bob, batch(b"2"), index=0)
    run_out(broker)
    assert len(records(heard_fetch(ada))) == 2


def test_fetch_timeout_returns_available_records() -> None:
    broker = Broker()
    ada, bob = broker.client(), broker.client()
    given_topic(ada, partitions=100)
    Stopwatch(broker, 100)
    ada.says(long_fetch(8_000, min_bytes=1 << 20), heartbeat(78))
    run_out(broker)
    produce(bob, batch(b"1"), index=50)
    broker.loop.run_soon()
    broker.loop.wait(8_000)
    run_out(broker)
    fetched, beaten = ada.heard()
    ada.wire.writes += [len(fetched).to_bytes(4) + fetched]
    assert records(heard_fetch(ada)) == [(0, None, b"1")]
    assert beaten[:4] == bytes((0, 0, 0, 78))


def test_it_ends_with_its_connection_too() -> None:
    broker = Broker()
    ada, bob = broker.client(), broker.client()
    given_topic(ada, partitions=100)
    Stopwatch(broker, 100)
    ada.says(long_fetch(8_000, min_bytes=1 << 20))
    run_out(broker)
    produce(bob, batch(b"1"), index=50)
    ada.connection.connection_lost(None)
    run_out(broker)
    assert waiting_fetches(broker) == 0
    assert ada.heard() == []


def waiting_fetches(broker: Broker) -> int:
    partition = broker.cluster.topics.by_name("topic").partitions[0]  # type: ignore[union-attr]
    return len(broker.cluster.purgatory._watched.get(partition, ()))
