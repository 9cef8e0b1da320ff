"""The brokers' clock in a test's hand."""

import pytest

from kohort.control.clock.jump import jump
from kohort.control.clock.lab_clock import LabClock
from kohort.control.laboratory import MEMBERS_AT_ONCE
from tests.control.talking import Lab
from tests.support.manual_clock import ManualClock


def test_clock_follows_machine_until_changed() -> None:
    machine = ManualClock(500)
    clock = LabClock(machine)
    machine.advance(250)
    assert clock.now_ms() == 750
    assert clock.epoch_ms == machine.epoch_ms
    assert clock.seconds_until(1_750) == 1.0
    assert clock.seconds_until(3) == 0.0


def test_it_stands_still_and_goes_on() -> None:
    machine = ManualClock()
    clock = LabClock(machine)
    clock.pause()
    machine.advance(1_000)
    assert (clock.now_ms(), clock.paused, clock.seconds_until(1)) == (0, True, None)
    clock.run()
    machine.advance(10)
    assert (clock.now_ms(), clock.paused) == (10, False)


def test_it_runs_faster_and_slower() -> None:
    machine = ManualClock()
    clock = LabClock(machine)
    clock.run(60)
    machine.advance(1_000)
    assert clock.now_ms() == 60_000
    assert clock.seconds_until(120_000) == 1.0
    clock.run(0.5)
    machine.advance(1_000)
    assert clock.now_ms() == 60_500


@pytest.mark.parametrize("scale", [0, -1, float("inf"), float("nan"), 1e6])
def test_invalid_scale_is_rejected(scale: float) -> None:
    with pytest.raises(ValueError, match="pause the clock"):
        LabClock(ManualClock()).run(scale)


def test_paused_clock_expires_no_session(lab: Lab) -> None:
    lab.talk("given ada, bob share a stable group {session_timeout_ms: 1000}")
    lab.clock.pause()
    lab.talk("""
        wait 60000 ms
        ada Heartbeat v4 {generation_id: 2}
          <- NONE
        bob Heartbeat v4 {generation_id: 2}
          <- NONE
        """)
    lab.clock.run()
    lab.talk("wait 1001 ms")
    assert lab.state() == "Empty"


def test_paused_clock_fetches_in_real_time(lab: Lab) -> None:
    lab.talk("given topic $topic with 1 partitions")
    lab.clock.pause()
    lab.talk("""
        ada Fetch v4 {max_wait_ms: 300, from: {$topic: {0: 0}}}
          <- between 300 and 300 ms {responses: [...]}
        """)


def test_fast_clock_expires_sessions_sooner(lab: Lab) -> None:
    lab.talk("given ada shares a stable group {session_timeout_ms: 10000}")
    lab.clock.run(100)
    lab.talk("wait 101 ms")
    assert lab.state() == "Empty"


def test_jump_keeps_live_members(lab: Lab) -> None:
    lab.talk("given ada, bob, eve share a stable group {session_timeout_ms: 10000}")
    lab.faults.freeze(group=lab.name("group"), member=lab.name("bob"))
    lab.talk("eve disconnects")
    lab.laboratory.advance(10_001)
    assert lab.state() == "PreparingRebalance"
    lab.talk("""
        ada JoinGroup v9 {}
          <- NONE {generation_id: 4, members: [{member_id: $ada}]}
        """)


async def test_jump_stops_for_late_member_id(lab: Lab) -> None:
    lab.talk("ada JoinGroup v2 {}")
    (told,) = await jump(lab.laboratory, 3_600_000, patience_s=0.01)
    assert "which is alive and has not synced in group" in told


async def test_jump_stops_for_pending_member_id(lab: Lab) -> None:
    lab.talk("""
        ada JoinGroup v9 {}
          <- MEMBER_ID_REQUIRED
        """)
    (told,) = await jump(lab.laboratory, 3_600_000, patience_s=0.01)
    assert "which is alive and has not joined group" in told


async def test_jump_ignores_blocked_member_ids(lab: Lab) -> None:
    lab.talk("""
        ada JoinGroup v9 {}
          <- MEMBER_ID_REQUIRED
        """)
    lab.faults.freeze(group=lab.name("group"), member="ada")
    assert await jump(lab.laboratory, 3_600_000, patience_s=0.01) == []


