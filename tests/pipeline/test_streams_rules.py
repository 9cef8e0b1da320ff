"""What is said of streams groups, and what isn't: stories by the offsets topic, by kohort's events, with samples."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.pipeline.streams_story import CHANGELOG, SOURCE, StreamsStory

BOTH = pytest.mark.parametrize("by_events", [False, True], ids=["records", "events"])


def group(*, by_events: bool = False, standbys: int = 0, until: float = 600, stores: bool = True) -> StreamsStory:
    """ada and bob have a thread and two tasks each."""
    story = StreamsStory(told_by_events=by_events, until=until)
    story.topology(0, stores=(CHANGELOG,) if stores else ()).epoch(0, standbys=standbys).joins(0, "ada", "bob")
    copies = ((2, 3), (0, 1)) if standbys else ((), ())
    return story.has(1, "ada", 0, 1, copies=copies[0]).has(1, "bob", 2, 3, copies=copies[1])


# Restores


def restoring(
    *, stood: float = 200, standbys: int = 0, held: int | None = 1_000_000, stores: bool = True, sampled: bool = True
) -> StreamsStory:
    """bob goes, and ada gets its tasks, which nobody works on for so long; ada's own go on."""
    story = group(standbys=standbys, stores=stores).reads(1, 600, 0, 1).reads(1, 100, 2, 3)
    story.goes(100, "bob").has(101, "ada", 0, 1, 2, 3)
    story.reads(101 + stood, 600, 2, 3)
    if sampled:
        story.log(0, 1, 2, 3)
    if held is not None:
        story.log(0, 1, 2, 3, topic=CHANGELOG, records=held)
    return story


def test_tasks_that_are_restored_for_long() -> None:
    found = restoring().found()
    assert found.keys() == {"R53"}
    finding = found["R53"]
    assert (finding.severity, finding.confidence, finding.cause_confidence) == ("warning", "certain", "likely")
    assert finding.clients == ["ada"]
    assert finding.evidence["tasks"] == ["0_2", "0_3"]
    assert finding.evidence["longest_ms"] == pytest.approx(200_000, abs=6_000)
    assert finding.evidence["changelog_records"] == 1_000_000
    assert "streams.num.standby.replicas=1" in finding.advice
    assert "group.streams.num.standby.replicas" in finding.advice


def test_the_offsets_topic_alone_shows_a_silence_and_not_whether_records_waited() -> None:
    finding = restoring(sampled=False, held=None).found()["R53"]
    assert (finding.severity, finding.confidence, finding.cause_confidence) == ("info", "possible", "possible")
    assert "whether records waited no sample of log ends tells" in finding.text


def idle(*, sampled: bool) -> StreamsStory:
    """bob goes, ada gets its tasks, and no record comes for them for 200 s. Then they go on as before."""
    story = group().reads(1, 600, 0, 1).reads(1, 100, 2, 3)
    story.goes(100, "bob").has(101, "ada", 0, 1, 2, 3).reads(301, 600, 2, 3, less=2010)
    if sampled:
        story.log(0, 1).log(2, 3, idle=(99, 300)).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    return story


@pytest.mark.parametrize("sampled", [True, False], ids=["samples", "commits alone"])
def test_a_source_that_is_idle_for_a_while_makes_no_task_stand(sampled: bool) -> None:
    """Samples say that nothing waited; without them, as little was read afterwards as if nothing had come."""
    assert idle(sampled=sampled).found() == {}


def test_a_source_that_comes_in_bursts_is_silent_whoever_has_the_task() -> None:
    """100 s of records, then 200 s of none, whose records come at once. A task moves at the end of the first burst."""
    story = group(until=1000).reads(1, 1000, 0, 1)
    for start in (1, 301, 601, 901):
        story.reads(start, min(1000, start + 99), 2, 3)
    assert story.goes(100, "bob").has(101, "ada", 0, 1, 2, 3).found() == {}


def test_samples_that_end_early_say_nothing_of_what_came_later() -> None:
    """Until 150 s nothing waited. What was read later shows that records came, and nobody knows when."""
    story = restoring(sampled=False, held=None).log(0, 1, until=150).log(2, 3, until=150, idle=(99, 150))
    finding = story.found()["R53"]
    assert (finding.severity, finding.confidence) == ("info", "possible")


