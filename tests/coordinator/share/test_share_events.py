"""Events of share groups, each kind reached by a conversation (offsets-topic §9.6); without those of records."""

from typing import Any

import pytest

from kohort.coordinator.events.group_event import RECORD_KINDS, SHARE_KINDS, GroupEvent
from kohort.coordinator.groups.observer import UNOBSERVED
from kohort.protocol.errors import ErrorCode as E
from tests.coordinator.share.share_group_world import Member, ShareGroupWorld


def listening(**settings: Any) -> ShareGroupWorld:
    world = ShareGroupWorld(**({"foo": 6} | settings))
    world.listen()
    return world


def taken(world: ShareGroupWorld) -> list[GroupEvent]:
    """Return the events since the last call."""
    events, world.events[:] = list(world.events), []
    return events


def kinds(world: ShareGroupWorld) -> list[str]:
    return [f"{event.kind} {event.client_id}" if event.client_id else event.kind for event in taken(world)]


def both(world: ShareGroupWorld) -> tuple[Member, Member]:
    """Return a world in which ada and bob share six ready partitions."""
    ada, bob = world.member("ada"), world.member("bob")
    world.rests(ada, bob)
    world.events.clear()
    return ada, bob


def test_nobody_listens() -> None:
    world = ShareGroupWorld(foo=6)
    _, bob = both(world)
    bob.leaves()
    assert world.events == []
    assert world.coordinator.observer is UNOBSERVED
    assert world.coordinator.record_observer is None
    assert world.share_group.event_state is None


def test_group_from_first_heartbeat() -> None:
    world = listening()
    ada = world.member("ada")
    ada.acts()
    created, added, bumped, target, settled = taken(world)
    assert {item.group_type for item in (created, added, settled)} == {"share"}
    assert (created.kind, created.cause, created.members) == ("group_created", "join_new", 0)
    assert (added.kind, added.cause, added.client_id, added.member_id) == ("member_added", "join_new", "ada", "ada-id")
    assert (added.session_timeout_ms, added.members, added.client_host) == (10_000, 1, "/127.0.0.1")
    assert (bumped.kind, bumped.cause, bumped.generation, bumped.joined) == ("epoch_bumped", "join_new", 2, ("ada-id",))
    assert (bumped.state_from, bumped.state_to, bumped.rebalance_id) == ("Empty", "Stable", "g/7/1")
    assert (target.kind, target.protocol, target.partitions) == ("target_computed", "simple", 0)
    assert (settled.kind, settled.rebalance_id) == ("group_reconciled", "g/7/1")
    assert [item.log_offset for item in (added, bumped, target)] == [0, 1, 3], "the member's target is between them"
    world.after(500)
    ada.acts()
    bumped, _, assigned, settled = taken(world)
    assert (bumped.kind, bumped.cause, bumped.joined, bumped.duration_us) == (
        "epoch_bumped",
        "partitions_ready",
        (),
        500_000,
    )
    assert (assigned.kind, assigned.partitions, assigned.member_epoch) == ("member_assigned", 6, 3)
    assert (settled.kind, settled.state_to, settled.members) == ("group_reconciled", "Stable", 1)


def test_delayed_target_assignment() -> None:
    world = listening(interval_ms=1_000)
    ada = world.member("ada")
    ada.acts()
    taken(world)
    world.after(100)
    ada.acts()
    assert kinds(world) == ["epoch_bumped ada"]
    world.after(900)
    ada.acts()
    target, assigned, settled = taken(world)
    assert target.detail == {"changed_members": "1", "since_bump_us": "900000"}
    assert (assigned.duration_us, settled.duration_us) == (900_000, 900_000)
    assert {item.rebalance_id for item in (target, assigned, settled)} == {"g/7/2"}


def test_unchanged_heartbeats_are_no_events() -> None:
    world = listening()
    ada, bob = both(world)
    for _ in range(5):
        ada.acts()
        bob.acts()
        world.after(1_000)
    assert taken(world) == []


