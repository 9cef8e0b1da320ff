"""Events of streams groups, each kind reached by a conversation (offsets-topic §9.7)."""

from typing import Any

import pytest

from kohort.coordinator.events.group_event import STREAMS_KINDS, GroupEvent
from kohort.coordinator.events.task_names import RoleTask, task_names
from kohort.coordinator.groups.observer import UNOBSERVED
from kohort.coordinator.streams.streams_owners import Role
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.streams_group_heartbeat import KeyValue
from tests.coordinator.streams.streams_group_world import Member, StreamsGroupWorld, reading


def listening(**settings: Any) -> StreamsGroupWorld:
    world = StreamsGroupWorld(**({"foo": 4} | settings))
    world.listen()
    return world


def taken(world: StreamsGroupWorld) -> list[GroupEvent]:
    """Return the events since the last call."""
    events, world.events[:] = list(world.events), []
    return events


def kinds(world: StreamsGroupWorld) -> list[str]:
    return [f"{event.kind} {event.client_id}" if event.client_id else event.kind for event in taken(world)]


def both(world: StreamsGroupWorld, **traits: Any) -> tuple[Member, Member]:
    """Return a world in which ada and bob have two tasks each."""
    ada, bob = world.member("ada", **traits), world.member("bob", **traits)
    world.rests(ada, bob)
    world.events.clear()
    return ada, bob


def test_nobody_listens() -> None:
    world = StreamsGroupWorld(foo=4)
    _, bob = both(world)
    bob.leaves()
    assert world.events == []
    assert world.coordinator.observer is UNOBSERVED
    assert world.streams_group.event_state is None


def test_group_from_first_heartbeat() -> None:
    world = listening()
    world.member("ada").joins()
    created, added, bumped, target, assigned, reconciled, settled = taken(world)
    assert {(item.group_type, item.protocol) for item in (created, added, settled)} == {("streams", "sticky")}
    assert (created.kind, created.cause, created.members) == ("group_created", "join_new", 0)
    assert (added.kind, added.cause, added.client_id, added.member_id) == ("member_added", "join_new", "ada", "ada-id")
    assert added.detail == {"process_id": "ada-process", "topology_epoch": "0"}
    assert (added.session_timeout_ms, added.rebalance_timeout_ms) == (10_000, 5_000)
    assert (bumped.kind, bumped.cause, bumped.generation, bumped.joined) == ("epoch_bumped", "join_new", 2, ("ada-id",))
    assert (bumped.state_from, bumped.state_to, bumped.rebalance_id) == ("Empty", "Assigning", "g/7/1")
    assert (target.kind, target.partitions) == ("target_computed", 4)
    assert target.detail is not None
    assert (target.detail["active_tasks"], target.detail["moved"]) == ("4", "0")
    assert (assigned.kind, assigned.partitions, assigned.detail) == (
        "member_assigned",
        4,
        {"active": "0_0 0_1 0_2 0_3"},
    )
    assert (reconciled.kind, reconciled.member_epoch, reconciled.partitions) == ("member_reconciled", 2, 4)
    assert (settled.kind, settled.state_to, settled.rebalance_id) == ("group_reconciled", "Stable", "g/7/1")
    assert [item.log_offset for item in (added, bumped, target, assigned)] == [0, 2, 4, 5], (
        "topology and target between"
    )


def test_task_is_revoked_before_reassignment() -> None:
    world = listening()
    ada, bob = world.member("ada"), world.member("bob")
    world.rests(ada)
    taken(world)
    bob.joins()
    assert kinds(world) == ["member_added bob", "epoch_bumped bob", "target_computed"]
    world.after(200)
    ada.beats()
    (revoking,) = taken(world)
    assert (revoking.kind, revoking.partitions, revoking.detail) == ("member_revoking", 2, {"active": "0_2 0_3"})
    assert (revoking.duration_us, revoking.rebalance_timeout_ms) == (200_000, 5_000)
    world.after(300)
    ada.beats()
    revoked, reconciled = taken(world)
    assert (revoked.kind, revoked.detail, revoked.duration_us) == ("member_revoked", {"active": "0_2 0_3"}, 300_000)
    assert (reconciled.kind, reconciled.client_id, reconciled.detail) == (
        "member_reconciled",
        "ada",
        {"active": "0_0 0_1"},
    )
    world.after(100)
    bob.beats()
    assigned, _, settled = taken(world)
    assert assigned.detail == {"active": "0_2 0_3", "unowned_us": "200000"}
    assert settled.detail == {"total_us": "600000", "slowest": "ada-id", "slowest_us": "300000"}


