"""Safety checks of groups whose members own partitions or active tasks under epochs (KIP-848, KIP-1071).

A member owns something from the response that assigns it until the member reports that it no longer owns it, rejoins,
leaves, or is removed. So this looks at responses and reports of members, not at the coordinator's state. A removed
member owns nothing, even if it doesn't know that yet. Classic members of a consumer group report what they own when
they join. Standby tasks can have several owners, because no member commits for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kohort.coordinator.groups.group_types import EPOCH, GENERATION, GROUP_TYPES, PARTITION, find_types
from kohort.protocol.consumer_protocol import ImpossibleLengthError, assigned_partitions, read_subscription
from kohort.protocol.errors import ErrorCode as E

if TYPE_CHECKING:
    from kohort.control.exchange import Exchange
    from kohort.coordinator.groups.group import Group
    from kohort.storage.topics import Topics

JOIN_GROUP, SYNC_GROUP = "JoinGroup", "SyncGroup"
# APIs whose requests and responses show who owns what
OWNERSHIP_APIS = frozenset(api for row in GROUP_TYPES.values() for api in row.ownership_apis)
GENERATION_TYPES = find_types(lambda row: row.commits_under == GENERATION)
EPOCH_TYPES = find_types(lambda row: row.commits_under == EPOCH)
PARTITION_TYPES = find_types(lambda row: row.owned == PARTITION)

# after these errors a member has lost its assignment
_LOST = (E.fenced_member_epoch, E.unknown_member_id, E.fenced_instance_id, E.group_id_not_found)

Item = tuple[Any, int]  # topic id and partition, or subtopology and partition of an active task


def allowed_by(allowance: str, value: object = True) -> str:
    """Return the end of a violation that names the field of `Budget` that permits it."""
    return f" (@pytest.mark.kafka(safety=Budget({allowance}={value})) allows this)"


@dataclass
class EpochSafety:
    """Owners of partitions and active tasks. `violation` is called with sentences."""

    topics: Topics
    find: Callable[[str], Group | None]  # returns a group of any type by id
    violation: Callable[[str], None]
    _owned: dict[str, dict[str, set[Item]]] = field(default_factory=dict)  # by group id and member id

    def answered(self, exchange: Exchange, response: Any, *, two_owners: bool) -> None:
        """Record the owners after one of `OWNERSHIP_APIS`, just before the response is sent.

        Args:
            two_owners: Allows a partition or task with several owners.
        """
        group = self._find(exchange.facts.group)
        if group is None:
            self._owned.pop(exchange.facts.group, None)
            return
        owned = self._owned.setdefault(group.group_id, {})
        for member_id in [owner for owner in owned if owner not in group.members]:
            del owned[member_id]
        if exchange.facts.api == JOIN_GROUP:
            self._joined(owned, exchange.request, response)
            return
        if exchange.facts.api == SYNC_GROUP:
            assigned = self._synced(owned, exchange.request, response)
        else:
            assigned = self._heartbeat(group, owned, exchange.request, response)
        if not two_owners:
            self._check_other_owners(
                group, getattr(response, "member_id", None) or exchange.request.member_id, assigned
            )

    def check_commit(self, exchange: Exchange, name: str, partition: int) -> str | None:
        """Return the error of an accepted commit, as the end of a sentence, or None if it is valid or has no member."""
        epoch, current = exchange.facts.generation, exchange.current_then
        if epoch < 0:
            return None
        if current is None:
            return "and is not a member"
        if epoch > current.epoch:
            return f"at epoch {epoch}, when it was at {current.epoch}"
        if self.topics.by_name(name) is None:
            return None
        item = self._item(exchange, name, partition)
        since = None if item is None else current.given_at(*item)
        if since is not None:
            return None if epoch >= since else f"at epoch {epoch}, but was assigned at {since}"
        is_outdated = epoch < current.epoch
        return f"at epoch {epoch}, when it was at {current.epoch} and no longer owned it" if is_outdated else None

    def foreign(self, exchange: Exchange, name: str, partition: int) -> str | None:
        """Return the owner of a partition that a member committed without owning it, as the end of a sentence, or None.

        Every member may commit for a partition that no subtopology reads, and for one that it has revoked until the
        partition has a new owner.
        """
        current, item = exchange.current_then, self._item(exchange, name, partition)
        if exchange.facts.generation < 0 or current is None or item is None or current.given_at(*item) is not None:
            return None
        owned, mine = self._owned.get(exchange.facts.group, {}), set(exchange.facts.members)
        owners = [member_id for member_id, items in owned.items() if item in items]
        if owners and mine.isdisjoint(owners):
            return f"which belongs to {' and '.join(owners)}"
        is_owner = any(getattr(items, "active", items) for items in (current.assigned, current.revoking))
        return None if is_owner or not mine.isdisjoint(owners) else "although it owns nothing"

    def is_assigned(self, exchange: Exchange, name: str, partition: int) -> bool:
        """Return whether a member was assigned a partition by its epoch, so that a commit depends on nothing else."""
        group, current = self._find(exchange.facts.group), exchange.current_then
        if group is None or group.group_type not in PARTITION_TYPES or current is None:
            return False
        item = self._item(exchange, name, partition)
        since = None if item is None else current.given_at(*item)
        return since is not None and exchange.facts.generation >= since

    # Internals

    def _find(self, group_id: str) -> Any:
        group = self.find(group_id)
        return group if group is not None and group.group_type in EPOCH_TYPES else None

    def _item(self, exchange: Exchange, name: str, partition: int) -> Item | None:
        """Return what a member must own to commit a partition, or None if it is unknown or nothing."""
        group, topic = self._find(exchange.facts.group), self.topics.by_name(name)
        if group is None or group.group_type in PARTITION_TYPES:
            return None if topic is None else (topic.topic_id, partition)
        subtopology = group.sources.get(name)
        return None if subtopology is None else (subtopology.subtopology_id, partition)

    def _heartbeat(self, group: Any, owned: dict[str, set[Item]], request: Any, response: Any) -> set[Item]:
        """Record what a member reports and is assigned. Return what this response newly assigns."""
        is_refused = response.error_code is not E.none
        if is_refused or request.member_epoch < 0:
            if not is_refused or response.error_code in _LOST:
                owned.pop(request.member_id, None)
            return set()
        member_id = response.member_id
        if request.member_epoch == 0:
            owned[member_id] = set()
        current = owned.setdefault(member_id, set())
        kept, assigned = _reported(request), _assigned(response)
        if kept is not None:
            current &= kept
        added = set() if assigned is None else assigned - current
        current |= added
        self._check_epoch(group, member_id, response.member_epoch, current)
        return added

    def _check_epoch(self, group: Any, member_id: str, epoch: int, current: set[Item]) -> None:
        name = f"group {group.group_id}: {member_id}"
        if epoch > group.epoch:
            self.violation(f"{name} is at epoch {epoch}, the group only at {group.epoch}")
        if current and epoch <= 0:
            self.violation(f"{name} owns {GROUP_TYPES[group.group_type].owned}s without an epoch ({epoch})")

    def _joined(self, owned: dict[str, set[Item]], request: Any, response: Any) -> None:
        if response.error_code is E.none:
            names: Any = {}
            try:
                subscription = read_subscription(request.protocols[0].metadata) if request.protocols else None
                names = subscription.owned_partitions if subscription is not None else {}
            except ImpossibleLengthError:
                """The subscription is unreadable, so no partition is known to be owned."""
            owned[response.member_id] = owned.get(response.member_id, set()) & self._by_id(names)

    def _synced(self, owned: dict[str, set[Item]], request: Any, response: Any) -> set[Item]:
        if response.error_code is not E.none:
            return set()
        owned_partitions = owned.setdefault(request.member_id, set())
        assigned = self._by_id(assigned_partitions(response.assignment) or {}) - owned_partitions
        owned_partitions |= assigned  # it still owns revoked partitions until it rejoins without them
        return assigned

    def _by_id(self, partitions: Any) -> set[Item]:
        topics = ((self.topics.by_name(name), numbers) for name, numbers in partitions.items())
        return {(topic.topic_id, number) for topic, numbers in topics if topic is not None for number in numbers}

    def _check_other_owners(self, group: Any, member_id: str, assigned: set[Item]) -> None:
        for other, current in self._owned[group.group_id].items():
            for item in sorted(assigned & current) if other != member_id else ():
                self.violation(
                    f"group {group.group_id}: {self._name(group, item)} was assigned to {member_id} before {other} "
                    "revoked it" + allowed_by("two_owners")
                )

    def _name(self, group: Any, item: Item) -> str:
        if group.group_type not in PARTITION_TYPES:
            return f"{GROUP_TYPES[group.group_type].owned} {item[0]}_{item[1]}"
        topic = self.topics.by_id(item[0])
        return f"{item[0] if topic is None else topic.name}-{item[1]}"


def _reported(request: Any) -> set[Item] | None:
    """Return what a heartbeat reports as owned, or None if that is unchanged."""
    return _items(request.active_tasks if hasattr(request, "active_tasks") else request.topic_partitions)


def _assigned(response: Any) -> set[Item] | None:
    """Return what a response assigns, or None if that is unchanged."""
    if hasattr(response, "active_tasks"):
        return _items(response.active_tasks)
    return None if response.assignment is None else _items(response.assignment.topic_partitions)


def _items(entries: Iterable[Any] | None) -> set[Item] | None:
    if entries is None:
        return None
    return {
        (entry.subtopology_id if hasattr(entry, "subtopology_id") else entry.topic_id, number)
        for entry in entries
        for number in entry.partitions
    }
