"""Safety checks of groups of the consumer protocol, including mixed ones (KIP-848).

A member owns a partition from the response that assigns it until the member reports that it no longer owns it, leaves,
or is removed. So this looks at responses and acknowledgements, not at the coordinator's state. A removed member owns
nothing, even if it doesn't know that yet. Classic members report what they own when they join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kohort.control.oracle.epoch_owners import EpochOwners, allowed_by
from kohort.protocol.consumer_protocol import ImpossibleLengthError, assigned_partitions, read_subscription
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.control.brokers import Brokers
    from kohort.control.exchange import Exchange
    from kohort.coordinator.consumer.consumer_group import ConsumerGroup

HEARTBEAT, JOIN_GROUP, SYNC_GROUP = "ConsumerGroupHeartbeat", "JoinGroup", "SyncGroup"
OWNERSHIP_APIS = frozenset((HEARTBEAT, JOIN_GROUP, SYNC_GROUP))  # APIs whose requests and responses show who owns what

_Partition = tuple[UUID, int]


@dataclass
class ConsumerSafety:
    """Owners of the partitions of consumer groups. `violation` is called with sentences."""

    brokers: Brokers
    find_group: Callable[[str], ConsumerGroup | None]  # returns a consumer group by id, on any coordinator
    violation: Callable[[str], None]

    def __post_init__(self) -> None:
        self._owners = EpochOwners[_Partition]("partitions", self.violation)

    def answered(self, exchange: Exchange, response: Any, *, two_owners: bool) -> None:
        """Record the owners after one of `OWNERSHIP_APIS`, just before the response is sent.

        Args:
            two_owners: Allows a partition with several owners.
        """
        group = self.find_group(exchange.facts.group)
        if group is None:
            self._owners.owned.pop(exchange.facts.group, None)
            return
        owned = self._owners.members(group)
        api = exchange.facts.api
        if api == HEARTBEAT:
            assigned = self._heartbeat(group, exchange.request, response)
        elif api == JOIN_GROUP:
            assigned = self._joined(owned, exchange.request, response)
        else:
            assigned = self._synced(owned, exchange.request, response)
        if assigned and not two_owners:
            self._check_other_owners(group, response, exchange.request.member_id, assigned)

    def check_commit(self, exchange: Exchange, name: str, partition: int) -> str | None:
        """Return the error of an accepted commit, as the end of a sentence, or None if it is valid or has no member."""
        facts, current = exchange.facts, exchange.current_then
        if facts.generation < 0:
            return None
        if current is None:
            return "and is not a member"
        if facts.generation > current.epoch:
            return from_the_future(facts.generation, current.epoch)
        topic = self.brokers.cluster.topics.by_name(name)
        if topic is None:
            return None
        return from_the_past(facts.generation, current.epoch, current.given_at(topic.topic_id, partition))

    def foreign(self, exchange: Exchange, name: str, partition: int) -> str | None:
        """Return the owner of a partition that a member committed without owning it, as the end of a sentence."""
        current = exchange.current_then
        topic = self.brokers.cluster.topics.by_name(name)
        if exchange.facts.generation < 0 or current is None or topic is None:
            return None
        if current.given_at(topic.topic_id, partition) is not None:
            return None
        owned = self._owners.owned.get(exchange.facts.group, {})
        owners = [member_id for member_id, partitions in owned.items() if (topic.topic_id, partition) in partitions]
        mine = set(exchange.facts.members)
        if owners and mine.isdisjoint(owners):
            return f"which belongs to {' and '.join(owners)}"
        return (
            None if current.assigned or current.revoking or not mine.isdisjoint(owners) else "although it owns nothing"
        )

    # Internals

    def _heartbeat(self, group: ConsumerGroup, request: Any, response: Any) -> set[_Partition]:
        assignment = response.assignment
        assigned = None if assignment is None else _partitions(assignment.topic_partitions)
        return self._owners.heartbeat(group, request, response, _partitions(request.topic_partitions), assigned)

    def _joined(self, owned: dict[str, set[_Partition]], request: Any, response: Any) -> set[_Partition]:
        if response.error_code is ErrorCode.none:
            names: Any = {}
            try:
                subscription = read_subscription(request.protocols[0].metadata) if request.protocols else None
                names = subscription.owned_partitions if subscription is not None else {}
            except ImpossibleLengthError:
                """The subscription is unreadable, so nothing is known to be owned."""
            owned[response.member_id] = owned.get(response.member_id, set()) & self._by_id(names)
        return set()

    def _synced(self, owned: dict[str, set[_Partition]], request: Any, response: Any) -> set[_Partition]:
        if response.error_code is not ErrorCode.none:
            return set()
        owned_partitions = owned.setdefault(request.member_id, set())
        assigned = self._by_id(assigned_partitions(response.assignment) or {}) - owned_partitions
        owned_partitions |= assigned  # it still owns revoked partitions until it rejoins without them
        return assigned

    def _check_other_owners(
        self, group: ConsumerGroup, response: Any, requested_id: str, assigned: set[_Partition]
    ) -> None:
        member_id = getattr(response, "member_id", None) or requested_id
        for (topic_id, partition), other in self._owners.disputed(group, member_id, assigned):
            topic = self.brokers.cluster.topics.by_id(topic_id)
            name = topic_id if topic is None else topic.name
            self.violation(
                f"group {group.group_id}: {name}-{partition} was assigned to {member_id} before {other} revoked it"
                + allowed_by("two_owners")
            )

    def _by_id(self, partitions: Any) -> set[_Partition]:
        topics = ((self.brokers.cluster.topics.by_name(name), numbers) for name, numbers in partitions.items())
        return {(topic.topic_id, number) for topic, numbers in topics if topic is not None for number in numbers}


def _partitions(topics: Iterable[Any] | None) -> set[_Partition] | None:
    if topics is None:
        return None
    return {(topic.topic_id, number) for topic in topics for number in topic.partitions}


def from_the_future(epoch: int, member_epoch: int) -> str:
    return f"at epoch {epoch}, when it was at {member_epoch}"


def from_the_past(epoch: int, member_epoch: int, since: int | None) -> str | None:
    """Return the error of a commit with an old epoch, or None if the epoch is valid.

    Args:
        since: The epoch at which the partition was assigned to the member, or None if the member doesn't own it.
    """
    if since is not None:
        return None if epoch >= since else f"at epoch {epoch}, but was assigned at {since}"
    return f"at epoch {epoch}, when it was at {member_epoch} and no longer owned it" if epoch < member_epoch else None
