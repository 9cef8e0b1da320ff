"""What is said of streams groups, and what isn't: stories by the offsets topic, by kohort's events, with samples."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.pipeline.streams_story import CHANGELOG, SOURCE, StreamsStory, group, restoring

BOTH = pytest.mark.parametrize("by_events", [False, True], ids=["records", "events"])


# Processes


def flapping(
    *,
    by_events: bool = False,
    often: int = 4,
    cause: str | None = None,
    lives: float = 60,
    same_process: bool = True,
    stores: bool = True,
) -> StreamsStory:
    """Stop and start bob, each time with another thread."""
    story = group(by_events=by_events, until=3600, stores=stores)
    at, member = 0.0, "bob"
    for number in range(often):
        at += lives
        story.goes(at, member, cause=cause).has(at + 1, "ada", 0, 1, 2, 3)
        member = f"bob{number}"
        at += 30
        story.joins(at, "bob", member=member, process="bob-process" if same_process else member)
        story.has(at + 1, "ada", 0, 1).has(at + 2, member, 2, 3)
    return story


@BOTH
@pytest.mark.parametrize("same_process", [True, False], ids=["same id", "another id each time"])
def test_flapping_process(by_events: bool, same_process: bool) -> None:
    # without a state directory its process id differs each time
    findings = flapping(by_events=by_events, same_process=same_process).found()
    assert findings.keys() == {"R54"}
    finding = findings["R54"]
    assert (finding.severity, finding.confidence, finding.clients) == ("warning", "certain", ["bob"])
    assert finding.evidence["restarts"] == 4
    assert finding.evidence["moves"] == [2, 2, 2, 2]
    assert finding.evidence["back_after_ms"] == [30_000] * 4
    assert "the offsets topic does not show" in finding.text


@pytest.mark.parametrize("seen", [True, False])
def test_unknown_start_may_be_early(seen: bool) -> None:
    story = StreamsStory(told_by_events=True, until=3600).joins(0, "ada")
    story = story.joins(90, "bob") if seen else story.was_there(90, "bob")
    story.has(91, "bob", 2, 3)
    for at in (100, 200, 300):
        story.goes(at, "bob").has(at + 1, "ada", 2, 3).joins(at + 30, "bob")
        story.has(at + 31, "ada").has(at + 32, "bob", 2, 3)
    assert ("R54" in story.found()) == seen


def test_events_say_how_it_went() -> None:
    finding = flapping(cause="session_expired").found()["R54"]
    assert finding.evidence["expiries"] == 4
    assert "its session expired 4 times" in finding.text


@pytest.mark.parametrize(
    ("cause", "why"),
    [
        (None, "it was disconnected or paused, or exceeded max.poll.interval.ms"),
        ("session_expired", "ids: it was disconnected or paused"),
        ("left", "ids: it exceeded max.poll.interval.ms"),
    ],
)
def test_returning_thread_was_alive(cause: str | None, why: str) -> None:
    story = group(until=3600)
    for at in (100, 200, 300):
        story.goes(at, "bob", cause=cause).has(at + 1, "ada", 0, 1, 2, 3)
        story.joins(at + 30, "bob").has(at + 31, "ada", 0, 1).has(at + 32, "bob", 2, 3)
    finding = story.found()["R54"]
    assert finding.text.endswith(why)
    assert "max.poll.interval.ms" in finding.advice
    assert finding.severity == "warning"


def test_records_alone_show_no_reason() -> None:
    # the process may have been restarted on purpose, so do not suggest a longer session
    finding = flapping().found()["R54"]
    assert (finding.confidence, finding.cause_confidence) == ("certain", "possible")
    assert "on purpose" in finding.advice
    assert "A longer session does not help" in finding.advice
    assert flapping(cause="session_expired").found()["R54"].cause_confidence == ""


def test_stateless_tasks_restore_nothing() -> None:
    assert "state.dir" in flapping().found()["R54"].advice
    assert "state.dir" not in flapping(stores=False).found()["R54"].advice


def test_single_process_has_no_standby() -> None:
    story = StreamsStory(until=3600).topology(0).epoch(0).joins(0, "ada").has(1, "ada", 0, 1)
    member = "ada"
    for number, at in enumerate((100, 200, 300)):
        story.goes(at, member).joins(at + 30, "ada", member=f"ada{number}", process="ada-process")
        member = f"ada{number}"
        story.has(at + 31, member, 0, 1)
    finding = story.found()["R54"]
    assert "its tasks were not processed in that time" in finding.text
    assert "standby" not in finding.advice


@BOTH
@pytest.mark.parametrize(("often", "lives"), [(2, 60), (4, 1200)], ids=["twice", "after long lives"])
def test_occasional_restarts_are_ignored(by_events: bool, often: int, lives: float) -> None:
    story = flapping(by_events=by_events, often=often, lives=lives)
    story.until = 6000
    assert story.found() == {}


@BOTH
def test_rolling_restart_is_ignored(by_events: bool) -> None:
    story = StreamsStory(told_by_events=by_events, until=900).topology(0).epoch(0)
    names = [f"pod-{number}" for number in range(5)]
    story.joins(0, *names)
    for number, name in enumerate(names):
        story.has(1, name, number)
    for number, name in enumerate(names):
        at = 60 * (number + 1)
        story.goes(at, name).has(at + 1, names[number - 1], number - 1, number)
        story.joins(at + 20, name).has(at + 21, names[number - 1], number - 1).has(at + 22, name, number)
    assert story.found() == {}


@BOTH
def test_replaced_pods_do_not_flap(by_events: bool) -> None:
    story = group(by_events=by_events, until=3600)
    for number in range(6):
        at, name = 100 + 60 * number, f"pod-{number}"
        story.joins(at, name).has(at + 1, "bob", 2).has(at + 2, name, 3)
        story.goes(at + 30, name).has(at + 31, "bob", 2, 3)
    assert story.found() == {}


# Topologies


@BOTH
def test_stopped_upgrade(by_events: bool) -> None:
    story = StreamsStory(told_by_events=by_events, until=2000).topology(0, 2).epoch(0).joins(0, "ada", epoch=2)
    story.joins(10, "bob", epoch=1)
    findings = story.found()
    assert findings.keys() == {"R55"}
    finding = findings["R55"]
    assert (finding.severity, finding.confidence, finding.clients) == ("warning", "certain", ["bob"])
    assert finding.evidence["topology_epoch"] == 2
    assert finding.evidence["open"]
    assert "application.id" in finding.advice


@BOTH
def test_ongoing_upgrade_is_ignored(by_events: bool) -> None:
    story = StreamsStory(told_by_events=by_events, until=3000).topology(0, 2).epoch(0)
    names = [f"pod-{number}" for number in range(5)]
    story.joins(0, "first", epoch=2).joins(0, *names, epoch=1)
    for number, name in enumerate(names):
        story.goes(240 * (number + 1), name).joins(240 * (number + 1) + 20, name, epoch=2)
    assert story.found() == {}


def test_recreated_group_ignores_earlier_events() -> None:
    story = StreamsStory(told_by_events=True, until=2000).topology(0, 5).joins(0, "ada", epoch=5).goes(100, "ada")
    assert story.deleted(101).topology(200, 1).joins(200, "ada", epoch=1).found() == {}


def deleted(*, stores: tuple[str, ...], kept: bool = False, reads: str = SOURCE) -> StreamsStory:
    """Delete a group with its offsets, and start it with the given stores and `reads`."""
    story = group().reads(1, 100, 0, 1, 2, 3).goes(100, "ada", "bob").deleted(110).offsets_deleted(110)
    if kept:
        story.reads(120, 121, 0, 1, 2, 3)
    story.topology(200, stores=stores, reads=reads).epoch(200).joins(200, "ada").has(201, "ada", 0, 1, 2, 3)
    return story.reads(202, 600, 0, 1, 2, 3, topic=reads)


def test_new_topology_loses_offsets() -> None:
    finding = deleted(stores=(CHANGELOG, "another-changelog")).found()["R55"]
    assert (finding.severity, finding.confidence) == ("warning", "certain")
    assert finding.evidence["tombstones"] == 4
    assert "auto.offset.reset" in finding.text
    assert "kafka-streams-groups --delete" in finding.advice


def test_reset_offsets_are_not_lost() -> None:
    assert deleted(stores=(CHANGELOG, "another-changelog"), kept=True).found()["R55"].severity == "info"


def test_unread_topics_need_no_offsets() -> None:
    finding = deleted(stores=(CHANGELOG, "another-changelog"), reads="letters").found()["R55"]
    assert (finding.severity, finding.evidence["tombstones"]) == ("info", 0)
    assert "no offset of its input was lost" in finding.text


def test_former_classic_group_was_not_deleted() -> None:
    story = group().reads(1, 100, 0, 1, 2, 3).goes(100, "ada", "bob").deleted(110).is_classic(110)
    story.topology(200, stores=("another-changelog",)).epoch(200).joins(200, "ada").has(201, "ada", 0, 1, 2, 3)
    assert "R55" not in story.reads(202, 600, 0, 1, 2, 3).found()


def test_changelogs_survive_group_deletion() -> None:
    advice = deleted(stores=(CHANGELOG, "another-changelog")).found()["R55"].advice
    assert "--delete-all-internal-topics" in advice


def test_deleted_group_with_same_topology() -> None:
    assert "R55" not in deleted(stores=(CHANGELOG,)).found()


# Not ready


@BOTH
def test_more_members_than_tasks(by_events: bool) -> None:
    story = StreamsStory(told_by_events=by_events).topology(0).epoch(0, ready=False).joins(1, "ada")
    findings = story.found()
    assert findings.keys() == {"R56"}
    finding = findings["R56"]
    assert (finding.severity, finding.confidence, finding.clients) == ("critical", "certain", ["ada"])
    assert finding.evidence["open"]
    assert "MISSING_SOURCE_TOPICS" in finding.advice
    assert finding.evidence["topics"] == ([] if by_events else [SOURCE])


@BOTH
def test_quickly_created_internal_topics(by_events: bool) -> None:
    story = StreamsStory(told_by_events=by_events).topology(0).epoch(0, ready=False).joins(1, "ada")
    assert story.epoch(7).has(8, "ada", 0, 1, 2, 3).found() == {}


@BOTH
def test_empty_group_may_be_not_ready(by_events: bool) -> None:
    story = StreamsStory(told_by_events=by_events).topology(0).epoch(0, ready=False).joins(1, "ada")
    assert story.goes(20, "ada").found() == {}


# A window


def stale(*, until: float = 2000) -> StreamsStory:
    """Give bob an older topology than the group for a while, then stop it."""
    story = StreamsStory(until=until).topology(0, 2).epoch(0).joins(0, "ada", epoch=2).joins(10, "bob", epoch=1)
    return story.goes(500, "bob")


def not_ready() -> StreamsStory:
    """Leave ada without tasks until topics are created."""
    story = StreamsStory(until=1000).topology(0).epoch(0, ready=False).joins(1, "ada")
    return story.epoch(300).has(301, "ada", 0, 1, 2, 3)


def never_ready() -> StreamsStory:
    """Leave ada without tasks until it stops."""
    return StreamsStory(until=1000).topology(0).epoch(0, ready=False).joins(1, "ada").goes(300, "ada")


def upgraded() -> StreamsStory:
    return deleted(stores=(CHANGELOG, "another-changelog"))


SPANS = [
    (restoring, "R53", 302.0),
    (flapping, "R54", 361.0),
    (stale, "R55", 501.0),
    (upgraded, "R55", 202.0),
    (not_ready, "R56", 301.0),
    (never_ready, "R56", 301.0),
]
OVER = pytest.mark.parametrize(("story", "rule", "over"), SPANS, ids=[each.__name__ for each, _, _ in SPANS])


@OVER
def test_earlier_incidents_are_left_out(story: Callable[[], StreamsStory], rule: str, over: float) -> None:
    told = story()
    assert rule in told.found()
    told.since = over
    assert rule not in told.found()


GOES_ON = [(restoring, "R53", 200.0), (flapping, "R54", 100.0), (stale, "R55", 300.0), (not_ready, "R56", 200.0)]


@pytest.mark.parametrize(("story", "rule", "since"), GOES_ON, ids=[each.__name__ for each, _, _ in GOES_ON])
def test_ongoing_incident_is_reported(story: Callable[[], StreamsStory], rule: str, since: float) -> None:
    told = story()
    told.since = since
    assert told.found().keys() == {rule}
