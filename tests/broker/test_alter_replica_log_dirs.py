"""AlterReplicaLogDirs: a broker has one directory, so replicas cannot move. Observed on Kafka 4.3.0."""

from __future__ import annotations

import pytest

from kohort.broker.apis.describe_log_dirs import IN_MEMORY
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDir, AlterReplicaLogDirTopic
from tests.support.broker import Broker, Client
from tests.support.rights import client_of, guarded_broker


def moves(client: Client, path: str, *partitions: int, topic: str = "t", version: int = 2) -> list[tuple[int, E]]:
    topics = (AlterReplicaLogDirTopic(name=topic, partitions=partitions),)
    response = client.asks("alter_replica_log_dirs", version, dirs=(AlterReplicaLogDir(path=path, topics=topics),))
    return [
        (partition.partition_index, partition.error_code)
        for result in response.results
        for partition in result.partitions
    ]


@pytest.mark.parametrize("version", [1, 2])
def test_same_directory_is_accepted(version: int) -> None:
    broker = Broker()
    broker.cluster.topics.create("t", 2, 1)
    ada = broker.client()
    assert moves(ada, IN_MEMORY, 0, 1, 0, version=version) == [(1, E.none), (0, E.none)]
    assert moves(ada, IN_MEMORY, 9, version=version) == [(9, E.unknown_topic_or_partition)]
    assert moves(ada, IN_MEMORY, 0, topic="bad name", version=version) == [(0, E.unknown_topic_or_partition)]


@pytest.mark.parametrize("path", ["/nowhere", "relative", "", f"{IN_MEMORY}/"])
def test_there_is_no_other_directory(path: str) -> None:
    broker = Broker()
    broker.cluster.topics.create("t", 2, 1)
    assert moves(broker.client(), path, 0, 1) == [(1, E.log_dir_not_found), (0, E.log_dir_not_found)]
    assert moves(broker.client(), path, 0, topic="nope") == [(0, E.log_dir_not_found)]


def test_broker_without_replica_reports_it() -> None:
    broker = Broker(nodes=2)
    broker.cluster.topics.create("t", 1, 1)
    topic = broker.cluster.topics.by_name("t")
    assert topic is not None
    heard = {node_id: moves(broker.client(node_id - 1), IN_MEMORY, 0) for node_id in (1, 2)}
    (holder,) = topic.partitions[0].replicas
    assert heard == {holder: [(0, E.none)], 3 - holder: [(0, E.replica_not_available)]}


def test_unauthorized_request_keeps_its_order() -> None:
    broker = guarded_broker()
    refused = E.cluster_authorization_failed
    assert moves(client_of(broker, "alice"), "/nowhere", 0, 1, 0) == [(0, refused), (1, refused), (0, refused)]
