"""Append, then answer: while a record is being written, and when it cannot be (classic-groups §1.3, §1.5, §5.3)."""

import pytest

from kohort.coordinator.context import STORAGE_ERRORS
from kohort.protocol.errors import ErrorCode as E
from tests.support.coordinator_world import Speaker, World, commit_error, subscription

CODES = [
    (E.unknown_topic_or_partition, E.coordinator_not_available),
    (E.not_enough_replicas, E.coordinator_not_available),
    (E.request_timed_out, E.coordinator_not_available),
    (E.not_leader_or_follower, E.not_coordinator),
    (E.kafka_storage_error, E.not_coordinator),
    (E.message_too_large, E.unknown_server_error),
    (E.record_list_too_large, E.unknown_server_error),
    (E.invalid_fetch_size, E.unknown_server_error),
    (E.corrupt_message, E.unknown_server_error),  # represents any unexpected error
]


@pytest.mark.parametrize(("error", "expected"), CODES)
def test_storage_errors_map_to_coordinator_errors(error: E, expected: E) -> None:
    world = World(group_initial_rebalance_delay_ms=0)
    (ada,) = world.stable("ada")
    world.failing = error
    assert commit_error(ada.commits()) is expected


def test_no_storage_error_is_forgotten() -> None:
    # These are of transactions only (tests/broker/test_transactions.py).
    of_transactions = {E.invalid_producer_epoch, E.transaction_coordinator_fenced}
    assert {error for error, _ in CODES} - {E.corrupt_message} == STORAGE_ERRORS.keys() - of_transactions


# The leader's assignment


def test_assignment_waits_for_write() -> None:
    world = World()
    ada, bob = world.stable("ada", "bob")
    world.joined(ada, bob)
    world.holding = True
    waiting = bob.syncs()
    leading = ada.syncs({bob.member_id: b"all"})
    assert (waiting.heard, leading.heard) == (None, None)
    assert world.state() == "CompletingRebalance 2"
    assert ada.beats() is E.none
    assert commit_error(ada.commits()) is E.rebalance_in_progress
    world.write()
    assert (leading.heard.assignment, waiting.heard.assignment) == (b"", b"all")
    assert world.state() == "Stable 2"


def test_failed_assignment_restarts_rebalance() -> None:
    world = World()
    ada, bob = world.stable("ada", "bob")
    world.joined(ada, bob)
    world.failing = E.not_enough_replicas
    syncs = [bob.syncs(), ada.syncs({bob.member_id: b"all"})]
    assert [sync.error for sync in syncs] == [E.coordinator_not_available] * 2
    assert [sync.heard.assignment for sync in syncs] == [b"", b""]
    assert world.state() == "PreparingRebalance 2"
    assert world.transitions[-1] == "CompletingRebalance -> PreparingRebalance: assignment_store_failed"
    world.failing = E.none
    world.joined(ada, bob)
    world.synced(ada, bob)
    assert world.state() == "Stable 3"


@pytest.mark.parametrize("outcome", [E.none, E.not_enough_replicas])
def test_join_invalidates_pending_assignment(outcome: E) -> None:
    world = World()
    ada, bob = world.stable("ada", "bob")
    world.joined(ada, bob)
    world.holding = True
    syncs = world.synced(ada, bob)
    cem = world.speaker("cem")
    cem.enters()
    assert [sync.error for sync in syncs] == [E.rebalance_in_progress] * 2
    world.write(outcome)
    assert world.state() == "PreparingRebalance 2"
    assert not any(member.assignment for member in world.group().members.values())


def test_stale_assignment_is_not_distributed() -> None:
    world = World()
    ada, bob = world.stable("ada", "bob")
    world.joined(ada, bob)
    world.holding = True
    world.synced(ada, bob)
    world.joined(ada, bob)  # nothing has changed: both receive the same generation again
    bob.joins(protocols=(("range", b""),))
    ada.joins()
    assert world.state() == "CompletingRebalance 3"
    world.write()
    assert world.state() == "CompletingRebalance 3"
    world.restart()
    assert world.state() == "Stable 2"


# The other records of a group


def test_failed_creation_leaves_no_group() -> None:
    world = World(group_initial_rebalance_delay_ms=3_000)
    world.failing = E.not_leader_or_follower
    ada = world.speaker("ada", needs_id=False)
    join = ada.joins()
    assert (join.error, join.heard.member_id) == (E.not_coordinator, "")
    assert world.state() == ""
    assert len(world.purgatory) == 0
    world.after(600_000)
    assert world.log[0] == []


def test_failed_creation_answers_all_joins() -> None:
    world = World(group_initial_rebalance_delay_ms=3_000)
    world.holding = True
    joins = [world.speaker("ada", needs_id=False).joins(), world.speaker("bob", needs_id=False).joins()]
    world.speaker("cem").joins()
    world.write(E.request_timed_out)
    assert [join.error for join in joins] == [E.coordinator_not_available] * 2
    assert len(world.purgatory) == 0


