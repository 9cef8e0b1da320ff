"""Details of joining that conversations cannot express: timers to the millisecond, edge cases, and errors of Kafka."""

import pytest

from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.releases import rules_of
from tests.support.coordinator_world import Speaker, World, subscription

RULES_OF_4_3 = rules_of("4.3")
IMPOSSIBLE = b"\x00\x00\x7f\xff\xff\xff"


@pytest.mark.parametrize(
    ("rebalance_ms", "joins_at", "completes_at"),
    [
        (60_000, [0], 3_000),
        (60_000, [0, 1_000], 6_000),
        (60_000, [0, 1_000, 4_000], 9_000),
        (7_000, range(0, 7_000, 500), 7_000),
        (10_000, range(0, 10_000, 500), 10_000),
        (1_000, [0, 500], 3_000),
    ],
)
def test_initial_delay(rebalance_ms: int, joins_at: list[int], completes_at: int) -> None:
    world = World(group_initial_rebalance_delay_ms=3_000)
    joins = []
    for moment in joins_at:
        world.after(moment - world.now_ms)
        joins.append(world.speaker(f"c{moment}", rebalance_ms=rebalance_ms, needs_id=False).joins())
    world.after(completes_at - 1 - world.now_ms)
    assert {join.heard for join in joins} == {None}
    world.after(1)
    assert {join.error for join in joins} == {E.none}
    assert {join.heard.generation_id for join in joins} == {1}


def test_pending_ids_delay_later_generations() -> None:
    world = World()
    world.speaker("never").joins(session_ms=60_000)
    (ada,) = world.stable("ada")
    again = ada.joins()
    assert not again.answers
    world.after(29_999)
    assert not again.answers
    world.after(1)
    assert again.heard.generation_id == 2


def test_expired_id_ends_initial_delay() -> None:
    world = World(group_initial_rebalance_delay_ms=20_000)
    ada, bob = world.speaker("ada"), world.speaker("bob")
    join = ada.enters()
    bob.joins(session_ms=6_000)
    world.after(5_999)
    assert join.heard is None
    world.after(1)
    assert join.error is E.none


def test_new_member_waits_five_minutes() -> None:
    world = World()
    (ada,) = world.stable("ada", rebalance_ms=600_000)
    bob = world.speaker("bob")
    join = bob.enters()
    for _ in range(100):
        world.after(3_000)
        ada.beats()
    assert world.now_ms == 300_000
    assert (join.error, join.heard.member_id) == (E.unknown_member_id, "")


def test_heartbeat_replaces_new_member_timeout() -> None:
    world = World()
    (ada,) = world.stable("ada", rebalance_ms=600_000)
    bob = world.speaker("bob")
    join = bob.enters()
    (bob_id,) = set(world.group().members) - {ada.member_id}
    assert bob.beats(member_id=bob_id, generation=1) is E.rebalance_in_progress
    world.after(9_999)
    assert join.heard is None
    ada.beats()
    world.after(1)
    assert join.error is E.unknown_member_id


def test_phase_and_session_end_together() -> None:
    world = World()
    ada, bob = world.stable("ada", "bob", session_ms=10_000, rebalance_ms=10_000)
    ada.beats()
    join = ada.joins()
    world.after(10_000)
    assert join.error is E.none
    assert ada.beats() is E.none
    assert bob.beats(generation=2) is E.unknown_member_id


def static_trio(world: World, **traits: int) -> list[Speaker]:
    trio = [world.speaker(name, instance=f"i-{name}", **traits) for name in ("ada", "bob", "cem")]
    world.joined(*trio)
    world.after(0)
    world.synced(*trio)
    return trio


@pytest.mark.parametrize("rebalance_ms", [0, 5_000])
def test_absent_static_members_delay_until_expiry(rebalance_ms: int) -> None:
    world = World()
    ada, bob, cem = static_trio(world)
    world.after(9_000)
    for member in world.group().members.values():
        member.rebalance_timeout_ms = rebalance_ms
    ada.leaves()
    assert world.state() == "PreparingRebalance 1"
    assert cem.beats() is E.rebalance_in_progress
    world.after(9_999)
    assert list(world.group().members) == [cem.member_id]
    world.after(1)
    assert world.state() == "Empty 2"
    assert bob.beats() is E.unknown_member_id


def test_absent_static_leader_hands_over() -> None:
    world = World()
    ada, bob, cem = static_trio(world, session_ms=60_000, rebalance_ms=5_000)
    bob.joins(protocols=(("range", b"other"),))
    join = cem.joins()
    world.after(5_000)
    (led,) = {bob.leader, cem.leader}
    assert led in (bob.member_id, cem.member_id)
    assert join.error is E.none
    assert ada.member_id in world.group().members
    leader = bob if bob.leads else cem
    assert len(leader.tickets[-1].heard.members) == 3


def test_session_is_renewed_during_return() -> None:
    world = World()
    ada, bob = world.stable("ada", "bob")
    static = world.speaker("cem", instance="i-cem")
    static.joins()
    world.joined(ada, bob)
    world.synced(ada, bob, static)
    world.holding = True
    back = static.joins(member_id="")
    for _ in range(2):
        world.after(6_000)
        assert (ada.beats(), bob.beats()) == (E.none, E.none)
    world.write()
    assert back.error is E.none
    world.after(6_000)
    assert (ada.beats(), bob.beats()) == (E.none, E.none)
    world.after(4_000)
    assert ada.beats() is E.rebalance_in_progress
    assert static.beats() is E.unknown_member_id


