"""DescribeCluster (key 60), versions 0 to 2.

v0 (KIP-700) · v1 endpoint type (KIP-919) · v2 fenced brokers (KIP-1073).
Not supported: separate controllers. A stopped node is fenced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.authorized_operations import cluster_operations
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

BROKERS, CONTROLLERS = 1, 2  # endpoint types


def handle(node: Node, request: DescribeClusterRequest, ticket: Ticket) -> DescribeClusterResponse:
    if request.endpoint_type == CONTROLLERS:
        return _refused(
            ErrorCode.mismatched_endpoint_type,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
        )
    if request.endpoint_type != BROKERS:
        return _refused(ErrorCode.unsupported_endpoint_type, f"Unsupported endpoint type {request.endpoint_type}")
    cluster = node.cluster
    response = DescribeClusterResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.none,
        cluster_id=cluster.cluster_id,
        controller_id=cluster.controller_id,
        brokers=tuple(
            DescribeClusterBroker(
                broker_id=broker.id,
                host=(at := broker.address_for(ticket))[0],
                port=at[1],
                rack=cluster.settings.broker_rack or None,
                is_fenced=not broker.running,
            )
            for broker in (cluster.nodes if request.include_fenced_brokers else cluster.running_nodes)
        ),
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = cluster_operations(node, ticket)
    return response


def _refused(error_code: ErrorCode, message: str) -> DescribeClusterResponse:
    return DescribeClusterResponse(
        throttle_time_ms=0, error_code=error_code, error_message=message, cluster_id="", brokers=()
    )