def test_earlier_offsets_survive_failed_creation() -> None:
    world = World()
    world.holding = True
    world.speaker("tool").commits(7)
    world.speaker("ada").joins()
    world.write(E.none, count=1)
    world.write(E.not_enough_replicas)
    assert world.offsets() == {"t-0": 7}
    assert world.group().is_simple


def test_overtaken_first_record_keeps_group() -> None:
    world = World()
    world.holding = True
    ada = world.speaker("ada")
    ada.enters()
    world.after(0)
    assert world.state() == "CompletingRebalance 1"
    world.write(E.not_enough_replicas)
    world.synced(ada)
    world.write(E.none)
    assert world.state() == "Stable 1"


def test_emptying_leave_waits_for_write() -> None:
    world = World()
    (ada,) = world.stable("ada")
    world.holding = True
    leave = ada.leaves()
    assert not leave.answers
    assert world.state() == "Empty 2"
    world.write()
    assert (leave.error, leave.heard.members[0].error_code) == (E.none, E.none)


def test_failed_leave_still_empties_group() -> None:
    world = World()
    (ada,) = world.stable("ada")
    world.failing = E.not_enough_replicas
    leave = ada.leaves()
    assert (leave.error, leave.heard.members) == (E.coordinator_not_available, ())
    assert world.state() == "Empty 2"


# Static members (classic-groups §3.6)


def static_pair(world: World) -> list[Speaker]:
    pair = [world.speaker(name, instance=f"i-{name}") for name in ("ada", "bob")]
    world.joined(*pair)
    world.after(0)
    world.synced(*pair)
    assert world.state() == "Stable 1"
    return pair


def test_static_return_counts_once_written() -> None:
    world = World()
    ada, bob = static_pair(world)
    world.holding = True
    old_id = bob.member_id
    back = bob.joins(member_id="")
    assert not back.answers
    assert bob.beats() is E.fenced_instance_id
    world.write()
    assert (back.error, back.heard.leader, back.heard.members) == (E.none, ada.member_id, ())
    assert bob.member_id != old_id
    assert bob.syncs().heard.assignment == b"share of bob"


def test_failed_return_restores_old_id() -> None:
    world = World()
    ada, bob = static_pair(world)
    old_id = ada.member_id
    world.failing = E.not_enough_replicas
    back = ada.joins(member_id="", session_ms=6_000, protocols=(("range", b"other"),))
    assert (back.error, back.heard.member_id, back.heard.generation_id) == (E.coordinator_not_available, "", 1)
    assert back.heard.leader == old_id
    world.failing = E.none
    assert ada.beats() is E.none
    assert world.group().leader_id == old_id
    world.after(9_999)  # and so is its old session
    assert ada.beats() is E.none
    leading, _ = world.joined(ada, bob)
    assert {m.metadata for m in leading.heard.members} == {subscription("t")}


def test_two_returns_get_one_response() -> None:
    world = World()
    _, bob = static_pair(world)
    world.holding = True
    first = bob.joins(member_id="")
    second = bob.joins(member_id="")
    assert first.error is E.fenced_instance_id
    world.write(count=1)
    assert second.heard is None
    world.write()
    assert second.error is E.none
    assert bob.beats() is E.none


def test_failed_last_return_keeps_first() -> None:
    world = World()
    _, bob = static_pair(world)
    world.holding = True
    first = bob.joins(member_id="")
    second = bob.joins(member_id="")
    world.write(E.none, count=1)
    world.write(E.not_enough_replicas)
    assert second.error is E.coordinator_not_available
    assert bob.beats(member_id=first.heard.member_id) is E.none


def test_failed_first_return_keeps_last() -> None:
    world = World()
    _, bob = static_pair(world)
    world.holding = True
    bob.joins(member_id="")
    second = bob.joins(member_id="")
    world.write(E.not_enough_replicas, count=1)
    world.write(E.none)
    assert second.error is E.none
    assert bob.beats() is E.none


@pytest.mark.parametrize("outcome", [E.none, E.not_enough_replicas])
def test_member_removed_during_return_is_gone(outcome: E) -> None:
    world = World()
    ada, bob = static_pair(world)
    world.holding = True
    back = bob.joins(member_id="")
    ada.leaves(member_id="", instance="i-bob")
    assert (back.error, back.heard.member_id) == (E.unknown_member_id, "")
    world.write(outcome)
    assert list(world.group().members) == [ada.member_id]
    assert world.group().supported_protocols == {"range": 1}
    ada.joins()
    assert world.state() == "CompletingRebalance 2"


# Commits and deletions


def test_commit_counts_once_written() -> None:
    world = World()
    (ada,) = world.stable("ada")
    world.holding = True
    first, second = ada.commits(5), ada.commits(6)
    assert (first.heard, second.heard) == (None, None)
    assert world.offsets("t") == {"t-0": -1}
    world.write(E.none, count=1)
    assert (commit_error(first), second.heard) == (E.none, None)
    assert world.offsets("t") == {"t-0": 5}
    world.write(E.message_too_large)
    assert commit_error(second) is E.unknown_server_error
    assert world.offsets("t") == {"t-0": 5}


