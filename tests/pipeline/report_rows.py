"""Rows that a report is made of, for tests that need only some of their columns."""

from __future__ import annotations

from typing import Any

from kohort.pipeline.gold.gold_rows import DataIssueRow, GroupHealthRow
from kohort.pipeline.report.results import FindingRow


def finding(**differs: Any) -> FindingRow:
    """Build a critical finding of R01."""
    usual = FindingRow(
        group="orders", rule="R01", title="One slow member stalled the group", severity="critical",
        confidence="certain", cause_confidence="certain", clients=["c-1"], start_ms=0, end_ms=60_000,
        evidence={"stops": 2, "without_progress_ms": 61_000, "eager": True, "rebalances": [2, 3]},
        text="the group waited twice for client c-1", advice="Look at what c-1 does.",
    )  # fmt: skip
    return FindingRow(**{**usual, **differs})  # type: ignore[typeddict-item]


def health(group: str, rebalances: int, **differs: Any) -> GroupHealthRow:
    """Build a day without incident, known from all sources."""
    usual = GroupHealthRow(
        cluster="", group_id=group, group_type="classic", rebalances=rebalances, follow_ups=0, evictions=0,
        time_rebalancing_s=0.0, share_rebalancing=0.0, p50_total_ms=None, p95_total_ms=None, max_total_ms=None,
        unavailable_partition_s_lo=0.0, unavailable_partition_s_hi=0.0, no_commit_s=0.0, commits=0, top_cause=None,
        top_client=None, score=100.0, minus_unavailable=0.0, minus_storms=0.0, minus_evictions=0.0, has_records=True,
        has_events=True, sampled_share=1.0, unknown_members=0, first_ms=0, last_ms=86_399_000, day="1970-01-01",
    )  # fmt: skip
    return GroupHealthRow(**{**usual, **differs})  # type: ignore[typeddict-item]


def issue(rule: str, detail: str, *, keys: str | None = None, group: str | None = None) -> DataIssueRow:
    return DataIssueRow(cluster="", group_id=group, rule=rule, keys=keys, detail=detail, day="all")
