"""DeleteRecords (key 21), versions 0 to 2: partitions forget what lies before an offset.

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

ALL = -1
"""As the offset: the high watermark."""


def handle(node: Node, request: DeleteRecordsRequest, ticket: Ticket) -> Task[DeleteRecordsResponse]:
    """Answers for each partition where it begins now.

    A partition that is named twice is asked about once, with the last offset, and a topic without partitions not at
    all, as in Kafka, which keeps them in a map (`KafkaApis.handleDeleteRecordsRequest`).
    """
    wanted: dict[str, dict[int, DeleteRecordsPartition]] = {}
    for topic in request.topics:
        if topic.partitions:
            wanted.setdefault(topic.name, {}).update((each.partition_index, each) for each in topic.partitions)
    topics = []
    access = node.cluster.access
    for name, asked in wanted.items():
        if access is None or access.allows(ticket, DELETE_TOPIC, name):
            partitions = yield from one_by_one(partial(_delete, node, name), asked.values())
        else:
            partitions = tuple(_refused(index, ErrorCode.topic_authorization_failed) for index in asked)
        topics.append(DeleteRecordsTopicResult(name=name, partitions=partitions))
    return DeleteRecordsResponse(topics=tuple(topics))


def _delete(node: Node, name: str, asked: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
    index = asked.partition_index
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
    offset = log.high_watermark if asked.offset == ALL else asked.offset
    if not 0 <= offset <= log.high_watermark:
        return _refused(index, ErrorCode.offset_out_of_range)
    start = max(offset, log.log_start_offset)
    if start:  # noted also where retention was there before: what it has dropped might come back with the power
        log.delete_before(start)
    return DeleteRecordsPartitionResult(
        partition_index=index, low_watermark=log.log_start_offset, error_code=ErrorCode.none
    )


def _refused(index: int, error: ErrorCode) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=-1, error_code=error)
