"""The member that a join phase waited for, as the event, the history and the transition name it."""

from typing import Any

from kohort.control.history.history import Rebalance, rebalances
from kohort.coordinator.events.group_event import GroupEvent
from kohort.protocol.errors import ErrorCode as E
from tests.support.coordinator_world import Speaker, World


def listening(**settings: Any) -> World:
    world = World(**settings)
    world.listen()
    return world


def with_static_member(world: World, **traits: Any) -> tuple[Speaker, Speaker]:
    """Return two members of a stable group, the second of which is static."""
    ada, bob = world.speaker("ada", **traits), world.speaker("bob", instance="desk", **traits)
    ada.enters()
    bob.enters()
    world.after(0)
    if ada.generation != bob.generation:
        world.joined(ada, bob)
    world.synced(ada, bob)
    assert world.state().startswith("Stable")
    return ada, bob


def completed(world: World) -> GroupEvent:
    return world.events_of("join_completed")[-1]


def history(world: World) -> list[Rebalance]:
    return rebalances(world.events)


def test_expired_member_is_laggard() -> None:
    world = listening()
    ada, bob = world.stable("ada", "bob")
    eve = world.speaker("eve")
    eve.enters()
    world.after(200)
    ada.joins()
    world.after(9_800)
    event = completed(world)
    assert (event.member_id, event.client_id) == (bob.member_id, "bob")
    assert (event.waited_for, event.evicted, event.left) == ((), (), (bob.member_id,))
    last = history(world)[-1]
    assert (last.laggard, last.laggard_ms) == ("bob", 10_000)
    assert "waited 10000 ms for bob" in str(last)
    assert world.transitions[-1].endswith("session_expired")


def test_expired_static_member_keeps_instance_id() -> None:
    world = listening()
    ada, bob = with_static_member(world)
    ada.joins()
    world.after(10_000)
    assert (completed(world).member_id, completed(world).instance_id) == (bob.member_id, "desk")


def test_evicted_member_is_laggard() -> None:
    world = listening()
    ada, bob = world.stable("ada", "bob", session_ms=60_000)
    ada.joins()
    world.after(30_000)
    assert (history(world)[-1].laggard, history(world)[-1].evicted) == ("bob", (bob.member_id,))
    assert world.transitions[-1].endswith("barrier_timeout")


def test_absent_static_member_is_laggard() -> None:
    world = listening()
    ada, bob = with_static_member(world, session_ms=60_000)
    ada.joins()
    world.after(30_000)
    last = history(world)[-1]
    assert (last.laggard, last.evicted, last.members) == ("bob", (), 2)
    assert (completed(world).waited_for, completed(world).instance_id) == ((bob.member_id,), "desk")


def test_leaving_member_is_laggard() -> None:
    world = listening()
    ada, bob = world.stable("ada", "bob")
    ada.joins()
    world.after(700)
    bob.leaves(reason="consumer poll timeout has expired.")
    assert (history(world)[-1].laggard, history(world)[-1].laggard_ms) == ("bob", 700)
    assert world.transitions[-1].endswith("leave_poll_timeout")


def test_batch_leave_blames_missing_member() -> None:
    world = listening()
    ada, bob, eve = world.stable("ada", "bob", "eve")
    ada.joins()
    eve.joins()
    world.after(700)
    bob.leaves(eve)
    assert completed(world).left == tuple(sorted((bob.member_id, eve.member_id)))
    assert history(world)[-1].laggard == "bob"


def test_member_removed_by_admin_is_laggard() -> None:
    world = listening()
    ada, bob = with_static_member(world)
    ada.joins()
    world.after(700)
    bob.leaves(member_id="")
    assert history(world)[-1].laggard == "bob"


