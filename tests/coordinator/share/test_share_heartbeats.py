"""Share groups with failing share coordinators, failing writes, and moving coordinators."""

import pytest

from kohort.coordinator.groups.loading import load
from kohort.coordinator.offsets.committing_in_transactions import Committer, check_committer
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.records.schema import RecordError
from tests.coordinator.share.share_group_world import ShareGroupWorld


def test_initialized_partitions_are_assigned() -> None:
    world = ShareGroupWorld(foo=2)
    ada = world.member("ada")
    world.persister.holding = True
    assert ada.tells().heard.assignment is not None
    assert (ada.epoch, ada.has) == (2, {})
    assert ada.beats().heard.assignment is None
    assert world.persister.asked == ["initialize g: 1-0 1-1"], "it is requested once"
    world.persister.let_go(world.now_ms)
    world.settle()
    assert world.persister.states == {("g", world.id_of("foo"), index): (2, -1) for index in (0, 1)}
    ada.beats()
    assert (ada.epoch, ada.partitions()) == (3, {0, 1})


def test_heartbeat_retries_failed_initialization() -> None:
    world = ShareGroupWorld(foo=2)
    ada = world.member("ada")
    world.persister.failing = E.coordinator_not_available
    assert ada.tells().error is E.none
    assert not world.share_group.states.initializing, "it is not being made ready any more"
    assert ada.beats().error is E.none
    assert len(world.persister.asked) == 2
    world.persister.failing = E.none
    ada.beats()
    assert world.ready("foo") == {0, 1}
    world.rests(ada)
    assert ada.partitions() == {0, 1}


def test_slow_initialization_is_retried() -> None:
    world = ShareGroupWorld(foo=1)
    ada = world.member("ada")
    world.persister.holding = True
    ada.tells()
    for _ in range(29):
        world.after(1_000)
        ada.beats()
    assert len(world.persister.asked) == 1
    world.after(1_000)
    ada.beats()
    assert world.persister.asked == ["initialize g: 1-0"] * 2


def test_initialization_retry_waits_for_write_timeout() -> None:
    world = ShareGroupWorld(settings={"group_share_initialize_retry_interval_ms": 1}, foo=1)
    ada = world.member("ada")
    world.persister.holding = True
    ada.tells()
    world.after(4_999)
    ada.beats()
    assert len(world.persister.asked) == 1
    world.after(1)
    ada.beats()
    assert len(world.persister.asked) == 2


def test_new_partitions_are_initialized() -> None:
    world = ShareGroupWorld(foo=2)
    ada = world.member("ada")
    world.rests(ada)
    world.topics.create("foo", 3)
    world.rests(ada)
    assert world.persister.asked == ["initialize g: 1-0 1-1", "initialize g: 1-2"]
    assert (ada.epoch, ada.partitions()) == (5, {0, 1, 2}), "once for the topic, once for the partition that is ready"


def test_topic_deleted_during_initialization() -> None:
    world = ShareGroupWorld(foo=1)
    ada = world.member("ada")
    world.persister.holding = True
    ada.tells()
    gone = world.id_of("foo")
    world.loses_topic("foo")
    world.persister.let_go(world.now_ms)
    world.settle()
    assert gone not in world.share_group.states.initialized
    world.topics.create("foo", 1)
    world.rests(ada)
    assert world.id_of("foo") != gone
    assert ada.partitions() == {0}


def test_failed_write_is_rolled_back() -> None:
    world = ShareGroupWorld(foo=2)
    ada, bob = world.member("ada"), world.member("bob")
    world.failing = E.not_enough_replicas
    assert ada.tells().error is E.coordinator_not_available
    assert not world.coordinator.of_type("share")
    assert not world.persister.asked, "nothing is made ready for a group that is not written"
    world.failing = E.none
    world.rests(ada)
    world.failing = E.not_enough_replicas
    assert bob.tells().error is E.coordinator_not_available
    assert ada.leaves().error is E.coordinator_not_available
    assert list(world.share_group.members) == ["ada-id"]
    world.failing = E.none
    assert ada.beats().heard.member_epoch == 3
    world.after(10_000)
    assert world.share_group.is_empty, "its session had begun again"


def test_failed_expiration_write_is_retried() -> None:
    world = ShareGroupWorld(foo=1)
    ada = world.member("ada")
    world.rests(ada)
    world.failing = E.not_enough_replicas
    world.after(10_000)
    assert not world.share_group.is_empty
    world.failing = E.none
    world.after(500)
    assert world.share_group.is_empty
    assert ada.beats().error is E.unknown_member_id


