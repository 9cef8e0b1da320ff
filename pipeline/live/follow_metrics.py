"""Prometheus metrics of a run that follows a cluster. docs/following.md lists them; a test compares."""

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

MOST_GROUPS = 500
"""Groups with rows of their own; further ones share one, so that ids from outside can't fill whatever keeps metrics."""
MOST_CLIENTS = 1_000
"""Likewise clients, of all groups together."""
OTHERS = "(others)"


class FollowMetrics:
    """What there is to tell of a run. Each method takes note of one thing."""

    def __init__(self, now_s: Callable[[], float] = time.time) -> None:
        self.registry, self._now_s = CollectorRegistry(), now_s
        gauge = partial(Gauge, registry=self.registry)
        self._groups: set[str] = set()
        self._clients: set[str] = set()
        self._alerts = CounterMetric(
            "kohort_follow_alerts", "Alerts that were told, and warnings that a new report had.",
            ["group", "kind", "severity"], registry=self.registry,
        )  # fmt: skip
        self._open = gauge("kohort_follow_rebalances_open", "Rebalances that are open and were told of.")
        self._findings = gauge("kohort_follow_findings", "Findings of the last report.", ["group", "rule", "severity"])
        self._report_at = gauge("kohort_follow_last_report_timestamp_seconds", "When the last report was made.")
        self._report_s = gauge("kohort_follow_last_report_duration_seconds", "How long the last report took to make.")
        self._up = gauge("kohort_follow_stream_up", "1: the stream reads.", ["stream"])
        self._batch = Gauge(
            "kohort_follow_stream_batch", "Number of the last batch.", ["stream"], registry=self.registry
        )
        self._rebalances = gauge(
            "kohort_follow_group_rebalances", "Rebalances in what was read, by cause and client.",
            ["group", "cause", "client"],
        )  # fmt: skip
        self._stopped_s = gauge(
            "kohort_follow_group_stopped_seconds",
            "Seconds in which no partition made progress, by the cause of the rebalance; no_rebalance: there was none.",
            ["group", "cause"],
        )
        self._lag_s = gauge("kohort_follow_group_lag_seconds", "For how long the oldest record waits.", ["group"])
        self._gone_s = gauge(
            "kohort_follow_group_lag_gone_seconds",
            "In how many seconds the lag is gone if it goes on shrinking; infinite if it does not shrink.", ["group"],
        )  # fmt: skip
        self._never_joined = gauge(
            "kohort_follow_group_never_joined", "Members that came and never were in a generation.", ["group", "client"]
        )
        self._files = gauge("kohort_follow_file_events", "Events that this process read from text logs and event logs.")

    def alert(self, message: Message) -> None:
        """An alert was told."""
        self._alerts.labels(self._group(message.group), message.kind, message.severity).inc()

    def open_rebalances(self, count: int) -> None:
        """So many are open now, of those that were told."""
        self._open.set(count)

    def report(self, findings: Iterable[tuple[str, str, str]], took_s: float) -> None:
        """A report was made: its findings by group, rule and severity. What it does not find any more has no row."""
        counts = Counter((self._group(group), rule, severity) for group, rule, severity in findings)
        self._findings.clear()
        for labels, count in counts.items():
            self._findings.labels(*labels).set(count)
        self._report_at.set(self._now_s())
        self._report_s.set(took_s)

    def groups(self, figures: GroupFigures) -> None:
        """What the last report knows of each group. Further clients and groups share rows."""
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
        """A stream reads or doesn't; batch: the last one that is done, -1: none is."""
        self._up.labels(name).set(up)
        self._batch.labels(name).set(batch)

    def file_events(self, count: int) -> None:
        """So many events came from files until now."""
        self._files.set(count)

    def _group(self, name: str) -> str:
        if len(self._groups) < MOST_GROUPS:
            self._groups.add(name)
        return name if name in self._groups else OTHERS

    def _client(self, name: str) -> str:
        if len(self._clients) < MOST_CLIENTS:
            self._clients.add(name)
        return name if name in self._clients else OTHERS


def _show(gauge: Gauge, values: Mapping[tuple[str, ...], float]) -> None:
    """What has no value any more has no row."""
    gauge.clear()
    for labels, value in values.items():
        gauge.labels(*labels).set(value)


@contextmanager
def serving_metrics(port: int, metrics: FollowMetrics) -> Iterator[int]:
    """Answers at /metrics on all addresses until the block ends. Gives the port; 0 asks for any. Raises OSError."""
    server, thread = start_http_server(port, registry=metrics.registry)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
