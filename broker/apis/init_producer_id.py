"""InitProducerId (key 22), versions 0 to 5.

v0 (KIP-98) and v1 alike · v2 tagged fields · v3 a producer may ask for the next epoch of its id (KIP-360) · v4
PRODUCER_FENCED may be answered (KIP-588) · v5 as v4 (KIP-890).

Left out: transactions. A transactional id hears COORDINATOR_NOT_AVAILABLE, what a Kafka answers that has no coordinator
for it; clients retry that until their own timeout. An idempotent producer that asks for its next epoch gets a new id,
as in Kafka, where only a transaction coordinator remembers ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from kohort.broker.node import Node
    from kohort.broker.ticket import Ticket

NONE = -1


def handle(node: Node, request: InitProducerIdRequest, ticket: Ticket) -> InitProducerIdResponse:
    """Hands out a producer id with epoch 0."""
    if (request.producer_id == NONE) != (request.producer_epoch == NONE):
        return _refused(ErrorCode.invalid_request)
    if request.transactional_id is None:
        return InitProducerIdResponse(
            throttle_time_ms=0,
            error_code=ErrorCode.none,
            producer_id=node.cluster.topics.next_producer_id(),
            producer_epoch=0,
        )
    if not request.transactional_id:
        return _refused(ErrorCode.invalid_request)
    return _refused(ErrorCode.coordinator_not_available)


def _refused(error_code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(throttle_time_ms=0, error_code=error_code, producer_id=NONE, producer_epoch=NONE)
