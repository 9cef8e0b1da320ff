"""Incidents of consumer groups, recorded with a real Kafka 4.3 and kohort, are found with culprits and lengths.

`incidents/record.py` made the recordings, `incidents/stories.py` is what was done; `truth.jsonl` in each is when.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import pytest

from kohort.pipeline.history.group_analysis import GroupAnalysis, analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.rules.finding import Finding
from tests.pipeline.incidents.recorded import Recorded, log_alone, text_alone
from tests.pipeline.incidents.told import SAID, SERIOUS

SESSION_MS = 6_000
"""What the recorded brokers let pass before they miss a consumer member."""

OF_CLASSIC_GROUPS = re.compile(r"\bgenerations?\b|\bleader\b|JoinGroup|SyncGroup|join barrier", re.IGNORECASE)


@dataclass
class Recording:
    """One broker's account of all incidents, and what really happened."""

    recorded: Recorded

    @property
    def groups(self) -> dict[str, GroupInput]:
        return self.recorded.groups

    @cached_property
    def analyses(self) -> dict[str, GroupAnalysis]:
        return {name: analyse(group) for name, group in self.groups.items()}

    def log_alone(self, name: str) -> GroupAnalysis:
        return analyse(log_alone(self.groups[name]))

    def truth(self, group: str, event: str, member: str | None = None) -> list[int]:
        rows = map(json.loads, (self.recorded.folder / "truth.jsonl").read_text().splitlines())
        return [
            row["ms"]
            for row in rows
            if (row["group"], row["event"]) == (group, event) and member in (None, row.get("member"))
        ]


@pytest.fixture(scope="module", params=["kafka-4.3", "kohort"])
def recording(request: pytest.FixtureRequest, incidents: Callable[[str], Recorded]) -> Recording:
    return Recording(incidents(request.param))


EVENTS_DONT_TELL = ("R02", "R08", "R18")
"""Rules about commits, topics and owners."""


@pytest.mark.parametrize("recording", ["kohort"], indirect=True)  # a real Kafka writes no event log
@pytest.mark.parametrize("group", SERIOUS)
def test_event_log_alone_finds_same_incidents(recording: Recording, group: str) -> None:
    analysis = analyse(text_alone(recording.groups[group]))
    expected = SERIOUS[group]
    found = [finding for finding in warnings(analysis) if finding.rule not in EVENTS_DONT_TELL]
    if expected is None or expected[0] in EVENTS_DONT_TELL:
        assert found == []
    else:
        assert [finding.rule for finding in found] == [expected[0]]
        assert found[0].clients == expected[1] or not expected[1]
    assert analysis.group_type == "consumer"


def warnings(analysis: GroupAnalysis) -> list[Finding]:
    """Return the warnings, except after the broker's restart, in which members really lost their sessions."""
    found = [finding for finding in diagnose(analysis) if finding.severity != "info"]
    return [finding for finding in found if finding.rule != "R16" or not finding.evidence["sessions_lost"]]


def only(recording: Recording, group: str, rule: str) -> Finding:
    (finding,) = [result for result in diagnose(recording.analyses[group]) if result.rule == rule]
    return finding


@pytest.mark.parametrize("group", SERIOUS)
def test_only_culprit_gets_warning(recording: Recording, group: str) -> None:
    found = [(finding.rule, finding.clients) for finding in warnings(recording.analyses[group])]
    expected = SERIOUS[group]
    if expected is None:
        assert found == []
        assert SAID.get(group) in {None, *(finding.rule for finding in diagnose(recording.analyses[group]))}
    else:
        rule, clients = expected
        assert [each for each, _ in found] == [rule]
        assert found[0][1] == clients or not clients


@pytest.mark.parametrize("group", SERIOUS)
def test_log_alone_finds_same_incidents(recording: Recording, group: str) -> None:
    expected = SERIOUS[group]
    found = warnings(recording.log_alone(group))
    assert [finding.rule for finding in found] == ([] if expected is None else [expected[0]])
    for finding in found:
        if finding.rule in ("R02", "R03", "R05", "R06"):
            assert finding.confidence != "certain", finding.text


def test_findings_avoid_classic_terms(recording: Recording) -> None:
    for name, analysis in recording.analyses.items():
        if name.startswith(("migrates", "quiet-mixed")):
            continue
        for finding in diagnose(analysis):
            assert not OF_CLASSIC_GROUPS.search(f"{finding.title} {finding.text} {finding.advice}"), finding.text


