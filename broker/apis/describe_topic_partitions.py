"""DescribeTopicPartitions (key 75), version 0 (KIP-966).

Topics are sorted by name and paged: when the limit is reached, the response has a cursor for the next page.
Not supported: eligible leader replicas and last known ones, which are always empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.authorized_operations import operations
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from kohort.security.acls import ResourceType
from kohort.security.rights import DESCRIBE_TOPIC
from kohort.storage.placement import NO_LEADER
from kohort.storage.topic import Partition, Topic
from kohort.storage.topic_names import name_refusal
from kohort.storage.topics import Topics

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket


def handle(
    node: Node, request: DescribeTopicPartitionsRequest, ticket: Ticket
) -> Task[DescribeTopicPartitionsResponse]:
    """Describe the requested topics, or all topics, starting at the cursor."""
    cluster, cursor = node.cluster, request.cursor
    names = {topic_request.name for topic_request in request.topics}
    if cursor is not None and (cursor.partition_index < 0 or (names and cursor.topic_name not in names)):
        return error_response(request, ErrorCode.invalid_request)
    if "" in names and (cursor is None or not cursor.topic_name):
        return error_response(request, ErrorCode.unknown_server_error)  # as in Kafka, which raises
    names = names or {topic.name for topic in cluster.topics}
    most = cluster.settings.max_request_partition_size_limit
    room = max(min(request.response_partition_limit, most), 1)
    response = DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=())
    described = []
    refused: list[DescribeTopicPartitionsResponseTopic] = []
    access, all_topics = cluster.access, not request.topics
    for name in sorted(names):
        first = 0
        yield
        if cursor is not None:
            if name < cursor.topic_name:
                continue
            first = cursor.partition_index if name == cursor.topic_name else 0
        if access is not None and not (access.shows if all_topics else access.allows)(ticket, DESCRIBE_TOPIC, name):
            refused += () if all_topics else (_refused(name, ErrorCode.topic_authorization_failed),)
            continue
        if room == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        topic = cluster.topics.by_name(name)
        if topic is None:
            described.append(_unknown(name, operations(node, ticket, ResourceType.TOPIC, name)))
            continue
        end = min(_as_int(first + room), len(topic.partitions))
        partitions = topic.partitions[first : max(end, 0)]
        answer = _described(cluster.topics, topic, partitions)
        answer.topic_authorized_operations = operations(node, ticket, ResourceType.TOPIC, name)
        described.append(answer)
        room -= len(partitions)
        if end < len(topic.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=end)
            break
    response.topics = (*described, *refused)
    return response


def _as_int(number: int) -> int:
    """Return the Java int of a number that may exceed it: Kafka's addition to the cursor's partition overflows."""
    return (number + 2**31) % 2**32 - 2**31


def _described(topics: Topics, topic: Topic, partitions: list[Partition]) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode.none,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.internal,
        partitions=tuple(
            DescribeTopicPartitionsResponsePartition(
                error_code=ErrorCode.none if partition.leader != NO_LEADER else ErrorCode.leader_not_available,
                partition_index=partition.index,
                leader_id=partition.leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=partition.replicas,
                isr_nodes=topics.placement.in_sync(partition.replicas),
                offline_replicas=topics.placement.offline(partition.replicas),
                eligible_leader_replicas=(),
                last_known_elr=(),
            )
            for partition in partitions
        ),
    )


def _unknown(name: str, allowed: int) -> DescribeTopicPartitionsResponseTopic:
    illegal = name_refusal(name) is not None
    answer = _refused(name, ErrorCode.invalid_topic_exception if illegal else ErrorCode.unknown_topic_or_partition)
    answer.topic_authorized_operations = allowed
    return answer


def _refused(name: str, error_code: ErrorCode) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(error_code=error_code, name=name, topic_id=None, partitions=())


def error_response(request: DescribeTopicPartitionsRequest, error_code: ErrorCode) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        throttle_time_ms=0, topics=tuple(_refused(topic_request.name, error_code) for topic_request in request.topics)
    )