def test_last_rejoined_member_is_laggard() -> None:
    world = listening()
    ada, bob = world.stable("ada", "bob")
    ada.joins()
    world.after(700)
    bob.joins()
    assert (history(world)[-1].laggard, history(world)[-1].laggard_ms) == ("bob", 700)
    assert (completed(world).cause, world.transitions[-1][-10:]) == (None, "all_joined")


def test_replaced_static_member_is_laggard() -> None:
    world = listening()
    ada, _ = with_static_member(world)
    ada.joins()
    world.after(700)
    twin = world.speaker("bob-again", instance="desk")
    twin.joins()
    assert (completed(world).member_id, completed(world).instance_id) == (twin.member_id, "desk")


def test_unused_id_blamed_at_expiry() -> None:
    world = listening()
    (ada,) = world.stable("ada")
    bob = world.speaker("bob")
    assert bob.joins().error is E.member_id_required
    ada.joins()
    world.after(10_000)
    assert completed(world).member_id == bob.member_id
    assert history(world)[-1].laggard


def test_unused_id_blamed_at_timeout() -> None:
    world = listening()
    (ada,) = world.stable("ada")
    bob = world.speaker("bob", session_ms=60_000)
    assert bob.joins().error is E.member_id_required
    ada.joins()
    world.after(20_000)
    (progress,) = world.events_of("join_progress")
    assert progress.waited_for == (bob.member_id,)
    world.after(10_000)
    assert (completed(world).member_id, completed(world).cause) == (bob.member_id, "barrier_timeout")
    assert completed(world).waited_for == (bob.member_id,)


def test_unused_id_blamed_when_leaving() -> None:
    world = listening()
    (ada,) = world.stable("ada")
    bob = world.speaker("bob")
    bob.joins()
    ada.joins()
    world.after(300)
    bob.leaves()
    assert completed(world).member_id == bob.member_id


def test_sync_timeout_blames_unsynced_leader_once() -> None:
    world = listening()
    ada, bob = world.stable("ada", "bob", session_ms=60_000)
    world.joined(ada, bob)
    bob.syncs()
    world.after(30_000)
    bob.joins()
    stalled, last = history(world)[-2:]
    assert (stalled.laggard, stalled.laggard_ms, stalled.outcome) == ("ada", 30_000, "superseded")
    assert "ada did not sync within 30000 ms" in str(stalled)
    assert (last.cause, last.laggard, last.evicted) == ("sync timeout", "bob", (ada.member_id,))


def test_initial_delay_blames_no_member() -> None:
    world = listening(group_initial_rebalance_delay_ms=3_000)
    for name in ("ada", "bob"):
        world.speaker(name).enters()
        world.after(500)
    world.after(5_000)
    first = history(world)[0]
    assert (first.laggard, first.laggard_ms, first.members) == ("", None, 2)
    assert completed(world).member_id is None


def test_extended_initial_delay_blames_no_member() -> None:
    world = listening(group_initial_rebalance_delay_ms=3_000)
    for name in ("ada", "bob", "eve"):
        world.speaker(name).enters()
        world.after(2_000)
    world.after(6_000)
    assert completed(world).duration_us == 9_000_000
    assert (history(world)[0].laggard, history(world)[0].members) == ("", 3)


def test_unused_member_id_ends_initial_delay() -> None:
    world = listening(group_initial_rebalance_delay_ms=20_000)
    world.speaker("bob").joins()
    world.speaker("ada").enters()
    world.after(10_000)
    assert completed(world).member_id is None


def test_emptied_group_blames_no_member() -> None:
    world = listening()
    (ada,) = world.stable("ada")
    ada.leaves()
    world.stable("bob")
    assert (completed(world).generation, completed(world).member_id) == (3, None)


def test_refused_member_over_capacity_is_laggard() -> None:
    world = listening(group_max_size=2)
    ada, bob = world.stable("ada", "bob")
    ada.joins()
    world.speaker("eve").enters()
    assert bob.joins().error is E.group_max_size_reached
    world.after(30_000)
    assert completed(world).member_id == bob.member_id
