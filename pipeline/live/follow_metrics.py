"""Prometheus metrics of a run that follows a cluster. docs/reference/metrics.md lists them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from prometheus_client import CollectorRegistry, Gauge, start_http_server
from prometheus_client import Counter as CounterMetric

from kohort.pipeline.live.group_figures import GroupFigures
from kohort.pipeline.live.webhook import Message

# Number of groups with their own series. Further ones share one, so that external ids can't fill the metrics store.
MOST_GROUPS = 500
MOST_CLIENTS = 1_000  # the same for clients, over all groups
OTHER_LABEL = "(others)"


class FollowMetrics:
    """Metrics of a run. Each method records one kind of change."""

    def __init__(self, now_s: Callable[[], float] = time.time) -> None:
        self.registry, self._now_s = CollectorRegistry(), now_s
        gauge = partial(Gauge, registry=self.registry)
        self._groups: set[str] = set()
        self._clients: set[str] = set()
        self._alerts = CounterMetric(
            "kohort_follow_alerts", "Alerts, and new warnings of reports.",
            ["group", "kind", "severity"], registry=self.registry,
        )  # fmt: skip
        self._open = gauge("kohort_follow_rebalances_open", "Open rebalances that were reported.")
        self._findings = gauge("kohort_follow_findings", "Findings of the last report.", ["group", "rule", "severity"])
        self._report_at = gauge("kohort_follow_last_report_timestamp_seconds", "When the last report was made.")
        self._report_s = gauge("kohort_follow_last_report_duration_seconds", "How long the last report took to make.")
        self._up = gauge("kohort_follow_stream_up", "1: the stream reads.", ["stream"])
        self._batch = Gauge(
            "kohort_follow_stream_batch", "Number of the last batch.", ["stream"], registry=self.registry
        )
        self._rebalances = gauge(
            "kohort_follow_group_rebalances", "Rebalances by cause and client.",
            ["group", "cause", "client"],
        )  # fmt: skip
        self._stopped_s = gauge(
            "kohort_follow_group_stopped_seconds",
            "Seconds without progress in any partition, by cause of the rebalance; no_rebalance: not during one.",
            ["group", "cause"],
        )
        self._lag_s = gauge("kohort_follow_group_lag_seconds", "How long the oldest record has waited.", ["group"])
        self._gone_s = gauge(
            "kohort_follow_group_lag_gone_seconds",
            "Seconds until the lag is gone if it continues to shrink; infinite if it does not shrink.", ["group"],
        )  # fmt: skip
        self._never_joined = gauge(
            "kohort_follow_group_never_joined",
            "Members that tried to join and were never in a generation.",
            ["group", "client"],
        )
        self._files = gauge("kohort_follow_file_events", "Events that this process read from text logs and event logs.")

    def alert(self, message: Message) -> None:
        self._alerts.labels(self._group(message.group), message.kind, message.severity).inc()

    def open_rebalances(self, count: int) -> None:
        self._open.set(count)

    def report(self, findings: Iterable[tuple[str, str, str]], took_s: float) -> None:
        """Record a new report with its findings by group, rule and severity.

        Findings that are gone lose their series.
        """
        counts = Counter((self._group(group), rule, severity) for group, rule, severity in findings)
        self._findings.clear()
        for labels, count in counts.items():
            self._findings.labels(*labels).set(count)
        self._report_at.set(self._now_s())
        self._report_s.set(took_s)

    def groups(self, figures: GroupFigures) -> None:
        """Record the figures of the last report. Groups and clients above the limits share series."""
        rebalances: Counter[tuple[str, ...]] = Counter()
        for (group, cause, client), count in figures.rebalances.items():
            rebalances[self._group(group), cause, self._client(client)] += count
        never: Counter[tuple[str, ...]] = Counter()
        for (group, client), count in figures.never_joined.items():
            never[self._group(group), self._client(client)] += count
        stopped: dict[tuple[str, ...], float] = {}
        for (group, cause), seconds in figures.stopped_s.items():
            key = (self._group(group), cause)
            stopped[key] = stopped.get(key, 0.0) + seconds
        _show(self._rebalances, rebalances)
        _show(self._never_joined, never)
        _show(self._stopped_s, stopped)
        _show(self._lag_s, self._longest(figures.lag_s))
        _show(self._gone_s, self._longest(figures.gone_s))

    def _longest(self, by_group: Mapping[str, float]) -> dict[tuple[str, ...], float]:
        longest: dict[tuple[str, ...], float] = {}
        for group, seconds in by_group.items():
            key = (self._group(group),)
            longest[key] = max(longest.get(key, 0.0), seconds)
        return longest

    def stream(self, name: str, up: bool, batch: int) -> None:
        """Record whether a stream reads, and its last completed batch, or -1."""
        self._up.labels(name).set(up)
        self._batch.labels(name).set(batch)

    def file_events(self, count: int) -> None:
        self._files.set(count)

    def _group(self, name: str) -> str:
        if len(self._groups) < MOST_GROUPS:
            self._groups.add(name)
        return name if name in self._groups else OTHER_LABEL

    def _client(self, name: str) -> str:
        if len(self._clients) < MOST_CLIENTS:
            self._clients.add(name)
        return name if name in self._clients else OTHER_LABEL


def _show(gauge: Gauge, values: Mapping[tuple[str, ...], float]) -> None:
    """Set all values and remove the other series."""
    gauge.clear()
    for labels, value in values.items():
        gauge.labels(*labels).set(value)


@contextmanager
def serving_metrics(port: int, metrics: FollowMetrics) -> Iterator[int]:
    """Serve /metrics on all addresses until the block ends. Yields the port; 0 picks a free one.

    Raises:
        OSError: The port cannot be used.
    """
    server, thread = start_http_server(port, registry=metrics.registry)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
