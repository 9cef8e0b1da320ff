"""A cluster's groups as Prometheus metrics, named after those of Kafka's group coordinator.

Gauges are read on request. Counters count the group events since the object was created.
(Kafka: `GroupCoordinatorMetrics`, `GroupMetadataManager`'s old gauges, `CoordinatorRuntimeMetricsImpl`.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector, CollectorRegistry

from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.cluster.group_events import Recorded
from kohort.broker.cluster.node import Node
from kohort.control.http.lag_metrics import of_groups
from kohort.control.http.login_metrics import of_logins
from kohort.coordinator.context import Shard
from kohort.coordinator.events.group_event import GroupEvent
from kohort.coordinator.groups.group import CLASSIC, CONSUMER
from kohort.coordinator.groups.group_types import GROUP_TYPES

CONTENT_TYPE = CONTENT_TYPE_LATEST
PREFIX = "kafka_coordinator_group_"
# Groups and clients with counters of their own, in the order of their first rebalance. Others share one name, so that
# ids from clients cannot fill the store of the metrics.
MAX_GROUPS = 200
MAX_CLIENTS = 1_000
OTHER_NAMES = "(others)"
# Metrics of the leaders of share partitions (Kafka: `SharePartitionMetrics`, `ShareGroupMetrics`).
SHARE_PREFIX = "kafka_server_share_"
OF_RECORDS = {
    "records_acquired": "acquired",
    "records_accepted": "accepted",
    "records_released": "released",
    "records_rejected": "rejected",
    "records_renewed": "renewed",
    "lock_expired": "lock_expired",
    "records_archived": "archived",
    "dead_letter_written": "dead_letter_written",
    "dead_letter_failed": "dead_letter_failed",
}  # Label by kind of event, for records of share groups.
US_PER_S = 1_000_000


class Metrics(Collector):
    """The metrics of one cluster."""

    def __init__(self, cluster: BrokerCluster, max_groups: int = MAX_GROUPS) -> None:
        self._cluster = cluster
        self._counts = Counts(max_groups)
        cluster.group_events.listen(self._counts.take)
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text format (`CONTENT_TYPE`)."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        yield from read_gauges(self._cluster)
        yield from of_groups(self._cluster)
        yield from of_logins(self._cluster)
        yield from read_counters(self._counts, self._cluster)


class Counts:
    """Counters of events since this object was created."""

    def __init__(self, max_groups: int = MAX_GROUPS) -> None:
        self.max_groups = max_groups
        self.rebalances: Counter[tuple[int, str]] = Counter()  # by node and cause, as are removals; the others by node
        self.removals: Counter[tuple[int, str]] = Counter()
        self.epochs: Counter[tuple[int, str]] = Counter()
        self.reconciled: Counter[int] = Counter()
        self.reconciling_us: Counter[int] = Counter()
        self.conversions: Counter[tuple[int, str]] = Counter()  # by node and new protocol
        self.completed: Counter[int] = Counter()
        self.rebalancing_us: Counter[int] = Counter()
        # without those of the last minute, which are still in the statistics of the members
        self.commits: Counter[int] = Counter()
        self.expirations: Counter[int] = Counter()
        self.records: Counter[tuple[int, str]] = Counter()  # by node and outcome, for records of share groups
        self.loads: Counter[int] = Counter()
        self.loading_us: Counter[int] = Counter()
        self.by_group: Counter[tuple[str, str, str]] = Counter()  # by group, cause and client
        self._groups: set[str] = set()
        self._clients: set[str] = set()

    def take(self, recorded: Recorded) -> None:
        node, event = recorded.node_id, recorded.event
        match event.kind:
            case "rebalance_started":
                self.rebalances[node, event.cause or "unknown"] += 1
                self._count_of_group(event)
            case "rebalance_completed":
                self.completed[node] += 1
                self.rebalancing_us[node] += int((event.detail or {}).get("total_us", 0))
            case "epoch_bumped":
                self.epochs[node, event.cause or "unknown"] += 1
                self._count_of_group(event)
            case "group_reconciled":
                self.reconciled[node] += 1
                self.reconciling_us[node] += event.duration_us or 0
            case "group_converted":
                self.conversions[node, (event.detail or {}).get("to", "unknown")] += 1
            case "member_removed":
                self.removals[node, event.cause or "unknown"] += 1
            case "commit_stats":
                self.commits[node] += event.partitions or 0
            case kind if kind in OF_RECORDS:
                self.records[node, OF_RECORDS[kind]] += _records_in(event)
            case "offsets_expired":
                self.expirations[node] += event.partitions or 0
            case "coordinator_elected":
                self.loads[node] += 1
                self.loading_us[node] += event.duration_us or 0

    def _count_of_group(self, event: GroupEvent) -> None:
        group = _bounded(event.group_id or "", self._groups, self.max_groups)
        client = _bounded(event.client_id or "", self._clients, MAX_CLIENTS)
        self.by_group[group, event.cause or "unknown", client] += 1


def _bounded(name: str, names: set[str], limit: int) -> str:
    """Return the name if it is one of the first ones, or else OTHER_NAMES."""
    if len(names) < limit:
        names.add(name)
    return name if name in names else OTHER_NAMES


def _records_in(event: GroupEvent) -> int:
    detail = event.detail or {}
    return int(detail["last_offset"]) - int(detail["first_offset"]) + 1


def read_gauges(cluster: BrokerCluster) -> Iterator[Metric]:
    groups = GaugeMetricFamily(f"{PREFIX}group_count", "Groups, by state", labels=["node", "protocol", "state"])
    members = GaugeMetricFamily(
        f"{PREFIX}member_count", "Members of all groups, by protocol", labels=["node", "protocol"]
    )
    offsets = GaugeMetricFamily(f"{PREFIX}num_offsets", "Offsets that groups have committed", labels=["node"])
    partitions = GaugeMetricFamily(
        f"{PREFIX}num_partitions", "Partitions of __consumer_offsets, by state", labels=["node", "state"]
    )
    for node in cluster.nodes:
        name, coordinator = str(node.id), node.coordinator
        by_type: dict[str, list[Any]] = {group_type: [] for group_type in GROUP_TYPES}
        for group in coordinator.groups.values():
            by_type[group.group_type].append(group)
        for row in GROUP_TYPES.values():
            counts = Counter(group.state_name for group in by_type[row.name])
            for state in row.states:
                groups.add_metric([name, row.name, state], counts[state])
        # Members of consumer groups that use the classic protocol count as such.
        mixed = sum(group.classic_count for group in by_type[CONSUMER])
        corrections = {CLASSIC: mixed, CONSUMER: -mixed}
        for group_type, typed_groups in by_type.items():
            count = sum(len(group.members) for group in typed_groups)
            members.add_metric([name, group_type], count + corrections.get(group_type, 0))
        committed = (group.offsets for group in coordinator.groups.values() if group.offsets is not None)
        offsets.add_metric([name], sum(sum(1 for _ in partition_offsets) for partition_offsets in committed))
        shards = Counter(coordinator.shards.values())
        for shard in Shard:
            partitions.add_metric([name, shard.value], shards[shard])
    yield from (groups, members, offsets, partitions, *_of_share_partitions(cluster))


def _of_share_partitions(cluster: BrokerCluster) -> Iterator[Metric]:
    loaded = GaugeMetricFamily(
        f"{SHARE_PREFIX}partition_count", "Share partitions from which members fetch", labels=["node"]
    )
    in_flight = GaugeMetricFamily(
        f"{SHARE_PREFIX}in_flight_message_count",
        "Offsets from the start offset to the last delivered offset",
        labels=["node"],
    )
    sessions = GaugeMetricFamily(f"{SHARE_PREFIX}session_count", "Share sessions", labels=["node"])
    for node in cluster.nodes:
        led = node.share_partitions_led
        loaded.add_metric([str(node.id)], 0 if led is None else len(led))
        in_flight.add_metric([str(node.id)], 0 if led is None else led.in_flight)
        sessions.add_metric([str(node.id)], 0 if led is None else len(led.sessions))
    yield from (loaded, in_flight, sessions)


def read_counters(counts: Counts, cluster: BrokerCluster) -> Iterator[Metric]:
    yield _by("cause", "rebalance", "Rebalances of classic groups that began, by cause", counts.rebalances)
    yield _by("cause", "epoch_bump", "New epochs of consumer groups, by cause", counts.epochs)
    yield _by("to", "conversion", "Groups that changed their protocol, by new protocol", counts.conversions)
    yield _by("cause", "member_removal", "Members that were removed or left, by cause", counts.removals)
    yield _by("what", "records", "Records of share groups, by outcome", counts.records, SHARE_PREFIX)
    nodes = cluster.nodes
    yield _summary(
        "completed_rebalance_seconds",
        "Rebalances of classic groups that ended",
        nodes,
        counts.completed,
        counts.rebalancing_us,
    )
    yield _summary(
        "reconciliation_seconds",
        "Consumer groups of which all members reached the target assignment",
        nodes,
        counts.reconciled,
        counts.reconciling_us,
    )
    yield _by_node(
        "offset_commit",
        "Offsets that members have committed, outside of transactions",
        {node.id: counts.commits[node.id] + _not_reported_yet(node) for node in nodes},
    )
    yield _by_node(
        "offset_expiration", "Offsets that have expired", {owner.id: counts.expirations[owner.id] for owner in nodes}
    )
    yield _summary("partition_load_seconds", "Partitions that were loaded", nodes, counts.loads, counts.loading_us)
    by_group = CounterMetricFamily(
        "kafka_consumergroup_rebalances",
        f"Rebalances and epochs that began, by cause and client, of at most {counts.max_groups} groups",
        labels=["consumergroup", "cause", "client"],
    )
    for labels, count in counts.by_group.items():
        by_group.add_metric(labels, count)
    yield by_group


def _not_reported_yet(node: Node) -> int:
    """Return the commits of members since their last statistics event, at most a minute ago."""
    coordinator = node.coordinator
    groups = (group for group in coordinator.groups.values() if group.group_type in (CLASSIC, CONSUMER))
    stats = [member.stats for group in groups for member in group.members.values()]
    return sum(counts.committed_partitions for counts in stats if counts is not None)


def _by(label: str, name: str, about: str, counts: Counter[tuple[int, str]], prefix: str = PREFIX) -> Metric:
    metric = CounterMetricFamily(prefix + name, about, labels=["node", label])
    for (node_id, value), count in sorted(counts.items()):
        metric.add_metric([str(node_id), value], count)
    return metric


def _by_node(name: str, about: str, counts: dict[int, int]) -> Metric:
    metric = CounterMetricFamily(PREFIX + name, about, labels=["node"])
    for node_id, count in counts.items():
        metric.add_metric([str(node_id)], count)
    return metric


def _summary(name: str, about: str, nodes: list[Node], counts: Counter[int], sums_us: Counter[int]) -> Metric:
    metric = SummaryMetricFamily(PREFIX + name, f"{about}, with their duration", labels=["node"])
    for node in nodes:
        metric.add_metric([str(node.id)], counts[node.id], sums_us[node.id] / US_PER_S)
    return metric
