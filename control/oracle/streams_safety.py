"""Streams groups (KIP-1071) in the safety oracle.

A member owns an active task from the response that assigns it until the member reports that it no longer has it, joins
again, leaves, or is removed from the group. So this module uses responses and the reports of members, not the state of
the coordinator. Standby tasks can have several owners, because no member commits for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kohort.control.oracle.consumer_safety import from_the_future, from_the_past
from kohort.control.oracle.epoch_owners import EpochOwners, allowed_by

if TYPE_CHECKING:
    from kohort.control.exchange import Exchange
    from kohort.coordinator.streams.streams_group import StreamsGroup

STREAMS_HEARTBEAT = "StreamsGroupHeartbeat"

_Task = tuple[str, int]  # subtopology and partition


@dataclass
class StreamsSafety:
    """Owners of active tasks in streams groups. `violation` is called with sentences."""

    find_group: Callable[[str], StreamsGroup | None]  # finds a streams group by its id
    violation: Callable[[str], None]

    def __post_init__(self) -> None:
        self._owners = EpochOwners[_Task]("active tasks", self.violation)

    def answered(self, exchange: Exchange, response: Any, *, two_owners: bool) -> None:
        """Check a heartbeat before its response is sent.

        Args:
            two_owners: Whether two owners of a task are allowed.
        """
        group = self.find_group(exchange.facts.group)
        if group is None:
            self._owners.owned.pop(exchange.facts.group, None)
            return
        self._owners.members(group)
        tasks = self._heartbeat(group, exchange.request, response)
        if tasks and not two_owners:
            self._look_for_others(group, exchange.request.member_id, tasks)

    def check_commit(self, exchange: Exchange, name: str, partition: int) -> str | None:
        """Return the problem of an accepted commit as the end of a sentence, or None."""
        epoch, tasks = exchange.facts.generation, exchange.tasks_then
        if epoch < 0:
            return None
        if tasks is None:
            return "and is not a member"
        if epoch > tasks.epoch:
            return from_the_future(epoch, tasks.epoch)
        task = self._reader(exchange, name, partition)
        return from_the_past(epoch, tasks.epoch, None if task is None else tasks.given_at(*task))

    def foreign(self, exchange: Exchange, name: str, partition: int) -> str | None:
        """Return the owner of a partition that a member committed without its task as the end of a sentence, or None.

        Every member may commit for a partition that no subtopology reads, and for one that it has revoked until the
        partition has a new owner.
        """
        tasks, task = exchange.tasks_then, self._reader(exchange, name, partition)
        if exchange.facts.generation < 0 or tasks is None or task is None or tasks.given_at(*task) is not None:
            return None
        owned, mine = self._owners.owned.get(exchange.facts.group, {}), set(exchange.facts.members)
        owners = [member_id for member_id, member_tasks in owned.items() if task in member_tasks]
        if owners and mine.isdisjoint(owners):
            return f"whose task belongs to {' and '.join(owners)}"
        has_any = tasks.assigned.active or tasks.revoking.active or not mine.isdisjoint(owners)
        return None if has_any else "and has no active task"

    # Checks

    def _heartbeat(self, group: StreamsGroup, request: Any, response: Any) -> set[_Task]:
        kept, assigned = _tasks(request.active_tasks), _tasks(response.active_tasks)
        return self._owners.heartbeat(group, request, response, kept, assigned)

    def _look_for_others(self, group: StreamsGroup, member_id: str, tasks: set[_Task]) -> None:
        for (subtopology_id, partition), other in self._owners.disputed(group, member_id, tasks):
            self.violation(
                f"group {group.group_id}: active task {subtopology_id}_{partition} was given to {member_id}, "
                f"and {other} has not revoked it" + allowed_by("two_owners")
            )

    def _reader(self, exchange: Exchange, name: str, partition: int) -> _Task | None:
        group = self.find_group(exchange.facts.group)
        subtopology = None if group is None else group.sources.get(name)
        return None if subtopology is None else (subtopology.subtopology_id, partition)


def _tasks(reported: Iterable[Any] | None) -> set[_Task] | None:
    if reported is None:
        return None
    return {(entry.subtopology_id, partition) for entry in reported for partition in entry.partitions}
