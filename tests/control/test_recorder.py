"""Recorded events, as a test queries them afterwards."""

import pytest

from kohort.control.history import recorder as recorder_module
from kohort.control.history.history import Rebalance
from kohort.control.history.recorder import Recorder
from kohort.coordinator.groups.observer import UNOBSERVED
from tests.control.talking import Lab


def history(lab: Lab) -> list[Rebalance]:
    return lab.laboratory.recorder.history(lab.name("group"))


def test_rebalance_has_cause_and_phases(lab: Lab) -> None:
    lab.laboratory.record()
    lab.talk("""
        given ada shares a stable group
        bob joins
          <- nothing for 700 ms
        ada JoinGroup v9 {}
          <- NONE {generation_id: 2}
        bob <- NONE {generation_id: 2}
        wait 300 ms
        bob SyncGroup v5 {generation_id: 2}
        ada SyncGroup v5 {generation_id: 2, assignments: {$ada: x, $bob: y}}
          <- NONE {}
        bob <- NONE {}
        """)
    first, second = history(lab)
    assert (first.generation, first.cause, first.outcome) == (1, "join new", "completed")
    assert (second.generation, second.cause, second.actor, second.outcome) == (2, "join new", "bob", "completed")
    assert (second.prepare_ms, second.complete_ms) == (700, 300)
    assert second.joined == (lab.name("bob"),)
    assert second.laggard == "ada"
    assert str(second) == (
        f"generation 2: join new (bob), completed; waited 700 ms for ada; assigned in 300 ms; joined {lab.name('bob')}"
    )


def test_rebalance_shows_movement_and_unowned_time(lab: Lab) -> None:
    lab.laboratory.record()
    lab.talk("""
        given ada shares a stable group {protocols: {range: subscription(t)}, shares: {ada: assignment(t:0+1+2)}}
        bob joins {protocols: {range: subscription(t)}}
          <- nothing for 700 ms
        ada JoinGroup v9 {protocols: {range: subscription(t)}}
          <- NONE {generation_id: 2}
        bob <- NONE {generation_id: 2}
        wait 300 ms
        ada SyncGroup v5 {generation_id: 2, assignments: {$ada: assignment(t:0+1), $bob: assignment(t:2)}}
          <- NONE {}
        wait 100 ms
        bob SyncGroup v5 {generation_id: 2}
          <- NONE {}
        """)
    last = history(lab)[-1]
    assert (last.moved, last.fewest_moves) == (1, 1)
    assert last.unowned_partition_s == pytest.approx(2 * 0.3 + 0.4)
    assert "1 partition moved, 1 had to; 1.000 partition-seconds without an owner" in str(last)


def test_unfinished_rebalance_is_open(lab: Lab) -> None:
    lab.laboratory.record()
    lab.talk("""
        given ada shares a stable group
        bob joins
          <- nothing for 100 ms
        """)
    assert history(lab)[-1].outcome == "open"


def test_late_member_is_named(lab: Lab) -> None:
    lab.laboratory.record()
    lab.talk("""
        given ada, bob share a stable group {rebalance_timeout_ms: 2000, session_timeout_ms: 60000}
        ada JoinGroup v9 {rebalance_timeout_ms: 2000, protocols: {range: n}}
          <- between 2000 and 2000 ms NONE {generation_id: 3}
        """)
    last = history(lab)[-1]
    assert last.evicted == (lab.name("bob"),)
    assert last.laggard == "bob", "a client id, as for a late member"


def test_expired_session_has_description(lab: Lab) -> None:
    lab.laboratory.record()
    lab.talk("given ada, bob share a stable group {session_timeout_ms: 10000}")
    lab.faults.freeze(group=lab.name("group"), member=lab.name("bob"))
    lab.laboratory.advance(10_001)
    assert history(lab)[-1].cause == "session expired"
    assert history(lab)[-1].actor == "bob"


def test_without_a_recorder_nobody_is_watched(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    assert history(lab) == []
    assert all(coordinator.observer is UNOBSERVED for coordinator in lab.laboratory.cluster.coordinators)


def test_stopped_recorder_keeps_events(lab: Lab) -> None:
    lab.laboratory.record()
    lab.talk("given ada shares a stable group")
    before = len(lab.laboratory.recorder.events())
    lab.laboratory.recorder.stop()
    lab.talk("ada LeaveGroup v3 {}\n<- NONE {}")
    assert len(lab.laboratory.recorder.events()) == before > 0


def test_oldest_events_are_dropped_first(lab: Lab) -> None:
    recorder = Recorder(lab.laboratory.cluster, kept=10)
    recorder.start()
    for name in ("ada", "bob"):
        lab.talk(f"{name} JoinGroup v3 {{group_id: {name}s}}\n  <- NONE")
    lab.talk("given eve shares a stable group")
    kept = recorder.events()
    assert len(kept) == 10
    for group_id in ("adas", "bobs", lab.name("group")):
        assert recorder.events(group_id) == [event for event in kept if event.group_id == group_id]
    assert recorder.events("adas") == []


def test_events_are_bounded_by_bytes(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "EVENTS_KEPT_BYTES", 50_000)
    recorder = Recorder(lab.laboratory.cluster)
    recorder.start()
    for number in range(20):
        lab.talk(f"ada JoinGroup v3 {{group_id: {number:02}{'g' * 10_000}}}\n  <- NONE")
    kept = recorder.events()
    assert 0 < len(kept) < 10
    assert str(kept[-1].group_id).startswith("19")
