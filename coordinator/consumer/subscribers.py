"""The members of a consumer group as assignors see them, kept in Kafka's order while members join and leave."""

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from kohort.coordinator.consumer.assignors.subscriber import Subscriber
from kohort.coordinator.consumer.consumer_member import FIRST, ConsumerMember
from kohort.coordinator.java_order import bucket_of, buckets_for, most_in_table, slot_of, table_bits

if TYPE_CHECKING:
    from kohort.coordinator.consumer.consumer_group import ConsumerGroup

_NUMBER_BITS: Final = 40
_LAST_NUMBER: Final = (1 << _NUMBER_BITS) - 1


class Subscribers:
    """Members in the order of `in_assignors_order`.

    A member that joins or leaves changes the places of few others. Without this, each of a thousand joins would order
    all members, and look up their topics and targets.
    """

    __slots__ = ("_bits", "_buckets", "_ids", "_moved", "_newcomers", "_places", "_places_by_id", "_values", "_version")

    def __init__(self) -> None:
        self._places_by_id: dict[str, int] = {}
        self._places: list[int] = []  # sorted
        self._ids: list[str] = []  # member IDs in the order of the places
        self._moved: set[str] = set()  # IDs of members whose place may have changed since the last `in_order`
        self._newcomers: set[str] = set()  # IDs of members without an assignment
        self._values: dict[str, Subscriber] = {}  # by member ID, except for members that have changed
        self._bits = self._buckets = 0  # sizes of Kafka's tables, on which all places depend
        self._version: int | None = None  # version of the topics

    def move(self, member_id: str) -> None:
        """Note that a member was added or removed, or that it received its first assignment or lost it."""
        self._moved.add(member_id)

    def forget(self, member_id: str) -> None:
        """Note that the metadata or the target of a member have changed."""
        self._values.pop(member_id, None)

    def forget_topics(self) -> None:
        """Note that the matches of a pattern have changed."""
        self._values.clear()

    def in_order(self, group: "ConsumerGroup") -> list[Subscriber]:
        if self._version != group.coordinator.topics.version:
            self._version = group.coordinator.topics.version
            self.forget_topics()
        if self._moved:
            self._update_places(group)
        values, members = self._values, group.members
        return [values.get(member_id) or self._see(group, members[member_id]) for member_id in self._ids]

    def _see(self, group: "ConsumerGroup", member: ConsumerMember) -> Subscriber:
        member_id, metadata = member.member_id, member.metadata
        topics, target = group.topic_ids(metadata), group.target_of(member_id)
        subscriber = self._values[member_id] = Subscriber(member_id, metadata.instance_id, topics, target)
        return subscriber

    def _update_places(self, group: "ConsumerGroup") -> None:
        members, moved, newcomers = group.members, self._moved, self._newcomers
        newcomers -= moved
        newcomers.update([name for name in moved if name in members and members[name].current is FIRST])
        bits = table_bits(most_in_table(len(members) - len(newcomers), len(newcomers), group.most_members))
        buckets = buckets_for(len(members))
        if bits == self._bits and buckets == self._buckets:
            for member_id in moved:
                self._remove(member_id)
                if member_id in members:
                    self._insert(members[member_id])
        else:
            self._bits, self._buckets = bits, buckets
            self._order_all(members)
        moved.clear()

    def _order_all(self, members: dict[str, ConsumerMember]) -> None:
        self._places_by_id = {member_id: self._place_of(member) for member_id, member in members.items()}
        self._ids = sorted(members, key=self._places_by_id.__getitem__)
        self._places = [self._places_by_id[member_id] for member_id in self._ids]

    def _remove(self, member_id: str) -> None:
        place = self._places_by_id.pop(member_id, None)
        if place is not None:
            index = bisect_left(self._places, place)
            del self._places[index], self._ids[index]

    def _insert(self, member: ConsumerMember) -> None:
        place = self._places_by_id[member.member_id] = self._place_of(member)
        index = bisect_left(self._places, place)
        self._places.insert(index, place)
        self._ids.insert(index, member.member_id)

    def _place_of(self, member: ConsumerMember) -> int:
        """Return a number that orders members by bucket, then by slot, then the last one added first.

        Newcomers are last in their bucket, and the last one added is last among them.
        """
        slot, number = slot_of(member.java_hash, self._bits), _LAST_NUMBER - member.number
        if member.current is FIRST:
            slot, number = 1 << self._bits, member.number
        return (bucket_of(member.java_hash, self._buckets) << self._bits + 1 | slot) << _NUMBER_BITS | number