def test_standby_tasks_have_a_role() -> None:
    world = listening()
    world.config = world.config._replace(num_standby_replicas=1)
    both_keep = {"topology": reading("foo", stores=("store-changelog",))}
    ada, bob = world.member("ada", **both_keep), world.member("bob", **both_keep)
    world.rests(ada, bob)
    told = [event for event in taken(world) if event.kind == "member_reconciled"][-1]
    assert told.detail is not None
    assert set(told.detail) == {"active", "standby"}
    assert told.partitions == 4


def test_topics_that_are_missing() -> None:
    world = listening()
    ada = world.member("ada", topology=reading("bar"))
    ada.joins()
    bumped, target = (event for event in taken(world) if event.kind in ("epoch_bumped", "target_computed"))
    assert (bumped.state_to, target.partitions) == ("NotReady", 0)
    world.topics.create("bar", 2)
    ada.beats()
    bumped, *_, settled = taken(world)
    assert (bumped.cause, bumped.state_from, bumped.state_to) == ("topic_metadata_changed", "NotReady", "Assigning")
    assert (settled.kind, settled.state_to) == ("group_reconciled", "Stable")


def test_group_awaits_initial_members() -> None:
    world = listening(delay_ms=3_000)
    ada, bob = world.member("ada"), world.member("bob")
    ada.joins()
    bob.joins()
    assert "target_computed" not in [event.kind for event in taken(world)]
    world.after(3_000)
    assert kinds(world) == ["target_computed"]
    ada.beats()
    assert kinds(world) == ["member_assigned ada", "member_reconciled ada"]
    bob.beats()
    assert kinds(world)[-1] == "group_reconciled bob"


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ({"rebalance_timeout_ms": 9_000}, "timeouts"),
        ({"client_tags": (KeyValue(key="zone", value="b"),)}, "tags"),
        ({"process_id": "another"}, "process"),
        ({"rack_id": "r"}, "rack"),
    ],
)
def test_member_changes_its_metadata(said: dict[str, Any], what: str) -> None:
    world = listening()
    ada, _ = both(world)
    ada.beats(**said)
    changed, bumped, *_ = taken(world)
    assert (changed.kind, changed.client_id, bumped.cause) == ("member_metadata_changed", "ada", "metadata_changed")
    assert changed.detail is not None
    assert changed.detail["what"] == what


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
    assert (bumped.cause, bumped.left) == ("leave_explicit", ("ada-id",))
    bob.acts()
    taken(world)
    world.after(10_000)
    assert kinds(world) == ["member_removed bob", "epoch_bumped bob", "group_reconciled"]
    world.deletes_group()
    (deleted,) = taken(world)
    assert (deleted.kind, deleted.cause, deleted.state_to) == ("group_deleted", "group_deleted", "Dead")
    assert deleted.log_offset is not None


def test_rebalance_timeout_evicts_member() -> None:
    world = listening()
    ada, bob = world.member("ada"), world.member("bob")
    world.rests(ada)
    bob.joins()
    ada.beats()
    taken(world)
    world.after(5_000)
    removed, bumped = taken(world)
    assert (removed.member_id, removed.cause, bumped.evicted) == ("ada-id", "epoch_timeout", ("ada-id",))


def test_fencing_is_reported_once_per_minute() -> None:
    world = listening()
    _, bob = both(world)
    for _ in range(3):
        assert bob.beats(member_epoch=77).error is E.fenced_member_epoch
    (fenced,) = taken(world)
    assert (fenced.kind, fenced.member_id, fenced.member_epoch) == ("member_fenced", "bob-id", 77)
    assert fenced.error == "FENCED_MEMBER_EPOCH"


