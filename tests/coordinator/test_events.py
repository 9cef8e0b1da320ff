"""Group events, each kind reached by a conversation (offsets-topic §9.2)."""

from typing import Any

import pytest

from kohort.coordinator.events.group_event import CLIENT_KINDS, CONSUMER_KINDS, KINDS, RECORD_KINDS, GroupEvent
from kohort.protocol.consumer_protocol import Assignment, write_assignment
from kohort.protocol.errors import ErrorCode as E
from tests.support.coordinator_world import EPOCH_MS, Speaker, World, subscription


def listening(**settings: Any) -> World:
    world = World(**settings)
    world.listen()
    return world


def kinds(world: World) -> list[str]:
    """Return the types of the events since the last call."""
    events_of = [event.kind for event in world.events]
    world.events.clear()
    return events_of


def last(world: World, kind: str) -> GroupEvent:
    return world.events_of(kind)[-1]


def test_nobody_listens() -> None:
    world = World()
    ada, bob = world.stable("ada", "bob")
    ada.beats()
    ada.commits(5)
    bob.leaves()
    world.restart()
    assert world.events == []
    assert all(member.stats is None for member in world.group().members.values())


def test_group_from_creation_to_assignment() -> None:
    world = listening()
    ada = world.speaker("ada")
    ada.joins()
    assert {event.group_type for event in world.events} == {"classic"}
    assert kinds(world) == ["group_created", "member_id_issued"]
    ada.joins(reason="because")
    added, started = world.events_of("member_added", "rebalance_started")
    assert (added.cause, added.client_id, added.client_host) == ("join_new", "ada", "/127.0.0.1")
    assert (added.client_software, added.client_reason) == ("adas-client/1.0", "because")
    assert (added.session_timeout_ms, added.rebalance_timeout_ms, added.members) == (10_000, 30_000, 1)
    assert (started.rebalance_id, started.generation, started.duration_us) == ("g/7/1", 0, None)
    assert (started.state_from, started.state_to, started.cause) == ("Empty", "PreparingRebalance", "join_new")
    world.after(5)
    (completed,) = world.events_of("join_completed")
    assert (completed.generation, completed.joined, completed.left, completed.evicted) == (1, (ada.member_id,), (), ())
    # The timer ended the phase, and no member is to blame for it.
    assert (completed.member_id, completed.cause, completed.waited_for) == (None, None, ())
    assert (completed.protocol, completed.detail) == ("range", {"leader": ada.member_id})
    kinds(world)
    world.after(40)
    world.holding = True
    share = write_assignment(Assignment(partitions={"t": (0, 1), "u": (3,)}))
    ada.syncs({ada.member_id: share})
    world.after(3)
    world.write()
    received, stored, synced, over = world.events
    assert [event.kind for event in world.events] == [
        "assignment_received",
        "assignment_stored",
        "member_synced",
        "rebalance_completed",
    ]
    assert (received.duration_us, received.partitions, received.member_id) == (45_000, 3, ada.member_id)
    assert (stored.duration_us, stored.log_offset) == (3_000, len(world.log[0]) - 1)
    assert (synced.duration_us, synced.partitions) == (48_000, 3)
    assert (over.duration_us, over.detail, over.members) == (48_000, {"total_us": "48000"}, 1)
    assert {event.rebalance_id for event in world.events} == {"g/7/1"}
    assert (over.ts, over.mono_us) == (EPOCH_MS + 48, 48_000)


def test_slow_member_blocks_until_evicted() -> None:
    world = listening()
    ada, bob = world.stable("ada", "bob")
    world.after(8_000)
    for item in (ada, bob):
        item.beats()
    kinds(world)
    eve = world.speaker("eve")
    eve.enters()
    (started,) = world.events_of("rebalance_started")
    assert (started.cause, started.client_id, started.members) == ("join_new", "eve", 3)
    assert (started.rebalance_id, started.generation) == ("g/7/2", 1)
    assert started.duration_us == 8_000_000
    world.after(2_000)
    ada.joins(reason="rebalance failed")
    (rejoined,) = world.events_of("member_rejoined")
    assert (rejoined.member_id, rejoined.duration_us) == (ada.member_id, 2_000_000)
    assert rejoined.client_reason == "rebalance failed"
    ada.joins()
    assert len(world.events_of("member_rejoined")) == 1, "a join that is repeated is not another arrival"
    for _ in range(4):
        world.after(7_000)
        bob.beats()
    (progress,) = world.events_of("join_progress")
    assert (progress.waited_for, progress.duration_us) == ((bob.member_id,), 15_000_000)
    world.after(0)
    (removed,) = world.events_of("member_removed")
    assert (removed.cause, removed.member_id, removed.duration_us) == ("barrier_timeout", bob.member_id, 7_000_000)
    (completed,) = world.events_of("join_completed")
    assert (completed.duration_us, completed.cause) == (30_000_000, "barrier_timeout")
    assert completed.waited_for == completed.evicted == (bob.member_id,)
    assert (completed.joined, completed.left) == ((eve.member_id,), ())
    assert completed.rebalance_timeout_ms == 30_000
    world.synced(ada, eve)
    assert last(world, "rebalance_completed").evicted == (bob.member_id,)


