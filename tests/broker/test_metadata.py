"""Metadata, DescribeCluster, DescribeTopicPartitions: what there is, and what asking for a topic does."""

from typing import Any
from uuid import UUID

import pytest

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_topic_partitions import Cursor, TopicRequest
from kohort.protocol.messages.metadata import MetadataRequestTopic
from tests.support.broker import Broker, Client
from tests.support.data_requests import UNKNOWN_ID, given_topic

NOTHING_SAID = -2147483648


def asks(client: Client, *names: str | UUID, version: int = 12, create: bool = False, **more: Any) -> list[Any]:
    topics = tuple(
        MetadataRequestTopic(name=None, topic_id=name)
        if isinstance(name, UUID)
        else MetadataRequestTopic(name=name, topic_id=None)
        for name in names
    )
    return list(client.asks("metadata", version, topics=topics, allow_auto_topic_creation=create, **more).topics)


@pytest.mark.parametrize("version", range(14))
def test_topic_in_every_version(version: int) -> None:
    ada = Broker().client()
    topic_id = given_topic(ada, partitions=2)
    create = {"create": True} if version < 4 else {}
    (topic,) = asks(ada, "topic", version=version, **create)
    assert (topic.error_code, topic.name, topic.is_internal) == (ErrorCode.none, "topic", False)
    assert topic.topic_id == (topic_id if version >= 10 else None)
    assert topic.topic_authorized_operations == NOTHING_SAID
    assert [
        (partition.partition_index, partition.leader_id, partition.isr_nodes) for partition in topic.partitions
    ] == [
        (0, 1, (1,)),
        (1, 1, (1,)),
    ]
    assert {partition.leader_epoch for partition in topic.partitions} == {0 if version >= 7 else -1}


def test_null_and_empty_topic_lists() -> None:
    ada = Broker().client()
    given_topic(ada, "a")
    given_topic(ada, "b")
    for version, topics, found in (
        (0, (), ["a", "b"]),
        (1, (), []),
        (1, None, ["a", "b"]),
        (12, (), []),
        (12, None, ["a", "b"]),
    ):
        response = ada.asks("metadata", version, topics=topics)
        assert [topic.name for topic in response.topics] == found
        assert [broker.node_id for broker in response.brokers] == [1]


def test_missing_topic_is_created_later() -> None:
    ada = Broker(num_partitions=3).client()
    (topic,) = asks(ada, "topic")
    assert (topic.error_code, topic.partitions) == (ErrorCode.unknown_topic_or_partition, ())
    (topic,) = asks(ada, "topic", create=True)
    assert (topic.error_code, topic.partitions) == (ErrorCode.unknown_topic_or_partition, ())
    (topic,) = asks(ada, "topic")
    assert (topic.error_code, len(topic.partitions)) == (ErrorCode.none, 3)


def test_unless_that_is_switched_off() -> None:
    broker = Broker(auto_create_topics_enable=False)
    asks(broker.client(), "topic", create=True)
    assert len(broker.cluster.topics) == 0


def test_offsets_topic_is_created() -> None:
    broker = Broker()
    ada = broker.client()
    (topic,) = asks(ada, "__consumer_offsets", create=True)
    assert (topic.error_code, topic.is_internal) == (ErrorCode.unknown_topic_or_partition, True)
    broker.loop.wait(10)
    (topic,) = asks(ada, "__consumer_offsets")
    assert (topic.error_code, topic.is_internal, len(topic.partitions)) == (ErrorCode.none, True, 50)
    asks(ada, "__transaction_state", create=True)
    assert "__transaction_state" not in broker.cluster.topics


@pytest.mark.parametrize("name", ["two words", "", ".."])
def test_invalid_names_are_not_created(name: str) -> None:
    broker = Broker()
    (topic,) = asks(broker.client(), name, create=True)
    assert (topic.error_code, topic.name) == (ErrorCode.invalid_topic_exception, name)
    assert len(broker.cluster.topics) == 0


def test_topics_by_id() -> None:
    ada = Broker().client()
    topic_id = given_topic(ada)
    known, unknown = asks(ada, topic_id, UNKNOWN_ID)
    assert (known.error_code, known.name) == (ErrorCode.none, "topic")
    assert (unknown.error_code, unknown.name, unknown.topic_id) == (ErrorCode.unknown_topic_id, None, UNKNOWN_ID)


def test_duplicate_topic_is_answered_once() -> None:
    ada = Broker().client()
    given_topic(ada)
    assert len(asks(ada, "topic", "topic")) == 1


def heard_of(client: Client, version: int, *topics: tuple[str | None, UUID | None]) -> list[tuple[Any, ...]]:
    asked = tuple(MetadataRequestTopic(name=name, topic_id=topic_id) for name, topic_id in topics)
    response = client.asks("metadata", version, topics=asked, allow_auto_topic_creation=False)
    return [(len(response.brokers), topic.name, topic.topic_id, topic.error_code) for topic in response.topics]


