"""OffsetCommit (key 8), versions 2-10: commits offsets of a group.

v2-4: a retention time. v3: throttle time. v5: without that time. v6: KIP-320, leader epochs. v7: KIP-345, group
instance ids. v8: flexible. v9: KIP-848, an unknown group with a generation returns GROUP_ID_NOT_FOUND, before
ILLEGAL_GENERATION. v10: topics by id.

Topics are checked before the group: missing partitions are rejected individually, and if no partition exists, the group
is not checked (classic-groups §7.1).
"""

from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task
from kohort.broker.scheduling.request_chunks import SHORT, in_chunks, runs
from kohort.broker.ticket import Ticket
from kohort.coordinator.offsets.committing import Commit, KnownTopic, merged, offset_commit
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kohort.protocol.shape import changed
from kohort.security.rights import READ_GROUP, READ_TOPIC

IDS_FROM: Final = 10


def handle(node: Node, request: OffsetCommitRequest, ticket: Ticket) -> OffsetCommitResponse | Task[Any] | None:
    """Commit offsets. The response is sent when they are written."""
    partitions = 0
    for topic in request.topics:  # nearly always one topic, for which `sum` is slower
        partitions += len(topic.partitions)
    if partitions > SHORT or len(request.topics) > SHORT:
        return in_chunks(node, ticket, _chunks(request), handle, _merged)
    commit = looked_up(node, request, ticket)
    if not isinstance(commit, Commit):
        return commit
    return offset_commit(node.coordinator, commit, ticket.received_at_ms)


def looked_up(node: Node, request: OffsetCommitRequest, ticket: Ticket) -> Commit | OffsetCommitResponse:
    """Return the commit for the group, or the response if no partition can be committed."""
    access = node.cluster.access
    if access is not None and not access.allows(ticket, READ_GROUP, request.group_id):
        return error_response(request, ErrorCode.group_authorization_failed)
    existing: list[KnownTopic] = []
    refused: list[OffsetCommitResponseTopic] = []
    for topic_request in request.topics:
        _look_up(node, topic_request, ticket, existing, refused)
    if not existing:
        return OffsetCommitResponse(topics=merged(refused, []))
    return Commit(request, existing, refused, ticket, knows_epochs=ticket.version >= 9)


def _chunks(request: OffsetCommitRequest) -> Iterator[OffsetCommitRequest]:
    for run in runs(request.topics, "partitions"):
        topics = tuple(changed(OffsetCommitRequestTopic, topic, partitions=parts) for topic, parts in run)
        yield changed(OffsetCommitRequest, request, topics=topics)


def _merged(answers: list[OffsetCommitResponse]) -> OffsetCommitResponse:
    partitions: dict[tuple[str, UUID | None], list[OffsetCommitResponsePartition]] = {}
    for answer in answers:
        for topic in answer.topics:
            partitions.setdefault((topic.name, topic.topic_id), []).extend(topic.partitions)
    return OffsetCommitResponse(
        topics=tuple(
            OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=tuple(parts))
            for (name, topic_id), parts in partitions.items()
        )
    )


def _look_up(
    node: Node,
    topic_request: OffsetCommitRequestTopic,
    ticket: Ticket,
    existing: list[KnownTopic],
    refused: list[OffsetCommitResponseTopic],
) -> None:
    topics, access, by_id = node.cluster.topics, node.cluster.access, ticket.version >= IDS_FROM
    topic = topics.by_id(topic_request.topic_id) if by_id else topics.by_name(topic_request.name)
    if (
        access is not None
        and not (by_id and topic is None)
        and not access.allows(ticket, READ_TOPIC, topic_request.name if topic is None else topic.name)
    ):
        refused.append(_refusal(topic_request, ErrorCode.topic_authorization_failed))
        return
    if topic is None:
        error = ErrorCode.unknown_topic_id if by_id else ErrorCode.unknown_topic_or_partition
        refused.append(_refusal(topic_request, error))
        return
    count = len(topic.partitions)
    for partition in topic_request.partitions:
        if not 0 <= partition.partition_index < count:
            topic_request = _without_missing(topic_request, count, refused)
            break
    if topic_request.partitions:
        existing.append((topic.name, topic.topic_id, topic_request))


def _without_missing(
    topic_request: OffsetCommitRequestTopic, count: int, refused: list[OffsetCommitResponseTopic]
) -> OffsetCommitRequestTopic:
    """Return the topic without missing partitions, and add these to `refused`."""
    existing = tuple(partition for partition in topic_request.partitions if 0 <= partition.partition_index < count)
    missing = tuple(partition for partition in topic_request.partitions if not 0 <= partition.partition_index < count)
    refused.append(_refusal(topic_request, ErrorCode.unknown_topic_or_partition, missing))
    return OffsetCommitRequestTopic(name=topic_request.name, topic_id=topic_request.topic_id, partitions=existing)


def _refusal(
    topic_request: OffsetCommitRequestTopic,
    error: ErrorCode,
    partitions: tuple[OffsetCommitRequestPartition, ...] | None = None,
) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic_request.name,
        topic_id=topic_request.topic_id,
        partitions=tuple(
            OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=error)
            for partition in (topic_request.partitions if partitions is None else partitions)
        ),
    )


def error_response(request: OffsetCommitRequest, error_code: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(topics=tuple(_refusal(topic_request, error_code) for topic_request in request.topics))
