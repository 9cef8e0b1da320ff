"""Requests of many partitions are handled a part at a time, and answered as if they had not been."""

from itertools import pairwise
from typing import Any

import pytest

from kohort.broker.scheduling.fair_scheduler import ROUND_US, TURN_US
from kohort.broker.scheduling.request_chunks import SHORT
from kohort.coordinator.groups.deleting import DELETED_GROUP, PORTION
from kohort.protocol.batches import TRANSACTIONAL
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction
from kohort.protocol.messages.alter_configs import AlterableConfig, AlterConfigsResource
from kohort.protocol.messages.delete_topics import DeleteTopicState
from kohort.protocol.messages.incremental_alter_configs import AlterableConfig as AlterableChange
from kohort.protocol.messages.incremental_alter_configs import AlterConfigsResource as Incremental
from kohort.protocol.messages.offset_delete import OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from kohort.protocol.messages.produce import PartitionProduceData, TopicProduceData
from kohort.whatif.clients.group_member import to_commit
from tests.support.batches import batch
from tests.support.broker import Broker, Client, Stopwatch
from tests.support.data_requests import given_topic, topic
from tests.support.frames import frame, heartbeat, message, to_fetch

COUNT = 600


STEP_US = 1_000


def ready(**settings: Any) -> tuple[Broker, Client]:
    broker = Broker(**settings)
    client = broker.client()
    for name in ("one", "two"):
        given_topic(client, name, COUNT)
    broker.cluster.offsets_topic.create(0)
    broker.loop.wait(50)
    Stopwatch(broker, STEP_US)
    return broker, client


def asks_for_little(broker: Broker, client: Client) -> None:
    assert broker.stopwatch is not None
    broker.stopwatch.us_a_look = 0
    client.says(heartbeat(1))
    broker.stopwatch.us_a_look = STEP_US


def heard(broker: Broker, client: Client, name: str, version: int, **fields: Any) -> Any:
    """Return the response to a request that takes several rounds, between which others are served."""
    bob = broker.client()
    client.says(frame(name, version, 77, **fields))
    rounds = 0
    while broker.loop.run_soon():
        rounds += 1
        asks_for_little(broker, bob)
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
    assert [response[:4] for response in client.heard()] == [bytes((0, 0, 0, 2))]
    client.says(frame("produce", 9, 1, **production(COUNT + 1, 0)))
    while broker.loop.run_soon():
        pass
    assert client.closed
    there = broker.cluster.topics.by_name("two")
    assert there is not None
    assert all(partition.log.log_end_offset == 2 for partition in there.partitions), "all that could be stored was"


@pytest.mark.parametrize("version", [11, 12])
def test_produce_in_a_transaction(version: int) -> None:
    # older clients add the partitions themselves; for newer ones the broker does
    broker, client = ready()
    broker.cluster.transaction_topic.create(0)
    broker.loop.wait(50)
    init = client.asks("init_producer_id", 1, transactional_id="t", transaction_timeout_ms=60_000)
    whose = {
        "transactional_id": "t", "producer_id": init.producer_id, "producer_epoch": init.producer_epoch,
    }  # fmt: skip
    if version < 12:
        named = tuple(AddPartitionsToTxnTopic(name=name, partitions=tuple(range(COUNT))) for name in ("one", "two"))
        added = AddPartitionsToTxnTransaction(verify_only=False, topics=named, **whose)
        client.says(frame("add_partitions_to_txn", 3, 1, transactions=(added,)))
        while broker.loop.run_soon():
            pass
        client.heard()
    records = batch(b"v", producer=(init.producer_id, init.producer_epoch, 0), attributes=TRANSACTIONAL)
    parts = tuple(PartitionProduceData(index=n, records=records) for n in range(COUNT))
    data = tuple(TopicProduceData(name=name, partition_data=parts) for name in ("one", "two"))
    logs = [partition.log for topic in broker.cluster.topics if not topic.internal for partition in topic.partitions]
    client.says(
        frame("produce", version, 1, transactional_id="t", acks=1, timeout_ms=1_000, topic_data=data), heartbeat(2)
    )
    stored = [0, sum(log.log_end_offset for log in logs)]
    while broker.loop.run_soon():
        stored.append(sum(log.log_end_offset for log in logs))
    assert max(after - before for before, after in pairwise(stored)) <= 3 * SHORT
    assert stored[-1] == 2 * COUNT
    answer, beat = client.heard()
    _, response = message("produce").read_response(version, answer)
    errors = {part.error_code for each in response.responses for part in each.partition_responses}
    assert (errors, beat[:4]) == ({ErrorCode.none}, bytes((0, 0, 0, 2)))


