"""Leaders of partitions that a fetch requested from the wrong node (KIP-951)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.leaders import LeaderIdAndEpoch, NodeEndpoint

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket
    from kohort.protocol.messages.fetch import FetchResponse

_ASK_THE_LEADER = (ErrorCode.not_leader_or_follower, ErrorCode.fenced_leader_epoch)


def name_leaders(node: Node, ticket: Ticket, response: FetchResponse) -> None:
    """Add to the response the leaders of partitions that this node does not lead."""
    cluster = node.cluster
    leaders = {}
    for data in response.responses:
        topic = cluster.topics.find(data.topic, data.topic_id)
        for part in data.partitions:
            partition = topic.partition(part.partition_index) if topic is not None else None
            if partition is not None and part.error_code in _ASK_THE_LEADER:
                part.current_leader = LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)
                leaders[partition.leader] = cluster.node(partition.leader)
    rack = cluster.settings.broker_rack or None
    response.node_endpoints = tuple(
        NodeEndpoint(node_id=leader.id, host=(at := leader.address_for(ticket))[0], port=at[1], rack=rack)
        for leader in leaders.values()
        if leader is not None
    )
