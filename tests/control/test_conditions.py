"""Requests that are late until something has come about."""

import pytest

from kohort.control.control_errors import ControlError
from tests.control.talking import Lab


def test_heartbeat_waits_for_stable_group(lab: Lab) -> None:
    lab.talk("given ada, bob share a stable group")
    rule = lab.faults.on("Heartbeat", client_id="bob").delay(until="Stable")
    lab.talk("""
        bob Heartbeat v4 {generation_id: 2}
          <- NONE
        eve joins
          <- nothing for 100 ms
        bob/2 Heartbeat v4 {generation_id: 2, member_id: $bob}
          <- nothing for 500 ms
        ada JoinGroup v9
        bob JoinGroup v9
        ada <- NONE {generation_id: 3, leader: $ada, members: [...]}
        bob <- NONE {generation_id: 3, members: []}
        eve <- NONE {generation_id: 3, members: []}
        ada SyncGroup v5 {generation_id: 3, assignments: {$ada: x, $bob: y, $eve: z}}
          <- NONE {assignment: x}
        bob/2 <- ILLEGAL_GENERATION
        """)
    assert (rule.seen, rule.acted) == (2, 2)


def test_response_waits_for_join(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    lab.faults.on("OffsetCommit").delay_response(until="member_added")
    lab.talk("""
        given topic $topic
        ada OffsetCommit v9 {generation_id: 1, offsets: {$topic: {0: 6}}}
          <- nothing for 500 ms
        dan joins {group_id: $group2}
          <- NONE {generation_id: 1}
        ada <- nothing for 500 ms
        eve joins
          <- nothing for 10 ms
        ada <- {topics: [{partitions: [{error_code: NONE}]}]}
        """)


def test_request_waits_for_held_request(lab: Lab) -> None:
    lab.talk("given ada, bob share a stable group")
    lab.faults.on("Heartbeat", client_id="ada").delay(until="sync-received")
    lab.talk("""
        ada Heartbeat v4 {generation_id: 2}
          <- nothing for 500 ms
        bob Heartbeat v4 {generation_id: 2}
          <- NONE
        bob SyncGroup v5 {generation_id: 2}
          <- NONE {assignment: for-bob}
        ada <- NONE
        """)


def test_rule_end_releases_delayed_requests(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    rule = lab.faults.on("Heartbeat").delay(until="Empty")
    lab.talk("""
        ada Heartbeat v4 {generation_id: 1}
          <- nothing for 500 ms
        """)
    rule.remove()
    lab.talk("ada <- NONE")


def test_delayed_member_sends_no_heartbeat(lab: Lab) -> None:
    lab.talk("given ada, bob share a stable group {session_timeout_ms: 10000}")
    lab.faults.on("Heartbeat", client_id="bob").delay(until="PreparingRebalance")
    lab.laboratory.advance(10_001)
    lab.talk("""
        ada Heartbeat v4 {generation_id: 2}
          <- REBALANCE_IN_PROGRESS
        """)
    assert lab.state() == "PreparingRebalance"


def test_paused_clock_adds_no_delay(lab: Lab) -> None:
    lab.talk("given ada, bob share a stable group")
    lab.faults.on("Heartbeat", client_id="ada").delay(until="member_removed")
    lab.clock.pause()
    lab.talk("""
        ada Heartbeat v4 {generation_id: 2}
          <- nothing for 500 ms
        bob LeaveGroup v5
          <- NONE
        ada <- REBALANCE_IN_PROGRESS
        """)


@pytest.mark.parametrize(
    ("word", "advice"),
    [
        ("Stabel", r"unknown condition 'Stabel'; did you mean Stable\?"),
        ("member_aded", r"did you mean member_added\?"),
        ("join-completed", r"did you mean join-complete\?"),
    ],
)
def test_unreachable_condition_suggests_a_name(lab: Lab, word: str, advice: str) -> None:
    with pytest.raises(ControlError, match=advice):
        lab.faults.on("Heartbeat").delay(until=word)


def test_delay_needs_one_end(lab: Lab) -> None:
    with pytest.raises(ControlError, match="either seconds or until"):
        lab.faults.on("Heartbeat").delay()
    with pytest.raises(ControlError, match="either seconds or until"):
        lab.faults.on("Heartbeat").delay(2, until="Stable")
    with pytest.raises(ControlError, match="a delay until Stable has no jitter"):
        lab.faults.on("Heartbeat").delay_response(jitter=1, until="Stable")
