"""A group is deleted when its tombstones are written, unless members join meanwhile (Kafka deletes it at once)."""

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


@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_group_exists_until_deletion_is_written(kind: str) -> None:
    world = emptied(kind)
    ticket = world.deletes_group()
    assert ticket.error is None
    assert world.coordinator.groups.get("g") is not None
    assert world.offsets() == {"t-0": 7}
    world.write()
    assert ticket.error is E.none
    assert world.coordinator.groups.get("g") is None
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
