"""AlterPartitionReassignments (key 45), versions 0 and 1.

v0 (KIP-455) · v1 whether the number of replicas may change (KIP-860).

A reassignment has completed when its response is sent: there is one copy of each log, hence nothing to copy. Therefore
none is ever in progress that could be cancelled (null replicas).
Source: Kafka's `ReplicationControlManager.alterPartitionReassignments`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kohort.broker.apis.acl_requests import needs_permission
from kohort.broker.apis.deadline import has_passed
from kohort.broker.cluster.moving import reassign
from kohort.broker.scheduling.cooperative import one_by_one
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from kohort.security.rights import ALTER_CLUSTER
from kohort.storage.refusal import Refusal

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket


def handle(
    node: Node, request: AlterPartitionReassignmentsRequest, ticket: Ticket
) -> Task[AlterPartitionReassignmentsResponse]:
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, ALTER_CLUSTER):
        message = needs_permission(ticket, ALTER_CLUSTER)
        return error_response(request, ErrorCode.cluster_authorization_failed, message)
    if not request.topics:
        return AlterPartitionReassignmentsResponse(error_message="", responses=())
    if has_passed(request.timeout_ms):
        return error_response(request, ErrorCode.request_timed_out)
    responses = []
    for topic in request.topics:
        partitions = yield from one_by_one(partial(_reassigned, node, topic.name, request, ticket), topic.partitions)
        responses.append(ReassignableTopicResponse(name=topic.name, partitions=partitions))
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change, responses=tuple(responses)
    )


def _reassigned(
    node: Node, name: str, request: AlterPartitionReassignmentsRequest, ticket: Ticket, part: ReassignablePartition
) -> ReassignablePartitionResponse:
    return _answer(part, _reassign(node, name, part, request, ticket))


def _reassign(
    node: Node, name: str, part: ReassignablePartition, request: AlterPartitionReassignmentsRequest, ticket: Ticket
) -> Refusal | None:
    cluster = node.cluster
    topic = cluster.topics.by_name(name)
    if topic is None:
        return Refusal(ErrorCode.unknown_topic_or_partition, f"Unable to find a topic named {name}.")
    partition = topic.partition(part.partition_index)
    if partition is None:
        return Refusal(ErrorCode.unknown_topic_or_partition, f"Unable to find partition {name}:{part.partition_index}.")
    replicas = part.replicas
    if replicas is None:
        return Refusal(ErrorCode.no_reassignment_in_progress)
    refusal = cluster.topics.placement.refusal_of(replicas)
    if refusal is not None:
        return refusal
    if not request.allow_replication_factor_change and len(replicas) != len(partition.replicas):
        return Refusal(
            ErrorCode.invalid_replication_factor,
            f"The replication factor is changed from {len(partition.replicas)} to {len(replicas)}",
        )
    reassign(cluster, topic, partition, replicas, ticket.received_at_ms)
    return None


def _answer(part: ReassignablePartition, refusal: Refusal | None) -> ReassignablePartitionResponse:
    return ReassignablePartitionResponse(
        partition_index=part.partition_index,
        error_code=ErrorCode.none if refusal is None else refusal.error_code,
        error_message=None if refusal is None else refusal.message,
    )


def error_response(
    request: AlterPartitionReassignmentsRequest, error_code: ErrorCode, message: str | None = None
) -> AlterPartitionReassignmentsResponse:
    """Return the response for a failed request, with every partition as requested."""
    refusal = Refusal(error_code, message)
    return AlterPartitionReassignmentsResponse(
        error_code=error_code,
        error_message=message,
        responses=tuple(
            ReassignableTopicResponse(
                name=topic.name, partitions=tuple(_answer(part, refusal) for part in topic.partitions)
            )
            for topic in request.topics
        ),
    )
