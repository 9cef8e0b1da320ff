"""News of repeated reports while a cluster is followed."""

from __future__ import annotations

from kohort.pipeline.job.news import NewFindings
from kohort.pipeline.live.open_rebalances import OpenRebalances
from kohort.pipeline.live.tracker import NEWS_MS
from kohort.pipeline.sources.seen_groups import SeenGroup
from tests.pipeline.report_rows import finding


def test_worse_finding_is_reported_again() -> None:
    news, row = NewFindings(), finding(rule="R29", severity="warning", text="the group has had no members")
    now_ms = row["end_ms"] + 1_000
    (message,) = news.among([row], now_ms)
    assert (message.group, message.kind, message.severity) == ("orders", "R29", "warning")
    assert "the group has had no members" in message.text
    assert list(news.among([row], now_ms)) == []
    assert [each.severity for each in news.among([finding(rule="R29", severity="critical")], now_ms)] == ["critical"]


def test_group_in_rebalance_is_no_news() -> None:
    news, row = NewFindings(), finding(rule="R37", severity="critical")
    row["evidence"] = {"open": True}
    now_ms = row["end_ms"] + 1_000
    rebalances = OpenRebalances(lambda _: {})
    rebalances.look(now_ms, [SeenGroup("orders", "PreparingRebalance", "node", ())])
    assert list(news.among([row], now_ms, rebalances.is_in_rebalance)) == []
    rebalances.look(now_ms + 2_000, [])
    assert list(news.among([row], now_ms + 2_000, rebalances.is_in_rebalance)) == []
    row["end_ms"] += 10_000  # it still makes no progress
    assert [message.kind for message in news.among([row], row["end_ms"], rebalances.is_in_rebalance)] == ["R37"]


def test_old_and_info_findings_are_skipped() -> None:
    news, row = NewFindings(), finding(severity="warning")
    assert list(news.among([row, finding(severity="info")], row["end_ms"] + NEWS_MS + 1)) == []
    assert list(news.among([row], row["end_ms"])) == []
