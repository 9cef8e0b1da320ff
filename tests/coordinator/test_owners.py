"""Events about an assignment: the number of moved partitions, and the time without an owner."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from kohort.coordinator.events.owners import Owners
from kohort.protocol.consumer_protocol import Assignment, Subscription, write_assignment, write_subscription
from kohort.protocol.topic_partition import TopicPartition
from tests.support.coordinator_world import Speaker, World, subscription


def listening() -> World:
    world = World()
    world.listen()
    return world


def share(*partitions: int) -> bytes:
    return write_assignment(Assignment(partitions={"t": partitions}))


def owning(*partitions: int) -> tuple[tuple[str, bytes], ...]:
    """Return the subscription of a member with a cooperative assignor that rejoins."""
    return (("range", write_subscription(Subscription(topics=("t",), owned_partitions={"t": partitions}))),)


def hands_out(world: World, leader: Speaker, shares: dict[Speaker, bytes]) -> tuple[str | None, str | None]:
    """Let the leader sync last. Return the number of moved partitions, and of those that had to move."""
    for speaker in shares:
        if speaker is not leader:
            speaker.syncs()
    leader.syncs({speaker.member_id: given for speaker, given in shares.items()})
    detail = world.events_of("assignment_received")[-1].detail or {}
    return detail.get("moved"), detail.get("fewest_moves")


def alone(world: World, *partitions: int) -> Speaker:
    ada = world.speaker("ada")
    ada.enters()
    world.after(0)
    assert hands_out(world, ada, {ada: share(*partitions)}) == ("0", "0")
    return ada


def unowned_ms(world: World) -> int:
    """Return the total time of all partitions without an owner since the last call."""
    events_of = [event.detail for event in world.events_of("member_synced") if event.detail]
    world.events.clear()
    return sum(int(detail["unowned_us"]) for detail in events_of) // 1_000


def test_eager_rejoin_revokes_everything() -> None:
    world = listening()
    ada = alone(world, 0, 1, 2, 3)
    bob = world.speaker("bob")
    bob.enters()
    world.after(700)
    ada.joins()
    world.after(300)
    assert hands_out(world, ada, {ada: share(0, 1), bob: share(2, 3)}) == ("2", "2")
    assert unowned_ms(world) == 4 * 300


def test_late_sync_counts_as_unowned() -> None:
    world = listening()
    ada = alone(world, 0, 1, 2, 3)
    bob = world.speaker("bob")
    bob.enters()
    ada.joins()
    ada.syncs({ada.member_id: share(0, 1), bob.member_id: share(2, 3)})
    assert unowned_ms(world) == 0
    world.after(250)
    bob.syncs()
    assert unowned_ms(world) == 2 * 250
    world.after(250)
    bob.syncs()
    assert unowned_ms(world) == 0, "two requests, two reports, one owner"


def test_cooperative_member_keeps_owned_partitions() -> None:
    world = listening()
    ada = alone(world, 0, 1, 2, 3)
    bob = world.speaker("bob")
    bob.enters()
    world.after(700)
    ada.joins(protocols=owning(0, 1, 2, 3))
    world.after(300)
    assert hands_out(world, ada, {ada: share(0, 1), bob: share()}) == ("0", "0"), "two are held back"
    assert unowned_ms(world) == 0
    world.after(40)
    ada.joins(protocols=owning(0, 1))
    bob.joins()
    world.after(60)
    assert hands_out(world, ada, {ada: share(0, 1), bob: share(2, 3)}) == ("2", "2")
    assert unowned_ms(world) == 2 * 100


def test_expired_member_leaves_partitions_unowned() -> None:
    world = listening()
    ada, bob = world.stable("ada", "bob")
    world.joined(ada, bob)
    hands_out(world, ada, {ada: share(0, 1), bob: share(2)})
    world.events.clear()
    world.after(6_000)
    ada.beats()
    world.after(4_000)
    assert world.events_of("member_removed")[-1].cause == "session_expired"
    world.after(500)
    ada.joins(protocols=owning(0, 1))
    assert hands_out(world, ada, {ada: share(0, 1, 2)}) == ("1", "1")
    assert unowned_ms(world) == 500


def test_moves_can_exceed_minimum() -> None:
    world = listening()
    ada, bob = world.stable("ada", "bob")
    world.joined(ada, bob)
    hands_out(world, ada, {ada: share(0, 1), bob: share(2, 3)})
    world.joined(ada, bob)
    assert hands_out(world, ada, {ada: share(2, 3), bob: share(0, 1)}) == ("4", "0")


def test_renamed_static_member_keeps_partitions() -> None:
    world = listening()
    ada = world.speaker("ada", instance="desk")
    ada.enters()
    world.after(0)
    hands_out(world, ada, {ada: share(0, 1)})
    again = world.speaker("ada", instance="desk")
    again.enters()
    assert world.events_of("member_replaced")
    bob = world.speaker("bob")
    bob.enters()
    again.joins()
    assert hands_out(world, again, {again: share(0), bob: share(1)}) == ("1", "1")


def test_emptied_group_starts_again() -> None:
    world = listening()
    alone(world, 0, 1).leaves()
    world.after(3_600_000)
    alone(world, 0, 1)
    assert unowned_ms(world) == 0


def test_loaded_partitions_are_owned() -> None:
    world = listening()
    ada = alone(world, 0, 1)
    world.restart()
    world.listen()
    bob = world.speaker("bob")
    bob.enters()
    ada.joins()
    assert hands_out(world, ada, {ada: share(0), bob: share(1)}) == ("1", "1")


def test_different_subscriptions_have_no_minimum() -> None:
    world = listening()
    ada = alone(world, 0, 1)
    bob = world.speaker("bob", protocols=(("range", subscription("t", "u")),))
    bob.enters()
    ada.joins()
    assert hands_out(world, ada, {ada: share(0), bob: share(1)}) == ("1", None)


def test_unreadable_assignment_has_no_moves() -> None:
    world = listening()
    ada = alone(world, 0, 1)
    ada.joins()
    assert hands_out(world, ada, {ada: b"no assignment"}) == (None, None)
    assert world.events_of("member_synced")[-1].partitions is None


MEMBERS = ("ada", "bob", "eve")


def even(owners: dict[TopicPartition, str], members: tuple[str, ...]) -> bool:
    counts = [sum(owner == member for owner in owners.values()) for member in members]
    return max(counts) - min(counts) <= 1


@given(st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=5), st.integers(1, 3))
def test_no_even_distribution_moves_fewer(owned_by: list[str], left: int) -> None:
    topic_partitions = [("t", number) for number in range(len(owned_by))]
    before = dict(zip(topic_partitions, owned_by, strict=True))
    members = MEMBERS[:left]
    owners = Owners(
        {member: {partition for partition in topic_partitions if before[partition] == member} for member in MEMBERS}
    )
    fewest = min(
        sum(before[topic_partition] != owner for topic_partition, owner in after.items())
        for combination in product(members, repeat=len(topic_partitions))
        if even(after := dict(zip(topic_partitions, combination, strict=True)), members)
    )
    shares = {member: set(topic_partitions[number :: len(members)]) for number, member in enumerate(members)}
    assert owners.moves_to(shares, ("t",)).fewest == fewest
