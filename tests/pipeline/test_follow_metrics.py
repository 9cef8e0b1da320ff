"""Metrics of a run that follows: what Prometheus reads, and their documentation."""

from __future__ import annotations

import copy
import urllib.request
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kohort.pipeline.gold.gold_files import write_tables
from kohort.pipeline.gold.gold_schemas import SCHEMAS
from kohort.pipeline.gold.group_tables import analyse_group, as_tables
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.live.follow_metrics import MOST_CLIENTS, MOST_GROUPS, OTHER_LABEL, FollowMetrics, serving_metrics
from kohort.pipeline.live.group_figures import GroupFigures, figures_of
from kohort.pipeline.live.webhook import Message

ROOT = Path(__file__).parents[2]

NOW_S = 1_700_000_000.0


def samples(registry: CollectorRegistry) -> dict[tuple[str, tuple[str, ...]], float]:
    """Return values by name and label values."""
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(generate_latest(registry).decode())
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def alert(group: str, kind: str = "silent") -> Message:
    return Message(group, 0, kind, "warning", "no commits for 31 s")


def finding(group: str, rule: str) -> tuple[str, str, str]:
    return group, rule, "critical"


def test_alerts_are_counted_by_group() -> None:
    metrics = FollowMetrics()
    for message in (alert("orders"), alert("orders"), alert("billing", "rebalance_open")):
        metrics.alert(message)
    found = samples(metrics.registry)
    assert found["kohort_follow_alerts_total", ("orders", "silent", "warning")] == 2
    assert found["kohort_follow_alerts_total", ("billing", "rebalance_open", "warning")] == 1


def test_vanished_groups_are_removed() -> None:
    metrics = FollowMetrics(lambda: NOW_S)
    metrics.report([finding("orders", "R01"), finding("orders", "R01"), finding("billing", "R29")], 2.5)
    assert samples(metrics.registry)["kohort_follow_findings", ("orders", "R01", "critical")] == 2
    metrics.report([finding("billing", "R29")], 1.5)
    found = samples(metrics.registry)
    assert [labels for name, labels in found if name == "kohort_follow_findings"] == [("billing", "R29", "critical")]
    assert found["kohort_follow_last_report_timestamp_seconds", ()] == NOW_S
    assert found["kohort_follow_last_report_duration_seconds", ()] == 1.5


def test_external_ids_are_bounded() -> None:
    metrics = FollowMetrics()
    for number in range(MOST_GROUPS + 100):
        metrics.alert(alert(f"group-{number}"))
    rows = {
        labels[0]: value
        for (name, labels), value in samples(metrics.registry).items()
        if name == "kohort_follow_alerts_total"
    }
    assert len(rows) == MOST_GROUPS + 1
    assert rows[OTHER_LABEL] == 100


def test_report_metrics_of_each_group(recorded_groups: dict[str, GroupInput], tmp_path: Path) -> None:
    tables: dict[str, list[Any]] = {}
    for name in ("one-slow-member", "crash-loop"):
        group = copy.copy(recorded_groups[name])
        for table, rows in as_tables(group, analyse_group(group)).items():
            tables.setdefault(table, []).append(rows)
    write_tables(tables, tmp_path)
    metrics = FollowMetrics()
    metrics.groups(figures_of(tmp_path))
    found = samples(metrics.registry)
    assert ("kohort_follow_group_lag_seconds", ("one-slow-member",)) in found
    stopped = {
        labels[0]: seconds
        for (name, labels), seconds in found.items()
        if name == "kohort_follow_group_stopped_seconds" and labels[1] == "one-slow-member"
    }
    assert sum(stopped.values()) == pytest.approx(35.5, abs=0.5)
    assert stopped.keys() == {"join_new", "leave_explicit"}
    assert found["kohort_follow_group_rebalances", ("join_new", "c-3", "crash-loop")] == 6


def test_clients_from_outside_do_not_either() -> None:
    figures = GroupFigures()
    for number in range(MOST_CLIENTS + 10):
        figures.rebalances["orders", "join_new", f"c-{number}"] = 1
    metrics = FollowMetrics()
    metrics.groups(figures)
    found = samples(metrics.registry)
    assert found["kohort_follow_group_rebalances", ("join_new", OTHER_LABEL, "orders")] == 10


@pytest.mark.parametrize(
    ("lags", "gone_s"),
    [([100, 60, 20], 30), ([20, 60, 100], float("inf")), ([100], float("inf")), ([100, 50, 0], 0)],
)
def test_until_when_lag_is_gone(tmp_path: Path, lags: list[int], gone_s: float) -> None:
    rows = [
        {
            "cluster": "", "group_id": "orders", "topic": "t", "part": 0, "minute": 60_000 * n, "lag": lag,
            "time_lag_ms": 1_000 * lag, "owner": None, "day": "1970-01-01",
        }
        for n, lag in enumerate(lags)
    ]  # fmt: skip
    write_tables({"lag_minutes": [pa.Table.from_pylist(rows, SCHEMAS["lag_minutes"])]}, tmp_path)
    figures = figures_of(tmp_path)
    assert figures.lag_s == {"orders": lags[-1]}
    assert figures.gone_s == {"orders": gone_s}


@pytest.mark.long
def test_stopped_server_frees_its_port() -> None:
    metrics = FollowMetrics()
    metrics.stream("silver", True, 7)
    metrics.open_rebalances(2)
    metrics.file_events(40)
    with serving_metrics(0, metrics) as port:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        assert 'kohort_follow_stream_batch{stream="silver"} 7.0' in text
        assert "kohort_follow_rebalances_open 2.0" in text
        assert "kohort_follow_file_events 40.0" in text
    with serving_metrics(0, metrics):
        pass
