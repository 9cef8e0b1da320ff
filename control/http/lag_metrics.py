"""Members, state, committed offsets and lag of each group as Prometheus metrics, under the names of kafka_exporter.

Dashboards and alerts for kafka_exporter therefore work here. It has no state and no lag in seconds; these are named in
the same way. Source: github.com/danielqsj/kafka_exporter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from prometheus_client.core import GaugeMetricFamily, Metric

from kohort.control.groups.lab_offsets import waited_s
from kohort.groups.type_words import SHARE
from kohort.storage.log import PartitionLog

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.coordinator.groups.group import Group

MAX_GROUPS = 1_000  # groups with series for members and state
MAX_PARTITIONS = 2_000  # partitions of groups with series for offset and lag: 50 ms of a request
LABELS = ["consumergroup", "topic", "partition"]


def of_groups(cluster: BrokerCluster) -> Iterator[Metric]:
    members = GaugeMetricFamily("kafka_consumergroup_members", "Members of a group", labels=LABELS[:1])
    states = GaugeMetricFamily(
        "kafka_consumergroup_state", "1 for the current state of a group", labels=[*LABELS[:1], "state"]
    )
    offsets = GaugeMetricFamily(
        "kafka_consumergroup_current_offset", "Committed offset; start offset of a share group", labels=LABELS
    )
    lags = GaugeMetricFamily(
        "kafka_consumergroup_lag",
        "Offsets between the committed offset and the end; unfinished records of a share group",
        labels=LABELS,
    )
    seconds = GaugeMetricFamily(
        "kafka_consumergroup_lag_seconds",
        "Age of the batch that contains the next record of the group, or 0",
        labels=LABELS,
    )
    left_out = GaugeMetricFamily(
        "kafka_consumergroup_series_beyond_limit",
        f"Groups above {MAX_GROUPS:,}, and partitions of groups above {MAX_PARTITIONS:,}, without series",
        labels=["of"],
    )
    wall_ms = cluster.clock.now_ms() + cluster.clock.epoch_ms
    by_id = {id_: group for coordinator in cluster.coordinators for id_, group in coordinator.groups.items()}
    groups = [group for _, group in sorted(by_id.items())]
    for group in groups[:MAX_GROUPS]:
        members.add_metric([group.group_id], len(group.members))
        states.add_metric([group.group_id, group.state_name], 1)
    partitions = 0
    for group in groups:
        for position in _positions(cluster, group):
            partitions += 1
            if partitions <= MAX_PARTITIONS and (lag := position.lag()) is not None:
                labels = [group.group_id, position.topic, str(position.partition)]
                offsets.add_metric(labels, position.offset)
                lags.add_metric(labels, lag)
                seconds.add_metric(labels, waited_s(position.log, position.offset, wall_ms) if lag else 0.0)
    left_out.add_metric(["groups"], max(0, len(groups) - MAX_GROUPS))
    left_out.add_metric(["partitions"], max(0, partitions - MAX_PARTITIONS))
    yield from (members, states, offsets, lags, seconds, left_out)


class _Position(NamedTuple):
    """The progress of a group in a partition.

    lag: Counts the records that the group has not finished, or None if that is not known.
    """

    topic: str
    partition: int
    log: PartitionLog
    offset: int
    lag: Callable[[], int | None]


def _positions(cluster: BrokerCluster, group: Group) -> Iterator[_Position]:
    if group.group_type == SHARE:
        from kohort.control.groups.share_records import records_of  # not loaded by brokers without such groups

        records = records_of(cluster, group, cluster.clock.now_ms())
        for topic, partition in records.tracked_partitions():
            start = records.start_of(topic, partition)
            if start is not None:
                lag_of = partial(records.lag_of, topic, partition)
                yield _Position(topic.name, partition.index, partition.log, start, lag_of)
        return
    for topic_name, index, commit in group.offsets or ():
        log = _log_of(cluster, topic_name, index)
        if log is not None:
            yield _Position(topic_name, index, log, commit.offset, partial(_lag_behind, log, commit.offset))


def _lag_behind(log: PartitionLog, offset: int) -> int:
    return max(0, log.high_watermark - max(offset, log.log_start_offset))


def _log_of(cluster: BrokerCluster, topic_name: str, index: int) -> PartitionLog | None:
    topic = cluster.topics.by_name(topic_name)
    partition = topic.partition(index) if topic is not None else None
    return None if partition is None else partition.log
