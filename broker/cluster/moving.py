"""Changes of leadership: of one partition, or of all partitions that a node leads when it stops or returns.

All nodes of the cluster share one copy of each log: a new leader has everything that was acknowledged, and any running
replica may lead. Source: Kafka's `ReplicationControlManager` and `PartitionChangeBuilder` (KRaft).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.base.logs import log
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation
from kohort.storage.placement import NO_LEADER
from kohort.storage.topic import Partition, Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.cluster.node import Node


class MoveError(Exception):
    """An impossible move; the text is a sentence for the user."""


def move_leader(cluster: BrokerCluster, topic: Topic, partition: Partition, node_id: int, now_ms: int) -> None:
    """Make a node the leader and the preferred leader.

    As in Kafka's tools, the replicas are reassigned with the new leader first, which is then elected. A node without a
    replica takes that of the leader.

    Raises:
        MoveError: If the node does not exist, or is stopped.
    """
    node = cluster.node(node_id)
    if node is None:
        raise MoveError(f"unknown node {node_id}; the nodes are {_listed(other.id for other in cluster.nodes)}")
    if not node.running:
        raise MoveError(f"node {node_id} is stopped; start it first")
    replicas = [other for other in partition.replicas if other != node_id]
    if node_id not in partition.replicas:
        replicas.remove(partition.leader if partition.leader in replicas else replicas[0])
    reassign(cluster, topic, partition, (node_id, *replicas), now_ms)
    elect_preferred(cluster, topic, partition, now_ms)


def reassign(
    cluster: BrokerCluster, topic: Topic, partition: Partition, replicas: tuple[int, ...], now_ms: int
) -> None:
    """Set a partition's replicas, in order of preference. Takes effect immediately, because there is nothing to copy.

    The leader stays if it is among them. Removing a replica increases the epoch in any case, as in Kafka.
    """
    taken_away = not set(partition.replicas) <= set(replicas)
    partition.replicas = replicas
    if partition.leader not in replicas:
        _lead(cluster, topic, partition, cluster.topics.placement.eligible_leader(partition.replicas), now_ms)
        _log(topic, partition)
    elif taken_away:
        _lead(cluster, topic, partition, partition.leader, now_ms)
    else:
        _note(cluster, topic, partition)
    if partition.leader != replicas[0]:
        _balance_later(cluster, now_ms)


def elect_preferred(cluster: BrokerCluster, topic: Topic, partition: Partition, now_ms: int) -> ErrorCode:
    """Make the first replica the leader.

    Returns:
        ELECTION_NOT_NEEDED if it is, PREFERRED_LEADER_NOT_AVAILABLE if its node is stopped.
    """
    preferred = partition.replicas[0]
    if partition.leader == preferred:
        return ErrorCode.election_not_needed
    if preferred in cluster.topics.placement.stopped_nodes:
        return ErrorCode.preferred_leader_not_available
    _lead(cluster, topic, partition, preferred, now_ms)
    _log(topic, partition)
    return ErrorCode.none


def elect_any(cluster: BrokerCluster, topic: Topic, partition: Partition, now_ms: int) -> ErrorCode:
    """Make any running replica the leader (an unclean election, which loses nothing here).

    Returns:
        ELECTION_NOT_NEEDED if there is a leader, ELIGIBLE_LEADERS_NOT_AVAILABLE if no replica runs.
    """
    if partition.leader != NO_LEADER:
        return ErrorCode.election_not_needed
    leader = cluster.topics.placement.eligible_leader(partition.replicas)
    if leader == NO_LEADER:
        return ErrorCode.eligible_leaders_not_available
    _lead(cluster, topic, partition, leader, now_ms)
    _log(topic, partition)
    return ErrorCode.none


def stop_node(cluster: BrokerCluster, node: Node, now_ms: int) -> None:
    """Remove a node from the cluster. The next running replica leads its partitions, if there is one.

    The server closes its connections. Source: Kafka's controlled shutdown.
    """
    node.running = False
    node.fetch_sessions.clear()
    cluster.topics.placement.stopped_nodes |= {node.id}
    moved = leaderless = 0
    for topic, partition in list(_partitions(cluster)):
        if partition.leader == node.id:
            _lead(cluster, topic, partition, cluster.topics.placement.eligible_leader(partition.replicas), now_ms)
            moved += partition.leader != NO_LEADER
            leaderless += partition.leader == NO_LEADER
    node.forget_share_partitions()
    cluster.purgatory.check(node, now_ms)
    without = f"; {leaderless} have no other replica, and no leader until it is started" if leaderless else ""
    log.info(f"node {node.id} is stopped; {moved} partitions have a new leader{without}", node=node.id)


def start_node(cluster: BrokerCluster, node: Node, now_ms: int) -> None:
    """Return a node to the cluster. It immediately leads partitions without a leader.

    Partitions that prefer it follow after `leader.imbalance.check.interval.seconds`, or an election.
    """
    node.running = True
    cluster.topics.placement.stopped_nodes -= {node.id}
    count = 0
    for topic, partition in list(_partitions(cluster)):
        if partition.leader == NO_LEADER and node.id in partition.replicas:
            _lead(cluster, topic, partition, node.id, now_ms)
            count += 1
    log.info(f"node {node.id} is started; {count} partitions had no other leader", node=node.id)
    _balance_later(cluster, now_ms)


def _lead(cluster: BrokerCluster, topic: Topic, partition: Partition, node_id: int, now_ms: int) -> None:
    """Begin a leader epoch. The partition's coordinator moves, too, and waiting fetches are completed."""
    coordinated = cluster.coordinated.get(topic.name) if partition.leader != node_id else None
    if coordinated is not None and not cluster.hooks.hides_loss(topic, partition):
        coordinated.resigned(partition, now_ms)
    _end_share_partitions(cluster, topic, partition)
    partition.leader = node_id
    partition.leader_epoch += 1
    partition.log.start_epoch(partition.leader_epoch)
    _note(cluster, topic, partition)
    cluster.purgatory.check(partition, now_ms)
    if coordinated is not None:
        cluster.hooks.elected(topic, partition, now_ms)
        coordinated.elected(partition, now_ms)


