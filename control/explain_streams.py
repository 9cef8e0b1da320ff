"""A streams group in words (KIP-1071): which task waits for whom, and what keeps tasks from being handed out.

Looks and changes nothing, as `explain.py` does for classic groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from kohort.control.explanation import Advice, Explanation, Wait
from kohort.control.group_members import left
from kohort.control.streams_topology import interval_left_ms
from kohort.coordinator.streams.streams_targets import NUM_STANDBY_REPLICAS
from kohort.coordinator.streams.streams_values import StatusCode

if TYPE_CHECKING:
    from kohort.control.task_members import TaskMember
    from kohort.coordinator.streams.streams_group import StreamsGroup

MOST_TASKS = 100
"""Tasks that wait and are listed one by one."""

INTERNAL = StatusCode.MISSING_INTERNAL_TOPICS


def explanation_of_none(group_id: str) -> Explanation:
    """Where there is no such group."""
    return Explanation(f"streams group {group_id}: there is none; the first StreamsGroupHeartbeat makes it", (), (), ())


def explain_streams(
    group: StreamsGroup, members: Sequence[TaskMember], now_ms: int, denied: tuple[str, ...] = ()
) -> Explanation:
    """`members`: those of the group, as they are now. `denied`: see `denied.py`."""
    return _Story(group, members, now_ms).tell(denied)


class _Story:
    """What there is to say of a group at one moment."""

    def __init__(self, group: StreamsGroup, members: Sequence[TaskMember], now_ms: int) -> None:
        self._group = group
        self._members = members
        self._now_ms = now_ms
        count = Counter(each.client_id for each in members)
        self._names = {
            each.member_id: each.client_id if each.client_id and count[each.client_id] == 1 else each.member_id
            for each in members
        }
        self._active = _holders(members, "active")
        self._standby = _holders(members, "standby")

    def tell(self, denied: tuple[str, ...]) -> Explanation:
        clients = tuple(
            Advice(self._names[each.member_id], self._should(each), each.session_ends_in_ms, each.is_alive)
            for each in self._members
        )
        waits = (*self._waits_of_group(), *(wait for each in self._members for wait in self._wait_for(each)))
        return Explanation(
            self._headline(), waits, clients, tuple(self._badly_set()), denied, tuple(self._waiting_tasks())
        )

    def _headline(self) -> str:
        group, count = self._group, len(self._members)
        processes = len({each.process_id for each in self._members})
        text = f"streams group {group.group_id}: {group.state.value}, epoch {group.epoch}"
        if group.target_epoch != group.epoch:
            text += f", target assignment of epoch {group.target_epoch}"
        if group.topology is not None:
            text += f", topology of epoch {group.topology.epoch}"
        return f"{text}, {count} member{'s'[count == 1 :]} in {processes} process{'es' * (processes != 1)}"

    # What it waits for

    def _waits_of_group(self) -> Iterator[Wait]:
        group = self._group
        if not self._members:
            return
        yield from self._waits_for_topics()
        if group.is_delayed:
            what = "more members (group.streams.initial.rebalance.delay.ms)"
            yield Wait((), what, left(group.initial_delay, self._now_ms), "the target assignment is computed")
        elif group.target_epoch < group.epoch:
            what = "the next target assignment (group.streams.assignment.interval.ms)"
            then = "the next heartbeat of anybody computes it"
            yield Wait((), what, interval_left_ms(group, self._now_ms), then)

    def _waits_for_topics(self) -> Iterator[Wait]:
        configured = self._group.configured
        if configured is None:
            yield Wait(
                (), "a look at the topics that the topology needs", None, "the next heartbeat of anybody does so"
            )
            return
        for status in configured.status:
            what = f"topics ({status.code.name}): {status.detail}"
            then = "the next heartbeat after they are there hands out tasks"
            if status.code is INTERNAL:
                then = "each heartbeat tries to create them, and the next one after that hands out tasks"
            yield Wait((), what, None, then)

    def _wait_for(self, member: TaskMember) -> Iterator[Wait]:
        name = (self._names[member.member_id],)
        if member.pending:
            what = f"to give up {member.pending}{self._wanted_by(member)}"
            yield Wait(name, what, member.revocation_ends_in_ms, "it is removed, and its tasks are free")
        elif member.epoch < self._group.target_epoch and not self._group.is_delayed:
            what = f"to send a heartbeat, with which it goes from epoch {member.epoch} to {self._group.target_epoch}"
            yield Wait(name, what, member.session_ends_in_ms, "it is removed")
        elif member.waits_for and not list(self._blocked(member)):
            what = "to send a heartbeat, with which it takes what others have given up"
            yield Wait(name, what, member.session_ends_in_ms, "it is removed")

    def _wanted_by(self, member: TaskMember) -> str:
        """Whose target the tasks are in that a member is giving up, in whichever role."""
        given_up = {*member.pending.active, *member.pending.standby}
        names = [
            self._names[each.member_id]
            for each in self._members
            if given_up & {*each.target_tasks.active, *each.target_tasks.standby}
        ]
        return f", which {_and(names)} {'is' if len(names) == 1 else 'are'} to get" if names else ""

    # Which task waits for whom

    def _blocked(self, member: TaskMember) -> Iterator[tuple[str, str, str]]:
        """Tasks that the target gives a member and that it cannot have yet: the role, the task, and why."""
        for role, wanted, has in (
            ("active", member.target_tasks.active, member.tasks.active),
            ("standby", member.target_tasks.standby, member.tasks.standby),
        ):
            for task in wanted:
                why = "" if task in has else self._why(member, role, task)
                if why:
                    yield role, task, why

    def _why(self, member: TaskMember, role: str, task: str) -> str:
        """An active task waits until nobody has it as one; any, until the member's own process lets go of it."""
        if role == "active" and task in self._active:
            return f"{_and(self._called(self._active[task]))} still has it"
        own = [
            (each, holds)
            for holds, by_task in (("an active", self._active), ("a standby", self._standby))
            for each in by_task.get(task, ())
            if each.process_id == member.process_id
        ]
        if not own:
            return ""
        holder, holds = own[0]
        whose = "it" if holder is member else f"{self._names[holder.member_id]}, of the same process,"
        return f"{whose} still has it as {holds} task"

    def _waiting_tasks(self) -> Iterator[str]:
        every = [(member, *found) for member in self._members for found in self._blocked(member)]
        for member, role, task, why in islice(every, MOST_TASKS):
            yield f"task {task} waits, as {self._names[member.member_id]}'s {role} task: {why}"
        if len(every) > MOST_TASKS:
            yield f"{len(every) - MOST_TASKS} more tasks wait"

    # What each client should do

    def _should(self, member: TaskMember) -> str:
        group, text = self._group, f"has {member.tasks}"
        if group.shutdown_requested_by is not None:
            return f"{text}; should shut down, as {self._who_asked()} has asked all to do"
        if group.topology is not None and member.topology_epoch < group.topology.epoch:
            text += f"; its topology is of epoch {member.topology_epoch}, the group's of {group.topology.epoch}"
        if member.pending:
            return f"{text}; should give up {member.pending}, and say so in a heartbeat (all three lists of tasks)"
        if blocked := [task for _, task, _ in self._blocked(member)]:
            return f"{text}; waits for {' '.join(blocked[:MOST_TASKS])}"
        return f"{text}; should send heartbeats"

    def _who_asked(self) -> str:
        asked = str(self._group.shutdown_requested_by)
        return self._names.get(asked, asked)

    def _badly_set(self) -> Iterator[str]:
        replicas = int(dict(self._group.configs).get(NUM_STANDBY_REPLICAS, 0))
        processes = len({each.process_id for each in self._members})
        configured = self._group.configured
        if self._members and replicas >= processes and configured is not None and configured.stateful:
            yield (
                f"streams.num.standby.replicas is {replicas}, and there {'is' if processes == 1 else 'are'} only "
                f"{processes} process{'es' * (processes != 1)}: copies are kept by others than the active task's"
            )

    def _called(self, members: Sequence[TaskMember]) -> list[str]:
        return [self._names[each.member_id] for each in members]


def _holders(members: Sequence[TaskMember], role: str) -> dict[str, list[TaskMember]]:
    """Who has a task in a role, or is still giving it up, by its name."""
    found: dict[str, list[TaskMember]] = {}
    for member in members:
        for task in (*getattr(member.tasks, role), *getattr(member.pending, role)):
            found.setdefault(task, []).append(member)
    return found


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
