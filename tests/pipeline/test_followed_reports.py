"""Reports while a cluster is followed: a recording, read every ten seconds as far as written."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.job.news import NewFindings
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.report.results import FindingRow
from kohort.pipeline.rules.diagnose import diagnose
from tests.pipeline.incidents.cuts import commits_within, ends_within
from tests.pipeline.incidents.loss_stories import HEALTHY
from tests.pipeline.incidents.recorded import Recorded
from tests.pipeline.stories import Story

EVERY_MS = 10_000


def until(group: GroupInput, now_ms: int) -> GroupInput:
    """Return the group as written until that time."""
    cut = copy.copy(group)
    cut.records = [record for record in group.records if record.ts_ms <= now_ms]
    offsets = {record.offset for record in cut.records}
    cut.members = [member for member in group.members if member.offset in offsets]
    cut.parts = [part for part in group.parts if part.offset in offsets]
    cut.events = [event for event in group.events if event.ts <= now_ms]
    cut.commits = {place: commits_within(each, to_ms=now_ms) for place, each in group.commits.items()}
    cut.ends = {place: ends_within(each, to_ms=now_ms) for place, each in group.ends.items()}
    cut.until_ms = min(group.until_ms, now_ms)
    return cut


def rows(group: GroupInput) -> list[FindingRow]:
    return [
        {
            "group": finding.group, "rule": finding.rule, "title": finding.title, "severity": finding.severity,
            "confidence": finding.confidence, "cause_confidence": finding.cause_confidence or finding.confidence,
            "clients": finding.clients, "start_ms": finding.start_ms, "end_ms": finding.end_ms,
            "evidence": finding.evidence, "text": finding.text, "advice": finding.advice,
        }
        for finding in diagnose(analyse(group))
    ]  # fmt: skip


@pytest.fixture(scope="module")
def groups(incidents: Callable[[str], Recorded]) -> dict[str, GroupInput]:
    names = ("classic-kafka-4.3", "loss-kafka-4.3")
    return {name: group for each in names for name, group in incidents(each).groups.items()}


def followed(group: GroupInput) -> list[tuple[int, Message]]:
    """Return the alerts and their times."""
    news, told = NewFindings(), list[tuple[int, Message]]()
    first_ms = min(record.ts_ms for record in group.records) if group.records else group.until_ms
    for now_ms in range(first_ms + EVERY_MS, group.until_ms + EVERY_MS, EVERY_MS):
        told += [(now_ms, message) for message in news.among(rows(until(group, now_ms)), now_ms)]
    return told


def test_stopped_group_alerts_once(groups: dict[str, GroupInput]) -> None:
    told = [(at, each) for at, each in followed(groups["dead"]) if each.kind == "R29"]
    ((told_ms, message),) = told
    assert message.severity == "critical"
    assert "No members, and records wait" in message.text
    died_ms = max(record.ts_ms for record in groups["dead"].records)
    assert told_ms - died_ms <= 2 * EVERY_MS


@pytest.mark.parametrize("group", ["calm", "calm-default-ids", "calm-static", "orderly-restart", *HEALTHY])
def test_healthy_groups_raise_no_alert(groups: dict[str, GroupInput], group: str) -> None:
    assert followed(groups[group]) == []


@pytest.mark.parametrize("until_s", range(20, 300, 10))
def test_minute_commits_are_learned_without_alerts(until_s: int) -> None:
    group = Story(until=until_s, commit_every=60.0).generation(1, 0.5, {"c-1/a": {}, "c-2/a": {}}).group_input()
    assert [row["rule"] for row in rows(group) if row["severity"] != "info" or row["rule"] == "R37"] == []
