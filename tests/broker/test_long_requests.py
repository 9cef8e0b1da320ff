"""Requests of many partitions are handled a part at a time, and answered as if they had not been."""

from typing import Any

import pytest

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from kohort.protocol.messages.offset_delete import OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from kohort.protocol.messages.offset_fetch import OffsetFetchRequestGroup
from kohort.protocol.messages.produce import PartitionProduceData, TopicProduceData
from tests.support.batches import batch
from tests.support.broker import Broker, Client, Stopwatch
from tests.support.data_requests import given_topic, topic
from tests.support.frames import frame, heartbeat

COUNT = 600


def ready() -> tuple[Broker, Client]:
    broker = Broker()
    client = broker.client()
    for name in ("one", "two"):
        given_topic(client, name, COUNT)
    broker.cluster.offsets_topic.create(0)
    broker.loop.wait(50)
    Stopwatch(broker, 1_000)
    return broker, client


def heard(broker: Broker, client: Client, name: str, version: int, **fields: Any) -> Any:
    """The answer of a request that takes several rounds, in which others are answered."""
    bob = broker.client()
    client.says(frame(name, version, 77, **fields))
    rounds = 0
    while broker.loop.run_soon():
        rounds += 1
        bob.says(heartbeat(1))
        assert len(bob.heard()) == 1
    assert rounds > 1
    ((_, response),) = client.hears(name, version)
    return response


def production(count: int, acks: int) -> dict[str, Any]:
    parts = tuple(PartitionProduceData(index=n, records=batch(b"v")) for n in range(count))
    data = tuple(TopicProduceData(name=name, partition_data=parts) for name in ("one", "two"))
    return {"transactional_id": None, "acks": acks, "timeout_ms": 1_000, "topic_data": data}


@pytest.mark.parametrize("acks", [1, -1])
def test_produce(acks: int) -> None:
    broker, client = ready()
    response = heard(broker, client, "produce", 9, **production(COUNT + 1, acks))
    assert [each.name for each in response.responses] == ["one", "two"]
    for each in response.responses:
        told = [(part.index, part.error_code) for part in each.partition_responses]
        assert told[:-1] == [(n, ErrorCode.none) for n in range(COUNT)]
        assert told[-1] == (COUNT, ErrorCode.unknown_topic_or_partition)


def test_produce_without_an_answer() -> None:
    broker, client = ready()
    client.says(frame("produce", 9, 1, **production(COUNT, 0)), heartbeat(2))
    while broker.loop.run_soon():
        pass
    assert [each[:4] for each in client.heard()] == [bytes((0, 0, 0, 2))]
    client.says(frame("produce", 9, 1, **production(COUNT + 1, 0)))
    while broker.loop.run_soon():
        pass
    assert client.closed
    there = broker.cluster.topics.by_name("two")
    assert there is not None
    assert all(each.log.log_end_offset == 2 for each in there.partitions), "all that could be stored was"


def commit(count: int) -> dict[str, Any]:
    parts = tuple(
        OffsetCommitRequestPartition(
            partition_index=n, committed_offset=n, committed_leader_epoch=-1, committed_metadata=""
        )
        for n in range(count)
    )
    topics = tuple(OffsetCommitRequestTopic(name=name, partitions=parts) for name in ("one", "two"))
    return {
        "group_id": "g", "generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None,
        "topics": topics,
    }  # fmt: skip


def test_offsets_are_committed_fetched_and_deleted() -> None:
    broker, client = ready()
    response = heard(broker, client, "offset_commit", 8, **commit(COUNT))
    assert [each.name for each in response.topics] == ["one", "two"]
    for each in response.topics:
        assert [(p.partition_index, p.error_code) for p in each.partitions] == [
            (n, ErrorCode.none) for n in range(COUNT)
        ]
    groups = tuple(OffsetFetchRequestGroup(group_id=name, topics=None) for name in ("g", "h", "g"))
    response = heard(broker, client, "offset_fetch", 8, groups=groups)
    assert [each.group_id for each in response.groups] == ["g", "h", "g"]
    assert [sum(len(each.partitions) for each in group.topics) for group in response.groups] == [
        2 * COUNT, 0, 2 * COUNT,
    ]  # fmt: skip
    parts = tuple(OffsetDeleteRequestPartition(partition_index=n) for n in range(COUNT))
    topics = tuple(OffsetDeleteRequestTopic(name=name, partitions=parts) for name in ("one", "two"))
    response = heard(broker, client, "offset_delete", 0, group_id="g", topics=topics)
    assert {p.error_code for each in response.topics for p in each.partitions} == {ErrorCode.none}
    (group,) = client.asks("offset_fetch", 8, groups=groups[:1]).groups
    assert group.topics == ()


def test_one_request_creates_ten_thousand_partitions_at_most() -> None:
    """As heard from Kafka 4.3.0."""
    client = Broker().client()

    def told(*topics: Any) -> list[tuple[ErrorCode, str | None]]:
        response = client.asks("create_topics", 7, topics=topics, timeout_ms=1_000, validate_only=True)
        return [(each.error_code, each.error_message) for each in response.topics]

    too_many = (ErrorCode.policy_violation, "Excessively large number of partitions per request.")
    too_large = (ErrorCode.policy_violation, "Unable to perform excessively large batch operation.")
    assert told(topic("a", 2**31 - 1)) == [too_many]
    assert told(topic("a", 9_999), topic("b", 2)) == [too_many] * 2
    assert told(topic("a", 10_000)) == [too_large]
    assert told(topic("a", 9_999)) == [(ErrorCode.none, None)]
