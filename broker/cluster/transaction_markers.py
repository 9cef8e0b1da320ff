"""Transaction markers in partitions, and their effects on groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.base.logs import log
from kohort.coordinator.effects import OFFSETS_TOPIC, WriteMarkers
from kohort.coordinator.offsets.completing import complete
from kohort.protocol.batches import NO_PRODUCER, Marker, marker_batch
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_cluster import BrokerCluster


def write_markers(cluster: BrokerCluster, effect: WriteMarkers, now_ms: int) -> ErrorCode:
    """Write the end of a transaction to its partitions, on any node. Deleted partitions are skipped.

    Returns:
        INVALID_PRODUCER_EPOCH or TRANSACTION_COORDINATOR_FENCED, after the other partitions have been written.
    """
    outcome = ErrorCode.none
    for topic, index in effect.partitions:
        error = write_marker(cluster, topic, index, effect.producer_id, effect.producer_epoch, effect.marker, now_ms)
        if error not in (ErrorCode.none, ErrorCode.unknown_topic_or_partition):
            refusal = (
                f"{topic}-{index}: the end of producer {effect.producer_id}'s transaction was rejected: {error.name}"
            )
            log.warning(
                f"{refusal}; as in Kafka, requests of its transactional id now fail with CONCURRENT_TRANSACTIONS"
            )
            outcome = error
    return outcome


def write_marker(
    cluster: BrokerCluster,
    topic_name: str,
    index: int,
    producer_id: int,
    producer_epoch: int,
    marker: Marker,
    now_ms: int,
    *,
    bumped: bool = False,
) -> ErrorCode:
    """Write the end of a producer's transaction to one partition.

    Args:
        bumped: Whether the epoch must be newer than that of the transaction (`Producers.check_epoch`).

    Returns:
        UNKNOWN_TOPIC_OR_PARTITION, INVALID_PRODUCER_EPOCH, or TRANSACTION_COORDINATOR_FENCED.
    """
    topic = cluster.topics.by_name(topic_name)
    partition = None if topic is None else topic.partition(index)
    if partition is None:
        return ErrorCode.unknown_topic_or_partition
    wall_ms = now_ms + cluster.clock.epoch_ms
    batch = marker_batch(marker, producer_id, producer_epoch, wall_ms)
    if producer_id < NO_PRODUCER:  # Kafka treats it as no producer, and writes the marker without producer state
        cluster.append(partition, batch, now_ms)
        return ErrorCode.none
    producers = cluster.topics.producers_of(partition)
    error = producers.check_epoch(producer_id, producer_epoch, marker.coordinator_epoch, bumped=bumped)
    if error is not ErrorCode.none:
        return error

    def remember(offset: int) -> None:
        producers.ended(
            producer_id, producer_epoch, offset, marker.coordinator_epoch, wall_ms, committed=marker.committed
        )

    cluster.append(partition, batch, now_ms, remember)
    if topic_name == OFFSETS_TOPIC:
        leader = cluster.offsets_topic.coordinators.get(partition.leader)
        if leader is not None:  # otherwise the next leader reads the marker in the log
            complete(leader, index, producer_id, marker.committed, now_ms)
    return ErrorCode.none
