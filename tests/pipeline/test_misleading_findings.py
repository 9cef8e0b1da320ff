"""Stories that look like another incident, each next to the real one, which is still reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.rules.finding import Finding, moment
from kohort.pipeline.sources.text_log import columns_of
from tests.pipeline.incidents.recorded import Sources, log_alone, text_alone
from tests.pipeline.stories import Story, ms

A, B, C = "c-1/a", "c-2/a", "c-3/a"
TWO: dict[str, Any] = {A: {}, B: {}}
THREE: dict[str, Any] = {A: {}, B: {}, C: {}}


def whole(group: GroupInput) -> GroupInput:
    return group


def findings(group: GroupInput) -> list[Finding]:
    return diagnose(analyse(group))


def of_rule(group: GroupInput, rule: str) -> list[Finding]:
    return [finding for finding in findings(group) if finding.rule == rule]


def only(group: GroupInput, rule: str) -> Finding:
    (finding,) = of_rule(group, rule)
    return finding


def serious(group: GroupInput) -> set[str]:
    return {finding.rule for finding in findings(group) if finding.severity != "info"}


def rounds(start: float, count: int, every: float) -> GroupInput:
    """Build a group whose leader rejoins `count` times from `start` on."""
    story = Story()
    story.event(0, "rebalance_started", generation=0, cause="join_new", member_id=A)
    story.event(1, "join_completed", generation=1, members=2).generation(1, 1, TWO)
    for n in range(count):
        at = start + n * every
        story.rebalance(n + 2, at, at + 0.5, TWO, "rejoin_leader", A, protocol="cooperative-sticky")
    return story.group_input()


def test_first_seconds_are_no_storm() -> None:
    assert not of_rule(rounds(2, 3, 1.5), "R26")


def test_rounds_later_are_a_storm() -> None:
    storm = only(rounds(200, 6, 10), "R26")
    assert (storm.evidence["rebalances_counted"], storm.confidence) == (6, "certain")


def test_three_short_rounds_are_no_warning() -> None:
    assert only(rounds(200, 3, 1.5), "R26").severity == "info"


def returning(*, topics: bool, others_too: bool = False) -> GroupInput:
    """Let c-2 leave and join every half minute, each time with another subscription if `topics`."""
    story = Story(until=360)
    for member_id in THREE:
        story.event(0, "member_added", member_id=member_id, cause="join_new")
    story.rebalance(1, 0.1, 0.5, THREE, "join_new", A)
    member, third = B, C
    for n in range(8):
        at = 100 + 30 * n
        stay: dict[str, Any] = {A: {}, third: {}}
        reason = {"client_reason": "the consumer unsubscribed from all topics"} if topics else {}
        story.event(at, "member_removed", member_id=member, cause="leave_explicit", **reason)
        story.rebalance(2 * n + 2, at, at + 0.4, stay, "leave_explicit", member)
        member = f"c-2/{n}"
        if others_too:
            story.event(at + 1, "member_removed", member_id=third, cause="leave_explicit")
            third = f"c-3/{n}"
            stay = {A: {}, third: {}}
        story.event(at + 2, "member_added", member_id=member, cause="join_new")
        mine = {"topics": ["t", f"u-{n}"]} if topics else {}
        story.rebalance(2 * n + 3, at + 2, at + 2.4, stay | {member: mine}, "join_new", member)
    return story.group_input()


@pytest.mark.parametrize("sources", [whole, log_alone, text_alone])
def test_returning_member_is_named(sources: Sources) -> None:
    group = sources(returning(topics=True))
    finding = only(group, "R43")
    assert (finding.clients, finding.severity, finding.evidence["times"]) == (["c-2"], "info", 8)
    assert "left the group 8 times, usually every 30.0 s" in finding.text
    assert not serious(group)
    assert not of_rule(group, "R02")
    assert all(storm.advice.startswith("R43 explains it") for storm in of_rule(group, "R26"))


def test_return_without_reason_names_the_member() -> None:
    group = returning(topics=False)
    assert not of_rule(group, "R43")
    storm = only(group, "R26")
    assert (storm.title, storm.severity) == ("One member causes rebalance after rebalance", "warning")
    assert "c-2 causes each of them, and the other members stay" in storm.text


def test_several_returning_members_are_a_storm() -> None:
    group = returning(topics=False, others_too=True)
    assert not of_rule(group, "R43")
    storm = only(group, "R26")
    assert (storm.title, storm.severity) == ("Rebalance storm", "warning")


def moved_before(cause: str, *, lost: bool = False) -> GroupInput:
    """Move the coordinator at 100 s; the group rebalances at 110 s and 130 s for a cause, or c-2 is `lost` too."""
    story = Story(until=300).generation(1, 0.5, TWO)
    if lost:
        story.event(101, "member_added", member_id="c-2/b", cause="join_new")
        story.rebalance(2, 101, 101.5, {A: {}, B: {}, "c-2/b": {}}, "join_new", "c-2/b")
        story.event(146, "member_removed", member_id=B, cause="session_expired")
        story.rebalance(3, 146, 146.5, {A: {}, "c-2/b": {}}, "session_expired", B)
    else:
        story.silence(list(range(6)), 110, 145)
        story.rebalance(2, 110, 145, THREE, cause, C if cause == "join_new" else A)
        story.rebalance(3, 150, 151, THREE, cause, A)
    group = story.group_input()
    group.coordinator_moves = [(ms(100), 7)]
    return group


@pytest.mark.parametrize("cause", ["join_new", "metadata_changed"])
def test_explained_rebalances_are_no_move(cause: str) -> None:
    group = moved_before(cause)
    finding = only(group, "R16")
    assert (finding.severity, finding.evidence["rebalances"]) == ("info", [])
    assert "2 rebalances in that minute had another cause" in finding.text
    assert not [other for other in findings(group) if other.advice.startswith("R16 explains it")]


@pytest.mark.parametrize("group", [moved_before("", lost=True), moved_before("unknown")])
def test_unexplained_rebalances_follow_a_move(group: GroupInput) -> None:
    finding = only(group, "R16")
    assert (finding.severity, finding.confidence, finding.cause_confidence) == ("warning", "certain", "likely")
    assert len(finding.evidence["rebalances"]) == 2


def expired(*, recreated: bool, back_after: float = 12) -> GroupInput:
    """Expire the session of c-2 at 320 s; the topic is `recreated` at 300 s if set."""
    settings: dict[str, Any] = {A: {"session": 10_000}, B: {"session": 10_000}}
    story = Story().generation(1, 0.5, settings).silence([1, 3, 5], 310, 320 + back_after)
    story.event(320, "member_removed", member_id=B, cause="session_expired")
    story.rebalance(2, 320, 320.5, {A: settings[A]}, "session_expired", B)
    at = 320 + back_after
    story.event(at, "member_added", member_id="c-2/b", cause="join_new")
    story.rebalance(3, at, at + 0.5, {A: settings[A], "c-2/b": {}}, "join_new", "c-2/b")
    group = story.group_input()
    if recreated:
        for ends in group.ends.values():
            ends.log_end[ends.sampled_ms >= ms(300)] -= 2_990
        for commits in group.commits.values():
            commits.committed[commits.ts_ms >= ms(302)] -= 3_000
    return group


def test_recreated_topic_explains_expired_session() -> None:
    group = expired(recreated=True)
    assert only(group, "R44").confidence == "certain"
    finding = only(group, "R03")
    assert (finding.severity, finding.advice[:16]) == ("info", "R44 explains it:")
    assert serious(group) == {"R44"}


def test_expired_session_alone_has_unknown_cause() -> None:
    finding = only(expired(recreated=False), "R03")
    assert (finding.severity, finding.confidence, finding.cause_confidence) == ("warning", "certain", "possible")


def slow_record(batch: int) -> GroupInput:
    """Let two owners leave at their poll timeout of 12 s at one offset; commits cover `batch` records."""
    poll: dict[str, Any] = {"poll": 12_000}
    story = Story(until=400).generation(1, 0.5, {A: poll, B: poll, C: poll})
    members = {A: poll, B: poll, C: poll}
    for number, (member, at) in enumerate(((A, 213), (B, 227))):
        del members[member]
        story.event(at, "member_removed", member_id=member, cause="leave_poll_timeout")
        story.rebalance(2 * number + 2, at, at + 0.2, dict(members), "leave_poll_timeout", member)
        new_id = member.replace("/a", "/b")
        members[new_id] = poll
        owners = {new_id: [("t", 3)], C: [("t", 1), ("t", 2)], B: [("t", 0)]} if number == 0 else None
        story.rebalance(2 * number + 3, at + 0.5, at + 0.6, dict(members), "join_new", new_id, owners=owners)
    group = story.silence([0], 200, 240).group_input()
    group.ends = {}
    place = group.commits["t", 0]
    place.committed = 100 + batch * np.arange(len(place.ts_ms), dtype=np.int64)
    return group


@pytest.mark.parametrize(("batch", "location"), [(1, "at t-0@298"), (20, "at or after t-0@4060")])
def test_slow_record_location_fits_commits(batch: int, location: str) -> None:
    finding = only(slow_record(batch), "R46")
    assert f"processes the record {location} for longer" in finding.text
    assert ("max.poll.records=1" in finding.advice) == (batch > 1)


def left_alone(client: str, *, expired: bool = False, returns: bool = False) -> GroupInput:
    """Stop the only member at 200 s while records continue; with `returns` it was away before for as long."""
    story = Story(until=3_000 if returns else 1_400)
    member_id, number = f"{client}/a", 2
    members: dict[str, Any] = {member_id: {"client": client}}
    cause = "session_expired" if expired else "leave_explicit"
    story.generation(1, 0.5, members)
    for at in (200, 1_500) if returns else (200,):
        story.event(at, "member_removed", member_id=member_id, cause=cause)
        story.rebalance(number, at, at, {}, cause, member_id)
        member_id, number = f"{client}/b", number + 2
        if returns and at == 200:
            story.rebalance(3, 1_490, 1_490.5, {member_id: {"client": client}}, "join_new", member_id)
    group = story.group_input()
    for commits in group.commits.values():
        kept = commits.ts_ms < ms(200)
        commits.ts_ms, commits.committed = commits.ts_ms[kept], commits.committed[kept]
    return group


@pytest.mark.parametrize(
    ("group", "severity", "advice"),
    [
        (left_alone("console-consumer"), "info", "Delete the group if it isn't needed"),
        (left_alone("orders"), "warning", "Check whether the stop of orders was intended"),
        (left_alone("orders", returns=True), "info", "Check whether the stop of orders was intended"),
        (left_alone("orders", expired=True), "critical", "Find out why orders ended, and start the application again"),
    ],
    ids=["console", "stopped", "returning", "crashed"],
)
def test_advice_for_group_without_members(group: GroupInput, severity: str, advice: str) -> None:
    finding = only(group, "R29")
    assert (finding.severity, finding.advice[: len(advice)]) == (severity, advice)


def stop_before_rebalance(silent: dict[int, float]) -> GroupInput:
    """Stop partitions at the given times until 176 s; c-3 joins at 130 s, and the barrier ends at 176 s."""
    story = Story(until=400)
    for member_id in TWO:
        story.event(0, "member_added", member_id=member_id, cause="join_new")
    story.rebalance(1, 0.1, 0.5, TWO, "join_new", A)
    for part, start in silent.items():
        story.silence([part], start, 176.2)
    story.event(130, "member_added", member_id=C, cause="join_new")
    return story.rebalance(2, 130, 176, THREE, "join_new", C).group_input()


def test_stop_before_rebalance_is_one_stop() -> None:
    group = stop_before_rebalance(dict.fromkeys(range(6), 100.0))
    finding = only(group, "R37")
    assert (finding.severity, finding.confidence) == ("critical", "certain")
    assert finding.evidence["stood_ms"] == pytest.approx(76_500, abs=1_500)
    assert "before a rebalance began, which waited 46.0 s for them: it is one stop" in finding.text
    assert serious(group) == {"R37"}
    waited = only(group, "R01")
    assert (waited.clients, waited.advice[:16]) == ([], "R37 explains it:")


def stop_in_open_rebalance() -> GroupInput:
    """Stop at 100 s, because c-3 joins at 100.5 s; the rebalance never completes."""
    story = Story(until=150).rebalance(1, 0.1, 0.5, TWO, "join_new", A).silence(list(range(6)), 100, 150)
    return story.event(100.5, "rebalance_started", generation=1, cause="join_new", member_id=C).group_input()


def test_stop_in_open_rebalance_names_it() -> None:
    finding = only(stop_in_open_rebalance(), "R37")
    assert f"a rebalance that began at {moment(ms(100.5))} UTC has not completed" in finding.text
    assert (finding.severity, finding.confidence, finding.evidence["rebalances"]) == ("critical", "certain", [2])
    assert finding.advice.startswith("Find the members for which the rebalance waits")


def test_offsets_topic_hides_open_rebalance() -> None:
    group = stop_in_open_rebalance()
    group.events = []
    finding = only(group, "R37")
    assert "no completed rebalance explains it; the offsets topic does not show one that is still open" in finding.text
    assert finding.advice.startswith("Check first whether a rebalance is open")


@pytest.mark.parametrize("sources", [log_alone, text_alone])
def test_stop_before_rebalance_blames_no_member(sources: Sources) -> None:
    group = sources(stop_before_rebalance(dict.fromkeys(range(6), 100.0)))
    assert not [finding for finding in findings(group) if finding.clients and finding.severity != "info"]


def test_slow_member_alone_is_still_blamed() -> None:
    group = stop_before_rebalance({0: 132.5, 2: 132.5, 4: 132.5, 1: 100.0, 3: 100.0, 5: 100.0})
    assert only(group, "R01").clients == ["c-2"]
    assert not of_rule(group, "R37")


def without_assignment(*others_left: float) -> GroupInput:
    """Build a group whose leader never assigns generation 2, while other members leave."""
    story = Story(until=360)
    story.rebalance(1, 0, 0.5, THREE, "join_new", A)
    story.event(99, "rebalance_started", generation=1, cause="rejoin_leader", member_id=A)
    story.event(100, "join_completed", generation=2, members=3)
    for at, member in zip(others_left, (B, C), strict=False):
        story.event(at, "member_removed", member_id=member, cause="leave_explicit")
    story.event(145, "member_removed", member_id=A, cause="session_expired")
    return story.group_input()


def test_stop_during_rebalance() -> None:
    assert not of_rule(without_assignment(100.003, 100.004), "R14")


@pytest.mark.parametrize(
    "others_left", [(), (100.003,), (100.003, 112)], ids=["all wait", "one waits", "one leaves later"]
)
def test_members_wait_for_leader(others_left: tuple[float, ...]) -> None:
    assert only(without_assignment(*others_left), "R14").severity == "critical"


def rejected(count: int, every: float) -> GroupInput:
    """Build a group in which a second process tries to join with the instance id desk-1."""
    story = Story(until=3_600)
    story.event(0, "member_added", member_id=A, instance_id="desk-1", cause="join_new")
    for n in range(count):
        story.event(
            600 + n * every, "member_fenced", member_id=f"new-{n}", instance_id="desk-1",
            error="UNRELEASED_INSTANCE_ID", detail={"old_member_id": A},
        )  # fmt: skip
    return story.group_input()


def test_rejected_second_process_is_reported() -> None:
    finding = only(rejected(24, 60), "R13")
    assert (finding.severity, finding.clients) == ("warning", ["desk-1"])


def test_successor_of_killed_process() -> None:
    assert not of_rule(rejected(9, 5), "R13")


def test_line_of_rejected_process() -> None:
    columns = columns_of(
        "[GroupId parcels] Static member b with instance id desk-1 cannot join the group because the instance id is owned by "
        "member a."
    )
    assert columns == {
        "kind": "member_fenced", "error": "UNRELEASED_INSTANCE_ID", "group_id": "parcels", "instance_id": "desk-1",
        "member_id": "b", "detail": {"old_member_id": "a"},
    }  # fmt: skip
