"""DeleteRecords (key 21), versions 0 to 2: deletes the records of partitions before an offset.

v0 (KIP-107) and v1 alike · v2 tagged fields.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kohort.broker.apis.leadership import led_partition
from kohort.broker.scheduling.cooperative import Task, one_by_one
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from kohort.security.rights import DELETE_TOPIC

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

ALL = -1  # as the offset: the high watermark


def handle(node: Node, request: DeleteRecordsRequest, ticket: Ticket) -> Task[DeleteRecordsResponse]:
    """Delete records and return the new start offset of each partition.

    A duplicate partition is handled once, with the last offset, and a topic without partitions is left out, because
    Kafka stores them in a map (`KafkaApis.handleDeleteRecordsRequest`).
    """
    by_topic: dict[str, dict[int, DeleteRecordsPartition]] = {}
    for topic in request.topics:
        if topic.partitions:
            by_topic.setdefault(topic.name, {}).update((entry.partition_index, entry) for entry in topic.partitions)
    topics = []
    access = node.cluster.access
    for name, entries in by_topic.items():
        if access is None or access.allows(ticket, DELETE_TOPIC, name):
            partitions = yield from one_by_one(partial(_delete, node, name), entries.values())
        else:
            partitions = tuple(_refused(index, ErrorCode.topic_authorization_failed) for index in entries)
        topics.append(DeleteRecordsTopicResult(name=name, partitions=partitions))
    return DeleteRecordsResponse(topics=tuple(topics))


def _delete(node: Node, name: str, entry: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
    index = entry.partition_index
    topic = node.cluster.topics.by_name(name)
    partition = led_partition(node, topic, index)
    if isinstance(partition, ErrorCode):
        return _refused(index, partition)
    assert topic is not None, "a partition that is led has a topic"
    if topic.internal:
        return _refused(index, ErrorCode.invalid_topic_exception)
    if not topic.log_config.delete:
        return _refused(index, ErrorCode.policy_violation)
    log = partition.log
    offset = log.high_watermark if entry.offset == ALL else entry.offset
    if not 0 <= offset <= log.high_watermark:
        return _refused(index, ErrorCode.offset_out_of_range)
    start = max(offset, log.log_start_offset)
    if start:  # also if retention was first: deleted segments could reappear after a power failure
        log.delete_before(start)
    return DeleteRecordsPartitionResult(
        partition_index=index, low_watermark=log.log_start_offset, error_code=ErrorCode.none
    )


def _refused(index: int, error: ErrorCode) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=-1, error_code=error)