def _end_share_partitions(cluster: BrokerCluster, topic: Topic, partition: Partition) -> None:
    leader = cluster.node(partition.leader)
    if leader is not None:
        leader.share_partitions_lost(topic, partition)


def _note(cluster: BrokerCluster, topic: Topic, partition: Partition) -> None:
    """Store the change in the data directory. If the disk fails, it takes effect all the same."""
    try:
        cluster.topics.moved(topic, partition)
    except OSError as problem:
        cluster.storage_failed(f"{topic.name}-{partition.index}: storing its leader", problem)


def _partitions(cluster: BrokerCluster) -> Iterator[tuple[Topic, Partition]]:
    return ((topic, partition) for topic in cluster.topics for partition in topic.partitions)


def _log(topic: Topic, partition: Partition) -> None:
    log.info(
        f"{topic.name}-{partition.index}: led by node {partition.leader}, epoch {partition.leader_epoch}",
        topic=topic.name,
        partition=partition.index,
        leader=partition.leader,
        epoch=partition.leader_epoch,
    )


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _balance_later(cluster: BrokerCluster, now_ms: int) -> None:
    settings = cluster.settings
    if settings.auto_leader_rebalance_enable and cluster.balancing is None:
        cluster.balancing = _Balancing(cluster, now_ms + settings.leader_imbalance_check_interval_seconds * 1_000)
        cluster.purgatory.wait(cluster.balancing)


class _Balancing(DelayedOperation):
    """Preferred leaders take over what others have led for them."""

    __slots__ = ("_cluster",)

    def __init__(self, cluster: BrokerCluster, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self._cluster = cluster

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        cluster = self._cluster
        cluster.balancing = None
        for topic, partition in list(_partitions(cluster)):
            elect_preferred(cluster, topic, partition, now_ms)