# What Kafka does not foresee (classic-groups §2.4)


def test_invalid_metadata_blocks_the_group() -> None:
    world = World(rules=RULES_OF_4_3)
    ada = world.speaker("ada", protocols=(("range", IMPOSSIBLE),))
    join = ada.enters()
    world.after(0)
    assert (world.state(), join.heard) == ("PreparingRebalance 1", None)
    assert "stays in PreparingRebalance" in world.warnings[0]
    world.after(300_000)
    assert (join.error, world.state()) == (E.unknown_member_id, "Empty 2")


def test_failed_join_completion_keeps_others() -> None:
    world = World(rules=RULES_OF_4_3)
    ada, bob = world.stable("ada", "bob")
    first = ada.joins()
    last = bob.joins(protocols=(("range", IMPOSSIBLE),))
    assert (last.error, last.heard.member_id) == (E.unknown_server_error, "")
    assert (world.state(), first.heard) == ("PreparingRebalance 2", None)
    assert world.group().waiting_joins == 2  # bob still counts as waiting


def test_failed_leave_completion_returns_error() -> None:
    world = World(rules=RULES_OF_4_3)
    ada, bob, cem = world.stable("ada", "bob", "cem")
    waiting = [ada.joins(), bob.joins(protocols=(("range", IMPOSSIBLE),))]
    leave = cem.leaves()
    assert (leave.error, leave.heard.members) == (E.unknown_server_error, ())
    assert [join.heard for join in waiting] == [None, None]


def test_failed_expiry_completion_is_logged() -> None:
    world = World(rules=RULES_OF_4_3)
    ada, bob, _ = world.stable("ada", "bob", "cem")
    ada.joins()
    bob.joins(protocols=(("range", IMPOSSIBLE),))
    world.after(10_000)
    assert world.state() == "PreparingRebalance 2"
    assert len(world.warnings) == 1


def test_expired_only_member_logs_failure() -> None:
    world = World(rules=RULES_OF_4_3)
    ada, bob = static_trio(world)[:2]
    bob.leaves(world.speaker("cem", instance="i-cem"))
    ada.joins()
    ada.syncs()
    cem = world.speaker("cem", instance="i-cem")
    cem.joins()
    ada.joins()
    world.synced(ada, cem)
    world.holding = True
    back = cem.joins(member_id="", protocols=(("range", IMPOSSIBLE),))
    world.after(10_000)
    assert (world.state(), back.heard) == ("PreparingRebalance 4", None)
    assert len(world.warnings) == 1


def test_duplicate_protocol_cannot_be_selected() -> None:
    world = World()
    ada = world.speaker("ada", protocols=(("range", subscription("t")),) * 2)
    join = ada.enters()
    world.after(0)
    assert (world.state(), join.heard) == ("PreparingRebalance 1", None)


# Leaving and being removed


def test_several_leave_and_one_rebalance_follows() -> None:
    world = World()
    ada, bob, cem = world.stable("ada", "bob", "cem")
    stranger = world.speaker("unknown", member_id="unknown")
    pending = world.speaker("pending")
    pending.joins()
    leave = bob.leaves(stranger, pending, cem)
    assert [m.error_code for m in leave.heard.members] == [E.none, E.unknown_member_id, E.none, E.none]
    assert [t for t in world.transitions if "leave" in t] == ["Stable -> PreparingRebalance: leave_explicit"]
    assert ada.joins().heard.generation_id == 2


def test_removed_members_sync_is_unanswered() -> None:
    world = World()
    ada, bob = world.stable("ada", "bob")
    world.joined(ada, bob)
    sync = bob.syncs()
    bob.leaves()
    world.after(600_000)
    assert sync.heard is None
    assert "never answered" in world.warnings[0]


def test_removed_members_join_is_answered() -> None:
    world = World()
    ada, bob, _ = world.stable("ada", "bob", "cem")
    join = bob.joins(protocols=(("range", b"other"),))
    bob.leaves()
    assert (join.error, join.heard.member_id) == (E.unknown_member_id, "")
    assert ada.beats() is E.rebalance_in_progress


def test_poll_timeout_is_a_distinct_leave() -> None:
    world = World()
    _, bob = world.stable("ada", "bob")
    bob.leaves(reason="consumer poll timeout has expired.")
    assert world.transitions[-1] == "Stable -> PreparingRebalance: leave_poll_timeout"


def test_missing_sync_removes_member() -> None:
    world = World()
    ada, bob = world.stable("ada", "bob", rebalance_ms=20_000)
    world.joined(ada, bob)
    ada.syncs({ada.member_id: b"all"})
    for _ in range(3):
        world.after(6_000)
        assert (ada.beats(), bob.beats()) == (E.none, E.none)
    world.after(2_000)
    assert world.transitions[-1] == "Stable -> PreparingRebalance: sync_timeout"
    assert bob.beats() is E.unknown_member_id
    assert ada.beats() is E.rebalance_in_progress
