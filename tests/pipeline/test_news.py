"""News of repeated reports while a cluster is followed."""

from __future__ import annotations

from kohort.pipeline.job.news import NewFindings
from kohort.pipeline.live.tracker import NEWS_MS
from tests.pipeline.report_rows import finding


def test_worse_finding_is_reported_again() -> None:
    news, row = NewFindings(), finding(rule="R29", severity="warning", text="the group has had no members")
    now_ms = row["end_ms"] + 1_000
    (message,) = news.among([row], now_ms)
    assert (message.group, message.kind, message.severity) == ("orders", "R29", "warning")
    assert "the group has had no members" in message.text
    assert list(news.among([row], now_ms)) == []
    assert [each.severity for each in news.among([finding(rule="R29", severity="critical")], now_ms)] == ["critical"]


def test_old_and_info_findings_are_skipped() -> None:
    news, row = NewFindings(), finding(severity="warning")
    assert list(news.among([row, finding(severity="info")], row["end_ms"] + NEWS_MS + 1)) == []
    assert list(news.among([row], row["end_ms"])) == []
