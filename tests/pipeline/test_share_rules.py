"""What is said of share groups, and what isn't: stories with record events, with a share coordinator's log, with samples."""

from __future__ import annotations

import pytest

from kohort.pipeline.gold.group_tables import analyse_group
from kohort.pipeline.gold.share_gold_rows import ShareGroupRow
from kohort.pipeline.gold.share_rows import share_group_rows
from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.report.all_clear import SHARE_EVENTS, SHARE_STATE, missing
from kohort.protocol.records.layouts import ARCHIVED, ARCHIVING
from tests.pipeline.share_story import ShareStory
from tests.pipeline.stories import ms


def lacking(story: ShareStory) -> list[str | None]:
    """Return the missing sources without which the group cannot be called healthy."""
    rows: list[ShareGroupRow] = [
        {**row, "group_id": story.name} for row in share_group_rows(analyse(story.group_input()))
    ]
    return [each.source for each in missing([], [], rows)]


BOTH = pytest.mark.parametrize("by_states", [False, True], ids=["events", "states"])


def poisoned(*, by_states: bool = False) -> ShareStory:
    """Let ada and bob always release record 100, and accept all others."""
    story = ShareStory(told_by_states=by_states).joins(0, "ada", "bob")
    story.works(1, 11, "ada", 0)
    for n in range(5):
        name = ("ada", "bob")[n % 2]
        story.gets(20 + n, name, (100, 100)).releases(20.4 + n, name, (100, 100))
    story.works(21, 30, "bob", 101)
    return story


def test_poison_record() -> None:
    findings = poisoned().found()
    assert findings.keys() == {"R47"}
    finding = findings["R47"]
    assert (finding.severity, finding.confidence, finding.cause_confidence) == ("critical", "certain", "likely")
    assert finding.clients == ["ada", "bob"]
    assert "orders-0@100" in finding.text
    assert "released 5 times" in finding.text
    assert "share.delivery.count.limit" in finding.advice
    assert finding.evidence["deliveries"] == [5]


def test_coordinator_log_shows_archived_records() -> None:
    findings = poisoned(by_states=True).found()
    assert findings.keys() == {"R47"}
    finding = findings["R47"]
    assert (finding.confidence, finding.cause_confidence, finding.clients) == ("certain", "possible", [])
    assert "only an event log shows" in finding.text
    assert finding.evidence["released"] is None


def test_coordinator_log_completes_event_log() -> None:
    events, states = poisoned(), poisoned(by_states=True)
    events.states = states.states
    assert events.found()["R47"].evidence["records"] == 1
    assert events.found()["R47"].clients == ["ada", "bob"]
    events.events = [event for event in events.events if event.kind != "records_archived"]
    assert events.found()["R47"].cause_confidence == "possible"


def dead_lettered(*, by_states: bool) -> ShareStory:
    """Let bob reject records 11 and 12 at their first delivery; accept all others."""
    story = ShareStory(told_by_states=by_states, has_dead_letters=True).joins(0, "ada", "bob")
    story.works(1, 2, "ada", 0)
    story.gets(5, "bob", (10, 14)).accepts(5.5, "bob", (10, 10), (13, 14)).rejects(6, "bob", (11, 12))
    return story


def test_dead_letters_of_rejected_records() -> None:
    story = dead_lettered(by_states=True)
    finding = story.found()["R57"]
    assert (finding.severity, finding.confidence, finding.clients) == ("warning", "certain", [])
    assert "2 records (orders-0@11, orders-0@12) were given up" in finding.text
    assert "only an event log shows which members" in finding.text
    story.events = dead_lettered(by_states=False).events
    finding = story.found()["R57"]
    assert finding.clients == ["bob"]
    assert "dead-letter topic of the group: 2 rejected by bob" in finding.text
    assert not finding.evidence["open"]
    assert "only that topic shows which of them were written" in finding.text


def test_outcomes_of_dead_letters() -> None:
    story = dead_lettered(by_states=True)
    story.events = dead_lettered(by_states=False).events
    story.dead_letter(12.1, 11).dead_letter(12.2, 12, "topic dlq.orders does not exist")
    text = story.found()["R57"].text
    assert text.endswith("; 1 written to dlq.orders, 1 not written: topic dlq.orders does not exist")


