"""Owners of the partitions of a group: number of partitions that an assignment moves, and time without an owner.

This is the coordinator's view. A member revokes partitions that it does not name when it rejoins (with an eager
assignor it names none; KIP-429), those that its new assignment lacks when it receives it, and all when it leaves. It
owns its assignment from the response to its SyncGroup on. Definitions: analysis §2.
"""

from collections.abc import Container, Iterable, Mapping, Set

from kohort.protocol.assignment_moves import Moves, moves
from kohort.protocol.consumer_protocol import ImpossibleLengthError, assigned_partitions, read_subscription
from kohort.protocol.topic_partition import TopicPartition


class Owners:
    """Owners in one group. Times are in microseconds of a monotonic clock."""

    __slots__ = ("_assigned", "_held", "_holder", "_unowned_since_us")

    def __init__(self, partitions_by_id: Mapping[str, Set[TopicPartition]]) -> None:
        self._held = {member_id: set(partitions) for member_id, partitions in partitions_by_id.items()}
        self._holder = _owners_in(partitions_by_id)
        # Last assigned owner. A member that is about to lose a partition to another one is still included.
        self._assigned = dict(self._holder)
        self._unowned_since_us: dict[TopicPartition, int] = {}

    def moves_to(
        self, partitions_by_id: Mapping[str, Set[TopicPartition]], topics: Container[str] | None, *, alike: bool = True
    ) -> Moves:
        """Return the moves of an assignment of all members.

        Args:
            topics: Subscribed topics, or None if they are unknown.
        """
        owners, old_owners = _owners_in(partitions_by_id), self._assigned_of(topics)
        # Partitions that a cooperative assignor holds back for the next round have to be distributed, too.
        to_distribute = len(old_owners.keys() | owners.keys())
        return moves(
            old_owners,
            owners,
            {member_id: member_id for member_id in partitions_by_id},
            len(partitions_by_id),
            to_distribute,
            alike=alike,
        )

    def assigned(self, partitions_by_id: Mapping[str, Set[TopicPartition]], topics: Container[str] | None) -> None:
        self._assigned = self._assigned_of(topics) | _owners_in(partitions_by_id)

    def rejoined(self, member_id: str, owned: Set[TopicPartition], now_us: int) -> None:
        """Release the partitions that a rejoining member does not own any more."""
        held = self._held.get(member_id)
        if held:
            self._release(member_id, held - owned, now_us)
            held &= owned

    def synced(self, member_id: str, partitions: Set[TopicPartition], now_us: int) -> int:
        """Set the partitions of a member and return for how long they had no owner in total."""
        self._release(member_id, self._held.get(member_id, set()) - partitions, now_us)
        self._held[member_id] = set(partitions)
        unowned_us = 0
        for topic_partition in partitions:
            self._holder[topic_partition] = member_id
            unowned_us += now_us - self._unowned_since_us.pop(topic_partition, now_us)
        return unowned_us

    def renamed(self, old_id: str, member_id: str) -> None:
        self._held[member_id] = self._held.pop(old_id, set())
        for owners in (self._holder, self._assigned):
            owners.update({topic_partition: member_id for topic_partition, owner in owners.items() if owner == old_id})

    def release_member(self, member_id: str, now_us: int) -> None:
        self._release(member_id, self._held.pop(member_id, set()), now_us)

    def release_all(self) -> None:
        """Forget all owners of an empty group."""
        for mapping in (self._held, self._holder, self._assigned, self._unowned_since_us):
            mapping.clear()

    def _assigned_of(self, topics: Container[str] | None) -> dict[TopicPartition, str]:
        return {
            partition: owner for partition, owner in self._assigned.items() if topics is None or partition[0] in topics
        }

    def _release(self, member_id: str, topic_partitions: Iterable[TopicPartition], now_us: int) -> None:
        for topic_partition in topic_partitions:
            if self._holder.get(topic_partition) == member_id:  # otherwise it has a new owner already
                del self._holder[topic_partition]
                self._unowned_since_us[topic_partition] = now_us


def _owners_in(partitions_by_id: Mapping[str, Set[TopicPartition]]) -> dict[TopicPartition, str]:
    return {
        topic_partition: member_id
        for member_id, partitions in partitions_by_id.items()
        for topic_partition in partitions
    }


def partitions_in(assignment: bytes) -> frozenset[TopicPartition] | None:
    """Return the partitions of an assignment of protocol type `consumer`, or None if they are unknown."""
    partitions = assigned_partitions(assignment)
    return None if partitions is None else _topic_partitions(partitions)


def still_owned(metadata: bytes) -> frozenset[TopicPartition]:
    """Return the partitions that a joining member still owns; none if its client does not report them."""
    try:
        subscription = read_subscription(metadata)
    except ImpossibleLengthError:
        return frozenset()
    return frozenset() if subscription is None else _topic_partitions(subscription.owned_partitions)


def _topic_partitions(partitions: Mapping[str, tuple[int, ...]]) -> frozenset[TopicPartition]:
    return frozenset((topic, partition) for topic, numbers in partitions.items() for partition in numbers)
