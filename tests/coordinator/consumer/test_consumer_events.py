"""Events of consumer groups, each kind reached by a conversation (offsets-topic §9.5)."""

from typing import Any

import pytest

from kohort.coordinator.events.group_event import CONSUMER_KINDS, GroupEvent
from kohort.coordinator.groups.observer import UNOBSERVED
from kohort.protocol.errors import ErrorCode as E
from tests.coordinator.consumer.world import ClassicClient, Consumer, ConsumerWorld


def listening(**settings: Any) -> ConsumerWorld:
    world = ConsumerWorld(**({"foo": 6} | settings))
    world.listen()
    return world


def taken(world: ConsumerWorld) -> list[GroupEvent]:
    """Return the events since the last call, without statistics."""
    events, world.events[:] = list(world.events), []
    return [event for event in events if event.kind != "heartbeat_stats"]


def kinds(world: ConsumerWorld) -> list[str]:
    return [f"{event.kind} {event.client_id}" if event.client_id else event.kind for event in taken(world)]


def last(world: ConsumerWorld, kind: str) -> GroupEvent:
    return world.events_of(kind)[-1]


def both(world: ConsumerWorld, **traits: Any) -> tuple[Consumer, Consumer]:
    """Return a world in which ada and bob share six partitions."""
    ada, bob = world.consumer("ada", **traits), world.consumer("bob")
    world.converges(ada, bob)
    world.events.clear()
    return ada, bob


def test_nobody_listens() -> None:
    world = ConsumerWorld(foo=6)
    ada, bob = both(world)
    bob.leaves()
    world.converges(ada)
    assert world.events == []
    assert world.coordinator.observer is UNOBSERVED
    group = world.consumer_group
    assert group.event_state is None
    assert [member.stats for member in group.members.values()] == [None]


def test_group_from_first_heartbeat() -> None:
    world = listening()
    world.consumer("ada").acts()
    created, added, bumped, target, assigned, reconciled, stable = taken(world)
    assert {item.group_type for item in (created, added, stable)} == {"consumer"}
    assert (created.kind, created.cause, created.members) == ("group_created", "join_new", 0)
    assert (added.kind, added.cause, added.client_id, added.member_id) == ("member_added", "join_new", "ada", "ada-id")
    assert (added.session_timeout_ms, added.rebalance_timeout_ms, added.members) == (10_000, 30_000, 1)
    assert added.client_software == "adas-client/1.0"
    assert added.detail == {"speaks": "consumer"}
    assert (bumped.kind, bumped.cause, bumped.generation, bumped.joined) == ("epoch_bumped", "join_new", 2, ("ada-id",))
    assert (bumped.state_from, bumped.state_to, bumped.rebalance_id) == ("Empty", "Assigning", "g/7/1")
    assert (target.kind, target.protocol, target.partitions) == ("target_computed", "uniform", 6)
    assert (assigned.kind, assigned.partitions, assigned.member_epoch) == ("member_assigned", 6, 2)
    assert reconciled.kind == "member_reconciled"
    assert (stable.kind, stable.state_to, stable.members) == ("group_reconciled", "Stable", 1)
    offsets = [item.log_offset for item in (added, bumped, target, assigned)]
    assert offsets == [0, 1, 3, 4], "member, group epoch, target, target epoch, current assignment"


