"""EndTxn (key 26), versions 0 to 5.

v0 (KIP-98) and v1 alike · v2 PRODUCER_FENCED is possible (KIP-588) · v3 tagged fields · v4 TRANSACTION_ABORTABLE is
possible · v5 the producer continues with the epoch in the response (KIP-890).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.coordinator.transactions.ending import end_transaction
from kohort.coordinator.transactions.transaction import WITH_EPOCH_BUMP, Producer
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kohort.security.rights import WRITE_TRANSACTIONAL_ID

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

FENCED_SINCE = 2
EPOCH_BUMP_SINCE = 5


def handle(node: Node, request: EndTxnRequest, ticket: Ticket) -> EndTxnResponse | None:
    """End a transaction. The response is sent when the decision is written; the markers follow."""
    access = node.cluster.access
    if access is not None and not access.allows(ticket, WRITE_TRANSACTIONAL_ID, request.transactional_id):
        return EndTxnResponse(error_code=ErrorCode.transactional_id_authorization_failed)

    def decided(error: ErrorCode, producer: Producer) -> None:
        if error is ErrorCode.producer_fenced and ticket.version < FENCED_SINCE:
            error = ErrorCode.invalid_producer_epoch
        ticket.reply(EndTxnResponse(error_code=error, producer_id=producer.producer_id, producer_epoch=producer.epoch))

    end_transaction(
        node.transactions,
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        request.committed,
        WITH_EPOCH_BUMP if ticket.version >= EPOCH_BUMP_SINCE else 0,
        decided,
        ticket.received_at_ms,
    )
    return None