def test_failed_write_is_not_reported() -> None:
    world = listening()
    ada, bob = both(world)
    world.failing = E.kafka_storage_error
    assert bob.leaves().error is not E.none
    assert world.member("cid").joins().error is not E.none
    assert taken(world) == []
    world.failing = E.none
    ada.acts()
    bob.leaves()
    removed, bumped = taken(world)
    assert (removed.kind, bumped.left, bumped.joined) == ("member_removed", ("bob-id",), ())


def test_coordinator_move() -> None:
    world = listening()
    ada, bob = both(world)
    world.unload()
    unloaded, resigned = taken(world)
    assert (unloaded.kind, unloaded.cause, unloaded.members) == ("group_unloaded", "coordinator_failover", 2)
    assert resigned.kind == "coordinator_resigned"
    world.load()
    loaded, _ = taken(world)
    assert (loaded.kind, loaded.group_type, loaded.generation) == ("group_loaded", "streams", world.streams_group.epoch)
    ada.leaves()
    assert taken(world)[1].left == ("ada-id",)
    bob.acts()


def test_static_member_leaves_temporarily_and_returns() -> None:
    world = listening()
    ada, cleo = world.member("ada"), world.member("cleo", process_id="ada-process")
    ada.joins(instance_id="i1")
    (added, *_) = (event for event in taken(world) if event.kind == "member_added")
    assert (added.cause, added.instance_id) == ("join_static", "i1")
    ada.beats(instance_id="i1", member_epoch=-2)
    (out,) = taken(world)
    assert (out.kind, out.instance_id, out.member_epoch, out.partitions) == ("member_stepped_out", "i1", -2, 4)
    cleo.joins(instance_id="i1")
    (replaced,) = taken(world)
    assert (replaced.kind, replaced.member_id, replaced.instance_id) == ("member_replaced", "cleo-id", "i1")
    assert replaced.detail is not None
    assert (replaced.detail["old_member_id"], replaced.detail["rebalance"]) == ("ada-id", "false")
    assert replaced.detail["process_id"] == "ada-process"
    cleo.beats(instance_id="i1", member_epoch=-2)
    world.events.clear()
    cleo.joins(instance_id="i1", process_id="other")
    assert [event.kind for event in taken(world)][:2] == ["member_replaced", "epoch_bumped"]


def test_static_member_stays_away() -> None:
    world = listening()
    ada = world.member("ada")
    ada.joins(instance_id="i1")
    ada.beats(instance_id="i1", member_epoch=-2)
    world.events.clear()
    world.after(10_000)
    (removed, *_) = taken(world)
    assert (removed.kind, removed.instance_id, removed.cause) == ("member_removed", "i1", "session_expired")


def test_listener_added_later() -> None:
    world = StreamsGroupWorld(foo=4)
    ada, bob = world.member("ada"), world.member("bob")
    world.rests(ada)
    bob.joins()
    world.listen()
    ada.beats()
    ada.beats()
    bob.beats()
    assert kinds(world) == [
        "member_revoking ada",
        "member_revoked ada",
        "member_reconciled ada",
        "member_assigned bob",
        "member_reconciled bob",
        "group_reconciled bob",
    ]


def test_many_tasks_are_abbreviated() -> None:
    tasks = [RoleTask(Role.ACTIVE, "0", partition) for partition in range(120)]
    text = task_names(tasks)["active"]
    assert text.startswith("0_0 0_1 0_2 ")
    assert text.endswith("0_99 and 20 more")


STORIES = [
    story
    for name, story in list(globals().items())
    if name.startswith("test_") and name != "test_member_changes_its_metadata"
]


def test_conversations_cover_every_event_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    worlds: list[StreamsGroupWorld] = []

    def remembered(**settings: Any) -> StreamsGroupWorld:
        world = StreamsGroupWorld(**({"foo": 4} | settings))
        world.listen()
        worlds.append(world)
        return world

    monkeypatch.setattr(f"{__name__}.listening", remembered)
    for story in STORIES:
        story()
    test_member_changes_its_metadata({"rack_id": "r"}, "rack")
    assert set().union(*(world.kinds_told for world in worlds)) == STREAMS_KINDS | {
        "coordinator_elected",
        "coordinator_resigned",
    }
