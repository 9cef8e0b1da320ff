"""Findings about tasks that stop after a move (R53), and cases without enough information."""

from __future__ import annotations

import pytest

from tests.pipeline.streams_story import CHANGELOG, StreamsStory, group, restoring


def test_tasks_that_are_restored_for_long() -> None:
    findings = restoring().found()
    assert findings.keys() == {"R53"}
    finding = findings["R53"]
    assert (finding.severity, finding.confidence, finding.cause_confidence) == ("warning", "certain", "likely")
    assert finding.clients == ["ada"]
    assert finding.evidence["tasks"] == ["0_2", "0_3"]
    assert finding.evidence["longest_ms"] == pytest.approx(200_000, abs=6_000)
    assert finding.evidence["changelog_records"] == 1_000_000
    assert "streams.num.standby.replicas=1" in finding.advice
    assert "group.streams.num.standby.replicas" in finding.advice


def test_offsets_topic_alone_shows_silence() -> None:
    finding = restoring(sampled=False, held=None).found()["R53"]
    assert (finding.severity, finding.confidence, finding.cause_confidence) == ("info", "possible", "possible")
    assert "no sample of log end offsets shows whether records waited" in finding.text


def idle(*, sampled: bool) -> StreamsStory:
    """Stop bob, whose tasks ada gets without records for 200 s, and then with records as before."""
    story = group().reads(1, 600, 0, 1).reads(1, 100, 2, 3)
    story.goes(100, "bob").has(101, "ada", 0, 1, 2, 3).reads(301, 600, 2, 3, less=2010)
    if sampled:
        story.log(0, 1).log(2, 3, idle=(99, 300)).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    return story


@pytest.mark.parametrize("sampled", [True, False], ids=["samples", "commits alone"])
def test_idle_source_does_not_stall_task(sampled: bool) -> None:
    assert idle(sampled=sampled).found() == {}


def test_bursty_source_is_silent_everywhere() -> None:
    story = group(until=1000).reads(1, 1000, 0, 1)
    for start in (1, 301, 601, 901):
        story.reads(start, min(1000, start + 99), 2, 3)
    assert story.goes(100, "bob").has(101, "ada", 0, 1, 2, 3).found() == {}


def test_ended_samples_prove_nothing_later() -> None:
    story = restoring(sampled=False, held=None).log(0, 1, until=150).log(2, 3, until=150, idle=(99, 150))
    finding = story.found()["R53"]
    assert (finding.severity, finding.confidence) == ("info", "possible")


def test_sole_process_has_no_standby() -> None:
    story = StreamsStory().topology(0).epoch(0).joins(0, "ada").has(1, "ada", 0, 1).reads(1, 100, 0, 1)
    story.goes(100, "ada").joins(110, "ada", member="ada2", process="ada-process-2").has(111, "ada2", 0, 1)
    story.reads(311, 600, 0, 1).log(0, 1).log(0, 1, topic=CHANGELOG, records=1_000_000)
    finding = story.found()["R53"]
    assert (finding.confidence, finding.cause_confidence) == ("certain", "possible")
    assert "needs another process" in finding.advice


@pytest.mark.parametrize("reset", ["latest", "earliest"])
def test_first_start_restores_no_state(reset: str) -> None:
    # slow start on a topic with records: without commits the log end proves little
    story = StreamsStory(until=400).topology(0).epoch(0).joins(0, "ada").has(1, "ada", 0)
    if reset == "latest":
        assert story.log(0, records=1000).log(0, topic=CHANGELOG, records=1_000_000).found() == {}
    else:
        assert story.log(0).reads(150, 400, 0).found() == {}


def test_long_absence_keeps_state() -> None:
    story = group(until=3000).reads(1, 3000, 0, 1).reads(1, 100, 2, 3)
    story.goes(100, "bob").joins(1900, "bob", member="bob2", process="bob-process").has(1901, "bob2", 2, 3)
    story.reads(2050, 3000, 2, 3).log(0, 1, 2, 3).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert story.found() == {}


@pytest.mark.parametrize(("moved", "cause"), [(500, None), (1000, "possible"), (1500, "likely")])
def test_running_process_drops_revoked_state(moved: int, cause: str | None) -> None:
    # state of revoked tasks is kept for 10 to 20 minutes
    story = StreamsStory(until=2500).topology(0).epoch(0).joins(0, "ada").has(1, "ada", 0, 1, 2, 3)
    story.joins(10, "bob").has(11, "ada", 0, 1).has(12, "bob", 2, 3).reads(1, 2500, 0, 1).reads(1, moved, 2, 3)
    story.goes(moved, "bob").has(moved + 1, "ada", 0, 1, 2, 3).reads(moved + 200, 2500, 2, 3)
    story.log(0, 1, 2, 3).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    findings = story.found()
    assert (findings["R53"].cause_confidence if findings else None) == cause


