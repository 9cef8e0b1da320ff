"""OffsetForLeaderEpoch (key 23), versions 2 to 4.

v2 the current leader epoch is checked (KIP-320) · v3 replica id · v4 tagged fields.
Leader epochs change only when leadership moves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from kohort.broker.apis.leadership import led_partition
from kohort.broker.scheduling.cooperative import Task, one_by_one
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from kohort.security.acls import CLUSTER_NAME
from kohort.security.rights import CLUSTER_ACTION, DESCRIBE_TOPIC

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket
    from kohort.storage.topic import Topic


def handle(node: Node, request: OffsetForLeaderEpochRequest, ticket: Ticket) -> Task[OffsetForLeaderEpochResponse]:
    """Return the end offset of each leader epoch, by which a consumer detects log truncation."""
    topics = []
    access = node.cluster.access
    if access is not None and access.shows(ticket, CLUSTER_ACTION, CLUSTER_NAME):
        access = None
    for topic_request in request.topics:
        end_offset: Callable[[OffsetForLeaderPartition], EpochEndOffset] = _not_allowed
        if access is None or access.allows(ticket, DESCRIBE_TOPIC, topic_request.topic):
            end_offset = partial(_end_offset, node, node.cluster.topics.by_name(topic_request.topic))
        partitions = yield from one_by_one(end_offset, topic_request.partitions)
        topics.append(OffsetForLeaderTopicResult(topic=topic_request.topic, partitions=partitions))
    return OffsetForLeaderEpochResponse(throttle_time_ms=0, topics=tuple(topics))


def _not_allowed(part: OffsetForLeaderPartition) -> EpochEndOffset:
    return EpochEndOffset(error_code=ErrorCode.topic_authorization_failed, partition=part.partition)


def _end_offset(node: Node, topic: Topic | None, part: OffsetForLeaderPartition) -> EpochEndOffset:
    partition = led_partition(node, topic, part.partition, part.current_leader_epoch)
    if isinstance(partition, ErrorCode):
        return EpochEndOffset(error_code=partition, partition=part.partition)
    epoch, end_offset = partition.log.end_offset_for_epoch(part.leader_epoch)
    return EpochEndOffset(
        error_code=ErrorCode.none, partition=part.partition, leader_epoch=epoch, end_offset=end_offset
    )
