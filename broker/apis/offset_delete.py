"""OffsetDelete (key 47), version 0: deletes offsets of topics that a group does not subscribe to (KIP-496).

Missing topics and partitions are rejected individually, first in the response; the group is checked nevertheless.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task
from kohort.broker.scheduling.request_chunks import SHORT, in_chunks, runs
from kohort.broker.ticket import Ticket
from kohort.coordinator.groups.deleting import offset_delete
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kohort.protocol.shape import changed
from kohort.security.rights import DELETE_GROUP, READ_TOPIC


def handle(node: Node, request: OffsetDeleteRequest, ticket: Ticket) -> OffsetDeleteResponse | Task[Any] | None:
    """Delete offsets. The response is sent when the deletions are written."""
    if sum(len(topic.partitions) or 1 for topic in request.topics) > SHORT:
        return in_chunks(node, ticket, _chunks(request), _delete_chunk, _merged_chunks)
    return _delete(node, request, ticket)


def _delete(node: Node, request: OffsetDeleteRequest, ticket: Ticket) -> OffsetDeleteResponse | None:
    topics, access = node.cluster.topics, node.cluster.access
    if access is not None and not access.allows(ticket, DELETE_GROUP, request.group_id):
        return error_response(request, ErrorCode.group_authorization_failed)
    refused: list[OffsetDeleteResponseTopic] = []
    deletable: list[tuple[str, list[int]]] = []
    for entry in request.topics:
        if access is not None and not access.allows(ticket, READ_TOPIC, entry.name):
            not_allowed = ErrorCode.topic_authorization_failed
            refused.append(_answer(entry.name, (part.partition_index for part in entry.partitions), not_allowed))
            continue
        topic = topics.by_name(entry.name)
        if topic is None:
            refused.append(_answer(entry.name, (part.partition_index for part in entry.partitions), _UNKNOWN))
            continue
        valid = [part.partition_index for part in entry.partitions if topic.partition(part.partition_index) is not None]
        missing = [part.partition_index for part in entry.partitions if topic.partition(part.partition_index) is None]
        if missing:
            refused.append(_answer(entry.name, missing, _UNKNOWN))
        if valid:
            deletable.append((entry.name, valid))

    def deleted(error: ErrorCode, in_use: set[str]) -> None:
        subscribed = ErrorCode.group_subscribed_to_topic
        answered = [_answer(name, valid, subscribed if name in in_use else error) for name, valid in deletable]
        ticket.reply(OffsetDeleteResponse(error_code=ErrorCode.none, topics=_merged(refused, answered)))

    offsets = [(name, partition) for name, valid in deletable for partition in valid]
    refusal = offset_delete(node.coordinator, request.group_id, offsets, ticket.received_at_ms, deleted)
    return None if refusal is ErrorCode.none else error_response(request, refusal)


_UNKNOWN = ErrorCode.unknown_topic_or_partition


def _chunks(request: OffsetDeleteRequest) -> Iterator[OffsetDeleteRequest]:
    for run in runs(request.topics, "partitions"):
        topics = tuple(changed(OffsetDeleteRequestTopic, topic, partitions=parts) for topic, parts in run)
        yield changed(OffsetDeleteRequest, request, topics=topics)


def _delete_chunk(node: Node, request: OffsetDeleteRequest, ticket: Ticket) -> OffsetDeleteResponse | None:
    """Delete a chunk. Its error is set on each of its partitions, because other chunks may have been deleted."""
    response = _delete(node, request, ticket)
    if response is not None:
        error = response.error_code
        response.topics = tuple(
            _answer(topic.name, (partition.partition_index for partition in topic.partitions), error)
            for topic in request.topics
        )
    return response


def _merged_chunks(answers: list[OffsetDeleteResponse]) -> OffsetDeleteResponse:
    if all(chunk.error_code is not ErrorCode.none for chunk in answers):
        return OffsetDeleteResponse(error_code=answers[0].error_code, topics=())
    partitions: dict[str, list[OffsetDeleteResponsePartition]] = {}
    for answer in answers:
        for topic in answer.topics:
            partitions.setdefault(topic.name, []).extend(topic.partitions)
    topics = (OffsetDeleteResponseTopic(name=name, partitions=tuple(parts)) for name, parts in partitions.items())
    return OffsetDeleteResponse(error_code=ErrorCode.none, topics=tuple(topics))


def _answer(name: str, partitions: Iterable[int], error: ErrorCode) -> OffsetDeleteResponseTopic:
    return OffsetDeleteResponseTopic(
        name=name,
        partitions=tuple(
            OffsetDeleteResponsePartition(partition_index=index, error_code=error) for index in partitions
        ),
    )


def _merged(
    refused: list[OffsetDeleteResponseTopic], answered: list[OffsetDeleteResponseTopic]
) -> tuple[OffsetDeleteResponseTopic, ...]:
    """Return one entry per topic if anything was rejected (`OffsetDeleteResponse.Builder`)."""
    if not refused:
        return tuple(answered)
    topics: dict[str, OffsetDeleteResponseTopic] = {}
    for topic in (*refused, *answered):
        entry = topics.setdefault(topic.name, topic)
        if entry is not topic:
            entry.partitions += topic.partitions
    return tuple(topics.values())


def error_response(request: OffsetDeleteRequest, error_code: ErrorCode) -> OffsetDeleteResponse:
    """Return the response for a request that failed as a whole. It contains no topics."""
    return OffsetDeleteResponse(error_code=error_code, topics=())
