"""DeleteTopics (key 20), versions 1 to 6.

v1 and v2 alike · v3 TOPIC_DELETION_DISABLED may be answered · v4 tagged fields · v5 error messages (KIP-599) ·
v6 topics by id (KIP-516).

Left out: the controller quota (throttling). Answers come in the order of the request; Kafka shuffles them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from uuid import UUID

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.slices import Slices
    from kohort.broker.ticket import Ticket
    from kohort.storage.topics import Topic

DISABLED_FROM = 3
"""Before this version clients do not know TOPIC_DELETION_DISABLED and hear INVALID_REQUEST."""


def handle(node: Node, request: DeleteTopicsRequest, ticket: Ticket) -> Slices[DeleteTopicsResponse]:
    """Deletes topics, with their records and what groups have committed for them."""
    named = Counter((state.name, state.topic_id) for state in request.topics)
    responses = []
    for (name, topic_id), times in named.items():
        responses.append(_delete(node, name, topic_id, times, ticket))
        yield
    return DeleteTopicsResponse(throttle_time_ms=0, responses=tuple(responses))


def _delete(node: Node, name: str | None, topic_id: UUID | None, times: int, ticket: Ticket) -> DeletableTopicResult:
    cluster = node.cluster
    if not cluster.settings.delete_topic_enable:
        disabled = ticket.version >= DISABLED_FROM
        return _refused(
            name, topic_id, ErrorCode.topic_deletion_disabled if disabled else ErrorCode.invalid_request, None
        )
    if name is None and topic_id is None:
        return _refused(name, topic_id, ErrorCode.invalid_request, "Neither topic name nor id were specified.")
    if name is not None and topic_id is not None:
        message = "You may not specify both topic name and topic id."
        return _refused(name, topic_id, ErrorCode.invalid_request, message)
    if times > 1:
        what = "name" if name is not None else "id"
        return _refused(name, topic_id, ErrorCode.invalid_request, f"Duplicate topic {what}.")
    topic = cluster.topics.find(name, topic_id)
    if topic is None:
        if topic_id is not None:
            message = "This server does not host this topic ID."
            return _refused(name, topic_id, ErrorCode.unknown_topic_id, message)
        message = "This server does not host this topic-partition."
        return _refused(name, topic_id, ErrorCode.unknown_topic_or_partition, message)
    forget(node, topic, ticket.received_at_ms)
    return DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=ErrorCode.none)


def forget(node: Node, topic: Topic, now_ms: int) -> None:
    """Deletes a topic, tells the groups, and lets fetches that wait for its records go."""
    cluster = node.cluster
    cluster.topics.delete(topic)
    cluster.topic_deleted(topic, now_ms)
    for partition in topic.partitions:
        cluster.purgatory.check(partition, now_ms)


def _refused(
    name: str | None, topic_id: UUID | None, error_code: ErrorCode, message: str | None
) -> DeletableTopicResult:
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=error_code, error_message=message)