def test_repeated_transaction_is_sliced() -> None:
    broker, client = ready()
    named = (AddPartitionsToTxnTopic(name="one", partitions=tuple(range(COUNT))),)
    whose: dict[str, Any] = {"transactional_id": "t", "producer_id": 1, "producer_epoch": 0}
    empty = AddPartitionsToTxnTransaction(verify_only=False, topics=(), **whose)
    last = AddPartitionsToTxnTransaction(verify_only=False, topics=named, **whose)
    transactions = (*[empty] * 500, last)
    client.says(frame("add_partitions_to_txn", 4, 1, transactions=transactions))
    rounds = 0
    while not client.wire.writes:
        assert broker.loop.run_soon()
        rounds += 1
    assert rounds > len(transactions) * STEP_US // (ROUND_US + TURN_US)


def commit(count: int) -> dict[str, Any]:
    one, two = (to_commit(name, {n: n for n in range(count)}) for name in ("one", "two"))
    return {"group_id": "g", "member_id": "", "topics": one + two}


def test_offsets_are_committed_fetched_and_deleted() -> None:
    broker, client = ready()
    response = heard(broker, client, "offset_commit", 8, **commit(COUNT))
    assert [each.name for each in response.topics] == ["one", "two"]
    for each in response.topics:
        assert [(p.partition_index, p.error_code) for p in each.partitions] == [
            (n, ErrorCode.none) for n in range(COUNT)
        ]
    groups = to_fetch("g") + to_fetch("h") + to_fetch("g")
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


def test_partition_creation_is_limited() -> None:
    # observed on Apache Kafka 4.3.0
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


def offsets_of(count: int) -> tuple[OffsetDeleteRequestTopic, ...]:
    parts = tuple(OffsetDeleteRequestPartition(partition_index=n) for n in range(count))
    return tuple(OffsetDeleteRequestTopic(name=name, partitions=parts) for name in ("one", "two"))


def test_offset_deletion_is_sliced() -> None:
    broker, client = ready()
    heard(broker, client, "offset_commit", 8, **commit(COUNT))
    group = broker.cluster.coordinators[0].groups["g"]
    client.says(frame("offset_delete", 0, 1, group_id="g", topics=offsets_of(COUNT + 1)))
    left = [2 * COUNT, sum(1 for _ in group.offsets or ())]
    while broker.loop.run_soon():
        left.append(sum(1 for _ in group.offsets or ()))
    assert max(before - after for before, after in pairwise(left)) <= 3 * SHORT
    assert left[-1] == 0
    ((_, response),) = client.hears("offset_delete")
    for each in response.topics:
        told = [(part.partition_index, part.error_code) for part in each.partitions]
        assert sorted(told) == [
            *((n, ErrorCode.none) for n in range(COUNT)), (COUNT, ErrorCode.unknown_topic_or_partition)
        ]  # fmt: skip


def test_partial_rejection_is_total() -> None:
    broker, client = ready()
    response = heard(broker, client, "offset_delete", 0, group_id="nobody", topics=offsets_of(COUNT))
    assert (response.error_code, response.topics) == (ErrorCode.group_id_not_found, ())


