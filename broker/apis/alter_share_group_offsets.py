"""AlterShareGroupOffsets (key 91), version 0: sets the start offsets of a share group without members (KIP-932)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kohort.broker.apis.share_offsets_errors import SHARE_OFFSETS_ERRORS
from kohort.broker.scheduling.awaited_response import AwaitedResponse
from kohort.broker.scheduling.cooperative import one_by_one
from kohort.coordinator.modern.group_refusals import Refusal
from kohort.coordinator.share.share_offsets import alter_offsets
from kohort.coordinator.share.state_calls import SUCCESS, Result
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from kohort.security.rights import READ_GROUP, READ_TOPIC

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.share.state_partitions import TopicIdPartition
    from kohort.storage.topic import Topic

    # topic name, topic id if the topic exists, and partition, or None for a topic without partitions
    RequestedPartition = tuple[str, UUID | None, int | None]
    Outcome = Refusal | Mapping[TopicIdPartition, Result]
    # names and existing partitions of requested topics, by id
    Topics = dict[UUID, tuple[str, frozenset[int]]]


def handle(
    node: Node, request: AlterShareGroupOffsetsRequest, ticket: Ticket
) -> Task[AlterShareGroupOffsetsResponse | None]:
    """Alter offsets. The response is sent when share coordinators have answered for all partitions."""
    access = node.cluster.access
    if not node.cluster.features.serves_share_groups:
        return error_response(request, ErrorCode.unsupported_version)
    if access is not None and not access.allows(ticket, READ_GROUP, request.group_id):
        return error_response(request, ErrorCode.group_authorization_failed)
    if not request.group_id:
        return error_response(request, ErrorCode.invalid_group_id)
    results, topics, offsets = yield from _sorted_out(node, request, ticket)
    response: AwaitedResponse[Outcome, AlterShareGroupOffsetsResponse] = AwaitedResponse(
        ticket, partial(_response, results)
    )
    alter_offsets(node.coordinator, request.group_id, topics, offsets, response.set, ticket.received_at_ms)
    return (yield from response.get())


def _sorted_out(
    node: Node, request: AlterShareGroupOffsetsRequest, ticket: Ticket
) -> Task[tuple[list[tuple[RequestedPartition, Result]], Topics, dict[TopicIdPartition, int]]]:
    """Check the request; return all partitions with preliminary results, topics, and offsets of existing partitions.

    If a topic occurs twice, Kafka stores its last partitions, and alters all.
    """
    results: list[tuple[RequestedPartition, Result]] = []
    topics: Topics = {}
    offsets: dict[TopicIdPartition, int] = {}
    access = node.cluster.access
    for entry in request.topics:
        topic = node.cluster.topics.by_name(entry.topic_name)
        is_allowed = access is None or access.allows(ticket, READ_TOPIC, entry.topic_name)
        topic_id = None if topic is None else topic.topic_id
        indexes = set()
        for part in entry.partitions:
            result = _checked(topic, part.partition_index, is_allowed)
            if topic_id is not None and result is SUCCESS:
                indexes.add(part.partition_index)
                offsets[topic_id, part.partition_index] = part.start_offset
            results.append(((entry.topic_name, topic_id, part.partition_index), result))
            yield
        yield
        if topic_id is not None and is_allowed:
            topics[topic_id] = entry.topic_name, frozenset(indexes)
            if not entry.partitions:  # observed: Kafka returns the topic without partitions
                results.append(((entry.topic_name, topic_id, None), SUCCESS))
    return results, topics, offsets


def _became(part: RequestedPartition, outcome: Mapping[TopicIdPartition, Result]) -> Result | None:
    """Return the outcome for a partition, or None if it was not altered."""
    _, topic_id, index = part
    return None if topic_id is None or index is None else outcome.get((topic_id, index))


def _checked(topic: Topic | None, index: int, is_allowed: bool) -> Result:
    """Return SUCCESS, or the error for a partition that is not altered.

    As in Kafka, a negative number passes; the request then fails as a whole.
    """
    if not is_allowed:
        return _failed(ErrorCode.topic_authorization_failed)
    if topic is None or index >= len(topic.partitions):
        return _failed(ErrorCode.unknown_topic_or_partition)
    return SUCCESS


def _failed(error: ErrorCode) -> Result:
    return Result(error, SHARE_OFFSETS_ERRORS[error])


def _response(
    results: list[tuple[RequestedPartition, Result]], outcome: Outcome
) -> Task[AlterShareGroupOffsetsResponse]:
    if isinstance(outcome, Refusal):
        return _refused(outcome)
    topics: dict[tuple[str, UUID | None], list[AlterShareGroupOffsetsResponsePartition]] = {}
    for part, result in results:
        name, topic_id, index = part
        partitions = topics.setdefault((name, topic_id), [])
        if index is not None:
            code, message = _became(part, outcome) or result
            partitions.append(
                AlterShareGroupOffsetsResponsePartition(partition_index=index, error_code=code, error_message=message)
            )
        yield
    responses = yield from one_by_one(_response_topic, topics.items())
    return AlterShareGroupOffsetsResponse(error_code=ErrorCode.none, responses=responses)


def _response_topic(
    topic: tuple[tuple[str, UUID | None], list[AlterShareGroupOffsetsResponsePartition]],
) -> AlterShareGroupOffsetsResponseTopic:
    (name, topic_id), partitions = topic
    return AlterShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id, partitions=tuple(partitions))


def _refused(refusal: Refusal) -> AlterShareGroupOffsetsResponse:
    message = refusal.message or SHARE_OFFSETS_ERRORS.get(refusal.error)
    return AlterShareGroupOffsetsResponse(error_code=refusal.error, error_message=message)


def error_response(request: AlterShareGroupOffsetsRequest, error_code: ErrorCode) -> AlterShareGroupOffsetsResponse:
    """Return the response for a request that failed as a whole. It contains no topics."""
    return _refused(Refusal(error_code))
