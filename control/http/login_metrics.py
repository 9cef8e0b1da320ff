"""Logins as Prometheus metrics, named as Kafka's socket server names them (`kafka.server:type=socket-server-metrics`).

They are counted by listener from the start of the broker on, even if no client reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, Metric, UnknownMetricFamily

from kohort.broker.cluster.logins import EXPIRED, OUTCOMES

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_cluster import BrokerCluster

PREFIX = "kafka_server_socket_server_metrics_"
LABELS = ["node", "listener"]


def of_logins(cluster: BrokerCluster) -> Iterator[Metric]:
    for outcome in OUTCOMES:
        about = f"{outcome.replace('_', ' ').capitalize()}, by listener"
        metric: CounterMetricFamily | UnknownMetricFamily
        if outcome is EXPIRED:  # Kafka calls this one a count, and the others totals, which the library adds
            metric = UnknownMetricFamily(f"{PREFIX}{outcome}_count", about, labels=LABELS)
        else:
            metric = CounterMetricFamily(PREFIX + outcome, about, labels=LABELS)
        for node in cluster.nodes:
            for listener in node.ports:
                metric.add_metric([str(node.id), listener], cluster.logins.counts[node.id, listener, outcome])
        yield metric
