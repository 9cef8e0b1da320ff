"""ListPartitionReassignments (key 46), version 0 (KIP-455).

No reassignment is ever in progress (alter_partition_reassignments.py), and unknown topics are ignored, as in Kafka: the
response is always empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.acl_requests import needs_permission
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kohort.security.rights import DESCRIBE_CLUSTER

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket


def handle(
    node: Node, request: ListPartitionReassignmentsRequest, ticket: Ticket
) -> ListPartitionReassignmentsResponse:
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, DESCRIBE_CLUSTER):
        return ListPartitionReassignmentsResponse(
            error_code=ErrorCode.cluster_authorization_failed,
            error_message=needs_permission(ticket, DESCRIBE_CLUSTER),
            topics=(),
        )
    return ListPartitionReassignmentsResponse(topics=())