def test_deleted_group_rereads_without_stall() -> None:
    story = group(until=900).reads(1, 300, 0, 1, 2, 3).goes(300, "ada", "bob").deleted(310).offsets_deleted(310)
    story.topology(320).epoch(320).joins(320, "carl").has(321, "carl", 0, 1, 2, 3)
    story.reads(330, 900, 0, 1, 2, 3, less=3300).log(0, 1, 2, 3)
    story.log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert "R53" not in story.found()


def test_earlier_tasks_are_not_new_assignments() -> None:
    story = group(until=900).reads(1, 500, 0, 1, 2, 3).has(100, "ada", 0, 1).compacted().reads(500, 900, 0, 1, 2, 3)
    story.log(0, 1, 2, 3).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert story.found() == {}


def test_late_log_leaves_copies_unknown() -> None:
    story = group().compacted().reads(1, 600, 0, 1).reads(1, 100, 2, 3)
    story.goes(100, "bob").has(101, "ada", 0, 1, 2, 3).reads(301, 600, 2, 3)
    story.log(0, 1, 2, 3).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    finding = story.found()["R53"]
    assert (finding.confidence, finding.cause_confidence) == ("certain", "possible")
    assert "it is unknown whether the process still had a copy of their state" in finding.text


def test_deleted_records_do_not_wait() -> None:
    assert restoring().found()["R53"].evidence["records"] == 2010
    assert restoring().log(2, 3, start=1500).found()["R53"].evidence["records"] == 1500


def test_restoring_task_is_open() -> None:
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
def test_short_restores_are_ignored(healthy: StreamsStory) -> None:
    assert healthy.found() == {}


def test_nothing_to_read_is_no_restore() -> None:
    story = group().reads(1, 600, 0, 1).reads(1, 100, 2, 3)
    story.goes(100, "bob").has(101, "ada", 0, 1, 2, 3)
    story.log(0, 1).log(2, 3, records=990).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert story.found() == {}


def test_stalled_group_is_no_restore() -> None:
    story = group().reads(1, 100, 0, 1, 2, 3)
    story.goes(100, "bob").has(101, "ada", 0, 1, 2, 3).reads(300, 600, 0, 1, 2, 3)
    story.log(0, 1, 2, 3).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert story.found() == {}


@pytest.mark.parametrize("stores", [True, False], ids=["state", "no state"])
def test_stalled_group_without_move_is_reported(stores: bool) -> None:
    findings = group(stores=stores).reads(1, 100, 0, 1, 2, 3).reads(300, 600, 0, 1, 2, 3).log(0, 1, 2, 3).found()
    assert findings.keys() == {"R37"}
    assert (findings["R37"].severity, findings["R37"].evidence["members"]) == ("critical", 2)


def test_group_without_input_is_not_stalled() -> None:
    story = group().reads(1, 100, 0, 1, 2, 3).reads(300, 600, 0, 1, 2, 3, less=2010)
    assert story.log(0, 1, 2, 3, idle=(99, 300)).found() == {}


def test_rare_commits_are_no_silence() -> None:
    story = group(until=1800).reads(1, 1800, 0, 1, every=120).reads(1, 100, 2, 3, every=120)
    story.goes(100, "bob").has(101, "ada", 0, 1, 2, 3).reads(230, 1800, 2, 3, every=120)
    story.log(0, 1, 2, 3).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert story.found() == {}


def test_quick_return_keeps_state() -> None:
    story = group().reads(1, 600, 0, 1).reads(1, 100, 2, 3)
    story.goes(100, "bob").joins(160, "bob").has(161, "bob", 2, 3).reads(300, 600, 2, 3)
    story.log(0, 1, 2, 3).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert story.found() == {}


def test_records_read_before_window_are_ignored() -> None:
    story = group().reads(1, 600, 0, 1).reads(1, 100, 2, 3)
    story.goes(100, "bob").has(101, "ada", 0, 1, 2, 3).reads(102, 110, 2, 3)
    story.log(0, 1).log(2, 3, records=1090).log(0, 1, 2, 3, topic=CHANGELOG, records=1_000_000)
    assert story.found() == {}
    story.since = 300
    assert story.found() == {}