def test_leaving_in_all_its_ways() -> None:
    world = listening()
    ada, bob = world.stable("ada", "bob")
    bob.leaves(reason="consumer poll timeout has expired.")
    assert last(world, "member_removed").cause == "leave_poll_timeout"
    assert last(world, "rebalance_started").cause == "leave_poll_timeout"
    kinds(world)
    ada.leaves(reason="x" * 300)
    over = world.events[-1]
    assert kinds(world) == ["member_removed", "rebalance_completed"]
    assert (over.members, over.left, over.state_to) == (0, tuple(sorted((ada.member_id, bob.member_id))), "Empty")
    assert over.log_offset == len(world.log[0]) - 1
    (cy,) = world.stable("cy", instance="i")
    world.events.clear()
    cy.leaves(member_id="", reason="x" * 300)
    removed = last(world, "member_removed")
    assert (removed.cause, removed.instance_id, len(removed.client_reason or "")) == ("leave_admin", "i", 255)


def test_silence() -> None:
    world = listening()
    world.stable("ada")
    world.after(4_000)
    kinds(world)
    world.after(6_000)
    removed = last(world, "member_removed")
    assert (removed.cause, removed.duration_us) == ("session_expired", 10_000_000)
    assert last(world, "rebalance_started").cause == "session_expired"
    assert last(world, "rebalance_completed").members == 0


def test_member_does_not_sync() -> None:
    world = listening()
    ada, bob = world.speaker("ada", session_ms=60_000), world.speaker("bob", session_ms=60_000)
    ada.enters()
    bob.enters()
    world.after(0)
    world.joined(*({ada, bob} if ada.generation != bob.generation else ()))
    ada.syncs({ada.member_id: b""})
    kinds(world)
    world.after(30_000)
    late = last(world, "sync_timeout")
    assert (late.waited_for, late.duration_us) == ((bob.member_id,), 30_000_000)
    assert last(world, "member_removed").cause == "sync_timeout"
    assert last(world, "rebalance_started").cause == "sync_timeout"
    ada.joins()
    assert last(world, "join_completed").evicted == (bob.member_id,)


def three_members(**traits: Any) -> tuple[World, list[Speaker]]:
    world = listening()
    ada, bob, eve = world.stable("ada", "bob", "eve", **traits)
    kinds(world)
    return world, [ada, bob, eve]


def test_laggard_is_member_that_expired() -> None:
    world, (ada, bob, eve) = three_members()
    eve.leaves()
    world.after(9_000)
    ada.joins()
    world.after(1_000)
    completed = last(world, "join_completed")
    assert (completed.member_id, completed.client_id, completed.cause) == (bob.member_id, "bob", None)


def test_laggard_is_member_that_left() -> None:
    world, (ada, bob, eve) = three_members()
    eve.leaves()
    ada.joins()
    world.after(5_000)
    bob.leaves()
    assert last(world, "join_completed").member_id == bob.member_id


def test_laggard_is_first_missing_member() -> None:
    world, (ada, bob, eve) = three_members(session_ms=60_000)
    eve.leaves()
    ada.joins()
    world.after(30_000)
    completed = last(world, "join_completed")
    assert (completed.member_id, completed.waited_for) == (bob.member_id, (bob.member_id,))


def test_laggard_is_absent_static_member() -> None:
    world = listening()
    (ada,) = world.stable("ada", session_ms=60_000)
    bob = world.speaker("bob", session_ms=60_000, instance="desk-1")
    bob.joins()
    ada.joins()
    world.synced(ada, bob)
    world.speaker("eve").enters()
    ada.joins()
    world.after(30_000)
    completed = last(world, "join_completed")
    assert (completed.member_id, completed.instance_id) == (bob.member_id, "desk-1")


