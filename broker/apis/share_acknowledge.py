"""ShareAcknowledge (key 79), versions 1-2: a member of a share group says what has become of the records it holds.

v1 (KIP-932) · v2 records may be held for longer, and for how long is answered (KIP-1222).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kohort.broker.apis.share_acknowledgements import Acknowledged, Acknowledging, Said, fail, is_refused, said_in
from kohort.broker.apis.share_requests import SHORT, Leaders, by_topic, refusal_of
from kohort.broker.cluster.share_fetch_sessions import FINAL_EPOCH, INITIAL_EPOCH, ShareSession
from kohort.coordinator.at_once import at_once
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


def handle(node: Node, request: ShareAcknowledgeRequest, ticket: Ticket) -> ShareAcknowledgeResponse | Task[Any] | None:
    """Answers when all of it is written down; errors of partitions are theirs alone."""
    refusal = refusal_of(node, request.group_id, request.member_id, ticket)
    if refusal is not None:
        return error_response(request, refusal)
    session = _session(node, request)
    if isinstance(session, ErrorCode):
        return error_response(request, session)
    said = said_in(request.topics)
    if not any(batches and not is_refused(batches, ticket, request.is_renew_ack) for batches in said.values()):
        # Partitions of which nothing is said are answered beside others only, as in Kafka.
        said = {which: batches for which, batches in said.items() if batches}
    steps = _steps(node, request, ticket, session, said)
    return at_once(steps) if len(said) <= SHORT and _is_short(said) else steps


def _is_short(said: Said) -> bool:
    return sum(map(len, said.values())) <= SHORT


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
    node: Node, request: ShareAcknowledgeRequest, ticket: Ticket, session: ShareSession, said: Said
) -> Task[ShareAcknowledgeResponse | None]:
    answers: list[ShareAcknowledgeResponse] = []
    waits = False

    def acknowledged(outcomes: dict[tuple[UUID | None, int], Acknowledged], now_ms: int) -> None:
        if request.share_session_epoch == FINAL_EPOCH:
            node.led_share_partitions.close_session(session, now_ms)
        if fail(outcomes):
            response = error_response(request, ErrorCode.unknown_server_error)
        else:
            response = _response(node, ticket, session.group_id, outcomes)
        if waits:
            ticket.reply(response)
        else:
            answers.append(response)

    acknowledging = Acknowledging(
        node, ticket, session.group_id, session.member_id, renews=request.is_renew_ack, then=acknowledged
    )
    yield from acknowledging.run(said)
    waits = True
    return answers[0] if answers else None


def _response(
    node: Node, ticket: Ticket, group_id: str, outcomes: dict[tuple[UUID | None, int], Acknowledged]
) -> ShareAcknowledgeResponse:
    leaders = Leaders(node, ticket)
    parts = [
        (
            which[0],
            PartitionData(
                partition_index=which[1],
                error_code=outcome.error_code,
                error_message=outcome.message,
                current_leader=leaders.of(which, outcome.error_code),
            ),
        )
        for which, outcome in outcomes.items()
    ]
    return ShareAcknowledgeResponse(
        error_code=ErrorCode.none,
        acquisition_lock_timeout_ms=node.cluster.group_configs.share_config(group_id).record_lock_duration_ms,
        responses=tuple(
            ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=tuple(partitions))
            for topic_id, partitions in by_topic(parts).items()
        ),
        node_endpoints=leaders.endpoints,
    )


def error_response(request: ShareAcknowledgeRequest, error_code: ErrorCode) -> ShareAcknowledgeResponse:
    """What a request hears that is not served."""
    return ShareAcknowledgeResponse(error_code=error_code)