def test_a_process_that_has_the_group_to_itself_can_be_given_no_copy() -> None:
    """ada's disk is new: it has another process id, and nobody else is there."""
    story = StreamsStory().topology(0).epoch(0).joins(0, "ada").has(1, "ada", 0, 1).reads(1, 100, 0, 1)
    story.goes(100, "ada").joins(110, "ada", member="ada2", process="ada-process-2").has(111, "ada2", 0, 1)
    story.reads(311, 600, 0, 1).log(0, 1).log(0, 1, topic=CHANGELOG, records=1_000_000)
    finding = story.found()["R53"]
    assert (finding.confidence, finding.cause_confidence) == ("certain", "possible")
    assert "needs another process" in finding.advice


@pytest.mark.parametrize("reset", ["latest", "earliest"])
def test_what_begins_for_the_first_time_has_no_state_to_restore(reset: str) -> None:
    """A slow start on a topic with records: where nothing is committed the log's end says little."""
    story = StreamsStory(until=400).topology(0).epoch(0).joins(0, "ada").has(1, "ada", 0)
    if reset == "latest":
        assert story.log(0, records=1000).log(0, topic=CHANGELOG, records=1_000_000).found() == {}
    else:
        assert story.log(0).reads(150, 400, 0).found() == {}


def test_a_process_that_was_away_for_long_has_kept_its_state() -> None:
    """Nobody cleans up its directory while it is away; it comes back under the process id that is kept there."""
    story = group(until=3000).reads(1, 3000, 0, 1).reads(1, 100, 2, 3)
    story.goes(100, "bob").joins(1900, "bob", member="bob2", process="bob-process").has(1901, "bob2", 2, 3)
    story.reads(2050, 3000, 2, 3).log(0, 1, 2, 3).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert story.found() == {}


def test_a_running_process_loses_the_state_of_what_it_has_no_more() -> None:
    """ada had the tasks before bob, more than ten minutes ago."""
    story = StreamsStory(until=2000).topology(0).epoch(0).joins(0, "ada").has(1, "ada", 0, 1, 2, 3)
    story.joins(10, "bob").has(11, "ada", 0, 1).has(12, "bob", 2, 3).reads(1, 2000, 0, 1).reads(1, 1000, 2, 3)
    story.goes(1000, "bob").has(1001, "ada", 0, 1, 2, 3).reads(1200, 2000, 2, 3)
    story.log(0, 1, 2, 3).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert story.found().keys() == {"R53"}


def test_a_group_that_was_deleted_reads_again_and_does_not_stand() -> None:
    """Its offsets went with it: carl's first commits are below the old ones for long."""
    story = group(until=900).reads(1, 300, 0, 1, 2, 3).goes(300, "ada", "bob").deleted(310).offsets_deleted(310)
    story.topology(320).epoch(320).joins(320, "carl").has(321, "carl", 0, 1, 2, 3)
    story.reads(330, 900, 0, 1, 2, 3, less=3300).log(0, 1, 2, 3)
    story.log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert "R53" not in story.found()


def test_tasks_of_before_a_log_that_begins_in_the_middle_were_not_given_then() -> None:
    """The newest record of what ada has is of 100 s, and its newest commit of 500 s: what was before is compacted away."""
    story = group(until=900).reads(1, 500, 0, 1, 2, 3).has(100, "ada", 0, 1).compacted().reads(500, 900, 0, 1, 2, 3)
    story.log(0, 1, 2, 3).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert story.found() == {}


def test_whether_a_process_had_a_copy_is_unknown_where_the_log_begins_too_late() -> None:
    story = group().compacted().reads(1, 600, 0, 1).reads(1, 100, 2, 3)
    story.goes(100, "bob").has(101, "ada", 0, 1, 2, 3).reads(301, 600, 2, 3)
    story.log(0, 1, 2, 3).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    finding = story.found()["R53"]
    assert (finding.confidence, finding.cause_confidence) == ("certain", "possible")
    assert "the log begins too late to tell" in finding.text


def test_records_that_were_deleted_do_not_wait() -> None:
    """990 are committed, the log ends at 3000 at last, and begins at 1500."""
    assert restoring().found()["R53"].evidence["records"] == 2010
    assert restoring().log(2, 3, start=1500).found()["R53"].evidence["records"] == 1500


def test_a_task_that_is_still_restored_is_open() -> None:
    finding = restoring(stood=1000).found()["R53"]
    assert finding.evidence["open"]
    assert finding.cause_confidence == "possible", "it may hang as well"


@pytest.mark.parametrize(
    "healthy",
    [
        restoring(stood=20),
        restoring(standbys=1),
        restoring(held=10),
        restoring(stores=False),
        restoring(stood=30, sampled=False),
    ],
    ids=["soon", "who kept a copy", "small changelog", "no state", "soon, without samples"],
)
def test_tasks_that_are_not_restored_for_long_are_left_alone(healthy: StreamsStory) -> None:
    assert healthy.found() == {}


