"""What of a report made anew is told while a cluster is followed."""

from __future__ import annotations

from kohort.pipeline.job.news import NewFindings
from kohort.pipeline.live.tracker import NEWS_MS
from tests.pipeline.report_rows import finding


def test_a_finding_is_news_once_and_again_when_it_gets_graver() -> None:
    news, row = NewFindings(), finding(rule="R29", severity="warning", text="the group has had no members")
    now_ms = row["end_ms"] + 1_000
    (message,) = news.among([row], now_ms)
    assert (message.group, message.kind, message.severity) == ("orders", "R29", "warning")
    assert "the group has had no members" in message.text
    assert list(news.among([row], now_ms)) == []
    assert [each.severity for each in news.among([finding(rule="R29", severity="critical")], now_ms)] == ["critical"]


def test_what_was_over_long_ago_is_no_news_nor_is_mere_information() -> None:
    news, row = NewFindings(), finding(severity="warning")
    assert list(news.among([row, finding(severity="info")], row["end_ms"] + NEWS_MS + 1)) == []
    assert list(news.among([row], row["end_ms"])) == []
