"""Commits, fetches and deletions, row by row of the tables (classic-groups §7.2, §7.4, §7.5, §8.3)."""

from uuid import UUID

import pytest

from kohort.coordinator.offsets.fetching_offsets import offset_fetch
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.offset_fetch import OffsetFetchRequestTopic
from tests.support.coordinator_world import Speaker, World, commit_error, subscription

OLD, NEW = UUID(int=1), UUID(int=2)


def a_group(state: str) -> tuple[World, Speaker, Speaker]:
    """Return a world with ada, a static member, and bob, which has an unused id."""
    world = World()
    ada, bob = world.speaker("ada", instance="i-ada"), world.speaker("bob")
    if state != "missing":
        ada.joins()
        world.after(0)
        world.synced(ada)
        if state == "P":
            world.speaker("cem", needs_id=False).joins()
        elif state == "C":
            ada.joins()
        elif state == "E":
            ada.leaves()
        bob.joins()
        assert world.state()[0] == state
    return world, ada, bob


ROWS = [
    # group, generation, member id, instance: error. `own` and `current` are ada's.
    ("missing", -1, "", None, E.none),
    ("missing", -1, "zzz", None, E.none),
    ("missing", 5, "zzz", None, E.group_id_not_found),
    ("E", -1, "", None, E.none),
    ("E", -1, "zzz", "zzz", E.none),
    ("E", 2, "own", None, E.unknown_member_id),
    *((state, -1, "", None, E.unknown_member_id) for state in "PCS"),
    *((state, -1, "own", None, E.illegal_generation) for state in "PCS"),
    *((state, -1, "own", "i-ada", E.illegal_generation) for state in "PCS"),
    *((state, -1, "", "i-ada", E.fenced_instance_id) for state in "PCS"),
    *((state, -1, "zzz", None, E.unknown_member_id) for state in "PCS"),
    *((state, "current", "own", "zzz", E.unknown_member_id) for state in "PCS"),
    *((state, "current", "zzz", "i-ada", E.fenced_instance_id) for state in "PCS"),
    *((state, "current", "zzz", None, E.unknown_member_id) for state in "PCS"),
    *((state, "current", "", None, E.unknown_member_id) for state in "PCS"),
    *((state, "current", "pending", None, E.unknown_member_id) for state in "PCS"),
    *((state, 99, "own", "i-ada", E.illegal_generation) for state in "PCS"),
    *((state, 0, "own", None, E.illegal_generation) for state in "PCS"),
    ("C", "current", "own", "i-ada", E.rebalance_in_progress),
    ("C", "current", "own", None, E.rebalance_in_progress),
    *((state, "current", "own", None, E.none) for state in "PS"),
    *((state, "current", "own", "i-ada", E.none) for state in "PS"),
]


@pytest.mark.parametrize(("state", "generation", "member_id", "instance", "error"), ROWS)
def test_commit(state: str, generation: int | str, member_id: str, instance: str | None, error: E) -> None:
    world, ada, bob = a_group(state)
    member_id = {"own": ada.member_id, "pending": bob.member_id}.get(member_id, member_id)
    if generation == "current":
        generation = ada.generation
    before = world.state()
    assert commit_error(ada.commits(7, generation=generation, member_id=member_id, instance=instance)) is error
    assert world.offsets("t") == {"t-0": 7 if error is E.none else -1}
    assert world.state() == ("Empty 0" if (state, error) == ("missing", E.none) else before)


def test_old_versions_receive_illegal_generation() -> None:
    ada = World().speaker("ada", member_id="zzz", generation=5)
    assert commit_error(ada.commits(knows_epochs=False)) is E.illegal_generation


def test_commit_counts_as_heartbeat() -> None:
    world = World()
    (ada,) = world.stable("ada")
    for _ in range(3):
        world.after(9_000)
        assert commit_error(ada.commits()) is E.none
    world.after(9_999)
    assert commit_error(ada.commits(generation=99)) is E.illegal_generation  # and a refused one does not
    world.after(1)
    assert ada.beats() is E.unknown_member_id


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        (None, E.none),
        ("", E.none),
        ("é" * 4_096, E.none),
        ("é" * 4_097, E.offset_metadata_too_large),
        ("😀" * 2_048, E.none),
        ("😀" * 2_048 + "!", E.offset_metadata_too_large),
    ],
)
def test_metadata_is_measured_in_code_units(metadata: str | None, error: E) -> None:
    world = World()
    ada = world.speaker("ada")
    assert commit_error(ada.commits(7, metadata=metadata)) is error
    asked = (OffsetFetchRequestTopic(name="t", topic_id=None, partition_indexes=(0,)),)
    (topic,) = offset_fetch(world.coordinator, "g", asked).topics
    assert topic.partitions[0].metadata == (metadata or "" if error is E.none else "")


@pytest.mark.parametrize("offset", [-1, -7, 0, 2**63 - 1])
def test_any_offset_will_do(offset: int) -> None:
    world = World()
    assert commit_error(world.speaker("ada").commits(offset)) is E.none
    assert world.offsets("t") == {"t-0": offset}


