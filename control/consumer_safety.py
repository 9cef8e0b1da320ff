"""The safety oracle's part for groups of the consumer protocol, mixed ones included (KIP-848).

There a partition is a member's from the answer that gives it until the member says that it owns it no more, leaves, or
is taken out of the group. So this looks at answers and acknowledgements, not at what the coordinator believes. A member
that was taken out and has not heard of it owns nothing any more. Classic members say what they own when they join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kohort.control.epoch_owners import EpochOwners, allowed_by
from kohort.protocol.consumer_protocol import ImpossibleLengthError, assigned_partitions, read_subscription
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.control.brokers import Brokers
    from kohort.control.exchange import Exchange
    from kohort.coordinator.consumer.consumer_group import ConsumerGroup

HEARTBEAT, JOIN_GROUP, SYNC_GROUP = "ConsumerGroupHeartbeat", "JoinGroup", "SyncGroup"
OWNERSHIP_APIS = frozenset((HEARTBEAT, JOIN_GROUP, SYNC_GROUP))
"""APIs whose answers and requests say who owns what."""

_Partition = tuple[UUID, int]


@dataclass
class ConsumerSafety:
    """Who owns what in consumer groups. `violation` is called with sentences."""

    brokers: Brokers
    find_group: Callable[[str], ConsumerGroup | None]
    """A consumer group by its id, wherever it is coordinated."""
    violation: Callable[[str], None]

    def __post_init__(self) -> None:
        self._owners = EpochOwners[_Partition]("partitions", self.violation)

    def answered(self, exchange: Exchange, response: Any, *, two_owners: bool) -> None:
        """One of `OWNERSHIP_APIS` is about to be answered. `two_owners`: whether that is all right."""
        group = self.find_group(exchange.facts.group)
        if group is None:
            self._owners.owned.pop(exchange.facts.group, None)
            return
        owned = self._owners.members(group)
        api = exchange.facts.api
        if api == HEARTBEAT:
            given = self._heartbeat(group, exchange.request, response)
        elif api == JOIN_GROUP:
            given = self._joined(owned, exchange.request, response)
        else:
            given = self._synced(owned, exchange.request, response)
        if given and not two_owners:
            self._look_for_others(group, response, exchange.request.member_id, given)

    def check_commit(self, exchange: Exchange, name: str, partition: int) -> str | None:
        """What is wrong with a commit that was accepted: the end of a sentence; None: nothing, or it was nobody's."""
        facts, current = exchange.facts, exchange.current_then
        if facts.generation < 0:
            return None
        if current is None:
            return "and is no member"
        if facts.generation > current.epoch:
            return from_the_future(facts.generation, current.epoch)
        topic = self.brokers.cluster.topics.by_name(name)
        if topic is None:
            return None
        return from_the_past(facts.generation, current.epoch, current.given_at(topic.topic_id, partition))

    def foreign(self, exchange: Exchange, name: str, partition: int) -> str | None:
        """Whose a partition is that a member committed without owning it: the end of a sentence; None: all right."""
        current = exchange.current_then
        topic = self.brokers.cluster.topics.by_name(name)
        if exchange.facts.generation < 0 or current is None or topic is None:
            return None
        if current.given_at(topic.topic_id, partition) is not None:
            return None
        owned = self._owners.owned.get(exchange.facts.group, {})
        others = [each for each, has in owned.items() if (topic.topic_id, partition) in has]
        mine = set(exchange.facts.members)
        if others and mine.isdisjoint(others):
            return f"which belongs to {' and '.join(others)}"
        return None if current.assigned or current.revoking or not mine.isdisjoint(others) else "and owns nothing"

    # Within

    def _heartbeat(self, group: ConsumerGroup, request: Any, response: Any) -> set[_Partition]:
        assignment = response.assignment
        assigned = None if assignment is None else _partitions(assignment.topic_partitions)
        return self._owners.heartbeat(group, request, response, _partitions(request.topic_partitions), assigned)

    def _joined(self, owned: dict[str, set[_Partition]], request: Any, response: Any) -> set[_Partition]:
        """A classic member has only what it says when it joins; an older or an eager one says nothing."""
        if response.error_code is ErrorCode.none:
            names: Any = {}
            try:
                subscription = read_subscription(request.protocols[0].metadata) if request.protocols else None
                names = subscription.owned_partitions if subscription is not None else {}
            except ImpossibleLengthError:
                """It owns nothing that anybody could know."""
            owned[response.member_id] = owned.get(response.member_id, set()) & self._by_id(names)
        return set()

    def _synced(self, owned: dict[str, set[_Partition]], request: Any, response: Any) -> set[_Partition]:
        if response.error_code is not ErrorCode.none:
            return set()
        has = owned.setdefault(request.member_id, set())
        given = self._by_id(assigned_partitions(response.assignment) or {}) - has
        has |= given  # what is taken from it is its own until it joins again without it
        return given

    def _look_for_others(self, group: ConsumerGroup, response: Any, asked: str, given: set[_Partition]) -> None:
        member_id = getattr(response, "member_id", None) or asked
        for (topic_id, partition), other in self._owners.disputed(group, member_id, given):
            topic = self.brokers.cluster.topics.by_id(topic_id)
            name = topic_id if topic is None else topic.name
            self.violation(
                f"group {group.group_id}: {name}-{partition} was given to {member_id}, and {other} has not given it up"
                + allowed_by("two_owners")
            )

    def _by_id(self, partitions: Any) -> set[_Partition]:
        found = ((self.brokers.cluster.topics.by_name(name), numbers) for name, numbers in partitions.items())
        return {(topic.topic_id, number) for topic, numbers in found if topic is not None for number in numbers}


def _partitions(topics: Iterable[Any] | None) -> set[_Partition] | None:
    if topics is None:
        return None
    return {(each.topic_id, number) for each in topics for number in each.partitions}


def from_the_future(epoch: int, member_epoch: int) -> str:
    """What is wrong with a commit of an epoch that its member has not reached."""
    return f"at epoch {epoch}, when it was at {member_epoch}"


def from_the_past(epoch: int, member_epoch: int, since: int | None) -> str | None:
    """What is wrong with a commit of that epoch; None: nothing.

    `since`: the epoch at which its member was given what it commits for; None: it does not have it.
    """
    if since is not None:
        return None if epoch >= since else f"at epoch {epoch}, given to it at {since}"
    return f"at epoch {epoch}, when it was at {member_epoch} and had it no more" if epoch < member_epoch else None
