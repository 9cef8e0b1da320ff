"""Members as assignors see them, kept in order while the group changes."""

from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from kohort.coordinator.consumer.assignors.subscriber import Subscriber
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import FIRST
from kohort.coordinator.consumer.values import CurrentAssignment, Kind, MemberMetadata, ResolvedRegex
from kohort.coordinator.java_order import in_assignors_order
from kohort.coordinator.modern.modern_group import hash_of_member
from kohort.coordinator.modern.modern_values import Change
from tests.coordinator.consumer.world import ConsumerWorld

# Many of these share a bucket of Kafka's tables.
MEMBERS = st.integers(0, 60).map(lambda number: f"{number * number * 7919:x}-{number}")
METADATA = st.sampled_from(
    [
        MemberMetadata(topic_names=("foo",)),
        MemberMetadata(topic_names=("foo", "new"), instance_id="i"),
        MemberMetadata(topic_regex="b.*"),
    ]
)
VALUES = {
    Kind.MEMBER: METADATA,
    Kind.CURRENT: st.sampled_from([CurrentAssignment(1), CurrentAssignment(2, 1)]),
    Kind.TARGET: st.sampled_from([{}, {ConsumerWorld(foo=1).topics.topic_ids()["foo"]: frozenset({0})}]),
}
CHANGES = st.sampled_from(sorted(VALUES)).flatmap(
    lambda kind: st.builds(Change, st.just(kind), MEMBERS, st.none() | VALUES[kind])
) | st.builds(
    Change,
    st.just(Kind.REGEX),
    st.just("b.*"),
    st.none() | st.builds(ResolvedRegex, st.just(("bar",)), st.just(1), st.just(0)),
)


def in_full(group: ConsumerGroup) -> list[Subscriber]:
    """Return the members without what the group keeps between computations."""
    assigned = [member for member in group.members.values() if member.current is not FIRST]
    new_members = [member for member in group.members.values() if member.current is FIRST]
    ordered = in_assignors_order(assigned, new_members, hash_of_member, group.most_members)
    return [
        Subscriber(
            member.member_id,
            member.metadata.instance_id,
            group.topic_ids(member.metadata),
            group.target_of(member.member_id),
        )
        for member in ordered
    ]


@settings(max_examples=150)
@given(st.lists(st.lists(CHANGES, max_size=60) | st.none(), max_size=25))
def test_subscribers_follow_all_changes(steps: list[list[Change] | None]) -> None:
    world = ConsumerWorld(foo=1, bar=1)
    group = ConsumerGroup(world.coordinator, "g", 0)
    for step in steps:
        if step is None:
            change_topic = (
                world.topics.delete if world.topics.partitions_of("new") else partial(world.topics.create, partitions=1)
            )
            change_topic("new")
        for change in step or []:
            group.apply(change)
        if group.members:
            assert group.subscribers.in_order(group) == in_full(group)


def test_members_stop_being_newcomers() -> None:
    """Kafka's table does not contain newcomers, and in a group that only grows its size depends on their number."""
    group = ConsumerGroup(ConsumerWorld(foo=1).coordinator, "g", 0)
    for number in range(60):
        member_id = f"{number * number * 7919:x}-{number}"  # many share a bucket
        group.apply(Change(Kind.MEMBER, member_id, MemberMetadata(topic_names=("foo",))))
        assert group.subscribers.in_order(group) == in_full(group)
        group.apply(Change(Kind.CURRENT, member_id, CurrentAssignment(1)))
        assert group.subscribers.in_order(group) == in_full(group)