def test_laggard_is_id_that_never_joined() -> None:
    world = listening()
    (ada,) = world.stable("ada", session_ms=400_000, rebalance_ms=600_000)
    bob = world.speaker("bob")
    bob.joins()
    world.speaker("eve").enters()
    ada.joins()
    world.after(10_000)
    assert last(world, "join_completed").member_id == bob.member_id


def test_late_assignment_supersedes_rebalance() -> None:
    world = listening()
    ada, bob = world.stable("ada", "bob")
    world.joined(ada, bob)
    kinds(world)
    world.holding = True
    ada.syncs({ada.member_id: b""})
    world.after(20)
    bob.leaves()
    (superseded,) = world.events_of("rebalance_superseded")
    assert (superseded.rebalance_id, superseded.detail) == ("g/7/2", {"next": "g/7/3"})
    assert superseded.duration_us == 20_000
    world.write()
    (stored,) = world.events_of("assignment_stored")
    assert (stored.rebalance_id, stored.generation) == ("g/7/2", 2)
    assert not world.events_of("rebalance_completed")


def test_member_metadata_changes() -> None:
    world = listening()
    ada, bob = world.stable("ada", "bob")
    bob.joins(protocols=(("range", subscription("t", "u")),), reason="cached metadata has changed")
    changed, started, rejoined = world.events[-3:]
    assert (changed.kind, changed.detail) == ("member_metadata_changed", {"what": "subscription"})
    assert (started.kind, started.cause, started.client_reason) == (
        "rebalance_started",
        "metadata_changed",
        "cached metadata has changed",
    )
    assert (rejoined.kind, rejoined.member_id, rejoined.duration_us) == ("member_rejoined", bob.member_id, 0)
    world.after(10)
    ada.joins(session_ms=20_000)
    assert last(world, "member_metadata_changed").detail == {"what": "timeouts"}
    ada.joins(protocols=(("range", subscription("t")), ("sticky", subscription("t"))))
    assert last(world, "member_metadata_changed").detail == {"what": "protocols"}


def test_cooperative_followup() -> None:
    world = listening()
    _, bob = world.stable("ada", "bob")
    owned = subscription("t") + b"note of the assignor"
    bob.joins(protocols=(("range", owned),), reason="need to revoke partitions and re-join")
    assert last(world, "rebalance_started").cause == "cooperative_followup"
    assert not world.events_of("member_metadata_changed")


def test_static_member_returns() -> None:
    world = listening()
    (ada,) = world.stable("ada", instance="i")
    assert last(world, "member_added").cause == "join_static"
    old_id = ada.member_id
    kinds(world)
    twin = world.speaker("ada", instance="i")
    twin.joins()
    (replaced,) = world.events
    assert (replaced.kind, replaced.member_id, replaced.instance_id) == ("member_replaced", twin.member_id, "i")
    assert replaced.detail == {"old_member_id": old_id, "rebalance": "false"}
    assert replaced.log_offset == len(world.log[0]) - 1
    for _ in range(3):
        assert ada.beats() is E.fenced_instance_id
    (fenced,) = world.events_of("member_fenced")
    assert (fenced.member_id, fenced.instance_id, fenced.error) == (old_id, "i", "FENCED_INSTANCE_ID")
    world.speaker("ada", instance="i", protocols=(("sticky", subscription("t")), ("range", b""))).joins()
    assert world.events_of("member_replaced")[-1].detail is not None


def test_heartbeats_in_sums() -> None:
    world = listening()
    (ada,) = world.stable("ada")
    kinds(world)
    for pause_ms in (1_000, 1_000, 1_000, 5_001, 3_000):
        world.after(pause_ms)
        ada.beats()
    (gap,) = world.events_of("heartbeat_gap")
    assert (gap.member_id, gap.duration_us) == (ada.member_id, 5_001_000)
    while world.now_ms < 58_000:
        world.after(1_000)
        ada.beats()
    assert not world.events_of("heartbeat_stats")
    world.after(3_000)
    (stats,) = world.events_of("heartbeat_stats")
    assert stats.duration_us == 5_001_000
    assert stats.detail is not None
    assert {name: int(text) for name, text in stats.detail.items()} == {
        "n": 52,
        "p50_us": 1_000_000,
        "p99_us": 5_001_000,
    }


