"""Stops that requests wait at until a test lets them through."""

import pytest

from kohort.control.control_errors import ControlError, NotFoundError
from tests.control.talking import Lab


def test_members_are_released_individually(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    gate = lab.gates.hold("join-complete")
    lab.talk("""
        bob joins
        ada JoinGroup v9 {}
          <- nothing for 500 ms
        """)
    assert lab.state() == "CompletingRebalance"
    assert sorted(held.client_id for held in gate.held) == ["ada", "bob"]
    gate.release("bob")
    lab.talk("bob <- NONE {generation_id: 2}")
    gate.release(lab.name("ada"))
    lab.talk("ada <- NONE {generation_id: 2}")
    assert gate.held == []
    assert not gate.is_open


def test_gate_holds_until_block_ends(lab: Lab) -> None:
    with lab.gates.hold("heartbeat-received") as gate:
        lab.talk("given ada shares a stable group")
        lab.talk("""
            ada Heartbeat v4 {generation_id: 1}
              <- nothing for 500 ms
            """)
    assert gate.is_open
    lab.talk("""
        ada <- NONE
        ada Heartbeat v4 {generation_id: 1}
          <- NONE
        """)


def test_rejections_skip_generation_barrier(lab: Lab) -> None:
    lab.gates.hold("join-complete")
    lab.talk("""
        ada JoinGroup v9 {member_id: ""}
          <- MEMBER_ID_REQUIRED {}
        """)


def test_group_gate_passes_other_groups(lab: Lab) -> None:
    lab.gates.hold("sync-received", group=lab.name("group"))
    lab.talk("""
        ada joins {group_id: $group2}
          <- NONE {generation_id: 1}
        ada SyncGroup v5 {group_id: $group2, generation_id: 1, assignments: {$ada: x}}
          <- NONE {assignment: x}
        bob joins
          <- NONE {generation_id: 1}
        bob SyncGroup v5 {generation_id: 1, assignments: {$bob: x}}
          <- nothing for 500 ms
        """)


def test_held_request_is_handled_on_release(lab: Lab) -> None:
    lab.talk("given ada shares a stable group {session_timeout_ms: 3000}")
    with lab.gates.hold("heartbeat-received") as gate:
        lab.talk("""
            ada Heartbeat v4 {generation_id: 1}
              <- nothing for 3100 ms
            """)
        assert gate.release_all() == 1
        lab.talk("ada <- UNKNOWN_MEMBER_ID")


def test_disconnected_client_gets_no_response(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    gate = lab.gates.hold("heartbeat-response")
    lab.talk("""
        ada Heartbeat v4 {generation_id: 1}
          <- nothing for 100 ms
        ada disconnects
        """)
    assert gate.open() == 1
    lab.talk("""
        ada Heartbeat v4 {generation_id: 1}
          <- NONE
        """)


def test_opening_all_gates_lists_waiting_clients(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    lab.gates.hold("heartbeat-response")
    lab.gates.hold("sync-response", group="other")
    lab.talk("ada Heartbeat v4 {generation_id: 1}")
    told = lab.gates.open_all()
    assert told[0].startswith("gate heartbeat-response was still held; waiting: Heartbeat of ")
    assert told[1] == "gate sync-response of group other was still held; waiting: none"
    lab.talk("ada <- NONE")
    assert list(lab.gates) == []


def test_unknown_names_are_rejected(lab: Lab) -> None:
    with pytest.raises(ControlError, match=r"unknown gate 'join-completed'; did you mean join-complete\?"):
        lab.gates.hold("join-completed")
    with pytest.raises(NotFoundError, match="gate sync-response is not closed"):
        lab.gates.find("sync-response")
    gate = lab.gates.hold("sync-response")
    assert lab.gates.find("sync-response") is gate
    with pytest.raises(NotFoundError, match="eve is not waiting at sync-response; waiting: none"):
        gate.release("eve")


def test_released_request_meets_later_faults(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    for name in ("heartbeat-received", "heartbeat-response"):
        with lab.gates.hold(name) as gate:
            lab.talk("ada Heartbeat v4 {generation_id: 1}\n  <- nothing for 100 ms")
            with lab.faults.on("Heartbeat").error("NOT_COORDINATOR", times=1):
                gate.release("ada")
                expected = "NOT_COORDINATOR" if name == "heartbeat-received" else "NONE"
                lab.talk(f"ada <- {expected}")
    with lab.gates.hold("heartbeat-response") as gate, lab.faults.on("Heartbeat").lose_response():
        lab.talk("ada Heartbeat v4 {generation_id: 1}\n  <- nothing for 100 ms")
        gate.release("ada")
        lab.talk("ada <- nothing for 100 ms")
