"""CreateTopics, DeleteTopics, CreatePartitions: topics come, grow and go."""

from typing import Any

import pytest

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.create_partitions import CreatePartitionsAssignment, CreatePartitionsTopic
from kohort.protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic
from kohort.protocol.messages.delete_topics import DeleteTopicState
from tests.support.broker import Broker, Client
from tests.support.data_requests import UNKNOWN_ID, given_topic, topic


def creates(client: Client, *topics: CreatableTopic, version: int = 7, **more: Any) -> list[Any]:
    return list(client.asks("create_topics", version, topics=topics, **more).topics)


def deletes(client: Client, *states: DeleteTopicState, version: int = 6) -> list[tuple[object, ErrorCode, object]]:
    response = client.asks("delete_topics", version, topics=states, timeout_ms=10_000)
    return [(each.name, each.error_code, each.error_message) for each in response.responses]


def named(name: str | None, topic_id: Any = None) -> DeleteTopicState:
    return DeleteTopicState(name=name, topic_id=topic_id)


@pytest.mark.parametrize("version", range(2, 8))
def test_creates_topic_in_every_version(version: int) -> None:
    broker = Broker()
    ada = broker.client()
    (result,) = creates(ada, topic("topic", 2, configs={"retention.ms": "5"}), version=version)
    (new_result,) = creates(ada, topic("topic"), version=version)
    assert (result.error_code, result.error_message) == (ErrorCode.none, None)
    assert (new_result.error_code, new_result.error_message) == (
        ErrorCode.topic_already_exists,
        "Topic 'topic' already exists.",
    )
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (2, 1)
        assert (new_result.num_partitions, new_result.replication_factor, new_result.configs) == (-1, -1, ())
        assert len(result.configs) == 37
        told = {config.name: (config.value, config.config_source) for config in result.configs}
        assert told["retention.ms"] == ("5", 1)
        assert told["cleanup.policy"] == ("delete", 5)
    if version == 7:
        there = broker.cluster.topics.by_name("topic")
        assert there is not None
        assert result.topic_id == there.topic_id


def test_broker_settings_are_topic_defaults() -> None:
    ada = Broker(log_retention_hours=2, message_max_bytes=5_000).client()
    (result,) = creates(ada, topic("topic"))
    told = {config.name: (config.value, config.config_source) for config in result.configs}
    assert told["retention.ms"] == ("7200000", 4)
    assert told["max.message.bytes"] == ("5000", 4)


def test_default_counts_and_validate_only() -> None:
    broker = Broker(num_partitions=4)
    ada = broker.client()
    (answer,) = creates(ada, topic("topic", -1, -1), version=5, validate_only=True)
    assert (answer.error_code, answer.num_partitions, answer.replication_factor) == (ErrorCode.none, 4, 1)
    assert len(broker.cluster.topics) == 0
    assert creates(ada) == []


def test_topics_of_request_are_independent() -> None:
    broker = Broker()
    ada = broker.client()
    answers = creates(ada, topic("a"), topic("b", 0), topic("c"), topic("d"), topic("d", 2))
    assert [(answer.name, answer.error_code) for answer in answers] == [
        ("a", ErrorCode.none),
        ("b", ErrorCode.invalid_partitions),
        ("c", ErrorCode.none),
        ("d", ErrorCode.invalid_request),
    ]
    assert answers[3].error_message == "Duplicate topic name."
    assert [each.name for each in broker.cluster.topics] == ["a", "c"]


def test_ways_of_asking_wrongly() -> None:
    ada = Broker().client()
    twice = CreatableTopic(
        name="a",
        num_partitions=-1,
        replication_factor=-1,
        assignments=(CreatableReplicaAssignment(partition_index=0, broker_ids=(1,)),) * 2,
        configs=(),
    )
    wrong = [
        (topic("two words"), ErrorCode.invalid_topic_exception),
        (topic("a", 1, 3), ErrorCode.invalid_replication_factor),
        (topic("a", configs={"no.such.setting": "1"}), ErrorCode.invalid_config),
        (topic("a", configs={"retention.ms": None}), ErrorCode.invalid_config),
        (topic("a", 1, 1, {0: (1,)}), ErrorCode.invalid_request),
        (topic("a", -1, -1, {1: (1,)}), ErrorCode.invalid_replica_assignment),
        (twice, ErrorCode.invalid_replica_assignment),
    ]
    for asked, error_code in wrong:
        (answer,) = creates(ada, asked)
        assert answer.error_code == error_code
        assert answer.error_message


