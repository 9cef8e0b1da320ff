"""Becoming the coordinator of a partition, and ceasing to be (classic-groups §1.3, §1.5, §1.6)."""

import pytest

from kohort.coordinator.context import Shard
from kohort.coordinator.groups.describing import groups_by_partition
from kohort.coordinator.groups.loading import Loading
from kohort.coordinator.offsets.offsets_topic_records import group_key, offset_key
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.records.schema import RecordError
from tests.support.coordinator_records import compacted
from tests.support.coordinator_world import World, commit_error, subscription

BOTH = (("range", subscription("t")), ("sticky", subscription("t")))


def test_elsewhere_everything_is_refused() -> None:
    world = World(lead=False)
    ada = world.speaker("ada", member_id="ada-1", generation=1)
    join = ada.joins()
    assert (join.error, join.heard.member_id) == (E.not_coordinator, "")
    assert ada.syncs().error is E.not_coordinator
    assert ada.beats() is E.not_coordinator
    leave = ada.leaves()
    assert (leave.error, leave.heard.members) == (E.not_coordinator, ())
    assert commit_error(ada.commits()) is E.not_coordinator
    assert world.deletes_group().error is E.not_coordinator
    assert world.deletes_offsets(("t", 0)).error is E.not_coordinator
    assert groups_by_partition(world.coordinator) == []


def test_loading_answers_heartbeats_with_none() -> None:
    world = World(lead=False)
    loading = Loading(world.coordinator, 0)
    ada = world.speaker("ada", member_id="ada-1", generation=1)
    join = ada.joins()
    assert (join.error, join.heard.member_id) == (E.coordinator_load_in_progress, "")
    assert ada.syncs().error is E.coordinator_load_in_progress
    assert ada.beats() is E.none
    assert ada.leaves().error is E.coordinator_load_in_progress
    assert commit_error(ada.commits()) is E.coordinator_load_in_progress
    assert world.deletes_group().error is E.coordinator_load_in_progress
    assert groups_by_partition(world.coordinator) is E.coordinator_load_in_progress
    loading.finish(world.now_ms)
    assert ada.beats() is E.unknown_member_id


def test_request_errors_precede_loading() -> None:
    world = World(lead=False)
    assert world.speaker("ada", group_id="").joins(session_ms=1).error is E.invalid_group_id
    assert world.speaker("ada").joins(session_ms=5_999).error is E.invalid_session_timeout
    assert world.speaker("ada", group_id="").beats() is E.invalid_group_id


def test_loaded_group_is_unchanged() -> None:
    world = World()
    ada, bob = world.stable("ada", "bob", rebalance_ms=40_000)
    ada.commits(7)
    before, traits = world.group(), ("generation_id", "protocol_type", "protocol_name", "leader_id", "state")
    told = [getattr(before, trait) for trait in traits]
    world.restart()
    after = world.group()
    assert [getattr(after, trait) for trait in traits] == told
    for member_id, member in before.members.items():
        loaded = after.members[member_id]
        for trait in ("client_id", "client_host", "rebalance_timeout_ms", "session_timeout_ms", "assignment"):
            assert getattr(loaded, trait) == getattr(member, trait), trait
    assert (ada.beats(), bob.beats()) == (E.none, E.none)
    assert bob.syncs().heard.assignment == b"share of bob"
    assert world.offsets("t") == {"t-0": 7}


def test_everybody_gets_a_fresh_session() -> None:
    world = World()
    ada, bob = world.stable("ada", "bob")
    world.after(9_999)
    world.restart()
    world.after(9_999)
    assert ada.beats() is E.none
    world.after(1)
    assert bob.beats() is E.unknown_member_id


def test_issued_ids_are_lost() -> None:
    world = World()
    world.stable("ada")
    bob = world.speaker("bob")
    bob.joins()
    world.restart()
    assert bob.joins().error is E.unknown_member_id


def test_loaded_follower_has_one_protocol() -> None:
    world = World()
    ada, bob = world.stable("ada", "bob", protocols=BOTH)
    assert bob.joins().error is E.none
    world.restart()
    assert bob.joins(protocols=BOTH[:1]).error is E.none
    assert bob.joins().heard is None
    assert ada.beats() is E.rebalance_in_progress


