"""InitProducerId (key 22), versions 0 to 5.

v0 (KIP-98) and v1 alike · v2 tagged fields · v3 a producer may request the next epoch of its id (KIP-360) · v4
PRODUCER_FENCED is possible (KIP-588) · v5 as v4 (KIP-890).

An idempotent producer without a transactional id that requests its next epoch gets a new id, as in Kafka, where only
transaction coordinators store ids. Not supported: two-phase commit (v6, KIP-939), which Kafka 4.4 does not advertise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.coordinator.transactions.initializing import init_producer_id
from kohort.coordinator.transactions.transaction import Producer
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kohort.security.rights import IDEMPOTENT_WRITE, WRITE_TOPIC, WRITE_TRANSACTIONAL_ID

if TYPE_CHECKING:
    from kohort.broker.cluster.access import Access
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

NONE = -1
FENCED_SINCE = 4  # before, INVALID_PRODUCER_EPOCH is used instead of PRODUCER_FENCED


def handle(node: Node, request: InitProducerIdRequest, ticket: Ticket) -> InitProducerIdResponse | None:
    """Assign a producer id, or the next epoch of a transactional one.

    The latter's response is sent when it is written.
    """
    refusal = None if node.cluster.access is None else _not_allowed(node.cluster.access, request, ticket)
    if refusal is not None:
        return _refused(refusal)
    if (request.producer_id == NONE) != (request.producer_epoch == NONE):
        return _refused(ErrorCode.invalid_request)
    if request.transactional_id is None:
        producer_id = node.cluster.topics.next_producer_id()
        return InitProducerIdResponse(error_code=ErrorCode.none, producer_id=producer_id, producer_epoch=0)
    if not request.transactional_id:
        return _refused(ErrorCode.invalid_request)
    expected = None
    if request.producer_id != NONE:
        expected = Producer(request.producer_id, request.producer_epoch)

    def on_assigned(error: ErrorCode, producer: Producer) -> None:
        if error is ErrorCode.producer_fenced and ticket.version < FENCED_SINCE:
            error = ErrorCode.invalid_producer_epoch
        ticket.reply(
            InitProducerIdResponse(error_code=error, producer_id=producer.producer_id, producer_epoch=producer.epoch)
        )

    init_producer_id(
        node.transactions,
        request.transactional_id,
        request.transaction_timeout_ms,
        expected,
        on_assigned,
        ticket.received_at_ms,
    )
    return None


def _not_allowed(access: Access, request: InitProducerIdRequest, ticket: Ticket) -> ErrorCode | None:
    """Return the error for an unauthorized client.

    Idempotence needs only the right to write to some topic (KIP-679).
    """
    if request.transactional_id is not None:
        allowed = access.allows(ticket, WRITE_TRANSACTIONAL_ID, request.transactional_id)
        return None if allowed else ErrorCode.transactional_id_authorization_failed
    if access.allows_on_any(ticket, WRITE_TOPIC) or access.allows_on_cluster(ticket, IDEMPOTENT_WRITE):
        return None
    return ErrorCode.cluster_authorization_failed


def _refused(error_code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error_code, producer_id=NONE, producer_epoch=NONE)