def test_unchanged_heartbeat_waits_for_earlier_write() -> None:
    world = ShareGroupWorld(foo=2)
    ada, bob = world.member("ada"), world.member("bob")
    world.rests(ada)
    world.holding = True
    bob.tells()
    heard = ada.beats()
    assert heard.answers == 0
    while world.held:
        world.write(E.none)
    assert heard.error is E.none
    assert len(ada.partitions()) == 1


def test_loaded_group_continues() -> None:
    world = ShareGroupWorld(foo=2)
    ada, bob = world.member("ada"), world.member("bob")
    world.rests(ada, bob)
    epoch, asked = ada.epoch, len(world.persister.asked)
    world.restart()
    assert (ada.beats().error, ada.epoch) == (E.none, epoch)
    assert len(world.persister.asked) == asked, "partitions stay ready"
    world.after(10_000)
    assert world.share_group.is_empty, "every member had a whole session"
    world.restart()
    assert world.share_group.is_empty, "a group without members is there all the same"


def test_new_coordinator_initializes_pending_partitions_again() -> None:
    world = ShareGroupWorld(foo=1)
    ada = world.member("ada")
    world.persister.holding = True
    ada.tells()
    world.restart()
    world.persister.let_go(world.now_ms)
    world.settle()
    assert not world.ready("foo"), "the answer was for the coordinator before"
    ada.beats()
    assert len(world.persister.asked) == 1
    for _ in range(4):
        world.after(7_500)
        ada.beats()
    assert len(world.persister.asked) == 2
    world.rests(ada)
    assert ada.partitions() == {0}


def test_old_coordinator_stops_responding_after_move() -> None:
    world = ShareGroupWorld(foo=1)
    ada = world.member("ada")
    world.holding = True
    ticket = ada.tells()
    world.unload()
    assert ticket.error is E.not_coordinator
    assert not world.coordinator.of_type("share")
    assert ada.tells().error is E.not_coordinator
    assert world.purgatory.next_wakeup_ms is None, "no timer is left"


@pytest.mark.parametrize("kind", range(10, 16))
def test_damaged_record_ends_load(kind: int) -> None:
    world = ShareGroupWorld(foo=1)
    world.rests(world.member("ada"))
    key, value = next(item for item in world.log[0] if item[0][1] == kind)
    assert value is not None
    for damaged in (value[:-1], value[:3], b""):
        other = ShareGroupWorld()
        other.coordinator.shards = {}
        with pytest.raises(RecordError):
            load(other.coordinator, 0, [*world.log[0], (key, damaged)], 0)
        assert not other.coordinator.shards
        assert not other.coordinator.of_type("share")


def test_compacted_member_records_load_unordered() -> None:
    world = ShareGroupWorld(foo=2)
    ada = world.member("ada")
    world.rests(ada)
    other = ShareGroupWorld()
    other.coordinator.shards = {}
    load(other.coordinator, 0, list(reversed(list(dict(world.log[0]).items()))), 0)
    member = other.share_group.members["ada-id"]
    assert member.metadata == world.share_group.members["ada-id"].metadata
    assert member.current == world.share_group.members["ada-id"].current
    assert other.share_group.names == {"foo": 1}


def test_fenced_member_keeps_its_assignment() -> None:
    world = ShareGroupWorld(foo=1)
    ada = world.member("ada")
    world.rests(ada)
    epoch, has = ada.epoch, dict(ada.has)
    for said in (epoch + 1, epoch + 77, 2**31 - 1, epoch - 2):
        if said > 0:
            assert ada.beats(member_epoch=said).error is E.fenced_member_epoch
    assert list(world.share_group.members) == [ada.member_id]
    ada.epoch, ada.has = epoch, has
    assert ada.beats().error is E.none


def test_expiry_leaves_share_groups_alone() -> None:
    world = ShareGroupWorld(settings={"offsets_retention_check_interval_ms": 1_000, "offsets_retention_ms": 1}, foo=1)
    ada = world.member("ada")
    world.rests(ada)
    ada.leaves()
    world.after(5_000)
    world.sweeps()
    assert world.share_group.is_empty


def test_nobody_commits_for_a_share_group() -> None:
    world = ShareGroupWorld(foo=1)
    ada = world.member("ada")
    world.rests(ada)
    for generation_id in (-1, 3):
        committer = Committer(7, 0, "g", generation_id, ada.member_id, None)
        assert check_committer(world.coordinator, committer) is E.group_id_not_found
    ada.leaves()
    assert world.coordinator.creatable("g") is E.group_id_not_found, "not even while it is empty"
