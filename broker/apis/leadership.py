"""Lookup of a requested partition, and checks whether this node may serve it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.storage.topic import Partition, Topic

NO_EPOCH = -1


def led_partition(
    node: Node,
    topic: Topic | None,
    index: int,
    current_leader_epoch: int = NO_EPOCH,
    *,
    only_leader: bool = True,
) -> Partition | ErrorCode:
    """Return the partition, or the error if this node does not serve it.

    Source: Kafka's `ReplicaManager.getPartitionOrException` and `Partition.localLogWithEpochOrThrow`; KIP-320.
    """
    partition = None if topic is None else topic.partition(index)
    if partition is None:
        return ErrorCode.unknown_topic_or_partition
    refusal = refusal_to_lead(node, partition, current_leader_epoch, only_leader=only_leader)
    return partition if refusal is None else refusal


def refusal_to_lead(
    node: Node, partition: Partition, current_leader_epoch: int, *, only_leader: bool = True
) -> ErrorCode | None:
    """Return the error if this node does not serve an existing partition, or None.

    A node without a replica rejects every epoch with NOT_LEADER_OR_FOLLOWER. A follower checks the epoch first.
    """
    is_leader = partition.leader == node.id
    if not is_leader and node.id not in partition.replicas:
        return ErrorCode.not_leader_or_follower
    if current_leader_epoch != NO_EPOCH and current_leader_epoch != partition.leader_epoch:
        behind = current_leader_epoch < partition.leader_epoch
        return ErrorCode.fenced_leader_epoch if behind else ErrorCode.unknown_leader_epoch
    if only_leader and not is_leader:
        return ErrorCode.not_leader_or_follower
    return None
