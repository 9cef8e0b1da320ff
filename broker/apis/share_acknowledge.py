"""ShareAcknowledge (key 79), versions 1-2: a member of a share group acknowledges records that it has acquired.

v1 (KIP-932) · v2 renewal of locks, whose duration is returned (KIP-1222).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kohort.broker.apis.share_acknowledgements import (
    Acknowledged,
    Acknowledging,
    BatchesByPartition,
    is_refused,
    read_acknowledgements,
)
from kohort.broker.apis.share_requests import Leaders, refusal_of, reply_in_steps, topic_responses
from kohort.broker.cluster.share_fetch_sessions import FINAL_EPOCH, INITIAL_EPOCH, ShareSession
from kohort.broker.scheduling.cooperative import begin
from kohort.coordinator.pace import Pace
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.share_acknowledge import (
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)

if TYPE_CHECKING:
    from uuid import UUID

    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket

    TopicIdPartition = tuple[UUID | None, int]


def handle(node: Node, request: ShareAcknowledgeRequest, ticket: Ticket) -> ShareAcknowledgeResponse | Task[Any] | None:
    """Acknowledge records. The response is sent when all changes are written. Partitions fail individually."""
    refusal = refusal_of(node, request.group_id, request.member_id, ticket)
    if refusal is not None:
        return error_response(request, refusal)
    session = _session(node, request)
    if isinstance(session, ErrorCode):
        return error_response(request, session)
    return begin(_steps(node, request, ticket, session))


def _session(node: Node, request: ShareAcknowledgeRequest) -> ShareSession | ErrorCode:
    """Return the member's session and advance its epoch, or return the error."""
    if request.share_session_epoch == INITIAL_EPOCH:
        return ErrorCode.invalid_share_session_epoch
    sessions = node.led_share_partitions.sessions
    session = sessions.find(request.group_id or "", request.member_id or "", request.share_session_epoch)
    if isinstance(session, ShareSession) and request.share_session_epoch != FINAL_EPOCH:
        session.end_epoch()
    return session


def _steps(
    node: Node, request: ShareAcknowledgeRequest, ticket: Ticket, session: ShareSession
) -> Task[ShareAcknowledgeResponse | None]:
    pace = Pace()
    acks = yield from read_acknowledgements(request.topics, pace)
    if not (yield from _is_any_acceptable(acks, request, ticket, pace)):
        # Existing partitions without acknowledgements are only in a response with others, as in Kafka.
        acks = {
            topic_partition: batches
            for topic_partition, batches in acks.items()
            if batches or node.cluster.topics.partition(*topic_partition) is None
        }
    immediate_outcomes: list[dict[TopicIdPartition, Acknowledged]] = []
    waits = False

    def acknowledged(outcomes: dict[TopicIdPartition, Acknowledged], now_ms: int) -> None:
        if request.share_session_epoch == FINAL_EPOCH:
            node.led_share_partitions.close_session(session, now_ms)
        if waits:
            reply_in_steps(ticket, _response(node, request, ticket, session.group_id, outcomes))
        else:
            immediate_outcomes.append(outcomes)

    acknowledging = Acknowledging(
        node, ticket, session.group_id, session.member_id, renews=request.is_renew_ack, on_acknowledged=acknowledged
    )
    if not (yield from acknowledging.run(acks, pace)):
        return error_response(request, ErrorCode.unknown_server_error)
    if immediate_outcomes:
        return (yield from _response(node, request, ticket, session.group_id, immediate_outcomes[0]))
    waits = True
    return None


def _is_any_acceptable(
    acks: BatchesByPartition, request: ShareAcknowledgeRequest, ticket: Ticket, pace: Pace
) -> Task[bool]:
    for batches in acks.values():
        if batches and not (yield from is_refused(batches, ticket, pace, renews=request.is_renew_ack)):
            return True
        if pace.add():
            yield
    return False


def _response(
    node: Node,
    request: ShareAcknowledgeRequest,
    ticket: Ticket,
    group_id: str,
    outcomes: dict[TopicIdPartition, Acknowledged],
) -> Task[ShareAcknowledgeResponse]:
    leaders, pace = Leaders(node, ticket), Pace()
    topics: dict[UUID | None, list[PartitionData]] = {}
    for topic_partition, outcome in outcomes.items():
        topics.setdefault(topic_partition[0], []).append(
            PartitionData(
                partition_index=topic_partition[1],
                error_code=outcome.error_code,
                error_message=outcome.message,
                current_leader=leaders.of(topic_partition, outcome.error_code),
            )
        )
        if pace.add():
            yield
    return ShareAcknowledgeResponse(
        error_code=ErrorCode.none,
        acquisition_lock_timeout_ms=node.cluster.group_configs.share_config(group_id).record_lock_duration_ms,
        responses=(yield from topic_responses(topics, ShareAcknowledgeTopicResponse, pace)),
        node_endpoints=leaders.endpoints,
    )


def error_response(request: ShareAcknowledgeRequest, error_code: ErrorCode) -> ShareAcknowledgeResponse:
    return ShareAcknowledgeResponse(error_code=error_code)