def test_nothing_to_read_is_no_restore() -> None:
    """No record comes for partitions 2 and 3 while ada has them."""
    story = group().reads(1, 600, 0, 1).reads(1, 100, 2, 3)
    story.goes(100, "bob").has(101, "ada", 0, 1, 2, 3)
    story.log(0, 1).log(2, 3, records=990).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert story.found() == {}


def test_a_group_that_stands_as_a_whole_restores_nothing() -> None:
    """What it depends on is away."""
    story = group().reads(1, 100, 0, 1, 2, 3)
    story.goes(100, "bob").has(101, "ada", 0, 1, 2, 3).reads(300, 600, 0, 1, 2, 3)
    story.log(0, 1, 2, 3).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert story.found() == {}


@pytest.mark.parametrize("stores", [True, False], ids=["state", "no state"])
def test_a_group_that_stands_as_a_whole_without_a_move_is_told_of(stores: bool) -> None:
    """Nobody comes or goes, and records wait for 200 s: no restore, and not well."""
    found = group(stores=stores).reads(1, 100, 0, 1, 2, 3).reads(300, 600, 0, 1, 2, 3).log(0, 1, 2, 3).found()
    assert found.keys() == {"R37"}
    assert (found["R37"].severity, found["R37"].evidence["members"]) == ("critical", 2)


def test_a_group_that_has_nothing_to_read_does_not_stand() -> None:
    story = group().reads(1, 100, 0, 1, 2, 3).reads(300, 600, 0, 1, 2, 3, less=2010)
    assert story.log(0, 1, 2, 3, idle=(99, 300)).found() == {}


def test_whoever_commits_seldom_is_not_silent() -> None:
    story = group(until=1800).reads(1, 1800, 0, 1, every=120).reads(1, 100, 2, 3, every=120)
    story.goes(100, "bob").has(101, "ada", 0, 1, 2, 3).reads(230, 1800, 2, 3, every=120)
    story.log(0, 1, 2, 3).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert story.found() == {}


def test_a_process_that_is_back_soon_has_its_state() -> None:
    story = group().reads(1, 600, 0, 1).reads(1, 100, 2, 3)
    story.goes(100, "bob").joins(160, "bob").has(161, "bob", 2, 3).reads(300, 600, 2, 3)
    story.log(0, 1, 2, 3).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert story.found() == {}


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
    """bob goes and comes back, each time with another thread."""
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
def test_a_process_that_comes_and_goes(by_events: bool, same_process: bool) -> None:
    """Without its state directory it has another process id each time."""
    found = flapping(by_events=by_events, same_process=same_process).found()
    assert found.keys() == {"R54"}
    finding = found["R54"]
    assert (finding.severity, finding.confidence, finding.clients) == ("warning", "certain", ["bob"])
    assert finding.evidence["restarts"] == 4
    assert finding.evidence["moves"] == [2, 2, 2, 2]
    assert finding.evidence["back_after_ms"] == [30_000] * 4
    assert "not told by the offsets topic" in finding.text


def test_events_say_how_it_went() -> None:
    finding = flapping(cause="session_expired").found()["R54"]
    assert finding.evidence["expiries"] == 4
    assert "its session expired 4 times" in finding.text


@pytest.mark.parametrize(
    ("cause", "why"),
    [
        (None, "it was cut off or stood still, or polled too late"),
        ("session_expired", "ids: it was cut off or stood still"),
        ("left", "ids: its polls came too late"),
    ],
)
def test_a_thread_that_comes_back_under_its_id_has_lived_meanwhile(cause: str | None, why: str) -> None:
    """Whoever polls too late leaves, and joins again under its id."""
    story = group(until=3600)
    for at in (100, 200, 300):
        story.goes(at, "bob", cause=cause).has(at + 1, "ada", 0, 1, 2, 3)
        story.joins(at + 30, "bob").has(at + 31, "ada", 0, 1).has(at + 32, "bob", 2, 3)
    finding = story.found()["R54"]
    assert finding.text.endswith(why)
    assert "max.poll.interval.ms" in finding.advice
    assert finding.severity == "warning"


