"""AlterReplicaLogDirs (key 34), versions 1 and 2: moves replicas to another directory of a broker.

v1 (KIP-113) · v2 tagged fields.

A broker has one directory, which DescribeLogDirs returns; replicas are already in it. Source: Kafka's
`ReplicaManager.alterReplicaLogDirs`; observed on 4.3.0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kohort.broker.apis.describe_log_dirs import path_of_directory
from kohort.coordinator.groups.group_placement import java_hash
from kohort.coordinator.java_order import hash_of_partition, in_map_order
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from kohort.security.rights import ALTER_CLUSTER

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket


def handle(node: Node, request: AlterReplicaLogDirsRequest, ticket: Ticket) -> Task[AlterReplicaLogDirsResponse]:
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, ALTER_CLUSTER):
        return error_response(request, ErrorCode.cluster_authorization_failed)
    directories: dict[tuple[str, int], str] = {}
    hashes: dict[str, int] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            if topic.name not in hashes:
                hashes[topic.name] = java_hash(topic.name)
            for index in topic.partitions:
                directories[topic.name, index] = directory.path
                yield
            yield
        yield
    own = path_of_directory(node)
    answers: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for name, index in in_map_order(directories, lambda at: hash_of_partition(hashes[at[0]], at[1])):
        error = _error(node, name, index) if directories[name, index] == own else ErrorCode.log_dir_not_found
        result = AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error)
        answers.setdefault(name, []).append(result)
        yield
    return AlterReplicaLogDirsResponse(results=_results(answers.items()))


def _error(node: Node, name: str, index: int) -> ErrorCode:
    topic = node.cluster.topics.by_name(name)
    if topic is None or not 0 <= index < len(topic.partitions):
        return ErrorCode.unknown_topic_or_partition
    is_replica = node.id in topic.partitions[index].replicas
    return ErrorCode.none if is_replica else ErrorCode.replica_not_available


def error_response(request: AlterReplicaLogDirsRequest, error_code: ErrorCode) -> AlterReplicaLogDirsResponse:
    """Return the response for a request that failed as a whole, with every partition as requested."""
    return AlterReplicaLogDirsResponse(
        results=_results(
            (
                topic.name,
                [
                    AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error_code)
                    for index in topic.partitions
                ],
            )
            for directory in request.dirs
            for topic in directory.topics
        )
    )


def _results(
    answers: Iterable[tuple[str, list[AlterReplicaLogDirPartitionResult]]],
) -> tuple[AlterReplicaLogDirTopicResult, ...]:
    return tuple(
        AlterReplicaLogDirTopicResult(topic_name=name, partitions=tuple(partitions)) for name, partitions in answers
    )