def test_rebalance_events_in_order() -> None:
    world = listening()
    ada, bob = world.consumer("ada"), world.consumer("bob")
    ada.acts()
    world.after(500)
    taken(world)
    bob.acts()
    added, bumped, target = taken(world)
    assert (added.kind, bumped.kind, target.kind) == ("member_added", "epoch_bumped", "target_computed")
    assert (bumped.duration_us, bumped.state_from, bumped.generation) == (500_000, "Stable", 3)
    assert target.detail == {"changed_members": "2", "since_bump_us": "0", "moved": "3", "fewest_moves": "3"}
    world.after(100)
    ada.acts()
    (revoking,) = taken(world)
    assert (revoking.kind, revoking.partitions, revoking.duration_us) == ("member_revoking", 3, 100_000)
    assert (revoking.member_epoch, revoking.generation, revoking.rebalance_timeout_ms) == (2, 3, 30_000)
    world.after(700)
    ada.acts()
    revoked, reconciled = taken(world)
    assert (revoked.kind, revoked.partitions, revoked.duration_us) == ("member_revoked", 3, 700_000)
    assert (reconciled.kind, reconciled.member_epoch, reconciled.duration_us) == ("member_reconciled", 3, 800_000)
    world.after(50)
    bob.acts()
    assigned, _, stable = taken(world)
    assert (assigned.kind, assigned.client_id, assigned.detail) == ("member_assigned", "bob", {"unowned_us": "150000"})
    assert (stable.kind, stable.duration_us, stable.client_id) == ("group_reconciled", 850_000, "bob")
    assert stable.detail == {"total_us": "850000", "slowest": "ada-id", "slowest_us": "700000"}
    assert {item.rebalance_id for item in (bumped, target, revoking, revoked, assigned, stable)} == {"g/7/2"}


def test_unchanged_heartbeats_are_no_events() -> None:
    world = listening()
    ada, bob = both(world)
    for _ in range(10):
        ada.acts()
        bob.acts()
        world.after(1_000)
    assert taken(world) == []


def test_unrevoked_partition_removes_its_owner() -> None:
    world = listening()
    ada = world.consumer("ada", holds_on=True, rebalance_ms=5_000)
    bob = world.consumer("bob")
    ada.holds_on = False
    world.converges(ada)
    ada.holds_on = True
    taken(world)
    for _ in range(13):
        bob.acts()
        ada.acts()
        world.after(500)
    removed = last(world, "member_removed")
    assert (removed.cause, removed.client_id) == ("epoch_timeout", "ada")
    bumped = next(event for event in world.events_of("epoch_bumped") if event.cause == "epoch_timeout")
    assert (bumped.evicted, bumped.left, bumped.duration_us) == (("ada-id",), (), None)


@pytest.mark.parametrize(
    ("change", "cause", "what"),
    [
        ({"subscribed_topic_names": ("foo", "bar")}, "metadata_changed", "subscription"),
        ({"subscribed_topic_names": None, "server_assignor": "range"}, "metadata_changed", "assignor"),
        ({"subscribed_topic_names": None, "rack_id": "r"}, None, "rack"),
        ({"subscribed_topic_names": None, "rebalance_timeout_ms": 1_000}, None, "timeouts"),
    ],
)
def test_member_changes_its_metadata(change: dict[str, Any], cause: str | None, what: str) -> None:
    world = listening(bar=2)
    ada, _ = both(world)
    ada.beats(**change)
    assert last(world, "member_metadata_changed").detail == {"what": what}
    assert [event.cause for event in world.events_of("epoch_bumped")] == ([] if cause is None else [cause])


def test_topics_that_change() -> None:
    world = listening()
    ada, bob = both(world)
    world.topics.create("foo", 8)
    world.converges(ada, bob)
    bumped, target = last(world, "epoch_bumped"), last(world, "target_computed")
    assert (bumped.cause, bumped.client_id, target.partitions) == ("topic_metadata_changed", "ada", 8)
    assert target.detail is not None
    assert target.detail["moved"] == "0", "new partitions had no owner"


def test_pattern_matches_another_topic() -> None:
    world = listening()
    ada = world.consumer("ada", names=(), regex="foo.*")
    world.converges(ada)
    assert [event.cause for event in world.events_of("epoch_bumped")] == ["regex_changed"]
    taken(world)
    world.topics.create("foo2", 2)
    for _ in range(12):
        world.after(1_000)
        ada.acts()
    bumped = last(world, "epoch_bumped")
    assert (bumped.cause, bumped.client_id, bumped.member_id) == ("regex_changed", None, None)