def test_dead_letters_after_delivery_limit() -> None:
    story, events = poisoned(by_states=True), poisoned()
    story.states = [story.states[0]]
    story.state(24.4, (100, 100, ARCHIVING, 5)).state(24.5, (100, 100, ARCHIVED, 5))
    story.events = events.events
    finding = story.found()["R57"]
    assert (finding.clients, finding.evidence["deliveries"]) == (["ada"], [5])
    assert "1 after the delivery limit by ada" in finding.text


def test_dead_letters_that_stay_unwritten() -> None:
    story = ShareStory(told_by_states=True).joins(0, "ada").state(0, snapshot=0, start=0)
    finding = story.state(10, (0, 4, ARCHIVING, 1)).found()["R57"]
    assert "5 dead letters still not written after 110.0 s" in finding.text
    assert finding.evidence["open"]


def test_rejected_records_without_dead_letters() -> None:
    story = dead_lettered(by_states=True)
    story.states = [state for state in story.states if ARCHIVING not in state.states]
    assert "R57" not in story.found()


def test_earlier_incidents_are_left_out() -> None:
    group = poisoned(by_states=True).group_input()
    group.since_ms = ms(25)
    share = analyse(group).share
    assert share is not None
    assert share.given_up == []
    assert share.accepted_between(0, ms(100)) == 50, "bob's, from 25.5 s on"
    assert share.seen_from_ms == 0


def test_return_before_lock_release() -> None:
    story = ShareStory(told_by_states=True).joins(0, "ada")
    story.works(1, 11, "ada", 0)
    for n in range(5):
        story.gets(20 + n / 100, "ada", (100, 100)).releases(20.004 + n / 100, "ada", (100, 100))
    finding = story.found()["R47"]
    assert finding.cause_confidence == "likely"
    assert "was shorter than any lock" in finding.text


@BOTH
def test_skipped_records_are_no_poison(by_states: bool) -> None:
    story = ShareStory(told_by_states=by_states).joins(0, "ada")
    for n in range(0, 300, 10):
        story.gets(n / 10, "ada", (n, n + 9)).accepts(n / 10 + 0.5, "ada", (n, n + 8))
        story.rejects(n / 10 + 0.5, "ada", (n + 9, n + 9))
    assert story.found() == {}


@BOTH
def test_successful_retry_is_ignored(by_states: bool) -> None:
    story = ShareStory(told_by_states=by_states).joins(0, "ada")
    for n in range(0, 300, 10):
        story.gets(n / 10, "ada", (n, n + 9)).accepts(n / 10 + 0.3, "ada", (n, n + 8))
        story.releases(n / 10 + 0.3, "ada", (n + 9, n + 9))
        story.gets(n / 10 + 0.4, "ada", (n + 9, n + 9)).accepts(n / 10 + 0.6, "ada", (n + 9, n + 9))
    assert story.found() == {}


def test_final_rejection_is_no_delivery_limit() -> None:
    # other records were delivered more often, so the limit is higher
    story = ShareStory(told_by_states=True).joins(0, "ada")
    story.works(1, 11, "ada", 0)
    for n in range(3):
        story.gets(20 + n, "ada", (100, 100)).releases(20.5 + n, "ada", (100, 100))
    story.gets(30, "ada", (101, 101)).releases(30.5, "ada", (101, 101))
    story.gets(31, "ada", (101, 101)).rejects(31.5, "ada", (101, 101))
    assert story.found() == {}


def failing(*, by_states: bool) -> ShareStory:
    """Let ada and bob release everything for ten seconds."""
    story = ShareStory(limit=3, told_by_states=by_states).joins(0, "ada", "bob")
    story.works(1, 11, "ada", 0)
    for n in range(30):
        for again in range(3):
            at, name = 20 + n / 3 + again / 20, ("ada", "bob")[again % 2]
            story.gets(at, name, (100 + n, 100 + n)).releases(at + 0.01, name, (100 + n, 100 + n))
    story.works(40, 50, "bob", 130)
    return story


@BOTH
def test_whatever_comes_is_given_up(by_states: bool) -> None:
    findings = failing(by_states=by_states).found()
    assert "R47" not in findings
    finding = findings["R48"]
    assert (finding.severity, finding.confidence) == ("critical", "certain")
    assert finding.cause_confidence == ("possible" if by_states else "likely")
    assert finding.evidence["records"] == 30
    assert finding.evidence["accepted_meanwhile"] == 0
    assert findings["R50"].severity == "info", "it only shows the same"


