"""Which partition a request means, and whether this node may answer for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.storage.topic import Partition, Topic

NO_EPOCH = -1


def led_partition(
    node: Node, topic: Topic | None, index: int, current_leader_epoch: int = NO_EPOCH
) -> Partition | ErrorCode:
    """The partition, or why this node does not answer for it, in Kafka's order.

    UNKNOWN_TOPIC_OR_PARTITION, then a leader epoch that is behind (FENCED_LEADER_EPOCH) or ahead of the partition's
    (UNKNOWN_LEADER_EPOCH; KIP-320), then NOT_LEADER_OR_FOLLOWER. Source: Kafka's `Partition.localLogWithEpochOrThrow`.
    """
    partition = None if topic is None else topic.partition(index)
    if partition is None:
        return ErrorCode.unknown_topic_or_partition
    refusal = refusal_to_lead(node, partition, current_leader_epoch)
    return partition if refusal is None else refusal


def refusal_to_lead(node: Node, partition: Partition, current_leader_epoch: int) -> ErrorCode | None:
    """Why this node does not answer for a partition that exists; None: it does."""
    if current_leader_epoch != NO_EPOCH and current_leader_epoch != partition.leader_epoch:
        behind = current_leader_epoch < partition.leader_epoch
        return ErrorCode.fenced_leader_epoch if behind else ErrorCode.unknown_leader_epoch
    if partition.leader != node.id:
        return ErrorCode.not_leader_or_follower
    return None
