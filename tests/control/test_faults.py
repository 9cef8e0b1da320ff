"""Requests that are spoiled on purpose."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kohort.control.control_errors import ControlError, NotFoundError
from kohort.control.faults import assignments
from kohort.control.faults.matching import MatchOptions
from kohort.protocol.consumer_protocol import read_assignment
from tests.control.talking import Lab


def test_error_rule_skips_broker(lab: Lab) -> None:
    with lab.faults.on("JoinGroup").error("COORDINATOR_NOT_AVAILABLE"):
        lab.talk("""
            ada JoinGroup v9 {member_id: "", group_id: $group}
              <- COORDINATOR_NOT_AVAILABLE {}
            """)
    assert lab.state() == "Dead"
    lab.talk("""
        ada joins
          <- NONE {generation_id: 1}
        """)


def test_times_limits_rule(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    rule = lab.faults.on("Heartbeat").error("REBALANCE_IN_PROGRESS", times=2)
    lab.talk("""
        ada Heartbeat v4 {generation_id: 1}
          <- REBALANCE_IN_PROGRESS
        ada Heartbeat v4 {generation_id: 1}
          <- REBALANCE_IN_PROGRESS
        ada Heartbeat v4 {generation_id: 1}
          <- NONE
        """)
    assert (rule.seen, rule.acted, rule.exhausted) == (3, 2, True)


def test_rule_applies_to_repeated_requests(lab: Lab) -> None:
    beat = "ada Heartbeat v4 {generation_id: 1}\n  <- NONE\n"
    lab.talk("given ada shares a stable group\n" + 4 * beat)
    with lab.faults.on("Heartbeat").error("REBALANCE_IN_PROGRESS") as rule:
        lab.talk("""
            ada Heartbeat v4 {generation_id: 1}
              <- REBALANCE_IN_PROGRESS
            """)
    lab.talk(beat)
    assert rule.acted == 1


async def test_counting_rule_lets_others_act(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    beats = lab.faults.on("Heartbeat").count()
    refusing = lab.faults.on("Heartbeat").error("REBALANCE_IN_PROGRESS", times=1)
    waiting = asyncio.create_task(beats.wait(times=2))
    lab.talk("""
        ada Heartbeat v4 {generation_id: 1}
          <- REBALANCE_IN_PROGRESS
        """)
    await asyncio.sleep(0)
    assert not waiting.done()
    lab.talk("""
        ada Heartbeat v4 {generation_id: 1}
          <- NONE
        """)
    await waiting
    await refusing.wait()
    assert (beats.seen, beats.acted, refusing.acted) == (2, 2, 1)


async def test_rule_wait_timeout_reports_count(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    rule = lab.faults.on("Heartbeat").drop(nth=9)
    lab.talk("ada Heartbeat v4 {generation_id: 1}")
    with pytest.raises(TimeoutError, match="has acted 0 times, not 1; 1 requests matched"):
        await rule.wait(timeout=0.01)
    with pytest.raises(ControlError, match="times"):
        await rule.wait(times=0)


def test_nth_is_that_one_only(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    lab.faults.on("Heartbeat").error("NOT_COORDINATOR", nth=2)
    lab.talk("""
        ada Heartbeat v4 {generation_id: 1}
          <- NONE
        ada Heartbeat v4 {generation_id: 1}
          <- NOT_COORDINATOR
        ada Heartbeat v4 {generation_id: 1}
          <- NONE
        """)


def test_nth_with_times_continues_from_there(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    lab.faults.on("Heartbeat").error("NOT_COORDINATOR", nth=2, times=2)
    answers = []
    for _ in range(4):
        lab.talk("ada Heartbeat v4 {generation_id: 1}")
        answers.append(lab.heard()["error_code"])
    assert answers == ["NONE", "NOT_COORDINATOR", "NOT_COORDINATOR", "NONE"]


def test_chance_comes_from_the_seed() -> None:
    def play() -> list[str]:
        lab = Lab()
        lab.talk("given ada shares a stable group")
        lab.faults.on("Heartbeat").error("NOT_COORDINATOR", probability=0.5)
        heard = []
        for _ in range(20):
            lab.talk("ada Heartbeat v4 {generation_id: 1}")
            heard.append(str(lab.heard()["error_code"]))
        lab.stage.close()
        return heard

    first = play()
    assert set(first) == {"NONE", "NOT_COORDINATOR"}
    assert play() == first


@pytest.mark.parametrize(
    "conditions",
    [
        {"group": "another"},
        {"instance": "b"},
        {"client_id": "bob"},
        {"member": "missing"},
        {"generation": 2},
        {"version": "0-3"},
        {"state": "PreparingRebalance"},
    ],
    ids=lambda conditions: next(iter(conditions)),
)
def test_partly_matching_request_passes(lab: Lab, conditions: MatchOptions) -> None:
    lab.talk("given ada shares a stable group")
    rule = lab.faults.on("Heartbeat", **conditions).drop()
    lab.talk("""
        ada Heartbeat v4 {generation_id: 1}
          <- NONE
        """)
    assert rule.seen == 0


def test_other_node_requests_pass() -> None:
    lab = Lab("three-brokers")
    rule = lab.faults.on("ApiVersions", node=2).drop()
    lab.talk("""
        ada connects to broker 1
        ada ApiVersions v0 {}
          <- NONE {api_keys: [...]}
        """)
    assert rule.seen == 0
    lab.stage.close()


def test_matching_request_is_changed(lab: Lab) -> None:
    lab.talk("given ada shares a stable group {group_instance_id: a}")
    group, member = lab.name("group"), lab.name("ada")
    lab.faults.on(
        "Heartbeat",
        group=group,
        member=member[:5] + "*",
        instance="?",
        client_id="ada",
        generation=1,
        version="4",
        node=1,
        state="Stable",
    ).error("FENCED_INSTANCE_ID")
    lab.talk("""
        ada Heartbeat v4 {generation_id: 1, group_instance_id: a}
          <- FENCED_INSTANCE_ID
        """)


def test_dropped_request_silences_connection(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    with lab.faults.on("Heartbeat").drop(times=1):
        lab.talk("""
            ada Heartbeat v4 {generation_id: 1}
              <- nothing for 500 ms
            ada/2 Heartbeat v4 {generation_id: 1}
              <- NONE
            """)
    lab.settle()
    lab.talk("ada <- closed")


def test_lost_response_keeps_its_effect(lab: Lab) -> None:
    with lab.faults.on("OffsetCommit").lose_response():
        lab.talk("""
            given topic $topic with 1 partitions
            ada OffsetCommit v8 {generation_id: -1, member_id: "", offsets: {$topic: {0: 7}}}
              <- nothing for 500 ms
            """)
    lab.talk("""
        bob OffsetFetch v5 {offsets: {$topic: [0]}}
          <- NONE {topics: [{name: $topic, partitions: [{partition_index: 0, committed_offset: 7}]}]}
        """)


def test_broker_disconnects_before_or_after_handling(lab: Lab) -> None:
    lab.talk("given topic $topic with 1 partitions")
    with lab.faults.on("OffsetCommit", client_id="ada").close():
        lab.talk('ada OffsetCommit v8 {generation_id: -1, member_id: "", offsets: {$topic: {0: 7}}}\n<- closed')
    with lab.faults.on("OffsetCommit", client_id="bob").close_after_handling():
        lab.talk('bob OffsetCommit v8 {generation_id: -1, member_id: "", offsets: {$topic: {0: 8}}}\n<- closed')
    lab.talk("""
        eve OffsetFetch v5 {offsets: {$topic: [0]}}
          <- NONE {topics: [{name: $topic, partitions: [{partition_index: 0, committed_offset: 8}]}]}
        """)


def test_cut_response_ends_midway(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    lab.faults.on("Heartbeat").truncate(9)
    side = lab.side("ada")
    before = side.received_bytes
    lab.talk("ada Heartbeat v4 {generation_id: 1}")
    assert side.lost
    assert side.received_bytes - before == 9


def test_delayed_request_is_handled_later(lab: Lab) -> None:
    lab.talk("given ada shares a stable group {session_timeout_ms: 3000}")
    with lab.faults.on("Heartbeat").delay(seconds=2):
        lab.talk("""
            ada Heartbeat v4 {generation_id: 1}
              <- between 2000 and 2000 ms NONE
            """)
    with lab.faults.on("Heartbeat").delay(seconds=4):
        lab.talk("""
            ada Heartbeat v4 {generation_id: 1}
              <- between 4000 and 4000 ms UNKNOWN_MEMBER_ID
            """)


def test_delayed_response_follows_immediate_handling(lab: Lab) -> None:
    lab.talk("given ada shares a stable group {session_timeout_ms: 3000}")
    with lab.faults.on("Heartbeat").delay_response(seconds=4):
        lab.talk("""
            ada Heartbeat v4 {generation_id: 1}
              <- between 4000 and 4000 ms NONE
            """)


def test_jitter_is_bounded(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    with lab.faults.on("Heartbeat").delay(seconds=1, jitter=0.5):
        for _ in range(10):
            lab.talk("""
                ada Heartbeat v4 {generation_id: 1}
                  <- between 1000 and 1500 ms NONE
                """)


def test_delayed_join_can_lose_response(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    with lab.faults.on("JoinGroup", client_id="ada").close_after_handling():
        lab.talk("""
            bob joins
            ada JoinGroup v9 {}
              <- closed
            bob <- NONE {generation_id: 2}
            """)


def test_frozen_member_expires_and_returns(lab: Lab) -> None:
    lab.talk("given ada, bob share a stable group {bob: {session_timeout_ms: 3000}}")
    with lab.faults.freeze(group=lab.name("group"), member=lab.name("bob")):
        lab.talk("""
            bob Heartbeat v4 {generation_id: 2}
              <- nothing for 3100 ms
            ada Heartbeat v4 {generation_id: 2}
              <- REBALANCE_IN_PROGRESS
            """)
    lab.settle()
    lab.talk("bob <- UNKNOWN_MEMBER_ID {}")


def test_cut_client_reaches_other_nodes() -> None:
    lab = Lab("three-brokers")
    with lab.faults.cut_off("ada", node=2):
        lab.talk("""
            ada connects to broker 1
            ada ApiVersions v0 {}
              <- NONE {api_keys: [...]}
            ada/2 connects to broker 2
            ada/2 ApiVersions v0 {}
              <- nothing for 1000 ms
            """)
    lab.settle()
    lab.talk("ada/2 <- NONE {api_keys: [...]}")
    lab.stage.close()


SHARES: dict[str, tuple[Any, dict[str, dict[str, tuple[int, ...]] | None]]] = {
    "nothing": (assignments.NOTHING, {"ada": None, "bob": None}),
    "everything": (assignments.everything_to_everybody(), {"ada": {"t": (0, 1)}, "bob": {"t": (0, 1)}}),
    "exactly": (assignments.exactly({}), {"ada": None, "bob": None}),
}


@pytest.mark.parametrize("name", SHARES)
def test_leader_assignment_is_replaced(lab: Lab, name: str) -> None:
    change, expected = SHARES[name]
    lab.faults.on("SyncGroup").assign(change)
    lab.talk("given ada, bob share a stable group {shares: {ada: assignment(t:0), bob: assignment(t:1)}}")
    (group,) = (group for coordinator in lab.laboratory.cluster.coordinators for group in coordinator.groups.values())
    for who, partitions in expected.items():
        read = read_assignment(group.members[lab.name(who)].assignment)
        assert (dict(read.partitions) if read else None) == partitions


def test_member_omitted_by_leader_gets_nothing(lab: Lab) -> None:
    lab.talk("""
        given ada shares a stable group
        bob joins
        ada JoinGroup v9 {}
          <- NONE {generation_id: 2}
        bob <- NONE {generation_id: 2}
        """)
    lab.faults.on("SyncGroup").assign(assignments.without(lab.name("bob")))
    lab.talk("""
        bob SyncGroup v5 {generation_id: 2}
        ada SyncGroup v5 {generation_id: 2, assignments: {$ada: x, $bob: y}}
          <- NONE {assignment: x}
        bob <- NONE {assignment: ""}
        """)


def test_garbage_reaches_every_member(lab: Lab) -> None:
    lab.faults.on("SyncGroup").assign(assignments.garbage(b"\x01"))
    lab.talk("given ada shares a stable group")
    (group,) = (group for coordinator in lab.laboratory.cluster.coordinators for group in coordinator.groups.values())
    assert group.members[lab.name("ada")].assignment == b"\x01"


@pytest.mark.parametrize(
    ("api", "conditions", "advice"),
    [
        ("Hartbeat", {}, "did you mean Heartbeat?"),
        ("Heartbeat", {"state": "Completing"}, "did you mean CompletingRebalance?"),
        ("Heartbeat", {"instanse": "b"}, "did you mean instance?"),
        ("Heartbeat", {"version": "three"}, "use a number"),
        ("Heartbeat", {"node": "two"}, "node must be a number"),
        ("Heartbeat", {"version": "5"}, "no Heartbeat has version 5; valid versions: 0 to 4"),
        ("Heartbeat", {"version": "3-1"}, "no Heartbeat has version 3-1"),
        ("*", {"version": 99}, "no API has version 99"),
        (
            "Fetch",
            {"group": "billing"},
            "Fetch requests have no group, so none would match",
        ),
        ("Metadata", {"state": "Stable"}, "Metadata requests have no group"),
        ("FindCoordinator", {"member": "ada"}, "FindCoordinator requests have no member"),
        ("JoinGroup", {"generation": 1}, "JoinGroup requests have no generation"),
    ],
)
def test_unmatchable_rule_is_rejected(lab: Lab, api: str, conditions: MatchOptions, advice: str) -> None:
    with pytest.raises(ControlError, match=advice.replace("?", r"\?")):
        lab.faults.on(api, **conditions)


def test_unknown_node_is_not_found(lab: Lab) -> None:
    spoils: tuple[Callable[[], object], ...] = (
        lambda: lab.faults.on("Heartbeat", node=9).drop(),
        lambda: lab.faults.hide_node(9),
        lambda: lab.faults.cut_off("ada", 9),
        lambda: lab.faults.zombie(group="billing", node=9),
    )
    for spoil in spoils:
        with pytest.raises(NotFoundError, match="unknown node 9; the nodes are 1"):
            spoil()
    assert len(lab.faults) == 0


def test_impossible_fault_is_rejected(lab: Lab) -> None:
    plan = lab.faults.on("Heartbeat")
    with pytest.raises(ControlError, match=r"did you mean REBALANCE_IN_PROGRESS\?"):
        plan.error("REBALANCE_IN_PROGRES")
    with pytest.raises(ControlError, match="only SyncGroup requests"):
        plan.assign(assignments.NOTHING)
    with pytest.raises(ControlError, match="times must be an integer of at least 1, got 0"):
        plan.drop(times=0)
    with pytest.raises(ControlError, match="nth must be an integer of at least 1, got 0"):
        plan.drop(nth=0)
    with pytest.raises(ControlError, match=r"did you mean times\?"):
        plan.drop(time=1)  # type: ignore[call-arg]
    with pytest.raises(ControlError, match="probability must"):
        plan.drop(probability=1.5)
    assert len(lab.faults) == 0


@pytest.mark.parametrize("length", [-1, float("nan"), float("inf"), 1e300, "2", None, True])
def test_invalid_length_is_rejected(lab: Lab, length: Any) -> None:
    with pytest.raises(ControlError, match="a delay"):
        lab.faults.on("Heartbeat").delay(length)
    with pytest.raises(ControlError, match="a delay must be from 0"):
        lab.laboratory.appends.of("group").delay(length)
    assert len(lab.faults) == len(lab.laboratory.appends.rules) == 0


@pytest.mark.parametrize("number", ["2", 1.5, float("nan"), True])
def test_invalid_number_is_rejected(lab: Lab, number: Any) -> None:
    plan = lab.faults.on("Heartbeat")
    spoils: tuple[Callable[[], object], ...] = (
        lambda: plan.drop(times=number),
        lambda: plan.drop(nth=number),
        lambda: plan.truncate(number),
        lambda: plan.error(number),
    )
    for spoil in spoils:
        with pytest.raises(ControlError, match=f"got {number!r}|unknown error {number!r}"):
            spoil()
    assert len(lab.faults) == 0


def test_rules_are_removed_by_number(lab: Lab) -> None:
    rule = lab.faults.on("Heartbeat").drop()
    lab.faults.remove(rule.number)
    assert len(lab.faults) == 0
    with pytest.raises(NotFoundError, match=f"unknown rule {rule.number}"):
        lab.faults.remove(rule.number)


def test_rule_describes_itself(lab: Lab) -> None:
    rule = lab.faults.on("Heartbeat", group="billing", state="Stable").delay(seconds=1, jitter=1)
    assert str(rule) == "rule 1: Heartbeat with group billing, state Stable: delay it by 1000 to 2000 ms"


def test_rule_without_api_matches_suitable_requests(lab: Lab) -> None:
    rule = lab.faults.on(group=lab.name("group")).assign(assignments.NOTHING)
    lab.talk("""
        ada joins
          <- NONE {generation_id: 1}
        ada SyncGroup v5 {generation_id: 1, assignments: {$ada: x}}
          <- NONE {assignment: ""}
        """)
    assert (str(rule.match), rule.seen) == (f"SyncGroup with group {lab.name('group')}", 1)