def test_unread_partitions_may_be_accepted() -> None:
    finding = failing(by_states=True).has(0, "ada", 0, 1).has(0, "bob", 2).found()["R48"]
    assert finding.confidence == "possible"
    assert "the delivery states of 2 other partitions were not read" in finding.text
    assert failing(by_states=True).has(0, "ada", 0).found()["R48"].confidence == "certain"


def test_late_event_log_keeps_coordinator_records() -> None:
    story = ShareStory(limit=3, told_by_states=True).joins(0, "ada", "bob")
    for n in range(10):
        for again in range(3):
            at = 20 + n + again / 4
            story.gets(at, "bob", (1000 + n, 1000 + n)).releases(at + 0.1, "bob", (1000 + n, 1000 + n))
    story.works(1, 40, "ada", 0)
    story.told_by_states = False
    story.works(60, 70, "ada", 2000)
    findings = story.found()
    assert "R48" not in findings
    assert findings["R47"].evidence["accepted_meanwhile"] == 100


def test_rejected_retry_may_be_a_skip() -> None:
    story = ShareStory(told_by_states=True).joins(0, "ada")
    for n in range(0, 100, 10):
        story.gets(n, "ada", (n, n + 9)).accepts(n + 0.5, "ada", (n, n + 8)).releases(n + 0.5, "ada", (n + 9, n + 9))
        story.gets(n + 2, "ada", (n + 9, n + 9)).rejects(n + 4, "ada", (n + 9, n + 9))
    finding = story.found()["R47"]
    assert finding.title == "Records that were archived and never accepted"
    assert finding.cause_confidence == "possible"


def outliving(*, by_states: bool = False, limit: int = 5) -> ShareStory:
    """Let bob process for 40 s with a lock of 30 s, after which ada gets the records."""
    story = ShareStory(told_by_states=by_states, limit=limit, until=400).joins(0, "ada", "bob")
    for n in range(6):
        at, records = 40 * n, (1000 + 10 * n, 1009 + 10 * n)
        story.gets(at, "bob", records)
        story.works(at, at + 29, "ada", 300 * n, part=1)
        story.expires(at + 30, "bob", records)
        story.gets(at + 31, "ada", records).accepts(at + 32, "ada", records)
    story.gets(240, "bob", (2000, 2000)).accepts(241, "bob", (2000, 2000))
    return story


def test_processing_longer_than_lock_duration() -> None:
    findings = outliving().found()
    assert findings.keys() == {"R49"}
    finding = findings["R49"]
    assert (finding.severity, finding.confidence, finding.clients) == ("critical", "certain", ["bob"])
    assert finding.evidence["locks_expired"] == 6
    assert finding.evidence["lock_ms"] == 30_000
    assert finding.evidence["works_ms"] == 40_000
    assert finding.evidence["in_vain_s"] == 6 * 10 * 30
    assert "share.record.lock.duration.ms of the group to about 60000" in finding.advice


def test_event_log_locks_are_enough() -> None:
    group = outliving(by_states=True)
    assert group.found() == {}
    assert lacking(group) == [SHARE_EVENTS]


def test_dead_member_releases_its_locks() -> None:
    story = ShareStory().joins(0, "ada", "bob")
    story.works(1, 20, "ada", 0)
    story.gets(20, "bob", (500, 509), (520, 529)).gets(21, "bob", (510, 519))
    story.expires(50, "bob", (500, 509), (520, 529)).expires(51, "bob", (510, 519))
    story.gets(52, "ada", (500, 529)).accepts(53, "ada", (500, 529))
    assert story.found() == {}


def test_record_survived_once_is_no_poison() -> None:
    story = ShareStory(until=400).joins(0, "ada", "bob")
    for n in range(5):
        story.works(31 * n, 31 * n + 30, "ada", 300 * n, part=1)
        story.gets(31 * n, "bob", (0, 3)).expires(31 * n + 30, "bob", (0, 3))
    story.gets(160, "bob", (4, 4)).accepts(161, "bob", (4, 4))
    findings = story.found()
    assert findings.keys() == {"R49"}
    assert "4 records were delivered to no other member and reached the delivery limit" in findings["R49"].text
    assert findings["R49"].evidence["given_up"] == 4


def test_renewed_locks_blame_no_member() -> None:
    story = ShareStory(until=400).joins(0, "ada")
    for n in range(5):
        records = 10 * n, 10 * n + 9
        story.gets(70 * n, "ada", records)
        for renewed in (20, 40):
            story.renews(70 * n + renewed, "ada", records)
        story.accepts(70 * n + 60, "ada", records)
    assert story.found() == {}
    (row,) = analyse_group(story.group_input())["share_members"]
    assert (row["held_p50_ms"], row["accepted"], row["in_vain_s"]) == (60_000, 50, 0)


