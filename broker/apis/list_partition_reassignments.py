"""ListPartitionReassignments (key 46), version 0 (KIP-455).

No reassignment is ever in progress (alter_partition_reassignments.py), and topics that do not exist are passed over, as
in Kafka: the answer is always empty. Left out: authorization.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket


def handle(
    node: Node, request: ListPartitionReassignmentsRequest, ticket: Ticket
) -> ListPartitionReassignmentsResponse:
    """Answers that no partition is being moved."""
    return ListPartitionReassignmentsResponse(topics=())
