"""ListOffsets (key 2), versions 1 to 11.

v1 one offset per partition (KIP-79) · v2 isolation level (KIP-98) · v3 as v2 · v4 leader epochs (KIP-320) · v5 as v4 ·
v6 tagged fields · v7 -3: the record with the largest timestamp (KIP-734) · v8 -4: the start of the local log (KIP-405)
· v9 -5: the end of tiered storage (KIP-1005) · v10 a timeout (KIP-1075) · v11 -6: the first record that is pending
upload to tiered storage (KIP-1023).

Not supported: tiered storage, so that -4 is the start of the log and -5 and -6 return -1, as in a Kafka without it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kohort.broker.apis.leadership import led_partition
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from kohort.security.rights import DESCRIBE_TOPIC

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.storage.log import PartitionLog
    from kohort.storage.topic import Topic

# Replica ids of clients. Brokers send their own id; followers also serve a debugging replica.
CONSUMER, DEBUGGING_REPLICA = -1, -2

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
ISOLATION_LEVELS = (READ_UNCOMMITTED, READ_COMMITTED)
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -1, -2, -3, -4, -5, -6

SINCE_VERSION = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}  # first version that supports a negative timestamp


def handle(node: Node, request: ListOffsetsRequest, ticket: Ticket) -> Task[ListOffsetsResponse]:
    """Return the offset for each timestamp. Topics without partitions are left out."""
    if request.isolation_level not in ISOLATION_LEVELS:
        return error_response(request, ErrorCode.unknown_server_error)  # as in Kafka, which raises
    # Only consumers are limited by open transactions (Kafka: `ReplicaManager.fetchOffset`, isClientRequest).
    isolation_level = request.isolation_level if request.replica_id == CONSUMER else READ_UNCOMMITTED
    counts = Counter((topic.name, part.partition_index) for topic in request.topics for part in topic.partitions)
    responses: dict[str, dict[int, ListOffsetsPartitionResponse]] = {}
    access, refused = node.cluster.access, []
    for requested_topic in request.topics:
        topic = node.cluster.topics.by_name(requested_topic.name)
        if access is not None and not access.allows(ticket, DESCRIBE_TOPIC, requested_topic.name):
            refused.append(_refused_topic(requested_topic, ErrorCode.topic_authorization_failed))  # duplicates included
            continue
        answers = responses.setdefault(requested_topic.name, {})
        for part in requested_topic.partitions:
            if counts[requested_topic.name, part.partition_index] > 1:
                answers[part.partition_index] = _refused(part, ErrorCode.invalid_request)
            else:
                find = _find(node, topic, part, isolation_level, request.replica_id, ticket.version)
                answers[part.partition_index] = yield from find
            yield
        yield
    topics = []
    for name, answers in responses.items():
        if answers:
            topics.append(ListOffsetsTopicResponse(name=name, partitions=tuple(answers.values())))
        yield
    return ListOffsetsResponse(topics=(*topics, *refused))


def _find(
    node: Node, topic: Topic | None, part: ListOffsetsPartition, isolation_level: int, replica_id: int, version: int
) -> Task[ListOffsetsPartitionResponse]:
    if part.timestamp < 0 and version < SINCE_VERSION.get(part.timestamp, version + 1):
        return _refused(part, ErrorCode.unsupported_version)
    only_leader = replica_id != DEBUGGING_REPLICA
    partition = led_partition(node, topic, part.partition_index, part.current_leader_epoch, only_leader=only_leader)
    if isinstance(partition, ErrorCode):
        return _refused(part, partition)
    end = partition.last_stable_offset if isolation_level == READ_COMMITTED else partition.log.high_watermark
    timestamp, offset = yield from _offset_at(partition.log, part.timestamp, end)
    return ListOffsetsPartitionResponse(
        partition_index=part.partition_index,
        error_code=ErrorCode.none,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=partition.log.epoch_at(offset) if offset >= 0 else -1,
    )


def _offset_at(log: PartitionLog, timestamp: int, end: int) -> Task[tuple[int, int]]:
    """Return timestamp and offset, or -1 and -1 if no record before `end` matches."""
    if timestamp == LATEST:
        return -1, end
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return -1, log.log_start_offset
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return -1, -1
    if timestamp == MAX_TIMESTAMP:
        match = yield from log.offset_of_max_timestamp()
    else:
        match = yield from log.offset_for_timestamp(timestamp)
    return (-1, -1) if match is None or match[1] >= end else match


def _refused(part: ListOffsetsPartition, error_code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=part.partition_index, error_code=error_code)


def error_response(request: ListOffsetsRequest, error_code: ErrorCode) -> ListOffsetsResponse:
    return ListOffsetsResponse(topics=tuple(_refused_topic(topic, error_code) for topic in request.topics))


def _refused_topic(topic: ListOffsetsTopic, error_code: ErrorCode) -> ListOffsetsTopicResponse:
    return ListOffsetsTopicResponse(
        name=topic.name, partitions=tuple(_refused(part, error_code) for part in topic.partitions)
    )
