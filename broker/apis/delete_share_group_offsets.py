"""DeleteShareGroupOffsets (key 92), version 0: deletes the state of a share group for topics (KIP-932)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kohort.broker.apis.share_offsets_errors import SHARE_OFFSETS_ERRORS
from kohort.broker.scheduling.awaited_response import AwaitedResponse
from kohort.coordinator.modern.group_refusals import Refusal
from kohort.coordinator.share.share_offsets import delete_offsets
from kohort.coordinator.share.state_calls import Result
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from kohort.security.rights import DELETE_GROUP, READ_TOPIC

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.topic_info import TopicInfo

    Outcome = Refusal | Mapping[UUID, Result] | None

NOTHING_KNOWN = "There is no offset information to delete."


def handle(
    node: Node, request: DeleteShareGroupOffsetsRequest, ticket: Ticket
) -> Task[DeleteShareGroupOffsetsResponse | None]:
    """Delete offsets. The response is sent when share coordinators have answered for all topics."""
    access = node.cluster.access
    if not node.cluster.features.serves_share_groups:
        return error_response(request, ErrorCode.unsupported_version)
    if access is not None and not access.allows(ticket, DELETE_GROUP, request.group_id):
        return error_response(request, ErrorCode.group_authorization_failed)
    if not request.group_id:
        return error_response(request, ErrorCode.invalid_group_id)
    sorted_out = yield from _sorted_out(node, request, ticket)
    response: AwaitedResponse[Outcome, DeleteShareGroupOffsetsResponse] = AwaitedResponse(
        ticket, partial(_response, sorted_out)
    )
    delete_offsets(node.coordinator, request.group_id, sorted_out.topics, response.set, ticket.received_at_ms)
    return (yield from response.get())


class _SortedOut(NamedTuple):
    """Topics that exist and may be read, and the results for all others."""

    topics: list[TopicInfo]
    unknown: list[DeleteShareGroupOffsetsResponseTopic]
    denied: list[DeleteShareGroupOffsetsResponseTopic]


def _sorted_out(node: Node, request: DeleteShareGroupOffsetsRequest, ticket: Ticket) -> Task[_SortedOut]:
    sorted_out, access = _SortedOut([], [], []), node.cluster.access
    for name in dict.fromkeys(topic_request.topic_name for topic_request in request.topics):
        topic = node.coordinator.topics.by_name(name)
        if access is not None and not access.allows(ticket, READ_TOPIC, name):
            sorted_out.denied.append(_answer(name, ErrorCode.topic_authorization_failed))
        elif topic is None:
            sorted_out.unknown.append(_answer(name, ErrorCode.unknown_topic_or_partition))
        else:
            sorted_out.topics.append(topic)
        yield
    return sorted_out


def _response(sorted_out: _SortedOut, outcome: Outcome) -> Task[DeleteShareGroupOffsetsResponse]:
    """Build the response. For a group that never had states, Kafka returns only topics that are denied."""
    if isinstance(outcome, Refusal):
        return _refused(outcome)
    responses = sorted_out.denied
    if outcome is not None:
        results = []
        for topic in sorted_out.topics:
            results.append(_outcome(topic, outcome.get(topic.topic_id)))
            yield
        responses = [*results, *sorted_out.unknown, *responses]
    return DeleteShareGroupOffsetsResponse(error_code=ErrorCode.none, responses=tuple(responses))


def _outcome(topic: TopicInfo, result: Result | None) -> DeleteShareGroupOffsetsResponseTopic:
    """Return the result of a topic; None as `result` means that the group had no state for it."""
    if result is None:
        return _answer(topic.name, ErrorCode.unknown_topic_or_partition, NOTHING_KNOWN)
    return DeleteShareGroupOffsetsResponseTopic(
        topic_name=topic.name, topic_id=topic.topic_id, error_code=result.error, error_message=result.message
    )


def _answer(name: str, error: ErrorCode, message: str | None = None) -> DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(
        topic_name=name, error_code=error, error_message=message or SHARE_OFFSETS_ERRORS[error]
    )


def _refused(refusal: Refusal) -> DeleteShareGroupOffsetsResponse:
    message = refusal.message or SHARE_OFFSETS_ERRORS.get(refusal.error)
    return DeleteShareGroupOffsetsResponse(error_code=refusal.error, error_message=message)


def error_response(request: DeleteShareGroupOffsetsRequest, error_code: ErrorCode) -> DeleteShareGroupOffsetsResponse:
    """Return the response for a request that failed as a whole. It contains no topics."""
    return _refused(Refusal(error_code))
