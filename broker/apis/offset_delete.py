"""OffsetDelete (key 47), version 0: forget what a group has committed for topics that it does not use (KIP-496).

Topics and partitions that do not exist are refused one by one, first in the answer; the group is asked all the same.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task
from kohort.broker.scheduling.request_chunks import SHORT, in_chunks, runs
from kohort.broker.ticket import Ticket
from kohort.coordinator.deleting import offset_delete
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
    """None: answered when the deletions are written."""
    if sum(len(topic.partitions) or 1 for topic in request.topics) > SHORT:
        return in_chunks(node, ticket, _chunks(request), _delete_chunk, _merged_chunks)
    return _delete(node, request, ticket)


def _delete(node: Node, request: OffsetDeleteRequest, ticket: Ticket) -> OffsetDeleteResponse | None:
    topics, access = node.cluster.topics, node.cluster.access
    if access is not None and not access.allows(ticket, DELETE_GROUP, request.group_id):
        return error_response(request, ErrorCode.group_authorization_failed)
    refused: list[OffsetDeleteResponseTopic] = []
    wanted: list[tuple[str, list[int]]] = []
    for asked in request.topics:
        if access is not None and not access.allows(ticket, READ_TOPIC, asked.name):
            not_allowed = ErrorCode.topic_authorization_failed
            refused.append(_answer(asked.name, (each.partition_index for each in asked.partitions), not_allowed))
            continue
        topic = topics.by_name(asked.name)
        if topic is None:
            refused.append(_answer(asked.name, (each.partition_index for each in asked.partitions), _UNKNOWN))
            continue
        there = [each.partition_index for each in asked.partitions if topic.partition(each.partition_index) is not None]
        missing = [each.partition_index for each in asked.partitions if topic.partition(each.partition_index) is None]
        if missing:
            refused.append(_answer(asked.name, missing, _UNKNOWN))
        if there:
            wanted.append((asked.name, there))

    def deleted(error: ErrorCode, in_use: set[str]) -> None:
        subscribed = ErrorCode.group_subscribed_to_topic
        answered = [_answer(name, there, subscribed if name in in_use else error) for name, there in wanted]
        ticket.reply(OffsetDeleteResponse(error_code=ErrorCode.none, topics=_merged(refused, answered)))

    offsets = [(name, partition) for name, there in wanted for partition in there]
    refusal = offset_delete(node.coordinator, request.group_id, offsets, ticket.received_at_ms, deleted)
    return None if refusal is ErrorCode.none else error_response(request, refusal)


_UNKNOWN = ErrorCode.unknown_topic_or_partition


def _chunks(request: OffsetDeleteRequest) -> Iterator[OffsetDeleteRequest]:
    for run in runs(request.topics, "partitions"):
        topics = tuple(changed(OffsetDeleteRequestTopic, topic, partitions=parts) for topic, parts in run)
        yield changed(OffsetDeleteRequest, request, topics=topics)


def _delete_chunk(node: Node, request: OffsetDeleteRequest, ticket: Ticket) -> OffsetDeleteResponse | None:
    """As `_delete`, but a refusal names the part's partitions: others of the request may have been deleted before."""
    response = _delete(node, request, ticket)
    if response is not None:
        error = response.error_code
        response.topics = tuple(
            _answer(topic.name, (each.partition_index for each in topic.partitions), error) for topic in request.topics
        )
    return response


def _merged_chunks(answers: list[OffsetDeleteResponse]) -> OffsetDeleteResponse:
    if all(each.error_code is not ErrorCode.none for each in answers):
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
        partitions=tuple(OffsetDeleteResponsePartition(partition_index=each, error_code=error) for each in partitions),
    )


def _merged(
    refused: list[OffsetDeleteResponseTopic], answered: list[OffsetDeleteResponseTopic]
) -> tuple[OffsetDeleteResponseTopic, ...]:
    """One entry per topic, if anything was refused (`OffsetDeleteResponse.Builder`)."""
    if not refused:
        return tuple(answered)
    topics: dict[str, OffsetDeleteResponseTopic] = {}
    for topic in (*refused, *answered):
        before = topics.setdefault(topic.name, topic)
        if before is not topic:
            before.partitions += topic.partitions
    return tuple(topics.values())


def error_response(request: OffsetDeleteRequest, error_code: ErrorCode) -> OffsetDeleteResponse:
    """A refusal of the whole names no topics."""
    return OffsetDeleteResponse(error_code=error_code, topics=())
