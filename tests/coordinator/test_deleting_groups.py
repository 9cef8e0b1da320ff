"""Deletion of groups while their tombstones are being written.

A classic group exists until then, unless members join. A consumer group is deleted at once, as in Kafka.
"""

import pytest

from kohort.protocol.errors import ErrorCode as E
from tests.coordinator.consumer.world import ConsumerWorld
from tests.support.coordinator_world import World


def emptied(kind: str) -> World:
    """Return a world with a group that had a member and has offsets; further writes wait."""
    if kind == "classic":
        world = World()
        (ada,) = world.stable("ada")
        ada.commits(7)
        ada.leaves()
    else:
        world = ConsumerWorld(foo=2)
        member = world.consumer("ada")
        member.joins()
        member.leaves()
        world.speaker("admin").commits(7)
    world.holding = True
    return world


def test_classic_group_outlives_unwritten_deletion() -> None:
    world = emptied("classic")
    ticket = world.deletes_group()
    assert ticket.error is None
    assert world.coordinator.groups.get("g") is not None
    assert world.offsets() == {"t-0": 7}
    world.write()
    assert ticket.error is E.none
    assert world.coordinator.groups.get("g") is None
    world.restart()
    assert world.coordinator.groups.get("g") is None


def test_consumer_group_is_deleted_at_once() -> None:
    world = emptied("consumer")
    ticket = world.deletes_group()
    assert ticket.error is None
    assert world.coordinator.groups.get("g") is None
    world.write()
    assert ticket.error is E.none
    assert world.offsets() == {}
    world.restart()
    assert world.coordinator.groups.get("g") is None


@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_failed_deletion_changes_nothing(kind: str) -> None:
    world = emptied(kind)
    ticket = world.deletes_group()
    world.write(E.not_enough_replicas)
    assert ticket.error not in (None, E.none)
    assert world.coordinator.groups.get("g") is not None
    assert world.offsets() == {"t-0": 7}


@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_join_during_deletion_keeps_member(kind: str) -> None:
    world = emptied(kind)
    ticket = world.deletes_group()
    if isinstance(world, ConsumerWorld):
        world.consumer("bob").joins()
    else:
        world.speaker("bob").enters()
    world.write()
    world.write()
    assert ticket.error is E.none
    group = world.coordinator.groups.get("g")
    assert group is not None
    assert not group.is_empty


@pytest.mark.needs("re2")
@pytest.mark.parametrize("error", [E.none, E.not_enough_replicas])
def test_joined_during_deletion_is_in_log(error: E) -> None:
    world = emptied("consumer")
    assert isinstance(world, ConsumerWorld)
    world.deletes_group()
    bob = world.consumer("bob", names=(), regex="t.*")  # without a change of the epoch
    joining = bob.joins()
    world.write(error)
    world.write()
    assert joining.error is (E.none if error is E.none else E.coordinator_not_available)
    epoch = world.consumer_group.epoch
    assert epoch == (1 if error is E.none else 3)
    world.restart()
    assert world.consumer_group.epoch == epoch
    assert len(world.consumer_group.members) == (1 if error is E.none else 0)


def test_failed_deletion_ends_classic_successor() -> None:
    world = emptied("consumer")
    world.deletes_group()
    bob = world.speaker("bob")
    bob.enters()
    world.after(0)
    world.write(E.not_enough_replicas)
    world.holding = False
    assert world.coordinator.consumer_group("g") is not None
    records = len(world.log[0])
    world.after(60_000)  # no timer of bob's classic group writes over the consumer group
    assert len(world.log[0]) == records
