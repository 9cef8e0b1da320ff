"""DescribeQuorum (key 55), versions 0 to 2.

v0 (KIP-595) · v1 when replicas last fetched (KIP-836) · v2 directories and addresses of voters (KIP-853).

kohort has no metadata log: nodes share their state. Every node is a voter and up to date, and the offset is the number
of changes to topics. A stopped node has fetched nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.acl_requests import needs_permission
from kohort.broker.scheduling.cooperative import one_by_one
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    PartitionRequest,
    PartitionResponse,
    ReplicaState,
    TopicResponse,
    VoterNode,
)
from kohort.security.rights import DESCRIBE_CLUSTER
from kohort.storage.topic_names import METADATA_TOPIC

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket


def handle(node: Node, request: DescribeQuorumRequest, ticket: Ticket) -> Task[DescribeQuorumResponse]:
    """Describe the partition of the metadata topic. Requests for anything else return UNKNOWN_TOPIC_OR_PARTITION."""
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, DESCRIBE_CLUSTER):
        message = needs_permission(ticket, DESCRIBE_CLUSTER)
        return DescribeQuorumResponse(error_code=ErrorCode.cluster_authorization_failed, error_message=message)
    named = (  # usually only the first two are read
        (topic.topic_name, part.partition_index) for topic in request.topics for part in topic.partitions
    )
    if next(named, None) != (METADATA_TOPIC, 0) or next(named, None) is not None:
        return (yield from _unknown(request))
    cluster = node.cluster
    return DescribeQuorumResponse(
        error_code=ErrorCode.none,
        error_message="",
        topics=(TopicResponse(topic_name=METADATA_TOPIC, partitions=(_quorum(node, ticket),)),),
        nodes=tuple(
            VoterNode(
                node_id=voter.id,
                listeners=(Listener(name=ticket.listener_name, host=(at := voter.address_for(ticket))[0], port=at[1]),),
            )
            for voter in cluster.nodes
        ),
    )


def _quorum(node: Node, ticket: Ticket) -> PartitionResponse:
    cluster = node.cluster
    end, wall_ms = cluster.topics.version, ticket.received_at_ms + cluster.clock.epoch_ms
    return PartitionResponse(
        partition_index=0,
        error_code=ErrorCode.none,
        error_message="",
        leader_id=cluster.controller_id,
        leader_epoch=1,
        high_watermark=end,
        current_voters=tuple(
            ReplicaState(
                replica_id=voter.id,
                log_end_offset=end if voter.running else -1,
                last_fetch_timestamp=wall_ms if voter.running else -1,
                last_caught_up_timestamp=wall_ms if voter.running else -1,
            )
            for voter in cluster.nodes
        ),
    )


def _unknown(request: DescribeQuorumRequest) -> Task[DescribeQuorumResponse]:
    topics = []
    for topic in request.topics:
        partitions = yield from one_by_one(_unknown_partition, topic.partitions)
        topics.append(TopicResponse(topic_name=topic.topic_name, partitions=partitions))
    return DescribeQuorumResponse(error_code=ErrorCode.none, error_message="", topics=tuple(topics))


def _unknown_partition(part: PartitionRequest) -> PartitionResponse:
    unknown = ErrorCode.unknown_topic_or_partition
    return PartitionResponse(partition_index=part.partition_index, error_code=unknown)