def test_static_member_leaves_and_returns() -> None:
    world = listening()
    ada, _ = both(world, instance="i1")
    ada.steps_out()
    (out,) = taken(world)
    assert (out.kind, out.instance_id, out.member_epoch, out.partitions) == ("member_stepped_out", "i1", -2, 3)
    world.after(2_000)
    again = world.consumer("ada", instance="i1", member_id="ada-2")
    again.acts()
    (back,) = taken(world)
    assert (back.kind, back.member_id, back.instance_id) == ("member_replaced", "ada-2", "i1")
    assert back.detail == {"old_member_id": "ada-id", "rebalance": "false", "speaks": "consumer"}
    again.steps_out()
    taken(world)
    again.names = ("foo", "bar")
    again.joins()
    assert kinds(world)[:2] == ["member_replaced ada", "epoch_bumped ada"]


def test_static_member_does_not_return() -> None:
    world = listening()
    ada, bob = both(world, instance="i1")
    ada.steps_out()
    for _ in range(11):
        world.after(1_000)
        bob.acts()
    removed = last(world, "member_removed")
    assert (removed.cause, removed.instance_id) == ("session_expired", "i1")
    assert last(world, "target_computed").detail is not None
    assert last(world, "group_reconciled").members == 1


def test_silence() -> None:
    world = listening()
    ada, _ = both(world)
    for _ in range(11):
        world.after(1_000)
        ada.acts()
    removed = last(world, "member_removed")
    assert (removed.cause, removed.client_id, removed.duration_us) == ("session_expired", "bob", 10_000_000)
    bumped = last(world, "epoch_bumped")
    assert (bumped.cause, bumped.left, bumped.evicted) == ("session_expired", ("bob-id",), ())
    ada.leaves()
    assert last(world, "epoch_bumped").state_to == "Empty"
    assert last(world, "group_reconciled").members == 0


def test_members_that_are_fenced() -> None:
    world = listening()
    ada, _ = both(world, instance="i1")
    ada.beats(member_epoch=99)
    fenced = last(world, "member_fenced")
    assert (fenced.error, fenced.member_epoch, fenced.member_id) == ("FENCED_MEMBER_EPOCH", 99, "ada-id")
    world.consumer("eve", instance="i1").joins()
    assert last(world, "member_fenced").error == "UNRELEASED_INSTANCE_ID"
    world.consumer("zoe", instance="i1").beats(member_epoch=3)
    assert last(world, "member_fenced").error == "FENCED_INSTANCE_ID"
    taken(world)
    ada.beats(member_epoch=99)
    assert taken(world) == [], "reported once a minute"


def test_heartbeats_and_commits_in_sums() -> None:
    world = listening()
    ada, bob = both(world)
    for _ in range(61):
        world.after(1_000)
        ada.acts()
        if world.now_ms % 6_000 < 1_000:
            bob.acts()
    gap = last(world, "heartbeat_gap")
    assert (gap.client_id, gap.duration_us) == ("bob", 6_000_000)
    stats = next(event for event in world.events_of("heartbeat_stats") if event.client_id == "ada")
    assert stats.detail is not None
    assert stats.detail["p50_us"] == "1000000"


def test_failed_write_is_not_reported() -> None:
    world = listening()
    ada, bob = both(world)
    world.holding = True
    bob.leaves()
    assert taken(world) == [], "not written yet"
    world.write(E.not_enough_replicas)
    assert taken(world) == []
    world.holding = False
    bob.leaves()
    assert kinds(world) == ["member_removed bob", "epoch_bumped bob"]
    world.converges(ada)
    assert last(world, "group_reconciled").members == 1


def test_coordinator_move_and_group_deletion() -> None:
    world = listening()
    ada, bob = both(world)
    world.unload()
    assert [event.kind for event in taken(world)] == ["group_unloaded", "coordinator_resigned"]
    world.load()
    loaded, _ = taken(world)
    assert (loaded.kind, loaded.group_type, loaded.members, loaded.generation) == ("group_loaded", "consumer", 2, 3)
    ada.leaves()
    assert last(world, "epoch_bumped").left == ("ada-id",)
    bob.leaves()
    world.deletes_group()
    deleted = last(world, "group_deleted")
    assert (deleted.cause, deleted.state_to, deleted.group_type) == ("group_deleted", "Dead", "consumer")