@BOTH
def test_most_of_it_comes_back(by_states: bool) -> None:
    story = ShareStory(told_by_states=by_states).joins(0, "ada", "bob")
    for n in range(40):
        story.gets(n, "ada", (n, n)).releases(n + 0.1, "ada", (n, n))
        story.gets(n + 0.2, "bob", (n, n)).accepts(n + 0.3, "bob", (n, n))
    finding = story.found()["R50"]
    assert (finding.severity, finding.confidence, finding.evidence["records"]) == ("warning", "certain", 40)
    assert finding.cause_confidence == ("possible" if by_states else "")
    assert finding.clients == ([] if by_states else ["ada"])


def behind(growth: int) -> ShareStory:
    story = ShareStory().joins(0, "ada")
    for n in range(60):
        story.lag(2 * n, 20 + growth * n, start=100)
    return story


def test_growing_lag_is_reported() -> None:
    finding = behind(10).found()["R51"]
    assert (finding.severity, finding.confidence, finding.clients) == ("warning", "certain", ["ada"])
    assert finding.evidence["lag"] == 610
    assert "whose start offset stayed at 100" in finding.text


def test_group_without_lag_growth() -> None:
    assert behind(0).found() == {}


def test_shrinking_backlog_is_ignored() -> None:
    story = ShareStory().joins(0, "ada")
    for n in range(30):
        story.lag(2 * n, 1000 - 30 * n)
    assert story.found() == {}


def test_lag_from_log_and_samples() -> None:
    story = ShareStory().joins(0, "ada").state(0, snapshot=0, start=0)
    story.state(10, (0, 9, 2, 1), start=10).state(20, (12, 13, 2, 1), complete=2)
    story.log_ends((5, 10), (15, 30), (25, 40), (30, 40))
    rows = analyse_group(story.group_input())["lag_minutes"]
    assert [(row["part"], row["lag"], row["owner"]) for row in rows] == [(0, 40 - 10 - 2, None)]
    assert [row["time_lag_ms"] for row in rows] == [25_000], "record 10 was written at 5 s"


@pytest.mark.parametrize(
    ("cause", "severity", "confidence"),
    [("session_expired", "critical", "certain"), ("left", "info", "likely"), (None, "info", "possible")],
)
def test_nobody_is_there(cause: str | None, severity: str, confidence: str) -> None:
    story = ShareStory().joins(0, "ada").lag(10, 5).goes(30, "ada", cause=cause)
    finding = story.lag(40, 50).lag(110, 200).found()["R52"]
    assert (finding.severity, finding.confidence, finding.clients) == (severity, confidence, ["ada"])
    assert finding.evidence["records"] == 200


def test_finished_group_without_members() -> None:
    assert ShareStory().joins(0, "ada").lag(10, 5).goes(30, "ada").lag(40, 0).lag(110, 0).found() == {}


def test_members_seen_only_by_coordinator() -> None:
    story = ShareStory().joins(0, "ada").lag(10, 5).goes(30, "ada")
    assert story.lag(40, 50, members=0).lag(110, 200, members=2).found() == {}


def test_members_before_event_log_count() -> None:
    def bob(*, others: int) -> ShareStory:
        story = ShareStory().added(0, "bob").lag(10, 5).goes(30, "bob", cause="session_expired", others=others)
        return story.told_by_events_alone().lag(40, 50).lag(110, 200)

    assert bob(others=0).found().keys() == {"R52"}
    assert bob(others=1).found() == {}
    assert bob(others=0).gets(50, "ada", (0, 3)).accepts(51, "ada", (0, 3)).found() == {}


def test_unread_partitions_are_missing() -> None:
    story = ShareStory().joins(0, "ada").lag(10, 5).lag(110, 5)
    assert lacking(story) == [SHARE_STATE]
    story.state(0, snapshot=0, start=0).state(5, (0, 9, 2, 1), start=10)
    assert lacking(story) == []


def test_late_log_is_not_conclusive() -> None:
    # the first snapshot of the log is not the first of the partition
    story = ShareStory().joins(0, "ada").state(80, (0, 3, 2, 1), snapshot=7, start=0).lag(10, 5).lag(110, 5)
    assert lacking(story) == [SHARE_STATE]