@pytest.mark.parametrize("group", ["held-back", "never-given-up"])
def test_how_long_others_waited_for_partitions(recording: Recording, group: str) -> None:
    finding = only(recording, group, "R23")
    (began,) = recording.truth(group, "revoke_begin", "c-2")[:1]
    (got,) = [ms for ms in recording.truth(group, "assigned", "c-1") if ms > began][:1]
    assert list(finding.evidence["waited_ms"]) == ["c-1"]
    assert finding.evidence["waited_ms"]["c-1"] == pytest.approx(got - began, abs=1_500)
    assert finding.evidence["fenced"] == (group == "never-given-up")
    assert finding.severity == ("critical" if group == "never-given-up" else "warning")
    if group == "never-given-up":
        assert finding.evidence["longest_ms"] == pytest.approx(8_000, abs=300)


def test_dead_member_is_noticed_after_session(recording: Recording) -> None:
    finding = only(recording, "killed", "R03")
    (killed,) = recording.truth("killed", "signal", "c-3")
    assert finding.start_ms == pytest.approx(killed + SESSION_MS, abs=1_500)
    assert not finding.evidence["came_back"]


def test_frozen_member_returns_with_same_id(recording: Recording) -> None:
    finding = only(recording, "frozen", "R03")
    stopped, woken = recording.truth("frozen", "signal", "c-3")
    assert finding.evidence["came_back"]
    (away,) = finding.evidence["back_after_ms"]
    assert away == pytest.approx(woken - stopped - SESSION_MS, abs=3_500), "its client waits before it retries"
    lives = [session for session in recording.analyses["frozen"].sessions if session.member.name == "c-3"]
    assert len(lives) == 2
    assert len({life.member.member_id for life in lives}) == 1
    assert lives[1].predecessor is lives[0]


def test_every_poll_timeout_is_shown(recording: Recording) -> None:
    finding = only(recording, "poll-timeout", "R02")
    assert finding.evidence["times"] == 2
    assert finding.evidence["max_poll_interval_ms"] == 8_000
    for left, stalled in zip(finding.evidence["left_ms"], recording.truth("poll-timeout", "slow_begin"), strict=True):
        assert stalled < left < stalled + 14_000


def test_every_crash_loop_restart_is_counted(recording: Recording) -> None:
    killed, began = recording.truth("crash-loop", "signal", "c-2"), recording.truth("crash-loop", "start", "c-2")
    assigned = recording.truth("crash-loop", "assigned", "c-2")
    lived = sum(any(start < ms < end for ms in assigned) for start, end in zip(began, killed, strict=True))
    assert lived >= 3, "on a busy machine a process may be killed before it has joined"
    assert only(recording, "crash-loop", "R05").evidence["crashes"] == lived


@pytest.mark.parametrize(("group", "to"), [("migrates", ["consumer"]), ("migrates-back", ["consumer", "classic"])])
def test_migration_shows_duration_and_cost(recording: Recording, group: str, to: list[str]) -> None:
    evidence = only(recording, group, "R24").evidence
    assert evidence["to"] == to
    assert evidence["classic_members"] == []
    starts, stops = recording.truth(group, "start"), recording.truth(group, "stop")
    began, ended = starts[3], stops[2]  # three classic members; the first of the consumer protocol, the last that stops
    assert evidence["took_ms"][0] == pytest.approx(ended - began, abs=4_000)
    costs = evidence["unavailable_partition_s_hi"]
    assert isinstance(costs, list)
    assert all(cost is not None and 0 < cost < 60 for cost in costs)


def test_unmigrated_member_is_named(recording: Recording) -> None:
    assert only(recording, "quiet-mixed", "R24").evidence["classic_members"] == ["c-1", "c-2"]


def test_subscription_changes_include_topics(recording: Recording) -> None:
    evidence = only(recording, "subscriptions", "R08").evidence
    assert (evidence["times"], evidence["topics"]) == (4, ["subscriptions-more"])
    evidence = only(recording, "pattern", "R08").evidence
    assert (evidence["times"], evidence["topics"]) == (2, ["pattern-1", "pattern-2"])


def test_static_members_return_within_session(recording: Recording) -> None:
    assert only(recording, "static-restarts", "R12").evidence["times"] == 3
    assert only(recording, "static-restarts", "R12").evidence["expired"] == []
    assert only(recording, "static-away", "R12").evidence["expired"] == ["i-2"]


@pytest.mark.parametrize("group", ["quiet", "quiet-mixed", "coordinator-restarts"])
def test_broker_restart_blames_no_member(recording: Recording, group: str) -> None:
    found = {finding.rule for finding in diagnose(recording.analyses[group])}
    assert found <= {"R16", "R24"}
    (back,) = recording.truth(group, "broker_is_back")
    assert only(recording, group, "R16").evidence["moments_ms"][-1] == pytest.approx(back, abs=5_000)


def test_storm_ends_within_its_window(recording: Recording) -> None:
    storms = [storm for analysis in recording.analyses.values() for storm in analysis.storms]
    assert storms
    assert all(storm.share <= 1 for storm in storms)