# Groups that change their protocol


def test_classic_group_upgrade_and_downgrade() -> None:
    world = listening()
    ada = world.classic("ada")
    world.converges(ada)
    taken(world)
    bob = world.consumer("bob")
    bob.acts()
    converted, added, bumped, target = taken(world)
    assert (converted.kind, converted.group_type, converted.members) == ("group_converted", "consumer", 1)
    assert converted.detail == {"from": "classic", "to": "consumer", "policy": "bidirectional"}
    assert (converted.cause, converted.client_id) == ("protocol_migration", "bob")
    assert (added.kind, added.client_id) == ("member_added", "bob")
    assert (bumped.kind, bumped.cause, bumped.joined) == ("epoch_bumped", "join_new", ("bob-id",))
    assert target.detail is not None
    assert (target.kind, target.detail["moved"]) == ("target_computed", "3")
    world.converges(ada, bob)
    assert last(world, "group_reconciled").members == 2
    taken(world)
    bob.leaves()
    events = taken(world)
    assert [event.kind for event in events] == ["member_removed", "group_converted", "rebalance_started"]
    assert [event.group_type for event in events] == ["consumer", "classic", "classic"]
    assert events[1].detail == {"from": "consumer", "to": "classic", "policy": "bidirectional"}
    assert events[2].rebalance_id != bumped.rebalance_id


def test_failed_downgrade_write() -> None:
    world = listening()
    ada, bob = world.classic("ada"), world.consumer("bob")
    world.converges(ada, bob)
    taken(world)
    world.holding = True
    bob.leaves()
    world.write(E.not_enough_replicas)
    told = [event for event in taken(world) if event.kind == "group_converted"]
    assert [(event.detail or {})["to"] for event in told] == ["classic", "consumer"]
    assert told[1].cause == "group_store_failed"


def test_empty_group_changes_protocol_both_ways() -> None:
    world = listening()
    ada = world.classic("ada")
    world.converges(ada)
    ada.leaves()
    taken(world)
    bob = world.consumer("bob")
    bob.acts()
    assert kinds(world)[:2] == ["group_converted bob", "member_added bob"]
    bob.leaves()
    taken(world)
    world.classic("eve").acts()
    assert kinds(world)[0] == "group_converted"


def test_static_member_changes_protocol() -> None:
    world = listening()
    ada, bob = world.classic("ada", instance="i1"), world.consumer("bob")
    world.converges(ada)
    world.converges(ada, bob)
    taken(world)
    again = world.consumer("ada", instance="i1", member_id="ada-2")
    again.acts()
    replaced = last(world, "member_replaced")
    assert replaced.detail == {"old_member_id": ada.member_id, "rebalance": "false", "speaks": "consumer"}


def test_rejoining_classic_member_is_not_replaced() -> None:
    world = listening()
    ada, bob = world.classic("ada", instance="i1"), world.consumer("bob")
    world.converges(ada)
    world.converges(ada, bob)
    taken(world)
    cy: ClassicClient = world.classic("cy")
    world.converges(ada, bob, cy)
    assert not world.events_of("member_replaced")
    assert [event.client_id for event in world.events_of("member_added")] == ["cy"]


STORIES = [story for name, story in list(globals().items()) if name.startswith("test_")]


def test_conversations_cover_every_event_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    worlds: list[ConsumerWorld] = []

    def remembered(**settings: Any) -> ConsumerWorld:
        world = ConsumerWorld(**({"foo": 6} | settings))
        world.listen()
        worlds.append(world)
        return world

    monkeypatch.setattr(f"{__name__}.listening", remembered)
    for story in STORIES:
        if story.__code__.co_argcount == 0:
            story()
    assert set().union(*(world.kinds_told for world in worlds)) >= CONSUMER_KINDS
