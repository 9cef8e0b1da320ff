"""Each rule speaks of its own story, and of no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.rules.diagnose import ALL, diagnose
from kohort.pipeline.rules.proposals import proposals
from tests.pipeline.stories import Story, ms

A, B, C = "c-1/a", "c-2/a", "c-3/a"
TWO: dict[str, Any] = {A: {}, B: {}}
THREE: dict[str, Any] = {A: {}, B: {}, C: {}}


def healthy() -> Story:
    return Story().generation(1, 0.5, TWO)


def one_slow_member() -> Story:
    """Keep c-2 in a batch for 40 s when c-3 joins."""
    story = Story().generation(1, 0.5, TWO)
    story.silence([0, 2, 4], 100.3, 140).silence([1, 3, 5], 95, 139.4)
    return story.rebalance(2, 100, 140, THREE, "join_new", C)


def follow_ups() -> Story:
    story = Story().generation(1, 0.5, TWO, protocol="cooperative-sticky")
    both = {A: [("t", 0), ("t", 2)], B: [("t", 1), ("t", 3)]}
    for n, at in ((2, 100), (4, 300)):
        story.rebalance(
            n, at, at + 0.2, TWO, "rejoin_leader", A, protocol="cooperative-sticky", owned=both, owners=both
        )
        story.rebalance(
            n + 1, at + 0.3, at + 0.5, TWO, "cooperative_followup", A, protocol="cooperative-sticky", owned=both
        )
    return story


def slow_leader() -> Story:
    story = Story().generation(1, 0.5, TWO, took=4)
    for n in (2, 3, 4):
        story.rebalance(n, 150 * n, 150 * n + 0.1, TWO, "rejoin_leader", A, took=4)
    return story


def always_the_same_laggard() -> Story:
    story = Story(until=1500).generation(1, 0.5, TWO)
    for n in range(2, 8):
        at = 200 * (n - 1)
        story.event(at + 0.2, "member_rejoined", member_id=A, duration_us=200_000)
        story.event(at + 8, "member_rejoined", member_id=B, duration_us=8_000_000)
        story.rebalance(n, at, at + 8, TWO, "rejoin_leader", A)
    return story


def zombie_commits() -> Story:
    story = healthy()
    for at in (100, 101, 102):
        story.event(at, "commit_rejected", client_id="c-9", error="ILLEGAL_GENERATION", generation=1)
    return story


def without_a_right() -> Story:
    """Build one refusal in the event log, which counts, and in a line of the authorizer."""
    lacking = {"principal": "User:c", "operation": "READ", "resource": "GROUP:g"}
    story = healthy()
    for at, n in ((100, "1"), (110, "41")):
        story.event(at, "access_denied", client_id="c-9", detail=lacking | {"n": n})
    return story.event(120, "access_denied", detail=lacking | {"n": "1"}, origin="text_log")


def lost_generations() -> Story:
    return Story().generation(1, 0.5, TWO).rebalance(4, 100, 101, THREE, "join_new", C)


def mixed_settings() -> Story:
    return Story().generation(1, 0.5, {A: {"poll": 60_000}, B: {"poll": 600_000}})


def idle_members() -> Story:
    return Story(topic_parts=2).generation(1, 0.5, THREE)


def two_applications() -> Story:
    members = {A: {"topics": ["t"]}, B: {"topics": ["u"]}}
    return Story().generation(1, 0.5, members).rebalance(2, 100, 100.5, members, "rejoin_leader", A)


def crash_loop() -> Story:
    story = Story().generation(1, 0.5, TWO)
    for n in range(5):
        member = f"c-3/{n}"
        at = 60 * (n + 1)
        story.event(at, "member_added", member_id=member, cause="join_new")
        story.rebalance(2 * n + 2, at, at + 0.3, TWO | {member: {}}, "join_new", member)
        story.event(at + 30, "member_removed", member_id=member, cause="session_expired")
        story.rebalance(2 * n + 3, at + 30, at + 30.3, TWO, "session_expired", member)
    return story


def skewed() -> Story:
    owners = {A: [("t", p) for p in range(5)], B: [("t", 5)], C: []}
    return Story().generation(1, 0.5, THREE, owners=owners)


def stuck_partition() -> Story:
    return Story().generation(1, 0.5, TWO).silence([2], 200, 320)


def topics_keep_changing() -> Story:
    story = Story().generation(1, 0.5, TWO)
    for n in range(2, 6):
        topics = {"topics": ["t", *[f"u-{k}" for k in range(n)]]}
        story.rebalance(n, 100 * n, 100 * n + 0.4, {A: topics, B: topics}, "metadata_changed", A)
    return story


def rolling_restart() -> Story:
    now = {"c-1": "c-1/0", "c-2": "c-2/0", "c-3": "c-3/0"}
    story = Story().generation(1, 0.5, {m: {} for m in now.values()})
    for n, client in enumerate(now):
        old, new, at = now[client], f"{client}/1", 100 + 30 * n
        rest: dict[str, dict[str, Any]] = {m: {} for m in now.values() if m != old}
        story.event(at, "member_removed", member_id=old, cause="leave_explicit")
        story.rebalance(2 * n + 2, at, at + 0.5, rest, "leave_explicit", old)
        story.event(at + 5, "member_added", member_id=new, cause="join_new")
        now[client] = new
        story.rebalance(2 * n + 3, at + 5, at + 5.5, {m: {} for m in now.values()}, "join_new", new)
    return story


def merged_restart() -> Story:
    """Restart three of four members together, with one rebalance for the leaves and one for the joins."""
    names = ("c-1", "c-2", "c-3", "c-4")
    old, new = [f"{name}/0" for name in names], [f"{name}/1" for name in names[:3]]
    story = Story().generation(1, 0.5, {m: {} for m in old})
    for member in old[:3]:
        story.event(100, "member_removed", member_id=member, cause="leave_explicit")
    story.rebalance(2, 100, 100.5, {old[3]: {}}, "leave_explicit", old[0])
    for member in new:
        story.event(106, "member_added", member_id=member, cause="join_new")
    return story.rebalance(3, 106, 106.5, {m: {} for m in (*new, old[3])}, "join_new", new[0])


def duplicate_instance() -> Story:
    story = Story().generation(1, 0.5, {A: {}, "w/0": {"instance_id": "w"}})
    for n in range(1, 5):
        story.generation(1, 60 * n, {A: {}, f"w/{n}": {"instance_id": "w"}})
    return story


def migrated() -> Story:
    """Migrate to the new protocol by one rolling restart."""
    return Story().generation(1, 0.5, TWO).to_consumer(100, 1, [A, B], "u-1")


def migrated_back_and_forth() -> Story:
    """Let the only member of the new protocol leave, join and leave."""
    story = migrated().to_classic(200, 2, [A, B], "u-1")
    return story.to_consumer(300, 3, [A, B], "u-2").to_classic(400, 4, [A, B], "u-2")


def no_time_to_join() -> Story:
    """Set the rebalance timeout to 1 ms, so that each join removes the other member, which returns as a new one."""
    story = Story().generation(1, 0.5, {A: {"poll": 1}})
    last = A
    for n in range(2, 12):
        member = f"c-{n % 2 + 1}/{n}"
        story.event(20 * n, "member_added", member_id=member, cause="join_new")
        story.event(20 * n + 0.01, "barrier_evicted", evicted=[last], cause="barrier_timeout")
        story.rebalance(n, 20 * n, 20 * n + 0.01, {member: {"poll": 1}}, "join_new", member)
        last = member
    return story


STORIES: dict[Callable[[], Story], tuple[set[str], set[str]]] = {
    # what must be found, and what else may be said (informational, or true as well)
    healthy: (set(), set()),
    one_slow_member: ({"R01"}, set()),
    follow_ups: ({"R11"}, set()),
    slow_leader: ({"R14"}, {"R10"}),
    always_the_same_laggard: ({"R01", "R15", "R43"}, {"R10"}),
    zombie_commits: ({"R22"}, set()),
    without_a_right: ({"R34"}, set()),
    lost_generations: ({"R25"}, set()),
    mixed_settings: ({"R28"}, set()),
    idle_members: ({"R18"}, set()),
    two_applications: ({"R09"}, set()),
    crash_loop: ({"R05"}, {"R10", "R26"}),
    skewed: ({"R19"}, set()),
    stuck_partition: ({"R20"}, set()),
    topics_keep_changing: ({"R08"}, {"R10", "R26"}),
    rolling_restart: ({"R04"}, {"R10", "R26"}),
    duplicate_instance: ({"R13"}, set()),
    migrated: ({"R24"}, set()),
    migrated_back_and_forth: ({"R24"}, set()),
    no_time_to_join: ({"R42"}, {"R10", "R26"}),
}


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_each_rule_on_its_story(story: Callable[[], Story]) -> None:
    must, may = STORIES[story]
    findings = diagnose(analyse(story().group_input()))
    assert must <= {f.rule for f in findings} <= must | may, [(f.rule, f.text) for f in findings]
    for finding in findings:
        assert finding.advice
        assert finding.start_ms <= finding.end_ms


def test_missing_right_shows_its_command() -> None:
    (finding,) = diagnose(analyse(without_a_right().group_input()))
    assert (finding.severity, finding.confidence) == ("critical", "certain")
    assert finding.text == "c-9 (User:c) was denied 42 times, for lack of Read on group g, and can't be a member"
    assert "kafka-acls --add --allow-principal User:c --operation Read --group 'g'." in finding.advice


def test_slow_member_has_its_numbers() -> None:
    (finding,) = diagnose(analyse(one_slow_member().group_input()))
    assert finding.clients == ["c-2"]
    assert finding.evidence["longest_wait_ms"] == 40_000
    assert finding.evidence["without_progress_ms"] == pytest.approx(39_500, abs=1000)


def test_repeated_migration_is_a_problem() -> None:
    (once,) = diagnose(analyse(migrated().group_input()))
    assert (once.severity, once.evidence["conversions"]) == ("info", 1)
    analysis = analyse(migrated_back_and_forth().group_input())
    (often,) = diagnose(analysis)
    assert (often.severity, often.title) == ("warning", "Migration between the group protocols, back and forth")
    assert often.evidence["moments_ms"] == [ms(100), ms(200), ms(300), ms(400)]
    assert [r.why.cause for r in analysis.rebalances if r.kind == "conversion"] == ["protocol_migration"] * 4
    ends = {session.member.member_id: session.end_kind for session in analysis.sessions}
    assert ends == {A: "alive", B: "alive", "u-1": "left", "u-2": "left"}
    back = analysis.rebalances[3]
    assert (back.kind, back.joined, back.left, back.lost) == ("conversion", [], [], 0)


def test_rule_numbers_are_unique() -> None:
    # R35 and R36 are about all groups together
    assert list(ALL) == [f"R{n:02}" for n in range(1, 58) if n not in (35, 36)]


def test_fenced_member_did_not_die() -> None:
    (finding,) = [result for result in diagnose(analyse(no_time_to_join().group_input())) if result.rule == "R42"]
    assert (finding.severity, finding.confidence) == ("critical", "certain")
    assert finding.text.startswith(
        "10 removals of members (c-1, c-2) at the end of 10 join barriers, with a rebalance timeout"
    )
    assert finding.evidence["rebalance_timeout_ms"] == 1


def test_definitions_by_hand() -> None:
    # six partitions: c-1 owned 0, 2, 4 and c-2 owned 1, 3, 5; round robin over three members gives c-1 0, 3;
    # c-2 1, 4; c-3 2, 5: four of six moved, while two moves would have been enough
    analysis = analyse(
        Story()
        .generation(1, 0.5, TWO)
        .silence([0], 100.5, 101.5)
        .rebalance(2, 100, 101, THREE, "join_new", C)
        .group_input()
    )
    moved = analysis.rebalances[1].movement
    assert moved is not None
    assert (moved.moved, moved.excess, moved.orphans) == (4, 2, 0)
    assert moved.stickiness == pytest.approx(2 / 6)
    opening = analysis.rebalances[1].opening
    assert opening is not None
    assert opening.prepare_us == 1_000_000
    around = analysis.rebalances[1].cost.around[("t", 0)]
    assert (around.gap_ms, around.base_ms) == (2000, 1000.0)
    assert around.excess_ms == 1000


def five_hosts_with_one_client_id() -> Story:
    """Drop four of five members together."""
    hosts: dict[str, Any] = {
        f"rdkafka-{n}aaaaaaa": {"client": "rdkafka", "host": f"/10.0.0.{n}", "session": 10_000} for n in range(1, 6)
    }
    left = dict(list(hosts.items())[:1])
    story = Story(topic_parts=10).generation(1, 0.5, hosts)
    story.silence([part for part in range(10) if part % 5], 300, 311)
    for member in list(hosts)[1:]:
        story.event(310, "member_removed", member_id=member, cause="session_expired")
    return story.rebalance(2, 310, 311, left, "session_expired", list(hosts)[1])


def test_shared_client_id_uses_host() -> None:
    (finding,) = diagnose(analyse(five_hosts_with_one_client_id().group_input()))
    assert finding.rule == "R03"
    assert finding.clients == [f"rdkafka@10.0.0.{n}" for n in (2, 3, 4, 5)]


def test_shared_host_uses_member_id() -> None:
    members: dict[str, Any] = {f"rdkafka-{n}bcdef01-77": {"client": "rdkafka"} for n in (1, 2)}
    analysis = analyse(Story().generation(1, 0.5, members).group_input())
    assert [session.member.name for session in analysis.sessions] == ["rdkafka-1bcdef01", "rdkafka-2bcdef01"]


def test_restarted_client_replaces_dead_member() -> None:
    story = Story().generation(1, 0.5, {A: {"session": 10_000}, B: {}})
    story.rebalance(2, 100, 100.5, {A: {"session": 10_000}, "c-1/new": {}, B: {}}, "join_new", "c-1/new")
    story.rebalance(3, 108, 108.5, {"c-1/new": {}, B: {}}, "session_expired", A)
    names = {session.member.member_id: session.member.name for session in analyse(story.group_input()).sessions}
    assert names == {A: "c-1", "c-1/new": "c-1", B: "c-2"}


def test_concurrent_processes_share_client_id() -> None:
    story = Story().generation(1, 0.5, {A: {"session": 10_000}, B: {}})
    story.rebalance(2, 100, 100.5, {A: {"session": 10_000}, "c-1/new": {}, B: {}}, "join_new", "c-1/new")
    story.rebalance(3, 130, 130.5, {"c-1/new": {}, B: {}}, "leave_explicit", A)
    names = [session.member.name for session in analyse(story.group_input()).sessions]
    assert len(set(names)) == 3, names


@pytest.mark.parametrize(
    ("session_s", "poll_s", "ends"),
    [
        (10, 300, ("session_expired", "likely")),
        (10, 10, ("session_expired", "possible")),  # a process that works on too long leaves then, too
        (60, 10, ("poll_timeout", "likely")),
        (9, 10, ("session_expired", "possible")),
    ],
)
def test_paused_member_exceeds_its_timeout(session_s: int, poll_s: int, ends: tuple[str, str]) -> None:
    settings: dict[str, Any] = {"session": 1000 * session_s, "poll": 1000 * poll_s}
    story = Story().generation(1, 0.5, {A: settings, B: settings, C: settings}).silence([2, 5], 300, 311)
    story.generation(2, 310.4, {A: settings, B: settings})
    (gone,) = [session for session in analyse(story.group_input()).sessions if session.member.member_id == C]
    assert (gone.end_kind, gone.end_confidence) == ends


def poll_timeouts() -> Story:
    """Let c-2 exceed its poll timeout of 12 s twice, and return."""
    poll: dict[str, Any] = {"poll": 12_000}
    story = Story().generation(1, 0.5, {A: poll, B: poll})
    story.silence([1, 3, 5], 100, 115).silence([1, 3, 5], 300, 315)
    member = B
    for number, at in enumerate((112, 312)):
        story.event(at, "member_removed", member_id=member, cause="leave_poll_timeout")
        story.rebalance(4 * number + 2, at, at + 0.2, {A: poll}, "leave_poll_timeout", member)
        member = f"c-2/{number}"
        story.rebalance(4 * number + 4, at + 3, at + 3.2, {A: poll, member: poll}, "join_new", member)
    return story


def test_settings_match_their_finding() -> None:
    analysis = analyse(poll_timeouts().group_input())
    findings = diagnose(analysis)
    assert "R02" in {finding.rule for finding in findings}
    (row,) = [proposal for proposal in proposals(analysis, findings) if proposal.setting == "max.poll.interval.ms"]
    assert row.client == "c-2"
    assert int(row.proposed or 0) >= 2 * int(row.current)


def test_fitting_setting_has_no_row() -> None:
    analysis = analyse(healthy().group_input())
    assert [row for row in proposals(analysis, diagnose(analysis)) if row.proposed is None] == []


def test_merged_restarts_are_reported_together() -> None:
    (finding,) = [result for result in diagnose(analyse(merged_restart().group_input())) if result.rule == "R04"]
    assert finding.severity == "info"
    assert "3 restarts caused 2 rebalances; clients that restarted together caused one" in finding.text
    (apart,) = [result for result in diagnose(analyse(rolling_restart().group_input())) if result.rule == "R04"]
    assert "were one" not in apart.text
