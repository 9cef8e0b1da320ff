"""ElectLeaders (key 43), versions 0 to 2.

v0 the preferred leader (KIP-183) · v1 also unclean elections, an error for the whole response (KIP-460) · v2 tagged
fields.

A request for all partitions (null) returns only those that did not have the right leader already.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kohort.broker.apis.acl_requests import needs_permission
from kohort.broker.apis.deadline import has_passed
from kohort.broker.cluster.moving import elect_any, elect_preferred
from kohort.broker.scheduling.cooperative import Task, one_by_one
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from kohort.security.rights import ALTER_CLUSTER

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

PREFERRED, UNCLEAN = 0, 1

_MESSAGES = {
    ErrorCode.election_not_needed: "Leader election not needed for topic partition.",
    ErrorCode.preferred_leader_not_available: "The preferred leader was not available.",
    ErrorCode.eligible_leaders_not_available: "Eligible topic partition leaders are not available.",
}  # messages of Kafka 4.3


def handle(node: Node, request: ElectLeadersRequest, ticket: Ticket) -> Task[ElectLeadersResponse]:
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, ALTER_CLUSTER):
        message = needs_permission(ticket, ALTER_CLUSTER)
        return error_response(request, ErrorCode.cluster_authorization_failed, message)
    if request.topic_partitions == ():
        return ElectLeadersResponse(replica_election_results=())
    if has_passed(request.timeout_ms):
        return error_response(request, ErrorCode.request_timed_out)
    if request.election_type not in (PREFERRED, UNCLEAN):
        message = f"Unknown election type {request.election_type}"
        return error_response(request, ErrorCode.invalid_request, message)
    if request.topic_partitions is None:
        requested = [(topic.name, tuple(range(len(topic.partitions)))) for topic in node.cluster.topics]
    else:
        requested = [(entry.topic, entry.partitions) for entry in request.topic_partitions]
    results = []
    for name, partitions in requested:
        elect = partial(_elect, node, request, ticket, name)
        results.append(ReplicaElectionResult(topic=name, partition_result=(yield from one_by_one(elect, partitions))))
    if request.topic_partitions is None:
        for result in results:
            result.partition_result = tuple(
                entry for entry in result.partition_result if entry.error_code != ErrorCode.election_not_needed
            )
    return ElectLeadersResponse(replica_election_results=tuple(results))


def _elect(node: Node, request: ElectLeadersRequest, ticket: Ticket, name: str, index: int) -> PartitionResult:
    cluster = node.cluster
    topic = cluster.topics.by_name(name)
    if topic is None:
        return _unknown(index, f"No such topic as {name}")
    partition = topic.partition(index)
    if partition is None:
        return _unknown(index, f"No such partition as {name}-{index}")
    elect = elect_preferred if request.election_type == PREFERRED else elect_any
    error = elect(cluster, topic, partition, ticket.received_at_ms)
    return PartitionResult(partition_id=index, error_code=error, error_message=_MESSAGES.get(error))


def _unknown(index: int, message: str) -> PartitionResult:
    return PartitionResult(partition_id=index, error_code=ErrorCode.unknown_topic_or_partition, error_message=message)


def error_response(
    request: ElectLeadersRequest, error_code: ErrorCode, message: str | None = None
) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        error_code=error_code,
        replica_election_results=tuple(
            ReplicaElectionResult(
                topic=topic_request.topic,
                partition_result=tuple(
                    PartitionResult(partition_id=index, error_code=error_code, error_message=message)
                    for index in topic_request.partitions
                ),
            )
            for topic_request in request.topic_partitions or ()
        ),
    )