@pytest.mark.parametrize("version", [10, 11])
def test_null_names_need_version_12(version: int) -> None:
    # observed on Apache Kafka 4.3.0, which names no broker then
    client, refused = Broker().client(), ErrorCode.invalid_request
    assert heard_of(client, version, (None, UNKNOWN_ID)) == [(0, "", UNKNOWN_ID, refused)]
    assert heard_of(client, version, (None, None)) == [(0, "", None, refused)]
    assert heard_of(client, version, ("a", None), ("b", UNKNOWN_ID), ("a", None)) == [
        (0, "a", None, refused), (0, "b", UNKNOWN_ID, refused), (0, "a", None, refused)
    ]  # fmt: skip


@pytest.mark.parametrize("version", [12, 13])
def test_single_id_selects_ids(version: int) -> None:
    client = Broker().client()
    assert heard_of(client, version, ("a", None), (None, UNKNOWN_ID), ("b", UNKNOWN_ID)) == [
        (1, None, UNKNOWN_ID, ErrorCode.unknown_topic_id)
    ]
    assert heard_of(client, version, (None, None)) == [(0, "", None, ErrorCode.unknown_server_error)]


def test_authorized_operations_on_request() -> None:
    ada = Broker().client()
    given_topic(ada)
    response = ada.asks(
        "metadata",
        9,
        topics=None,
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    assert (response.topics[0].topic_authorized_operations, response.cluster_authorized_operations) == (3576, 8096)


def test_replicas_and_nodes_of_a_cluster() -> None:
    broker = Broker(nodes=3)
    bob = broker.client(1, dialled="kafka.example")
    broker.cluster.topics.create("topic", 3, 2)
    response = bob.asks("metadata", 12, topics=None)
    assert [(each.node_id, each.host, each.port) for each in response.brokers] == [
        (1, "kafka.example", 9092),
        (2, "kafka.example", 9093),
        (3, "kafka.example", 9094),
    ]
    assert response.controller_id == 1
    assert [partition.replica_nodes for partition in response.topics[0].partitions] == [(1, 2), (2, 3), (3, 1)]
    described = bob.asks("describe_cluster", 2, include_cluster_authorized_operations=False)
    assert [(each.broker_id, each.port, each.is_fenced) for each in described.brokers] == [
        (1, 9092, False),
        (2, 9093, False),
        (3, 9094, False),
    ]
    assert (described.cluster_id, described.controller_id) == (response.cluster_id, 1)


@pytest.mark.parametrize("version", range(3))
def test_cluster_in_every_version(version: int) -> None:
    ada = Broker(broker_rack="r1").client()
    response = ada.asks("describe_cluster", version, include_cluster_authorized_operations=True)
    assert (response.error_code, response.error_message, response.endpoint_type) == (ErrorCode.none, None, 1)
    assert response.cluster_authorized_operations == 8096
    assert response.brokers[0].rack == "r1"


def test_no_controllers_are_listed() -> None:
    ada = Broker().client()
    for kind, error_code in ((2, ErrorCode.mismatched_endpoint_type), (3, ErrorCode.unsupported_endpoint_type)):
        refused = ada.asks("describe_cluster", 1, include_cluster_authorized_operations=False, endpoint_type=kind)
        assert (refused.error_code, refused.brokers) == (error_code, ())


# DescribeTopicPartitions


def describes(
    client: Client, *names: str, limit: int = 2_000, cursor: tuple[str, int] | None = None
) -> tuple[list[tuple[str, ErrorCode, list[int]]], tuple[str, int] | None]:
    """Return name, error and partitions of each topic, and the next cursor."""
    response = client.asks(
        "describe_topic_partitions",
        topics=tuple(TopicRequest(name=name) for name in names),
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    following = response.next_cursor
    topics = [
        (topic.name, topic.error_code, [part.partition_index for part in topic.partitions]) for topic in response.topics
    ]
    return topics, None if following is None else (following.topic_name, following.partition_index)


def test_topic_descriptions_are_sorted_pages() -> None:
    ada = Broker().client()
    given_topic(ada, "b", partitions=3)
    given_topic(ada, "a")
    none = ErrorCode.none
    assert describes(ada) == ([("a", none, [0]), ("b", none, [0, 1, 2])], None)
    assert describes(ada, "b", "a", "a", limit=2) == ([("a", none, [0]), ("b", none, [0])], ("b", 1))
    assert describes(ada, "b", "a", limit=2, cursor=("b", 1)) == ([("b", none, [1, 2])], None)
    assert describes(ada, limit=1) == ([("a", none, [0])], ("b", 0))
    assert describes(ada, limit=0) == ([("a", none, [0])], ("b", 0))
    assert describes(ada, cursor=("aa", 7)) == ([("b", none, [0, 1, 2])], None)
    assert describes(ada, cursor=("b", 9)) == ([("b", none, [])], None)
    assert describes(ada, "b", cursor=("b", -1)) == ([("b", ErrorCode.invalid_request, [])], None)


def test_topics_that_cannot_be_described() -> None:
    ada = Broker().client()
    assert describes(ada, "nowhere", "two words") == (
        [("nowhere", ErrorCode.unknown_topic_or_partition, []), ("two words", ErrorCode.invalid_topic_exception, [])],
        None,
    )
