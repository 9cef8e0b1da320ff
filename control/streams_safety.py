"""The safety oracle's part for streams groups (KIP-1071).

There an active task is a member's from the answer that gives it until the member says that it has it no more, joins
anew, leaves, or is taken out of the group. So this looks at answers and at what members say, not at what the
coordinator believes. Standby tasks may have several owners: nobody commits for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kohort.control.consumer_safety import from_the_future, from_the_past
from kohort.control.epoch_owners import EpochOwners, allowed_by

if TYPE_CHECKING:
    from kohort.control.exchange import Exchange
    from kohort.coordinator.streams.streams_group import StreamsGroup

STREAMS_HEARTBEAT = "StreamsGroupHeartbeat"

_Task = tuple[str, int]
"""A subtopology and a partition."""


@dataclass
class StreamsSafety:
    """Who has which active tasks in streams groups. `violation` is called with sentences."""

    find_group: Callable[[str], StreamsGroup | None]
    """A streams group by its id, wherever it is coordinated."""
    violation: Callable[[str], None]

    def __post_init__(self) -> None:
        self._owners = EpochOwners[_Task]("active tasks", self.violation)

    def answered(self, exchange: Exchange, response: Any, *, two_owners: bool) -> None:
        """A heartbeat is about to be answered. `two_owners`: whether that is all right."""
        group = self.find_group(exchange.facts.group)
        if group is None:
            self._owners.owned.pop(exchange.facts.group, None)
            return
        self._owners.members(group)
        given = self._heartbeat(group, exchange.request, response)
        if given and not two_owners:
            self._look_for_others(group, exchange.request.member_id, given)

    def check_commit(self, exchange: Exchange, name: str, partition: int) -> str | None:
        """What is wrong with a commit that was accepted: the end of a sentence; None: nothing, or it was nobody's."""
        epoch, tasks = exchange.facts.generation, exchange.tasks_then
        if epoch < 0:
            return None
        if tasks is None:
            return "and is no member"
        if epoch > tasks.epoch:
            return from_the_future(epoch, tasks.epoch)
        task = self._reader(exchange, name, partition)
        return from_the_past(epoch, tasks.epoch, None if task is None else tasks.given_at(*task))

    def foreign(self, exchange: Exchange, name: str, partition: int) -> str | None:
        """Whose a partition is that a member committed without its task: the end of a sentence; None: all right.

        What no subtopology reads everybody may commit, and what a member has given up as long as it is nobody's.
        """
        tasks, task = exchange.tasks_then, self._reader(exchange, name, partition)
        if exchange.facts.generation < 0 or tasks is None or task is None or tasks.given_at(*task) is not None:
            return None
        owned, mine = self._owners.owned.get(exchange.facts.group, {}), set(exchange.facts.members)
        others = [each for each, has in owned.items() if task in has]
        if others and mine.isdisjoint(others):
            return f"whose task belongs to {' and '.join(others)}"
        has_any = tasks.assigned.active or tasks.revoking.active or not mine.isdisjoint(others)
        return None if has_any else "and has no active task"

    # Within

    def _heartbeat(self, group: StreamsGroup, request: Any, response: Any) -> set[_Task]:
        kept, assigned = _tasks(request.active_tasks), _tasks(response.active_tasks)
        return self._owners.heartbeat(group, request, response, kept, assigned)

    def _look_for_others(self, group: StreamsGroup, member_id: str, given: set[_Task]) -> None:
        for (subtopology_id, partition), other in self._owners.disputed(group, member_id, given):
            self.violation(
                f"group {group.group_id}: active task {subtopology_id}_{partition} was given to {member_id}, "
                f"and {other} has not given it up" + allowed_by("two_owners")
            )

    def _reader(self, exchange: Exchange, name: str, partition: int) -> _Task | None:
        """The task that reads a partition; None: no subtopology does."""
        group = self.find_group(exchange.facts.group)
        subtopology = None if group is None else group.sources.get(name)
        return None if subtopology is None else (subtopology.subtopology_id, partition)


def _tasks(said: Iterable[Any] | None) -> set[_Task] | None:
    if said is None:
        return None
    return {(each.subtopology_id, partition) for each in said for partition in each.partitions}
