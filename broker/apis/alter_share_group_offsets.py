"""AlterShareGroupOffsets (key 91), version 0: where a share group without members is to begin (KIP-932)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kohort.broker.apis.share_offsets_errors import SHARE_OFFSETS_ERRORS
from kohort.broker.scheduling.awaited_response import AwaitedResponse
from kohort.broker.scheduling.cooperative import one_by_one
from kohort.coordinator.modern.group_refusals import Refusal
from kohort.coordinator.share.share_offsets import alter_offsets
from kohort.coordinator.share.state_calls import DONE, Result
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

    Asked = tuple[str, UUID | None, int | None]
    """The name of a topic, its id if it exists, and a partition; None: it was named without any."""
    Outcome = Refusal | Mapping[TopicIdPartition, Result]
    Topics = dict[UUID, tuple[str, frozenset[int]]]
    """By id, names of topics that were named and exist, and the partitions that do."""


def handle(
    node: Node, request: AlterShareGroupOffsetsRequest, ticket: Ticket
) -> Task[AlterShareGroupOffsetsResponse | None]:
    """None: answered when share coordinators have answered for all partitions."""
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
) -> Task[tuple[list[tuple[Asked, Result]], Topics, dict[TopicIdPartition, int]]]:
    """What was asked for with what is known of it so far; topics, and the offsets of partitions that exist.

    Of a topic that is named twice Kafka notes the partitions that come last, and asks for all.
    """
    results: list[tuple[Asked, Result]] = []
    topics: Topics = {}
    offsets: dict[TopicIdPartition, int] = {}
    access = node.cluster.access
    for asked in request.topics:
        topic = node.cluster.topics.by_name(asked.topic_name)
        is_allowed = access is None or access.allows(ticket, READ_TOPIC, asked.topic_name)
        topic_id = None if topic is None else topic.topic_id
        there = set()
        for each in asked.partitions:
            result = _checked(topic, each.partition_index, is_allowed)
            if topic_id is not None and result is DONE:
                there.add(each.partition_index)
                offsets[topic_id, each.partition_index] = each.start_offset
            results.append(((asked.topic_name, topic_id, each.partition_index), result))
            yield
        yield
        if topic_id is not None and is_allowed:
            topics[topic_id] = asked.topic_name, frozenset(there)
            if not asked.partitions:  # it is answered with none (heard)
                results.append(((asked.topic_name, topic_id, None), DONE))
    return results, topics, offsets


def _became(asked: Asked, outcome: Mapping[TopicIdPartition, Result]) -> Result | None:
    """What has become of a partition; None: nobody was asked to write it."""
    _, topic_id, index = asked
    return None if topic_id is None or index is None else outcome.get((topic_id, index))


def _checked(topic: Topic | None, index: int, is_allowed: bool) -> Result:
    """DONE, or why a partition is left alone."""
    if not is_allowed:
        return _known(ErrorCode.topic_authorization_failed)
    if topic is None or topic.partition(index) is None:
        return _known(ErrorCode.unknown_topic_or_partition)
    return DONE


def _known(error: ErrorCode) -> Result:
    return Result(error, SHARE_OFFSETS_ERRORS[error])


def _response(results: list[tuple[Asked, Result]], outcome: Outcome) -> Task[AlterShareGroupOffsetsResponse]:
    if isinstance(outcome, Refusal):
        return _refused(outcome)
    topics: dict[tuple[str, UUID | None], list[AlterShareGroupOffsetsResponsePartition]] = {}
    for asked, result in results:
        name, topic_id, index = asked
        partitions = topics.setdefault((name, topic_id), [])
        if index is not None:
            code, message = _became(asked, outcome) or result
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
    """A refusal of the whole names no topics."""
    return _refused(Refusal(error_code))
