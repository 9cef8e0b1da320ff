"""OffsetCommit (key 8), versions 2-10: remember how far a group has got.

v2-4: a retention time of its own. v3: throttle time. v5: without that time. v6: KIP-320, leader epochs.
v7: KIP-345, group instance ids. v8: flexible. v9: KIP-848, a generation of a
group that does not exist hears GROUP_ID_NOT_FOUND, before ILLEGAL_GENERATION. v10: topics by id.

Whether topics exist is asked before the group is looked at: what does not exist is refused by itself, and if nothing is
left the group is not asked at all (classic-groups §7.1).
"""

from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task
from kohort.broker.scheduling.request_chunks import SHORT, in_chunks, runs
from kohort.broker.ticket import Ticket
from kohort.coordinator.committing import Commit, KnownTopic, merged, offset_commit
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
    """None: answered when the offsets are written."""
    partitions = 0
    for topic in request.topics:  # nearly always one: `sum` would take longer than all of this
        partitions += len(topic.partitions)
    if partitions > SHORT or len(request.topics) > SHORT:
        return in_chunks(node, ticket, _chunks(request), handle, _merged)
    commit = looked_up(node, request, ticket)
    if not isinstance(commit, Commit):
        return commit
    return offset_commit(node.coordinator, commit, ticket.received_at_ms)


def looked_up(node: Node, request: OffsetCommitRequest, ticket: Ticket) -> Commit | OffsetCommitResponse:
    """The commit that the group is asked for; or the response, if it need not be asked."""
    access = node.cluster.access
    if access is not None and not access.allows(ticket, READ_GROUP, request.group_id):
        return error_response(request, ErrorCode.group_authorization_failed)
    known: list[KnownTopic] = []
    refused: list[OffsetCommitResponseTopic] = []
    for asked in request.topics:
        _look_up(node, asked, ticket, known, refused)
    if not known:
        return OffsetCommitResponse(topics=merged(refused, []))
    return Commit(request, known, refused, ticket, knows_epochs=ticket.version >= 9)


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
    asked: OffsetCommitRequestTopic,
    ticket: Ticket,
    known: list[KnownTopic],
    refused: list[OffsetCommitResponseTopic],
) -> None:
    topics, access, by_id = node.cluster.topics, node.cluster.access, ticket.version >= IDS_FROM
    topic = topics.by_id(asked.topic_id) if by_id else topics.by_name(asked.name)
    if (
        access is not None
        and not (by_id and topic is None)
        and not access.allows(ticket, READ_TOPIC, asked.name if topic is None else topic.name)
    ):
        refused.append(_refusal(asked, ErrorCode.topic_authorization_failed))
        return
    if topic is None:
        error = ErrorCode.unknown_topic_id if by_id else ErrorCode.unknown_topic_or_partition
        refused.append(_refusal(asked, error))
        return
    count = len(topic.partitions)
    for each in asked.partitions:
        if not 0 <= each.partition_index < count:
            asked = _without_missing(asked, count, refused)
            break
    if asked.partitions:
        known.append((topic.name, topic.topic_id, asked))


def _without_missing(
    asked: OffsetCommitRequestTopic, count: int, refused: list[OffsetCommitResponseTopic]
) -> OffsetCommitRequestTopic:
    """The partitions that exist; the others are refused."""
    there = tuple(each for each in asked.partitions if 0 <= each.partition_index < count)
    missing = tuple(each for each in asked.partitions if not 0 <= each.partition_index < count)
    refused.append(_refusal(asked, ErrorCode.unknown_topic_or_partition, missing))
    return OffsetCommitRequestTopic(name=asked.name, topic_id=asked.topic_id, partitions=there)


def _refusal(
    asked: OffsetCommitRequestTopic,
    error: ErrorCode,
    partitions: tuple[OffsetCommitRequestPartition, ...] | None = None,
) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=asked.name,
        topic_id=asked.topic_id,
        partitions=tuple(
            OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
            for each in (asked.partitions if partitions is None else partitions)
        ),
    )


def error_response(request: OffsetCommitRequest, error_code: ErrorCode) -> OffsetCommitResponse:
    """What a request hears that failed here."""
    return OffsetCommitResponse(topics=tuple(_refusal(asked, error_code) for asked in request.topics))
