"""A target that takes long is computed next to the heartbeats, and a later heartbeat uses it."""

from __future__ import annotations

from typing import Any

from kohort.coordinator.consumer.assignors import assign
from kohort.coordinator.modern.preparing import EFFORT_AT_ONCE, EFFORT_OF_A_SLICE
from tests.coordinator.consumer.world import ConsumerWorld

LARGE: dict[str, Any] = {f"large{number}": EFFORT_AT_ONCE // 2 + 1 for number in range(3)}


def has(world: ConsumerWorld, member_id: str) -> int:
    """Return the number of partitions in a member's target."""
    return sum(map(len, world.consumer_group.target_of(member_id).values()))


def test_second_heartbeat_gets_prepared_assignment() -> None:
    world = ConsumerWorld(**LARGE)
    ada = world.consumer("ada", names=tuple(LARGE))
    ada.acts()
    group = world.consumer_group
    assert (ada.owned, group.target_epoch, group.state.value) == (set(), 1, "Assigning")
    world.after(100)
    ada.acts()
    assert (group.state.value, has(world, ada.member_id)) == ("Stable", sum(LARGE.values()))
    assert group.preparation is None


def test_short_preparation_is_immediate() -> None:
    world = ConsumerWorld(foo=EFFORT_AT_ONCE // 4)
    ada = world.consumer("ada")
    ada.acts()
    assert has(world, ada.member_id) == EFFORT_AT_ONCE // 4


def test_others_are_served_after_each_slice() -> None:
    topics: dict[str, Any] = {f"t{number}": EFFORT_OF_A_SLICE for number in range(40)}
    world = ConsumerWorld(**topics)
    ada = world.consumer("ada", names=tuple(topics))
    ada.acts()
    slices = 0
    while (preparation := world.consumer_group.preparation) is not None and preparation.targets is None:
        world.after(1)
        slices += 1
    assert slices > 10


def test_changed_members_restart_preparation() -> None:
    world = ConsumerWorld(**LARGE)
    ada, bob = (world.consumer(name, names=tuple(LARGE)) for name in ("ada", "bob"))
    ada.acts()
    first = world.consumer_group.preparation
    bob.acts()
    second = world.consumer_group.preparation
    assert first is not None
    assert second is not None
    assert first is not second
    world.after(1_000)
    assert first.targets is None, "no heartbeat waits for it"
    ada.acts()
    assert has(world, ada.member_id) + has(world, bob.member_id) == sum(LARGE.values())
    assert second.targets == assign("uniform", second.inputs.members, second.inputs.counts, True)


def test_it_ends_with_its_group() -> None:
    world = ConsumerWorld(**LARGE)
    ada = world.consumer("ada", names=tuple(LARGE))
    ada.acts()
    preparation = world.consumer_group.preparation
    world.coordinator.remove(world.consumer_group)
    world.after(1_000)
    assert preparation is not None
    assert preparation.targets is None
    assert not world.coordinator.background


def test_groups_are_prepared_in_turn() -> None:
    world = ConsumerWorld(**LARGE)
    ada, bob = (world.consumer(name, names=tuple(LARGE), group_id=name) for name in ("ada", "bob"))
    ada.acts()
    bob.acts()
    world.after(1_000)
    for who in (ada, bob):
        group = world.coordinator.consumer_group(who.group_id)
        assert group is not None
        who.acts()
        assert sum(map(len, group.target_of(who.member_id).values())) == sum(LARGE.values())


def test_uniform_assignor_moves_many_partitions() -> None:
    world = ConsumerWorld(foo=20_000, bar=2)
    ada, bob = world.consumer("ada", names=("foo", "bar")), world.consumer("bob")
    ada.acts()
    bob.acts()
    assert has(world, bob.member_id) == 0, "it is under way"
    world.after(1_000)
    bob.acts()
    assert abs(has(world, ada.member_id) - has(world, bob.member_id)) <= 1


def test_preparation_after_failed_downgrade() -> None:
    world = ConsumerWorld(**LARGE)
    carl, ada = world.classic("carl", names=("large0",)), world.consumer("ada", names=tuple(LARGE))
    world.converges(carl)
    ada.acts()
    world.settle()
    assert world.consumer_group.preparation is not None
    world.fails_to_downgrade(ada, 1_000)  # the assignor finds a classic group
    world.converges(carl, ada)
    assert has(world, ada.member_id) + has(world, carl.member_id) == sum(LARGE.values())
