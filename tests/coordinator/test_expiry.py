"""When offsets and groups are old enough to go (KIP-211; classic-groups §7.6)."""

from uuid import UUID

import pytest

from kohort.coordinator.groups.deleting import Sweep, topic_deleted
from kohort.coordinator.offsets.offsets_topic_records import GroupValue, group_key, group_value
from kohort.protocol.errors import ErrorCode as E
from tests.support.coordinator_world import World, commit_error

DAY = 86_400_000


def world_of_a_day() -> World:
    return World(offsets_retention_ms=DAY)


def sweep_at(world: World, age_ms: int) -> None:
    """Advance the clock without ending sessions, then expire offsets."""
    world.now_ms += age_ms
    world.sweeps()


def test_simple_group_expires() -> None:
    world = world_of_a_day()
    ada = world.speaker("ada")
    ada.commits(1, topic="t")
    world.after(1_000)
    ada.commits(1, topic="u")
    sweep_at(world, DAY - 1_001)
    assert world.offsets() == {"t-0": 1, "u-0": 1}
    sweep_at(world, 1)
    assert world.offsets() == {"u-0": 1}
    sweep_at(world, 1_000)
    assert world.state() == ""
    world.restart()
    assert world.state() == ""


def test_retention_starts_when_group_empties() -> None:
    world = world_of_a_day()
    (ada,) = world.stable("ada")
    ada.commits(1)
    world.after(5_000)
    ada.leaves()
    sweep_at(world, DAY - 1)
    assert world.offsets() == {"t-0": 1}
    sweep_at(world, 1)
    assert world.state() == ""


def test_later_commit_does_not_extend_emptiness() -> None:
    world = world_of_a_day()
    (ada,) = world.stable("ada")
    ada.leaves()
    sweep_at(world, 0)
    assert world.state() == ""  # without offsets it goes with the first sweep
    (ada,) = world.stable("ada")
    ada.commits(1)
    ada.leaves()
    world.now_ms += DAY - 1
    assert commit_error(world.speaker("tool").commits(2)) is E.none
    sweep_at(world, 1)
    assert world.state() == ""


def test_old_record_has_no_start_time() -> None:
    world = world_of_a_day()
    empty = GroupValue(
        protocol_type="consumer", generation_id=3, protocol_name=None, leader_id=None, state_timestamp_ms=-1, members=()
    )
    world.unload()
    world.log[0] = [(group_key("g"), group_value(empty))]
    world.load()
    world.speaker("tool").commits(1)
    sweep_at(world, DAY - 1)
    assert world.offsets() == {"t-0": 1}
    sweep_at(world, 1)
    assert world.state() == ""


def test_subscribed_topics_keep_offsets() -> None:
    world = world_of_a_day()
    (ada,) = world.stable("ada")
    for topic in ("t", "u"):
        ada.commits(1, topic=topic)
    sweep_at(world, DAY - 1)
    assert world.offsets() == {"t-0": 1, "u-0": 1}
    sweep_at(world, 1)
    assert world.offsets() == {"t-0": 1}
    assert world.state() == "Stable 1"


@pytest.mark.parametrize(
    "traits", [{"protocol_type": "connect"}, {"protocols": (("range", b"?"),)}], ids=["connect", "unreadable"]
)
def test_unknown_subscriptions_keep_offsets(traits: dict[str, object]) -> None:
    world = world_of_a_day()
    (ada,) = world.stable("ada", **traits)
    ada.commits(1, topic="u", retention_ms=5)
    sweep_at(world, 2 * DAY)
    assert world.offsets() == {"u-0": 1}


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance"])
def test_rebalancing_group_keeps_offsets(state: str) -> None:
    world = world_of_a_day()
    ada, bob = world.stable("ada", "bob")
    ada.commits(1, topic="u", retention_ms=5)
    ada.joins()
    if state == "CompletingRebalance":
        bob.joins()
    assert world.state().startswith(state)
    sweep_at(world, 2 * DAY)
    assert world.offsets() == {"u-0": 1}


@pytest.mark.parametrize(("retention_ms", "lives_ms"), [(-1, DAY), (2_000, 2_000), (0, 0), (-2, 0), (2 * DAY, 2 * DAY)])
def test_commit_can_set_retention(retention_ms: int, lives_ms: int) -> None:
    world = world_of_a_day()
    world.speaker("ada").commits(1, retention_ms=retention_ms)
    if lives_ms:
        sweep_at(world, lives_ms - 1)
        assert world.offsets() == {"t-0": 1}
        world.now_ms += 1
    sweep_at(world, 0)
    assert world.offsets() == {}


def test_explicit_expiry_applies_to_running_groups() -> None:
    world = world_of_a_day()
    (ada,) = world.stable("ada")
    ada.commits(1, topic="t", retention_ms=2_000)
    ada.commits(1, topic="u", retention_ms=2_000)
    sweep_at(world, 2_000)
    assert world.offsets() == {"t-0": 1}


def test_pending_ids_do_not_keep_group() -> None:
    world = World()
    ada = world.speaker("ada")
    ada.joins()
    world.sweeps()
    assert world.state() == ""
    assert ada.joins().error is E.unknown_member_id


def test_expiration_is_periodic() -> None:
    world = World(offsets_retention_ms=1_500, offsets_retention_check_interval_ms=1_000)
    world.purgatory.wait(Sweep(world.coordinator, 0))
    world.speaker("ada").commits(1)
    world.after(1_999)
    assert world.offsets() == {"t-0": 1}
    world.after(1)
    assert world.state() == ""
    assert len(world.purgatory) == 1


def test_topic_deletion_removes_its_offsets() -> None:
    world = World()
    old, new = UUID(int=1), UUID(int=2)
    for partition, topic_id in enumerate((None, old, new)):
        world.speaker("ada").commits(1, partition=partition, topic_id=topic_id)
    world.speaker("ada").commits(1, topic="u", topic_id=old)
    world.speaker("bob", group_id="h").commits(1, topic_id=old)
    for _ in topic_deleted(world.coordinator, "t", old, world.now_ms):
        pass
    world.settle()
    assert world.offsets() == {"t-2": 1, "u-0": 1}
    assert (world.offsets(group_id="h"), world.state("h")) == ({}, "Empty 0")
