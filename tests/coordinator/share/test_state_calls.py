"""Calls for many partitions of a share group are made in slices, in order, and end with the group."""

from __future__ import annotations

from typing import Any

import pytest

from kohort.coordinator.groups.deleting import delete_group
from kohort.coordinator.share.persister import OnOutcomes
from kohort.coordinator.share.state_calls import PARTITIONS_AT_ONCE, StateCall, call_in_slices
from kohort.coordinator.share.state_partitions import TopicIdPartition
from kohort.protocol.errors import ErrorCode as E
from tests.coordinator.share.share_group_world import ShareGroupWorld

MANY = 3 * PARTITIONS_AT_ONCE + 1


def large(foo: int = MANY) -> ShareGroupWorld:
    """Make a group with a member, whose partitions are being made ready."""
    world = ShareGroupWorld(foo=foo)
    world.member("ada").acts()
    return world


def called(world: ShareGroupWorld) -> list[int]:
    """Count partitions of each call."""
    return [len(line.partition(": ")[2].split()) for line in world.persister.asked]


def test_many_partitions_are_initialized_in_slices() -> None:
    world = large()
    assert called(world) == [PARTITIONS_AT_ONCE]
    assert world.ready("foo") == set()
    for slices in (2, 3, 4):
        world.after(0 if slices == 2 else 1)
        assert len(called(world)) == slices
    assert called(world) == [PARTITIONS_AT_ONCE] * 3 + [1]
    assert world.ready("foo") == set(range(MANY))
    assert not world.coordinator.background


def test_few_partitions_are_initialized_at_once() -> None:
    world = large(foo=PARTITIONS_AT_ONCE - 1)
    assert world.ready("foo") == set(range(PARTITIONS_AT_ONCE - 1))


def test_one_failure_means_all_retried() -> None:
    world = large()
    world.persister.failing = E.coordinator_not_available
    world.after(1)
    world.persister.failing = E.none
    world.after(10)
    assert world.ready("foo") == set()
    assert not world.share_group.states.initializing


def test_groups_take_turns() -> None:
    world = ShareGroupWorld(foo=MANY)
    for name in ("g", "h"):
        world.member("ada", group_id=name).acts()
    world.after(10)
    assert [line.split()[1] for line in world.persister.asked] == ["g:", "h:", "g:", "g:", "h:", "g:", "h:", "h:"]


def test_later_call_follows_earlier_one() -> None:
    world = large()
    ada = world.member("ada")
    ada.epoch = 1
    ada.leaves()
    assert world.alters("foo", {0: 7}) == [], "it waits"
    world.after(10)
    assert world.persister.states["g", world.id_of("foo"), 0][1] == 7
    assert called(world) == [PARTITIONS_AT_ONCE] * 3 + [1, 1]


def test_offsets_are_deleted_in_slices() -> None:
    world = large()
    world.after(10)
    ada = world.member("ada")
    ada.epoch = 1
    ada.leaves()
    world.persister.asked.clear()
    outcomes = world.deletes("foo")
    assert (outcomes, called(world)) == ([], [PARTITIONS_AT_ONCE])
    world.after(10)
    assert outcomes == [[E.none]]
    assert called(world) == [PARTITIONS_AT_ONCE] * 3 + [1]
    assert not world.persister.states


def test_group_is_deleted_in_slices() -> None:
    world = large()
    world.after(10)
    ada = world.member("ada")
    ada.epoch = 1
    ada.leaves()
    outcomes: list[E] = []
    delete_group(world.coordinator, "g", world.now_ms, lambda error, _: outcomes.append(error))
    world.settle()
    assert (outcomes, [group.group_id for group in world.coordinator.of_type("share")]) == ([], ["g"])
    world.after(10)
    assert (outcomes, [group.group_id for group in world.coordinator.of_type("share")]) == ([E.none], [])
    assert not world.persister.states


def test_lost_group_ends_its_calls() -> None:
    world = large()
    world.after(10)
    ada = world.member("ada")
    ada.epoch = 1
    ada.leaves()
    outcomes = world.deletes("foo")
    world.coordinator.remove(world.share_group)
    world.after(10)
    assert outcomes == [E.not_coordinator]
    assert len(world.persister.asked) == 4 + 1
    assert not world.coordinator.background


def test_answers_after_the_end_are_ignored() -> None:
    world = large()
    group = world.share_group
    finished: list[StateCall] = []
    callbacks: list[OnOutcomes] = []

    def make(partitions: list[TopicIdPartition], on_outcomes: OnOutcomes, now_ms: int) -> None:
        callbacks.append(on_outcomes)

    topic_id = world.id_of("foo")
    partitions = [(topic_id, number) for number in range(MANY)]
    call = StateCall(partitions, make, lambda call, _: finished.append(call))
    world.after(10)
    call_in_slices(group, call, world.now_ms)
    world.coordinator.remove(group)
    world.after(10)
    assert finished == [call]
    callbacks[0]({}, world.now_ms)
    assert finished == [call]


def test_failing_call_does_not_block_others() -> None:
    world = large(foo=1)
    group, slices_made = world.share_group, []

    def fails(partitions: list[TopicIdPartition], on_outcomes: OnOutcomes, now_ms: int) -> None:
        slices_made.append(len(partitions))
        if len(slices_made) == 2:
            raise ZeroDivisionError

    topic_id = world.id_of("foo")
    partitions = [(topic_id, number) for number in range(MANY)]
    finished: list[Any] = []
    for _ in range(2):
        call_in_slices(group, StateCall(partitions, fails, lambda call, _: finished.append(call)), world.now_ms)
    with pytest.raises(ZeroDivisionError):
        world.after(1)
    world.after(10)
    assert slices_made == [PARTITIONS_AT_ONCE] * 5 + [1]
    assert group.state_calls == []


def test_large_target_is_put_off() -> None:
    world = ShareGroupWorld(foo=20_000)
    ada = world.member("ada")
    for _ in range(2):
        ada.acts()
        assert ada.has == {}
        world.after(1_000)
    ada.acts()
    assert ada.partitions() == set(range(20_000))