def test_leaving_and_expired_members() -> None:
    world = listening()
    ada, bob = both(world)
    ada.leaves()
    removed, bumped = taken(world)
    assert (removed.kind, removed.cause, removed.member_id, removed.members) == (
        "member_removed",
        "leave_explicit",
        "ada-id",
        1,
    )
    assert (bumped.kind, bumped.cause, bumped.left) == ("epoch_bumped", "leave_explicit", ("ada-id",))
    bob.acts()
    taken(world)
    world.after(10_000)
    assert kinds(world) == ["member_removed bob", "epoch_bumped bob", "group_reconciled"]
    world.deletes_group()
    (deleted,) = taken(world)
    assert (deleted.kind, deleted.cause, deleted.state_to) == ("group_deleted", "group_deleted", "Dead")
    assert deleted.log_offset is not None


def test_another_subscription_is_another_epoch() -> None:
    world = listening(bar=2)
    ada, bob = both(world)
    ada.tells(subscribed_topic_names=("bar",))
    bumped = taken(world)[0]
    assert (bumped.cause, bumped.client_id) == ("metadata_changed", "ada")
    world.rests(ada, bob)
    taken(world)
    world.topics.create("foo", 8)
    bob.acts()
    assert taken(world)[0].cause == "topic_metadata_changed"


def test_fencing_is_reported_once_per_minute() -> None:
    world = listening()
    _, bob = both(world)
    for _ in range(3):
        assert bob.beats(member_epoch=77).error is E.fenced_member_epoch
        bob.epoch, bob.full = 0, True
    (fenced,) = taken(world)
    assert (fenced.kind, fenced.member_id, fenced.member_epoch) == ("member_fenced", "bob-id", 77)
    assert fenced.error == "FENCED_MEMBER_EPOCH"
    for _ in range(6):
        world.after(9_000)
        bob.acts()
    world.after(9_000)
    taken(world)
    bob.beats(member_epoch=77)
    assert "member_fenced bob" in kinds(world)


def test_failed_write_is_not_reported() -> None:
    world = listening()
    ada, bob = both(world)
    world.failing = E.kafka_storage_error
    assert bob.leaves().error is not E.none
    assert world.member("cid").tells().error is not E.none
    assert taken(world) == []
    world.failing = E.none
    ada.acts()
    bob.leaves()
    removed, bumped = taken(world)
    assert (removed.kind, bumped.left, bumped.joined) == ("member_removed", ("bob-id",), ())


def test_first_member_with_failed_write() -> None:
    world = listening()
    world.failing = E.kafka_storage_error
    ada = world.member("ada")
    ada.tells()
    assert taken(world) == []
    world.failing = E.none
    ada.tells()
    assert kinds(world)[:2] == ["group_created", "member_added ada"]


def test_coordinator_move() -> None:
    world = listening()
    ada, bob = both(world)
    world.unload()
    unloaded, resigned = taken(world)
    assert (unloaded.kind, unloaded.cause, unloaded.members) == ("group_unloaded", "coordinator_failover", 2)
    assert resigned.kind == "coordinator_resigned"
    world.load()
    loaded, _ = taken(world)
    assert (loaded.kind, loaded.group_type, loaded.generation) == ("group_loaded", "share", world.share_group.epoch)
    ada.leaves()
    assert taken(world)[1].left == ("ada-id",)
    bob.acts()


def test_offsets_of_missing_group() -> None:
    world = listening()
    world.alters("foo", {0: 7})
    (created,) = taken(world)
    assert (created.kind, created.cause, created.generation) == ("group_created", "offsets_altered", 1)


def test_listener_added_later() -> None:
    world = ShareGroupWorld(foo=6)
    ada, _ = both(world)
    world.listen()
    ada.leaves()
    removed, bumped = taken(world)
    assert (removed.member_id, bumped.left, bumped.rebalance_id) == ("ada-id", ("ada-id",), "g/7/1")


STORIES = [story for name, story in list(globals().items()) if name.startswith("test_")]


def test_conversations_cover_every_event_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    worlds: list[ShareGroupWorld] = []

    def remembered(**settings: Any) -> ShareGroupWorld:
        world = ShareGroupWorld(**({"foo": 6} | settings))
        world.listen()
        worlds.append(world)
        return world

    monkeypatch.setattr(f"{__name__}.listening", remembered)
    for story in STORIES:
        story()
    assert set().union(*(world.kinds_told for world in worlds)) >= SHARE_KINDS - RECORD_KINDS