def test_first_commit_creates_simple_group() -> None:
    world = World()
    world.holding = True
    ada = world.speaker("ada")
    ada.commits(5)
    assert world.state() == ""
    world.write(E.not_enough_replicas)
    assert world.state() == ""
    ada.commits(6)
    world.write()
    assert (world.state(), world.group().is_simple) == ("Empty 0", True)


def test_failed_deletion_keeps_offsets() -> None:
    world = World()
    ada = world.speaker("ada")
    ada.commits(5)
    world.failing = E.not_enough_replicas
    assert world.deletes_offsets(("t", 0)).error is E.coordinator_not_available
    assert world.deletes_group().error is E.coordinator_not_available
    assert world.offsets("t") == {"t-0": 5}
    world.failing = E.none
    assert world.deletes_group().error is E.none
    assert world.state() == ""


def test_deletion_covers_earlier_commits_only() -> None:
    world = World()
    ada = world.speaker("ada")
    ada.commits(1, topic="known")
    world.holding = True
    ada.commits(2, topic="before")
    world.deletes_group()
    ada.commits(3, topic="after")
    world.write()
    left = world.offsets()
    assert "known-0" not in left
    assert left["after-0"] == 3
    world.restart()
    assert world.offsets() == left


def test_join_during_deletion_keeps_group() -> None:
    world = World()
    ada = world.speaker("ada", needs_id=False)
    ada.commits(5)
    world.holding = True
    delete = world.deletes_group()
    join = ada.joins()
    world.write()
    world.after(0)
    assert delete.error is E.none
    assert join.error is E.none
    assert world.offsets("t") == {"t-0": -1}
    assert world.state() == "CompletingRebalance 1"


def test_recreated_group_follows_the_log() -> None:
    world = World()
    (ada,) = world.stable("ada", needs_id=False)
    ada.leaves()
    assert world.state() == "Empty 2"
    world.holding = True
    delete = world.deletes_group()
    bob = world.speaker("bob", needs_id=False)
    bob.joins()
    world.after(0)
    assert world.state() == "CompletingRebalance 3"
    bob.leaves()
    assert world.state() == "Empty 4"
    world.write()
    assert delete.error is E.none
    assert world.state() == "Empty 4"
    world.restart()
    assert world.state() == "Empty 4"
    world.holding = False
    assert world.deletes_group().error is E.none
    world.restart()
    assert world.state() == ""


def test_expiration_keeps_concurrent_commit() -> None:
    world = World(offsets_retention_ms=1_000, offsets_retention_check_interval_ms=600)
    ada = world.speaker("ada")
    ada.commits(5)
    world.after(999)
    world.holding = True
    again = ada.commits(6)
    world.after(1)
    world.sweeps()
    world.write()
    assert commit_error(again) is E.none
    assert world.offsets("t") == {"t-0": 6}
    world.restart()
    assert world.offsets("t") == {"t-0": 6}


# Losing the partition meanwhile (classic-groups §1.5)


def test_unload_fails_pending_writes() -> None:
    world = World()
    _, bob = static_pair(world)
    simple = world.speaker("simple", group_id="offsets")
    world.holding = True
    back = bob.joins(member_id="")
    commit = simple.commits()
    creation = world.speaker("cem", group_id="new", needs_id=False).joins()
    delete = world.deletes_group("offsets")
    world.unload()
    assert (back.error, back.heard.member_id) == (E.not_coordinator, "")
    assert commit_error(commit) is E.not_coordinator
    assert (creation.error, creation.heard.member_id) == (E.not_coordinator, "")
    assert delete.error is E.group_id_not_found  # there was none yet
    assert len(world.purgatory) == 0
    world.write()  # the log's word comes too late, and changes nothing
    assert world.coordinator.groups == {}
    assert len(world.purgatory) == 0


def test_late_confirmation_skips_next_incarnation() -> None:
    world = World()
    (ada,) = world.stable("ada")
    world.holding = True
    ada.commits(5)
    world.unload()
    held, world.held = world.held, []
    world.load()
    world.holding = False
    ada.commits(7)
    world.held = held
    world.coordinator.appended(world.held.pop().token, E.none, world.now_ms)
    assert world.offsets("t") == {"t-0": 7}


def test_pending_syncs_are_redirected() -> None:
    world = World()
    ada, bob = world.stable("ada", "bob")
    world.joined(ada, bob)
    world.holding = True
    syncs = world.synced(ada, bob)
    world.unload()
    for sync in syncs:
        assert (sync.error, sync.heard.protocol_name, sync.heard.assignment) == (E.not_coordinator, None, b"")
    assert len(world.purgatory) == 0


def test_pending_leave_is_redirected() -> None:
    world = World()
    (ada,) = world.stable("ada")
    world.holding = True
    leave = ada.leaves()
    world.unload()
    assert (leave.error, leave.heard.members) == (E.not_coordinator, ())