# DeleteTopics


@pytest.mark.parametrize("version", range(1, 7))
def test_deletes_topic_in_every_version(version: int) -> None:
    broker = Broker()
    ada = broker.client()
    given_topic(ada)
    told = "This server does not host this topic-partition." if version >= 5 else None
    assert deletes(ada, named("topic"), named("nowhere"), version=version) == [
        ("topic", ErrorCode.none, None),
        ("nowhere", ErrorCode.unknown_topic_or_partition, told),
    ]
    assert len(broker.cluster.topics) == 0


def test_topics_are_deleted_by_id() -> None:
    ada = Broker().client()
    topic_id = given_topic(ada)
    assert deletes(ada, named(None, topic_id), named(None, UNKNOWN_ID)) == [
        ("topic", ErrorCode.none, None),
        (None, ErrorCode.unknown_topic_id, "This server does not host this topic ID."),
    ]


def test_ways_of_deleting_wrongly() -> None:
    broker = Broker()
    ada = broker.client()
    given_topic(ada)
    assert deletes(ada, named("topic"), named("topic")) == [
        ("topic", ErrorCode.invalid_request, "Duplicate topic name.")
    ]
    assert deletes(ada, named(None)) == [(None, ErrorCode.invalid_request, "Neither topic name nor id were specified.")]
    assert deletes(ada, named("topic", UNKNOWN_ID)) == [
        ("topic", ErrorCode.invalid_request, "You may not specify both topic name and topic id.")
    ]
    assert "topic" in broker.cluster.topics


def test_deleting_may_be_switched_off() -> None:
    broker = Broker(delete_topic_enable=False)
    ada = broker.client()
    given_topic(ada)
    assert deletes(ada, named("topic"), version=2)[0][1] == ErrorCode.invalid_request
    assert deletes(ada, named("topic"), version=3)[0][1] == ErrorCode.topic_deletion_disabled


# CreatePartitions


def grows(client: Client, count: int, name: str = "topic", version: int = 3, **more: Any) -> tuple[ErrorCode, Any]:
    nodes = more.pop("nodes", None)
    asked = CreatePartitionsTopic(
        name=name,
        count=count,
        assignments=None if nodes is None else tuple(CreatePartitionsAssignment(broker_ids=node) for node in nodes),
    )
    more = {"timeout_ms": 10_000, "validate_only": False, **more}
    (answer,) = client.asks("create_partitions", version, topics=(asked,), **more).results
    return answer.error_code, answer.error_message


@pytest.mark.parametrize("version", range(4))
def test_extends_topic_in_every_version(version: int) -> None:
    broker = Broker()
    ada = broker.client()
    given_topic(ada)
    assert grows(ada, 3, version=version) == (ErrorCode.none, None)
    assert grows(ada, 3, "nowhere", version=version) == (ErrorCode.unknown_topic_or_partition, None)
    there = broker.cluster.topics.by_name("topic")
    assert there is not None
    assert len(there.partitions) == 3


def test_rejects_fewer_or_equal_partitions() -> None:
    ada = Broker().client()
    given_topic(ada, partitions=3)
    assert grows(ada, 2) == (
        ErrorCode.invalid_partitions,
        "The topic topic currently has 3 partition(s); 2 would not be an increase.",
    )
    assert grows(ada, 3) == (ErrorCode.invalid_partitions, "Topic already has 3 partition(s).")
    assert grows(ada, 5, validate_only=True) == (ErrorCode.none, None)
    assert grows(ada, 4) == (ErrorCode.none, None)


def test_new_partitions_may_be_assigned() -> None:
    broker = Broker(nodes=2)
    ada = broker.client()
    given_topic(ada)
    assert grows(ada, 2, nodes=[(7,)])[0] == ErrorCode.invalid_replica_assignment
    assert grows(ada, 2, nodes=[(2,)]) == (ErrorCode.none, None)
    there = broker.cluster.topics.by_name("topic")
    assert there is not None
    assert there.partitions[1].leader == 2


def test_duplicate_topic_is_not_extended() -> None:
    ada = Broker().client()
    given_topic(ada)
    asked = CreatePartitionsTopic(name="topic", count=2, assignments=None)
    (answer,) = ada.asks("create_partitions", topics=(asked, asked), timeout_ms=10_000, validate_only=False).results
    assert (answer.error_code, answer.error_message) == (ErrorCode.invalid_request, "Duplicate topic name.")
