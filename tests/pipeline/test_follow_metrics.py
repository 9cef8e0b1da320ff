"""Metrics of a run that follows: what a Prometheus reads, and what the documentation says of them."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kohort.pipeline.live.follow_metrics import MOST_GROUPS, OTHERS, FollowMetrics, serving_metrics
from kohort.pipeline.live.webhook import Message

ROOT = Path(__file__).parents[2]

NOW_S = 1_700_000_000.0


def samples(registry: CollectorRegistry) -> dict[tuple[str, tuple[str, ...]], float]:
    """Value by name and label values."""
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


def test_alerts_are_counted_by_group_and_kind() -> None:
    metrics = FollowMetrics()
    for message in (alert("orders"), alert("orders"), alert("billing", "rebalance_open")):
        metrics.alert(message)
    found = samples(metrics.registry)
    assert found["kohort_follow_alerts_total", ("orders", "silent", "warning")] == 2
    assert found["kohort_follow_alerts_total", ("billing", "rebalance_open", "warning")] == 1


def test_what_a_report_does_not_find_any_more_is_gone() -> None:
    metrics = FollowMetrics(lambda: NOW_S)
    metrics.report([finding("orders", "R01"), finding("orders", "R01"), finding("billing", "R29")], 2.5)
    assert samples(metrics.registry)["kohort_follow_findings", ("orders", "R01", "critical")] == 2
    metrics.report([finding("billing", "R29")], 1.5)
    found = samples(metrics.registry)
    assert [labels for name, labels in found if name == "kohort_follow_findings"] == [("billing", "R29", "critical")]
    assert found["kohort_follow_last_report_timestamp_seconds", ()] == NOW_S
    assert found["kohort_follow_last_report_duration_seconds", ()] == 1.5


def test_ids_from_outside_do_not_fill_whatever_keeps_metrics() -> None:
    metrics = FollowMetrics()
    for number in range(MOST_GROUPS + 100):
        metrics.alert(alert(f"group-{number}"))
    rows = {
        labels[0]: value
        for (name, labels), value in samples(metrics.registry).items()
        if name == "kohort_follow_alerts_total"
    }
    assert len(rows) == MOST_GROUPS + 1
    assert rows[OTHERS] == 100


def test_the_documentation_names_each_metric() -> None:
    registry = FollowMetrics().registry
    families = list(text_string_to_metric_families(generate_latest(registry).decode()))
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (ROOT / "docs" / "following.md").read_text().splitlines()
        if line.startswith("| `kohort_follow_")
    ]
    named = {name.strip("`").removesuffix("_total"): about for name, _, about in rows}
    assert named == {family.name: family.documentation for family in families if not family.name.endswith("_created")}


@pytest.mark.long
def test_they_are_served_and_the_port_is_free_again() -> None:
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