def test_jump_refreshes_sessions_in_batches(lab: Lab) -> None:
    for number in range(MEMBERS_AT_ONCE + 1):
        lab.talk(f"ada/{number} JoinGroup v2 {{group_id: group-{number}}}\n  <- NONE")
    slices = list(lab.laboratory.keep_alive(lab.clock.now_ms() + 3_600_000))
    assert len(slices) == 2
    assert list(lab.laboratory.keep_alive(lab.clock.now_ms() + 3_600_000)) == [], "they have been kept"


def test_jump_keeps_live_consumer_members(lab: Lab) -> None:
    lab.talk("""
        given topic $topic with 4 partitions
        given ada, bob share a consumer group {topics: [$topic]}
        ada beats
          <- eventually NONE {member_epoch: 3}
        bob disconnects
        """)
    lab.laboratory.advance(45_001)  # consumer.session.timeout.ms
    lab.talk("""
        zoe ConsumerGroupDescribe v1
          <- {groups: [{members: [{member_id: $ada}]}]}
        ada beats
          <- NONE
        """)


def test_jump_keeps_live_streams_members() -> None:
    lab = Lab("streams")
    lab.talk("""
        given topic $topic with 2 partitions
        given ada shares a streams group {topology: {0: {reads: [$topic]}}}
        ada streams-beats
          <- eventually NONE {member_epoch: 2}
        bob streams-beats
          <- NONE {member_epoch: 3}
        bob disconnects
        """)
    lab.laboratory.advance(45_001)  # streams.session.timeout.ms
    lab.talk("""
        zoe StreamsGroupDescribe v0
          <- {groups: [{members: [{member_id: $ada}]}]}
        ada streams-beats
          <- NONE
        """)
    lab.stage.close()


@pytest.mark.long
def test_long_jump_skips_missed_housekeeping(lab: Lab) -> None:
    topics = lab.laboratory.cluster.topics
    passes, ordinary = 0, topics.maintain

    def counted(wall_ms: int) -> int:
        nonlocal passes
        passes += 1
        return ordinary(wall_ms)

    topics.maintain = counted  # type: ignore[method-assign]
    lab.laboratory.advance(8 * 24 * 3_600_000)
    in_a_minute = passes
    assert 1 < in_a_minute < 10
    lab.laboratory.advance(60_000)
    assert passes > in_a_minute, "and continues as before"


def test_jump_may_expire_all_members(lab: Lab) -> None:
    lab.talk("given ada, bob share a stable group {session_timeout_ms: 10000}")
    lab.laboratory.advance(10_001, expire_live_members=True)
    assert lab.state() == "Empty"


def test_jump_keeps_event_order(lab: Lab) -> None:
    lab.talk("""
        given ada, bob share a stable group {rebalance_timeout_ms: 5000, session_timeout_ms: 20000}
        eve joins {rebalance_timeout_ms: 5000}
        """)
    lab.laboratory.advance(5_000)  # ada and bob live, but do not rejoin: the join phase ends without them
    lab.talk("""
        eve <- NONE {generation_id: 3, members: [{member_id: $eve}]}
        """)
    assert lab.state() == "CompletingRebalance"
    lab.laboratory.advance(5_000)  # eve does not sync, and is the only member
    assert lab.state() == "Empty"


def test_jump_keeps_idle_connections(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    lab.laboratory.advance(3_600_000)
    lab.talk("""
        ada Heartbeat v4 {generation_id: 1}
          <- NONE
        """)


def test_unused_member_ids_expire(lab: Lab) -> None:
    lab.talk("given ada shares a stable group {session_timeout_ms: 10000}")
    for number in range(300):
        lab.talk(f"""
            eve Heartbeat v4 {{member_id: invented-{number}, generation_id: 1}}
              <- UNKNOWN_MEMBER_ID
            """)
    assert len(lab.laboratory.liveness) < 100
    lab.laboratory.advance(10_001)
    assert lab.state() == "Stable"
