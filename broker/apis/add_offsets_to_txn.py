"""AddOffsetsToTxn (key 25), versions 0 to 4.

v0 (KIP-98) and v1 alike · v2 PRODUCER_FENCED is possible (KIP-588) · v3 tagged fields · v4 TRANSACTION_ABORTABLE is
possible (KIP-890).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.transactions.adding import add_partitions
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kohort.security.rights import READ_GROUP, WRITE_TRANSACTIONAL_ID

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

FENCED_SINCE = 2


def handle(node: Node, request: AddOffsetsToTxnRequest, ticket: Ticket) -> AddOffsetsToTxnResponse | None:
    """Add the group's partition of the offsets topic to a transaction. The response is sent when that is written."""
    access = node.cluster.access
    if access is not None:
        if not access.allows(ticket, WRITE_TRANSACTIONAL_ID, request.transactional_id):
            return AddOffsetsToTxnResponse(error_code=ErrorCode.transactional_id_authorization_failed)
        if not access.allows(ticket, READ_GROUP, request.group_id):
            return AddOffsetsToTxnResponse(error_code=ErrorCode.group_authorization_failed)

    def written(error: ErrorCode, _: int) -> None:
        if error is ErrorCode.producer_fenced and ticket.version < FENCED_SINCE:
            error = ErrorCode.invalid_producer_epoch
        ticket.reply(AddOffsetsToTxnResponse(error_code=error))

    add_partitions(
        node.transactions,
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        frozenset({(OFFSETS_TOPIC, node.coordinator.partition_of(request.group_id))}),
        written,
        ticket.received_at_ms,
    )
    return None