def test_unwritten_assignment_is_lost() -> None:
    world = World()
    ada, bob = world.stable("ada", "bob")
    cem = world.speaker("cem")
    cem.enters()
    world.joined(ada, bob)
    assert (world.state(), cem.generation) == ("CompletingRebalance 2", 2)
    world.restart()
    assert world.state() == "Stable 1"
    assert ada.beats() is E.illegal_generation
    assert cem.beats() is E.unknown_member_id


def test_oversized_group_rebalances_immediately() -> None:
    world = World()
    ada, bob = world.stable("ada", "bob")
    smaller = World(lead=False, group_max_size=1)
    smaller.log = world.log
    smaller.load()
    assert smaller.state() == "PreparingRebalance 1"
    assert smaller.transitions == ["Stable -> PreparingRebalance: over_capacity"]
    ada.world = bob.world = smaller
    stays = ada.joins()
    goes = bob.joins()
    assert (goes.error, goes.heard.member_id) == (E.group_max_size_reached, "")
    assert not stays.answers  # only the timer checks whether all members have joined
    smaller.after(30_000)
    assert (stays.error, len(stays.heard.members)) == (E.none, 1)


def test_empty_group_loads_without_subscription() -> None:
    world = World()
    (ada,) = world.stable("ada")
    ada.commits(7)
    ada.leaves()
    world.restart()
    assert world.state() == "Empty 2"
    world.speaker("bob", needs_id=False).joins()
    assert world.deletes_offsets(("t", 0)).heard.in_use == frozenset()
    assert world.offsets("t") == {"t-0": -1}


def test_deleted_group_stays_deleted() -> None:
    world = World()
    (ada,) = world.stable("ada")
    ada.commits(7)
    ada.leaves()
    world.deletes_group()
    world.restart()
    assert world.coordinator.groups == {}


def test_unload_affects_one_partition() -> None:
    world = World(partitions=2)
    for group_id in ("a", "b"):  # hashes 97 and 98
        world.stable("ada", group_id=group_id)
    world.unload(0)
    assert list(world.coordinator.groups) == ["a"]
    assert world.load(0) == 1
    assert sorted(world.coordinator.groups) == ["a", "b"]


@pytest.mark.parametrize("value", [b"", b"\x00\x09", b"\x00\x03\x00\x08consumer"])
def test_unreadable_record_stops_load(value: bytes) -> None:
    world = World(lead=False)
    world.log[0] = [(group_key("g"), value)]
    with pytest.raises(RecordError):
        world.load()
    assert world.coordinator.shards == {}
    assert world.speaker("ada").beats() is E.not_coordinator


def test_unreadable_commit_stops_load() -> None:
    world = World(lead=False)
    world.log[0] = [(offset_key("g", "t", 0), b"\x00\x03")]
    with pytest.raises(RecordError, match="topic='t'"):
        world.load()
    assert world.coordinator.shards == {}
    assert world.speaker("ada").beats() is E.not_coordinator


def test_unknown_record_types_are_skipped() -> None:
    world = World(lead=False)
    world.log[0] = [(b"\x00\x12\x00\x01g", b"\x00\x00\x00\x00\x00\x05\x00"), (b"\x00\x63", b"?")]
    assert world.load() == 0
    assert world.coordinator.shards == {0: Shard.ACTIVE}


def test_parked_joins_return_their_id() -> None:
    world = World()
    ada, bob = world.stable("ada", "bob")
    join = ada.joins()
    pending = world.speaker("cem")
    pending.joins()
    world.unload()
    assert (join.error, join.heard.member_id) == (E.not_coordinator, ada.member_id)
    assert world.transitions[-1] == "PreparingRebalance -> Dead: coordinator_failover"
    assert len(world.purgatory) == 0
    assert bob.beats() is E.not_coordinator


@pytest.mark.parametrize("deleted", [False, True])
def test_late_records_are_applied(deleted: bool) -> None:
    world = World()
    world.stable("ada")
    records = compacted(world.log[0])
    world.unload()
    loading = Loading(world.coordinator, 0)
    for key, value in records:
        loading.apply(key, value)
    while loading.prepare(world.now_ms):
        pass
    assert not world.coordinator.groups, "the group does not exist yet"
    assert not len(world.purgatory), "and no session has begun"
    if deleted:
        loading.apply(group_key("g"), None)
    loading.finish(world.now_ms)
    assert world.state() == ("" if deleted else "Stable 1")
    assert len(world.purgatory) == (0 if deleted else 1)