def test_empty_group_id_can_commit() -> None:
    world = World()
    assert commit_error(world.speaker("ada", group_id="").commits(7)) is E.none
    assert world.offsets("t", group_id="") == {"t-0": 7}


# OffsetFetch


def test_missing_offset_is_not_an_error() -> None:
    world = World()
    (topic,) = offset_fetch(
        world.coordinator, "g", (OffsetFetchRequestTopic(name="t", topic_id=None, partition_indexes=(3,)),)
    ).topics
    (partition,) = topic.partitions
    assert (partition.committed_offset, partition.committed_leader_epoch, partition.metadata) == (-1, -1, "")
    assert partition.error_code is E.none
    assert offset_fetch(world.coordinator, "g", None).topics == ()
    assert offset_fetch(world.coordinator, "g", ()).topics == ()


@pytest.mark.parametrize("state", ["P", "C", "S", "E"])
def test_everybody_may_fetch_in_every_state(state: str) -> None:
    world, ada, _ = a_group(state)
    if state in "PS":
        ada.commits(7)
        assert world.offsets() == {"t-0": 7}
    assert offset_fetch(world.coordinator, "g", None).error_code is E.none


@pytest.mark.parametrize(
    ("stored", "asked", "offset"), [(OLD, OLD, 7), (OLD, NEW, -1), (None, NEW, 7), (OLD, None, 7), (None, None, 7)]
)
def test_recreated_topic_hides_old_offset(stored: UUID | None, asked: UUID | None, offset: int) -> None:
    world = World()
    world.speaker("ada").commits(7, topic_id=stored)
    topics = (OffsetFetchRequestTopic(name="t", topic_id=asked, partition_indexes=(0,)),)
    (topic,) = offset_fetch(world.coordinator, "g", topics).topics
    assert topic.partitions[0].committed_offset == offset


# OffsetDelete


def test_missing_group_rejects_offset_deletion() -> None:
    delete = World().deletes_offsets(("t", 0))
    assert (delete.error, delete.heard.top_level) == (E.group_id_not_found, True)
    assert World().deletes_offsets(("t", 0), group_id="").error is E.invalid_group_id


def test_memberless_group_loses_requested_offsets() -> None:
    world = World()
    ada = world.speaker("ada")
    for topic in ("t", "u"):
        ada.commits(7, topic=topic)
    assert world.deletes_offsets(("t", 0), ("t", 5), ("v", 0)).error is E.none  # missing offsets are not an error
    assert world.offsets() == {"u-0": 7}
    assert world.deletes_offsets().error is E.none


def test_subscribed_offsets_cannot_be_deleted() -> None:
    world = World()
    (ada,) = world.stable("ada")
    for topic in ("t", "u"):
        ada.commits(7, topic=topic)
    delete = world.deletes_offsets(("t", 0), ("u", 0))
    assert (delete.error, delete.heard.in_use) == (E.none, {"t"})
    assert world.offsets() == {"t-0": 7}


@pytest.mark.parametrize("metadata", [b"", b"\x00\x00\x00\x00\x00\x01\x00"])
def test_unknown_subscriptions_prevent_offset_deletion(metadata: bytes) -> None:
    world = World()
    (ada,) = world.stable("ada", protocols=(("range", metadata),))
    ada.commits(7)
    assert world.deletes_offsets(("t", 0)).heard.in_use == {"t"}


def test_first_generation_has_unknown_subscriptions() -> None:
    world = World(group_initial_rebalance_delay_ms=3_000)
    world.speaker("ada").enters()
    assert world.deletes_offsets(("u", 0)).heard.in_use == {"u"}


def test_other_group_type_keeps_offsets() -> None:
    world = World()
    (ada,) = world.stable("ada", protocol_type="connect")
    ada.commits(7)
    delete = world.deletes_offsets(("t", 0))
    assert (delete.error, delete.heard.top_level) == (E.non_empty_group, True)


# DeleteGroups


def test_pending_ids_do_not_prevent_deletion() -> None:
    world = World()
    ada = world.speaker("ada")
    ada.joins()
    assert world.deletes_group().error is E.none
    assert ada.joins().error is E.unknown_member_id
    assert len(world.purgatory) == 0


def test_abandoned_rebalance_prevents_deletion() -> None:
    world = World(group_initial_rebalance_delay_ms=3_000)
    ada = world.speaker("ada", needs_id=False)
    join = ada.joins()
    (ada.member_id,) = world.group().members
    ada.leaves()
    assert join.error is E.unknown_member_id
    assert world.state() == "PreparingRebalance 0"
    assert world.deletes_group().error is E.non_empty_group
    world.after(3_000)
    assert world.state() == "Empty 1"
    assert world.deletes_group().error is E.none
    assert world.deletes_group().error is E.group_id_not_found


def test_after_a_deletion_everything_begins_anew() -> None:
    world = World()
    (ada,) = world.stable("ada")
    ada.commits(7)
    ada.leaves()
    world.deletes_group()
    assert world.offsets("t") == {"t-0": -1}
    (bob,) = world.stable("bob", protocols=(("range", subscription()),))
    assert bob.generation == 1
