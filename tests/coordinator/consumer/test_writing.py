"""Decisions during a write are written after it, and fail with it (consumer-groups §19)."""

from kohort.coordinator.offsets.offsets_topic_records import GroupKey, read_key
from kohort.protocol.errors import ErrorCode as E
from tests.coordinator.consumer.promises import log_and_coordinator_agree
from tests.coordinator.consumer.world import ConsumerWorld
from tests.support.consumer_groups import one_owner_each


def test_pending_changes_form_next_batch() -> None:
    world = ConsumerWorld(foo=6)
    ada, bob, eve = world.consumer("ada"), world.consumer("bob"), world.consumer("eve")
    world.holding = True
    ada.acts()
    bob.acts()
    eve.acts()
    assert len(world.held) == 1
    world.write(E.none)
    assert [item.epoch for item in (ada, bob, eve)] == [2, 0, 0]
    assert len(world.held) == 1, "bob's and eve's changes are one batch"
    world.write(E.none)
    assert [item.epoch for item in (ada, bob, eve)] == [2, 3, 4]
    assert not world.coordinator.unwritten
    log_and_coordinator_agree(world)


def test_failed_batch_drops_dependent_writes() -> None:
    world = ConsumerWorld(foo=6)
    ada, bob = world.consumer("ada"), world.consumer("bob")
    world.holding = True
    ada.acts()
    bob.acts()
    world.write(E.not_enough_replicas)
    assert not world.held
    assert not world.log[0]
    assert not world.coordinator.of_type("consumer")
    assert [item.tickets[-1].error for item in (ada, bob)] == [E.coordinator_not_available] * 2
    world.holding = False
    world.converges(ada, bob)
    assert {len(item.owned) for item in (ada, bob)} == {3}


def test_unchanged_heartbeat_waits_for_earlier_write() -> None:
    world = ConsumerWorld(foo=6)
    ada, bob = world.consumer("ada"), world.consumer("bob")
    world.converges(ada, bob)
    world.holding = True
    bob.beats(rack_id="r1")
    heard = ada.beats()
    assert heard.answers == 0
    assert len(world.held) == 1
    world.write(E.none)
    assert heard.error is E.none


def test_large_batch_is_split() -> None:
    world = ConsumerWorld(foo=6)
    world.holding = True
    members = [
        world.consumer(f"m{number}", names=tuple(f"t{number}" for number in range(1_000))) for number in range(30)
    ]
    for member in members:
        member.acts()
    sizes = []
    while world.held:
        sizes.append(world.held[0].records.count)
        world.write(E.none, count=1)
    assert sizes[0] < sizes[1]
    assert len(sizes) > 3
    assert all(member.epoch for member in members)
    log_and_coordinator_agree(world)


def test_downgraded_group_writes_in_order() -> None:
    for error in (E.none, E.not_enough_replicas):
        world = ConsumerWorld(foo=6)
        ada, cem = world.consumer("ada"), world.classic("cem")
        world.converges(ada, cem)
        written = len(world.log[0])
        world.holding = True
        ada.leaves()
        cem.acts()  # receives REBALANCE_IN_PROGRESS
        cem.acts()  # joins: alone, so the next generation begins
        cem.acts()  # syncs: that is written
        assert len(world.held) == 1
        world.write(error, count=1)
        assert len(world.held) == (1 if error is E.none else 0)
        world.write(E.none)
        one_owner_each(world.coordinator)
        kinds = {type(read_key(key)) for key, _ in world.log[0][written:]}
        assert (GroupKey in kinds) is (error is E.none)
        assert (world.coordinator.classic_group("g") is not None) is (error is E.none)
        log_and_coordinator_agree(world)
        world.holding = False
        ada.acts()
        world.converges(ada, cem)
        assert len(ada.owned) == 3
