"""Who of a group owns which partition: how many an assignment moves, and for how long they were nobody's.

As far as a coordinator can know. A member gives up what it does not name when it joins again (everything, with an eager
assignor; KIP-429), what its new share lacks when it hears of that, and all of it when it is gone; it owns its share
from the answer of its SyncGroup on. Definitions: analysis §2.
"""

from collections.abc import Container, Iterable, Mapping, Set

from kohort.protocol.assignment_moves import Moves, moves
from kohort.protocol.consumer_protocol import ImpossibleLengthError, assigned_partitions, read_subscription
from kohort.protocol.topic_partition import TopicPartition


class Owners:
    """Those of one group. Times are microseconds of a monotonic clock."""

    __slots__ = ("_assigned", "_held", "_holder", "_nobodys_since_us")

    def __init__(self, shares: Mapping[str, Set[TopicPartition]]) -> None:
        """`shares`: what members have at the moment, by member id."""
        self._held = {member_id: set(share) for member_id, share in shares.items()}
        self._holder = _owners_in(shares)
        self._assigned = dict(self._holder)
        """To whom each was given last. A member that is about to lose one in favour of another still stands here."""
        self._nobodys_since_us: dict[TopicPartition, int] = {}

    def moves_to(
        self, shares: Mapping[str, Set[TopicPartition]], topics: Container[str] | None, *, alike: bool = True
    ) -> Moves:
        """What an assignment moves. `shares`: of all members; `topics`: what they subscribe to, None: not known."""
        owners, before = _owners_in(shares), self._assigned_of(topics)
        # What a cooperative assignor holds back for the next round is to be distributed, too.
        to_distribute = len(before.keys() | owners.keys())
        return moves(
            before, owners, {member_id: member_id for member_id in shares}, len(shares), to_distribute, alike=alike
        )

    def assigned(self, shares: Mapping[str, Set[TopicPartition]], topics: Container[str] | None) -> None:
        """The assignment counts from now on."""
        self._assigned = self._assigned_of(topics) | _owners_in(shares)

    def rejoined(self, member_id: str, owned: Set[TopicPartition], now_us: int) -> None:
        """A member has joined again and says what it still owns."""
        held = self._held.get(member_id)
        if held:
            self._give_up(member_id, held - owned, now_us)
            held &= owned

    def synced(self, member_id: str, share: Set[TopicPartition], now_us: int) -> int:
        """A member has heard of its share. Returns for how long partitions of it were nobody's, all in all."""
        self._give_up(member_id, self._held.get(member_id, set()) - share, now_us)
        self._held[member_id] = set(share)
        unowned_us = 0
        for topic_partition in share:
            self._holder[topic_partition] = member_id
            unowned_us += now_us - self._nobodys_since_us.pop(topic_partition, now_us)
        return unowned_us

    def renamed(self, old_id: str, member_id: str) -> None:
        """A static member has another id."""
        self._held[member_id] = self._held.pop(old_id, set())
        for owners in (self._holder, self._assigned):
            owners.update({topic_partition: member_id for topic_partition, owner in owners.items() if owner == old_id})

    def gone(self, member_id: str, now_us: int) -> None:
        """A member has left, or was removed."""
        self._give_up(member_id, self._held.pop(member_id, set()), now_us)

    def nobody_is_left(self) -> None:
        """A group without members owes nobody anything: who joins next begins anew."""
        for known in (self._held, self._holder, self._assigned, self._nobodys_since_us):
            known.clear()

    def _assigned_of(self, topics: Container[str] | None) -> dict[TopicPartition, str]:
        return {each: owner for each, owner in self._assigned.items() if topics is None or each[0] in topics}

    def _give_up(self, member_id: str, topic_partitions: Iterable[TopicPartition], now_us: int) -> None:
        for topic_partition in topic_partitions:
            if self._holder.get(topic_partition) == member_id:  # else somebody has it already
                del self._holder[topic_partition]
                self._nobodys_since_us[topic_partition] = now_us


def _owners_in(shares: Mapping[str, Set[TopicPartition]]) -> dict[TopicPartition, str]:
    return {topic_partition: member_id for member_id, share in shares.items() for topic_partition in share}


def share_in(assignment: bytes) -> frozenset[TopicPartition] | None:
    """The partitions of an assignment of protocol type `consumer`; None where that is not known."""
    partitions = assigned_partitions(assignment)
    return None if partitions is None else _topic_partitions(partitions)


def still_owned(metadata: bytes) -> frozenset[TopicPartition]:
    """What a member that joins says it owns; one whose client does not say gives up all of it."""
    try:
        subscription = read_subscription(metadata)
    except ImpossibleLengthError:
        return frozenset()
    return frozenset() if subscription is None else _topic_partitions(subscription.owned_partitions)


def _topic_partitions(partitions: Mapping[str, tuple[int, ...]]) -> frozenset[TopicPartition]:
    return frozenset((topic, partition) for topic, numbers in partitions.items() for partition in numbers)
