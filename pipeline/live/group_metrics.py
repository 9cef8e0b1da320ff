"""Prometheus metrics of followed groups, with the names that a broker's control address uses.

A Prometheus server reads them at any time from another thread, so changes and reads share a lock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from threading import Lock

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kohort.pipeline.live.follow_metrics import OTHER_LABEL
from kohort.pipeline.live.group_log import GroupLog
from kohort.pipeline.live.sampled_ends import LogEnds

MAX_GROUPS, MAX_PARTITIONS, MAX_REBALANCES = 1_000, 2_000, 2_000  # series beyond them are summed up or left out
GROUP, TOPIC = "consumergroup", "topic"


class GroupMetrics(Collector):
    """Gauges and counters of the groups in a log."""

    def __init__(
        self, log: GroupLog, ends: LogEnds, states: Callable[[], Mapping[str, str]], now_ms: Callable[[], int],
        lock: Lock,
    ) -> None:  # fmt: skip
        """Create a collector.

        Args:
            states: Returns the states of the groups that are in a rebalance.
            lock: Held while `log` and `ends` change.
        """
        self._log, self._ends, self._states, self._now_ms, self._lock = log, ends, states, now_ms, lock

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            yield from (*self._of_groups(), *self._of_lags())

    def _of_groups(self) -> Iterator[Metric]:
        members = GaugeMetricFamily("kafka_consumergroup_members", "Members of a group", labels=[GROUP])
        states = GaugeMetricFamily(
            "kafka_consumergroup_state", "1 for the current state of a group", labels=[GROUP, "state"]
        )
        rebalances = CounterMetricFamily(
            "kafka_consumergroup_rebalances",
            "Generations and epochs by change of the members, and client that joined or left",
            labels=[GROUP, "cause", "client"],
        )
        in_rebalance = self._states()
        counts: Counter[tuple[str, str, str]] = Counter()
        for number, (name, group) in enumerate(sorted(self._log.groups.items())):
            label = name if number < MAX_GROUPS else OTHER_LABEL
            if number < MAX_GROUPS:
                members.add_metric([name], len(group.tracked.members))
                state = in_rebalance.get(name, "Stable" if group.tracked.members else "Empty")
                states.add_metric([name, state], 1)
            for (cause, client), count in group.rebalances.items():
                key = (label, cause, client)
                counts[key if key in counts or len(counts) < MAX_REBALANCES else (label, cause, OTHER_LABEL)] += count
        for labels, total in counts.items():
            rebalances.add_metric(labels, total)
        yield from (members, states, rebalances)

    def _of_lags(self) -> Iterator[Metric]:
        labels = [GROUP, TOPIC, "partition"]
        offsets = GaugeMetricFamily("kafka_consumergroup_current_offset", "Committed offset", labels=labels)
        lags = GaugeMetricFamily(
            "kafka_consumergroup_lag", "Offsets between the committed offset and the end", labels=labels
        )
        seconds = GaugeMetricFamily(
            "kafka_consumergroup_lag_seconds", "How long the next record of the group has waited, or 0", labels=labels
        )
        sums = GaugeMetricFamily(
            "kafka_consumergroup_group_topic_sum_lag", "Lag of all partitions", labels=[GROUP, TOPIC]
        )
        longest = GaugeMetricFamily(
            "kafka_consumergroup_group_topic_max_lag_seconds",
            "Longest lag in seconds of a partition",
            labels=[GROUP, TOPIC],
        )
        left_out = GaugeMetricFamily(
            "kafka_consumergroup_series_beyond_limit",
            f"Groups above {MAX_GROUPS:,}, and partitions of groups above {MAX_PARTITIONS:,}, without series",
            labels=["of"],
        )
        groups = sorted(self._log.groups.items())
        places = [(name, place, offset) for name, group in groups for place, offset in group.committed.items()]
        listed = {name for name, _ in groups[:MAX_GROUPS]}
        by_topic: dict[tuple[str, str], tuple[int, float]] = {}
        pairs = self._ends.lags(((place, offset) for _, place, offset in places), self._now_ms())
        for number, ((name, (topic, part), offset), lag) in enumerate(zip(places, pairs, strict=True)):
            if number < MAX_PARTITIONS:
                values = [name, topic, str(part)]
                offsets.add_metric(values, offset)
                if lag is not None:
                    lags.add_metric(values, lag[0])
                    seconds.add_metric(values, lag[1])
            if lag is not None and name in listed:
                total, most = by_topic.get((name, topic), (0, 0.0))
                by_topic[name, topic] = (total + lag[0], max(most, lag[1]))
        for (name, topic), (total, most) in by_topic.items():
            sums.add_metric([name, topic], total)
            longest.add_metric([name, topic], most)
        left_out.add_metric(["groups"], max(0, len(groups) - MAX_GROUPS))
        left_out.add_metric(["partitions"], max(0, len(places) - MAX_PARTITIONS))
        yield from (offsets, lags, seconds, sums, longest, left_out)