def test_why_a_process_went_is_not_known_from_records_alone() -> None:
    """It may have been restarted on purpose. A longer session is no advice: who closes leaves, who is dead stays dead."""
    finding = flapping().found()["R54"]
    assert (finding.confidence, finding.cause_confidence) == ("certain", "possible")
    assert "on purpose" in finding.advice
    assert "A longer session does not help" in finding.advice
    assert flapping(cause="session_expired").found()["R54"].cause_confidence == ""


def test_what_has_no_state_is_restored_nowhere() -> None:
    assert "state.dir" in flapping().found()["R54"].advice
    assert "state.dir" not in flapping(stores=False).found()["R54"].advice


def test_nobody_has_a_copy_where_nobody_else_is() -> None:
    story = StreamsStory(until=3600).topology(0).epoch(0).joins(0, "ada").has(1, "ada", 0, 1)
    member = "ada"
    for number, at in enumerate((100, 200, 300)):
        story.goes(at, member).joins(at + 30, "ada", member=f"ada{number}", process="ada-process")
        member = f"ada{number}"
        story.has(at + 31, member, 0, 1)
    finding = story.found()["R54"]
    assert "nobody worked on its tasks meanwhile" in finding.text
    assert "standby" not in finding.advice


@BOTH
@pytest.mark.parametrize(("often", "lives"), [(2, 60), (4, 1200)], ids=["twice", "after long lives"])
def test_restarts_now_and_then_are_left_alone(by_events: bool, often: int, lives: float) -> None:
    story = flapping(by_events=by_events, often=often, lives=lives)
    story.until = 6000
    assert story.found() == {}


@BOTH
def test_a_rolling_restart_is_left_alone(by_events: bool) -> None:
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
def test_pods_that_come_and_go_are_no_process_that_flaps(by_events: bool) -> None:
    """An autoscaler: each one comes once."""
    story = group(by_events=by_events, until=3600)
    for number in range(6):
        at, name = 100 + 60 * number, f"pod-{number}"
        story.joins(at, name).has(at + 1, "bob", 2).has(at + 2, name, 3)
        story.goes(at + 30, name).has(at + 31, "bob", 2, 3)
    assert story.found() == {}


# Topologies


@BOTH
def test_an_upgrade_that_has_stopped(by_events: bool) -> None:
    story = StreamsStory(told_by_events=by_events, until=2000).topology(0, 2).epoch(0).joins(0, "ada", epoch=2)
    story.joins(10, "bob", epoch=1)
    found = story.found()
    assert found.keys() == {"R55"}
    finding = found["R55"]
    assert (finding.severity, finding.confidence, finding.clients) == ("warning", "certain", ["bob"])
    assert finding.evidence["topology_epoch"] == 2
    assert finding.evidence["open"]
    assert "application.id" in finding.advice


@BOTH
def test_an_upgrade_that_goes_on_is_left_alone(by_events: bool) -> None:
    """Every four minutes one process has the newer topology."""
    story = StreamsStory(told_by_events=by_events, until=3000).topology(0, 2).epoch(0)
    names = [f"pod-{number}" for number in range(5)]
    story.joins(0, "first", epoch=2).joins(0, *names, epoch=1)
    for number, name in enumerate(names):
        story.goes(240 * (number + 1), name).joins(240 * (number + 1) + 20, name, epoch=2)
    assert story.found() == {}


def test_events_of_a_group_that_began_anew_count_from_then_on() -> None:
    story = StreamsStory(told_by_events=True, until=2000).topology(0, 5).joins(0, "ada", epoch=5).goes(100, "ada")
    assert story.deleted(101).topology(200, 1).joins(200, "ada", epoch=1).found() == {}


def deleted(*, stores: tuple[str, ...], kept: bool = False, reads: str = SOURCE) -> StreamsStory:
    """A group that is deleted with its offsets, and begins anew with the given stores. reads: what it reads since."""
    story = group().reads(1, 100, 0, 1, 2, 3).goes(100, "ada", "bob").deleted(110).offsets_deleted(110)
    if kept:
        story.reads(120, 121, 0, 1, 2, 3)
    story.topology(200, stores=stores, reads=reads).epoch(200).joins(200, "ada").has(201, "ada", 0, 1, 2, 3)
    return story.reads(202, 600, 0, 1, 2, 3, topic=reads)


def test_a_group_that_was_deleted_for_another_topology_has_lost_its_offsets() -> None:
    finding = deleted(stores=(CHANGELOG, "another-changelog")).found()["R55"]
    assert (finding.severity, finding.confidence) == ("warning", "certain")
    assert finding.evidence["tombstones"] == 4
    assert "auto.offset.reset" in finding.text
    assert "kafka-streams-groups --delete" in finding.advice


