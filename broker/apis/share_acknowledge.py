"""ShareAcknowledge (key 79), versions 1-2: a member of a share group says what has become of the records it holds.

v1 (KIP-932) · v2 records may be held for longer, and for how long is answered (KIP-1222).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kohort.broker.apis.share_acknowledgements import Acknowledged, Acknowledging, Said, fail, is_refused, said_in
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

    Which = tuple[UUID | None, int]


def handle(node: Node, request: ShareAcknowledgeRequest, ticket: Ticket) -> ShareAcknowledgeResponse | Task[Any] | None:
    """Answers when all of it is written down; errors of partitions are theirs alone."""
    refusal = refusal_of(node, request.group_id, request.member_id, ticket)
    if refusal is not None:
        return error_response(request, refusal)
    session = _session(node, request)
    if isinstance(session, ErrorCode):
        return error_response(request, session)
    return begin(_steps(node, request, ticket, session))


def _session(node: Node, request: ShareAcknowledgeRequest) -> ShareSession | ErrorCode:
    """The member's session, whose epoch is used up, or why there is none."""
    if request.share_session_epoch == INITIAL_EPOCH:
        return ErrorCode.invalid_share_session_epoch
    sessions = node.led_share_partitions.sessions
    found = sessions.find(request.group_id or "", request.member_id or "", request.share_session_epoch)
    if isinstance(found, ShareSession) and request.share_session_epoch != FINAL_EPOCH:
        found.end_epoch()
    return found


def _steps(
    node: Node, request: ShareAcknowledgeRequest, ticket: Ticket, session: ShareSession
) -> Task[ShareAcknowledgeResponse | None]:
    pace = Pace()
    said = yield from said_in(request.topics, pace)
    if not (yield from _is_any_acceptable(said, request, ticket, pace)):
        # Partitions of which nothing is said are answered beside others only, as in Kafka.
        said = {which: batches for which, batches in said.items() if batches}
    outcomes_there: list[dict[Which, Acknowledged]] = []
    waits = False

    def acknowledged(outcomes: dict[Which, Acknowledged], now_ms: int) -> None:
        if request.share_session_epoch == FINAL_EPOCH:
            node.led_share_partitions.close_session(session, now_ms)
        if waits:
            reply_in_steps(ticket, _response(node, request, ticket, session.group_id, outcomes))
        else:
            outcomes_there.append(outcomes)

    acknowledging = Acknowledging(
        node, ticket, session.group_id, session.member_id, renews=request.is_renew_ack, then=acknowledged
    )
    yield from acknowledging.run(said, pace)
    if outcomes_there:
        return (yield from _response(node, request, ticket, session.group_id, outcomes_there[0]))
    waits = True
    return None


def _is_any_acceptable(said: Said, request: ShareAcknowledgeRequest, ticket: Ticket, pace: Pace) -> Task[bool]:
    for batches in said.values():
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
    outcomes: dict[Which, Acknowledged],
) -> Task[ShareAcknowledgeResponse]:
    if fail(outcomes):
        return error_response(request, ErrorCode.unknown_server_error)
    leaders, pace = Leaders(node, ticket), Pace()
    topics: dict[UUID | None, list[PartitionData]] = {}
    for which, outcome in outcomes.items():
        topics.setdefault(which[0], []).append(
            PartitionData(
                partition_index=which[1],
                error_code=outcome.error_code,
                error_message=outcome.message,
                current_leader=leaders.of(which, outcome.error_code),
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
    """What a request hears that is not served."""
    return ShareAcknowledgeResponse(error_code=error_code)