def test_later_rejection_is_individual() -> None:
    broker, client = ready()
    heard(broker, client, "offset_commit", 8, **commit(COUNT))
    client.says(frame("offset_delete", 0, 1, group_id="g", topics=offsets_of(COUNT)))
    broker.cluster.coordinators[0].groups.pop("g")
    while broker.loop.run_soon():
        pass
    ((_, response),) = client.hears("offset_delete")
    assert response.error_code is ErrorCode.none
    errors = [part.error_code for each in response.topics for part in each.partitions]
    deleted = errors.count(ErrorCode.none)
    assert 0 < deleted < 2 * COUNT
    assert errors == [*[ErrorCode.none] * deleted, *[ErrorCode.group_id_not_found] * (2 * COUNT - deleted)]


def test_topic_deletion_is_sliced() -> None:
    broker, client = ready()
    names = [f"group-{n}" for n in range(300)]
    client.says(*(frame("offset_commit", 8, 1, **(commit(2) | {"group_id": name})) for name in names))
    while broker.loop.run_soon():
        pass
    client.heard()
    response = heard(
        broker, client, "delete_topics", 6, topics=(DeleteTopicState(name="one", topic_id=None),), timeout_ms=1_000
    )
    assert [each.error_code for each in response.responses] == [ErrorCode.none]
    for name in names:
        offsets = broker.cluster.coordinators[0].groups[name].offsets
        assert offsets is not None
        assert list(offsets.topics) == ["two"]


@pytest.mark.parametrize("by_id", [False, True])
def test_concurrently_deleted_topic_is_unknown(by_id: bool) -> None:
    broker, client = ready()
    topics = broker.cluster.topics
    one, two = topics.by_name("one"), topics.by_name("two")
    assert one is not None
    assert two is not None
    asked = tuple(
        DeleteTopicState(name=None, topic_id=each.topic_id) if by_id else DeleteTopicState(name=each.name)
        for each in (one, two)
    )
    client.says(frame("delete_topics", 6, 1, topics=asked, timeout_ms=1_000))
    topics.delete(two)
    successor = topics.create("two", 1, 1, {})
    while broker.loop.run_soon():
        pass
    ((_, response),) = client.hears("delete_topics", 6)
    unknown = ErrorCode.unknown_topic_id if by_id else ErrorCode.unknown_topic_or_partition
    assert [each.error_code for each in response.responses] == [ErrorCode.none, unknown]
    assert topics.by_name("two") is successor


def test_many_topic_configs_keep_order() -> None:
    broker, client = ready()
    given = (AlterableConfig(name="retention.ms", value="1000"),)
    resources = tuple(AlterConfigsResource(resource_type=2, resource_name=f"t{n}", configs=given) for n in range(300))
    response = heard(broker, client, "alter_configs", 1, resources=resources, validate_only=False)
    assert [each.resource_name for each in response.responses] == [resource.resource_name for resource in resources]
    changes = (AlterableChange(name="retention.ms", config_operation=0, value="1000"),)
    again = tuple(Incremental(resource_type=2, resource_name=f"t{n}", configs=changes) for n in range(300))
    response = heard(broker, client, "incremental_alter_configs", 1, resources=again, validate_only=False)
    assert [each.resource_name for each in response.responses] == [resource.resource_name for resource in resources]


def test_group_expiration_is_sliced() -> None:
    broker, client = ready(offsets_retention_minutes=1, offsets_retention_check_interval_ms=90_000)
    client.says(*(frame("offset_commit", 8, 1, **(commit(2) | {"group_id": f"group-{n}"})) for n in range(300)))
    while broker.loop.run_soon():
        pass
    groups = broker.cluster.coordinators[0].groups
    broker.loop.wait(90_000 - broker.clock.now_ms() - 1)
    left = [len(groups)]
    while left[-1] and len(left) < 1_000:
        broker.loop.wait(1)
        left.append(len(groups))
    assert (left[0], left[-1]) == (300, 0)
    assert max(before - after for before, after in pairwise(left)) <= PORTION // DELETED_GROUP