def test_offsets_that_were_set_again_are_not_lost() -> None:
    assert deleted(stores=(CHANGELOG, "another-changelog"), kept=True).found()["R55"].severity == "info"


def test_offsets_of_what_the_new_topology_does_not_read_are_not_missed() -> None:
    finding = deleted(stores=(CHANGELOG, "another-changelog"), reads="letters").found()["R55"]
    assert (finding.severity, finding.evidence["tombstones"]) == ("info", 0)
    assert "no offset of what it reads was lost" in finding.text


def test_a_group_that_was_classic_meanwhile_was_not_deleted() -> None:
    """A consumer of the classic protocol has taken the empty group, and left it again. Its offsets stayed."""
    story = group().reads(1, 100, 0, 1, 2, 3).goes(100, "ada", "bob").deleted(110).is_classic(110)
    story.topology(200, stores=("another-changelog",)).epoch(200).joins(200, "ada").has(201, "ada", 0, 1, 2, 3)
    assert "R55" not in story.reads(202, 600, 0, 1, 2, 3).found()


def test_changelogs_outlive_a_group_that_is_deleted() -> None:
    advice = deleted(stores=(CHANGELOG, "another-changelog")).found()["R55"].advice
    assert "--delete-all-internal-topics" in advice


def test_a_group_that_was_deleted_and_has_the_same_topology_is_left_alone() -> None:
    assert "R55" not in deleted(stores=(CHANGELOG,)).found()


# Not ready


@BOTH
def test_members_without_tasks_as_topics_are_missing(by_events: bool) -> None:
    story = StreamsStory(told_by_events=by_events).topology(0).epoch(0, ready=False).joins(1, "ada")
    found = story.found()
    assert found.keys() == {"R56"}
    finding = found["R56"]
    assert (finding.severity, finding.confidence, finding.clients) == ("critical", "certain", ["ada"])
    assert finding.evidence["open"]
    assert "MISSING_SOURCE_TOPICS" in finding.advice
    assert finding.evidence["topics"] == ([] if by_events else [SOURCE])


@BOTH
def test_internal_topics_that_are_made_soon_are_no_trouble(by_events: bool) -> None:
    story = StreamsStory(told_by_events=by_events).topology(0).epoch(0, ready=False).joins(1, "ada")
    assert story.epoch(7).has(8, "ada", 0, 1, 2, 3).found() == {}


@BOTH
def test_a_group_without_members_need_not_be_ready(by_events: bool) -> None:
    story = StreamsStory(told_by_events=by_events).topology(0).epoch(0, ready=False).joins(1, "ada")
    assert story.goes(20, "ada").found() == {}


# A window


def stale(*, until: float = 2000) -> StreamsStory:
    """bob has an older topology than the group for a while, and goes."""
    story = StreamsStory(until=until).topology(0, 2).epoch(0).joins(0, "ada", epoch=2).joins(10, "bob", epoch=1)
    return story.goes(500, "bob")


def not_ready() -> StreamsStory:
    """ada has no tasks until topics are made."""
    story = StreamsStory(until=1000).topology(0).epoch(0, ready=False).joins(1, "ada")
    return story.epoch(300).has(301, "ada", 0, 1, 2, 3)


def never_ready() -> StreamsStory:
    """ada has no tasks, and gives up."""
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
def test_what_was_over_before_the_window_is_left_out(story: Callable[[], StreamsStory], rule: str, over: float) -> None:
    told = story()
    assert rule in told.found()
    told.since = over
    assert rule not in told.found()


GOES_ON = [(restoring, "R53", 200.0), (flapping, "R54", 100.0), (stale, "R55", 300.0), (not_ready, "R56", 200.0)]


@pytest.mark.parametrize(("story", "rule", "since"), GOES_ON, ids=[each.__name__ for each, _, _ in GOES_ON])
def test_what_goes_on_when_the_window_begins_is_told(
    story: Callable[[], StreamsStory], rule: str, since: float
) -> None:
    told = story()
    told.since = since
    assert told.found().keys() == {rule}


def test_records_that_were_read_before_the_window_do_not_wait_in_it() -> None:
    """Commits of before it are not known, and nothing comes for partitions 2 and 3 any more."""
    story = group().reads(1, 600, 0, 1).reads(1, 100, 2, 3)
    story.goes(100, "bob").has(101, "ada", 0, 1, 2, 3).reads(102, 110, 2, 3)
    story.log(0, 1).log(2, 3, records=1090).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert story.found() == {}
    story.since = 300
    assert story.found() == {}