def test_missing_right_is_reported_for_group() -> None:
    world = listening()
    (ada,) = world.stable("ada")
    kinds(world)
    world.coordinator.observer.access_denied("g", ada.tickets[-1], {"operation": "READ"})
    world.after(0)
    (denied,) = world.events_of("access_denied")
    assert (denied.group_id, denied.client_id, denied.detail) == ("g", "ada", {"operation": "READ"})


def test_commit_statistics_and_rejections() -> None:
    world = listening()
    ada, bob = world.stable("ada", "bob")
    ada.commits(5)
    ada.commits(6)
    kinds(world)
    for _ in range(3):
        ada.commits(7, generation=0)
    (rejected,) = world.events_of("commit_rejected")
    assert (rejected.error, rejected.generation, rejected.client_id) == ("ILLEGAL_GENERATION", 0, "ada")
    bob.leaves()
    bob.commits(9)
    gone = last(world, "commit_rejected")
    assert (gone.error, gone.member_id, gone.client_id) == ("UNKNOWN_MEMBER_ID", bob.member_id, "bob")
    ada.joins()
    while world.now_ms < 61_000:
        world.after(5_000)
        ada.beats()
    (stats,) = world.events_of("commit_stats")
    assert (stats.member_id, stats.partitions, stats.detail) == (ada.member_id, 2, {"n": "2", "rejected": "3"})
    (more,) = [event for event in world.events_of("commit_rejected") if event.detail]
    assert (more.member_id, more.detail) == (ada.member_id, {"n": "2"})


def test_late_listener_finds_running_groups() -> None:
    world = World()
    ada, bob = world.stable("ada", "bob")
    for _ in range(2):
        world.after(5_000)
        for item in (ada, bob):
            item.beats()
        world.listen()
    world.after(1_000)
    bob.leaves()
    removed, started = world.events_of("member_removed", "rebalance_started")
    assert (removed.duration_us, started.duration_us) == (1_000_000, 1_000_000)
    ada.joins()
    assert last(world, "join_completed").left == (bob.member_id,)


def test_groups_come_and_go() -> None:
    world = listening(offsets_retention_ms=1_000)
    nobody = world.speaker("other", group_id="h")
    nobody.commits(5)
    (created,) = world.events
    assert (created.kind, created.group_type, created.group_id) == ("group_created", "simple", "h")
    world.deletes_group("h")
    deleted = last(world, "group_deleted")
    assert (deleted.cause, deleted.state_to, deleted.log_offset) == ("group_deleted", "Dead", len(world.log[0]) - 1)
    (ada,) = world.stable("ada")
    ada.commits(5, topic="u")
    world.after(1_000)
    world.sweeps()
    expired = last(world, "offsets_expired")
    assert (expired.partitions, expired.log_offset) == (1, len(world.log[0]) - 1)


def test_coordinator_failover_events() -> None:
    world = listening()
    ada, bob = world.stable("ada", "bob")
    kinds(world)
    world.unload()
    unloaded, resigned = world.events
    assert (unloaded.kind, unloaded.members, unloaded.cause) == ("group_unloaded", 2, "coordinator_failover")
    assert (resigned.kind, resigned.co_partition, resigned.co_epoch) == ("coordinator_resigned", 0, 7)
    kinds(world)
    world.load()
    loaded, elected = world.events
    assert (loaded.kind, loaded.members, loaded.generation, loaded.duration_us) == ("group_loaded", 2, 1, 0)
    assert (elected.kind, elected.group_id) == ("coordinator_elected", None)
    world.after(5_000)
    for item in (ada, bob):
        assert item.beats() is E.none
    bob.leaves()
    assert last(world, "rebalance_started").rebalance_id == "g/7/1"
    ada.joins()
    assert last(world, "join_completed").left == (bob.member_id,)


STORIES = [story for name, story in list(globals().items()) if name.startswith("test_")]


def test_conversations_reach_every_event(monkeypatch: pytest.MonkeyPatch) -> None:
    worlds: list[World] = []

    def remembered(**settings: Any) -> World:
        world = World(**settings)
        world.listen()
        worlds.append(world)
        return world

    monkeypatch.setattr("tests.coordinator.test_events.listening", remembered)
    for story in STORIES:
        story()
    assert set().union(*(world.kinds_told for world in worlds)) == KINDS - CONSUMER_KINDS - RECORD_KINDS - CLIENT_KINDS
