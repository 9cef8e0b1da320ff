"""Explanation of a streams group (KIP-1071): which task waits for which member, and why tasks are not assigned.

It only reads, as `explain_classic.py` does for classic groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from kohort.control.explain.explanation import Advice, Explanation, Wait
from kohort.control.groups.group_members import remaining_ms
from kohort.control.groups.streams_topology import interval_left_ms
from kohort.coordinator.streams.streams_targets import NUM_STANDBY_REPLICAS
from kohort.coordinator.streams.streams_values import StatusCode

if TYPE_CHECKING:
    from kohort.control.groups.task_members import TaskMember
    from kohort.coordinator.streams.streams_group import StreamsGroup

MAX_TASKS = 100  # waiting tasks that are listed one by one

INTERNAL = StatusCode.MISSING_INTERNAL_TOPICS


def explanation_of_none(group_id: str) -> Explanation:
    return Explanation(
        f"streams group {group_id}: does not exist; the first StreamsGroupHeartbeat creates it", (), (), ()
    )


def explain_streams(
    group: StreamsGroup, members: Sequence[TaskMember], now_ms: int, denied: tuple[str, ...] = ()
) -> Explanation:
    """Return the explanation of a group.

    Args:
        members: The group's members as tests see them.
        denied: Sentences about missing rights; see `denied.py`.
    """
    return _Explainer(group, members, now_ms).explain(denied)


class _Explainer:
    """Group and its members at one moment."""

    def __init__(self, group: StreamsGroup, members: Sequence[TaskMember], now_ms: int) -> None:
        self._group = group
        self._members = members
        self._now_ms = now_ms
        count = Counter(member.client_id for member in members)
        self._names = {
            member.member_id: member.client_id
            if member.client_id and count[member.client_id] == 1
            else member.member_id
            for member in members
        }
        self._active = _holders(members, "active")
        self._standby = _holders(members, "standby")

    def explain(self, denied: tuple[str, ...]) -> Explanation:
        clients = tuple(
            Advice(self._names[member.member_id], self._advice_for(member), member.session_ends_in_ms, member.is_alive)
            for member in self._members
        )
        waits = (*self._waits_of_group(), *(wait for member in self._members for wait in self._wait_for(member)))
        return Explanation(
            self._headline(), waits, clients, tuple(self._badly_set()), denied, tuple(self._waiting_tasks())
        )

    def _headline(self) -> str:
        group, count = self._group, len(self._members)
        processes = len({member.process_id for member in self._members})
        text = f"streams group {group.group_id}: {group.state.value}, epoch {group.epoch}"
        if group.target_epoch != group.epoch:
            text += f", target assignment of epoch {group.target_epoch}"
        if group.topology is not None:
            text += f", topology of epoch {group.topology.epoch}"
        return f"{text}, {count} member{'s'[count == 1 :]} in {processes} process{'es' * (processes != 1)}"

    # Waits

    def _waits_of_group(self) -> Iterator[Wait]:
        group = self._group
        if not self._members:
            return
        yield from self._waits_for_topics()
        if group.is_delayed:
            reason = "more members (group.streams.initial.rebalance.delay.ms)"
            yield Wait((), reason, remaining_ms(group.initial_delay, self._now_ms), "the target assignment is computed")
        elif group.target_epoch < group.epoch:
            reason = "the next target assignment (group.streams.assignment.interval.ms)"
            consequence = "the next heartbeat of any member computes it"
            yield Wait((), reason, interval_left_ms(group, self._now_ms), consequence)

    def _waits_for_topics(self) -> Iterator[Wait]:
        configured = self._group.configured
        if configured is None:
            yield Wait(
                (),
                "a check of the topics that the topology needs",
                None,
                "the next heartbeat of any member checks them",
            )
            return
        for status in configured.status:
            reason = f"topics ({status.code.name}): {status.detail}"
            consequence = "the next heartbeat after they exist assigns tasks"
            if status.code is INTERNAL:
                consequence = "each heartbeat tries to create them, and the next one after that assigns tasks"
            yield Wait((), reason, None, consequence)

    def _wait_for(self, member: TaskMember) -> Iterator[Wait]:
        name = (self._names[member.member_id],)
        if member.pending:
            reason = f"to revoke {member.pending}{self._wanted_by(member)}"
            yield Wait(name, reason, member.revocation_ends_in_ms, "it is removed, and its tasks are free")
        elif member.epoch < self._group.target_epoch and not self._group.is_delayed:
            reason = f"to send a heartbeat, which moves it from epoch {member.epoch} to {self._group.target_epoch}"
            yield Wait(name, reason, member.session_ends_in_ms, "it is removed")
        elif member.waits_for and not list(self._blocked(member)):
            reason = "to send a heartbeat, which assigns it what other members have revoked"
            yield Wait(name, reason, member.session_ends_in_ms, "it is removed")

    def _wanted_by(self, member: TaskMember) -> str:
        revoked = {*member.pending.active, *member.pending.standby}
        names = [
            self._names[other.member_id]
            for other in self._members
            if revoked & {*other.target_tasks.active, *other.target_tasks.standby}
        ]
        return f", which {_and(names)} {'is' if len(names) == 1 else 'are'} to get" if names else ""

    # Tasks

    def _blocked(self, member: TaskMember) -> Iterator[tuple[str, str, str]]:
        """Yield tasks in the member's target that it can't have yet: the role, the task, and the reason."""
        for role, target, current in (
            ("active", member.target_tasks.active, member.tasks.active),
            ("standby", member.target_tasks.standby, member.tasks.standby),
        ):
            for task in target:
                reason = "" if task in current else self._reason(member, role, task)
                if reason:
                    yield role, task, reason

    def _reason(self, member: TaskMember, role: str, task: str) -> str:
        """Return a text that names the member a task waits for, or an empty string.

        An active task waits for the member that has it as active. Any task waits until the member's own process revokes
        it.
        """
        if role == "active" and task in self._active:
            return f"{_and(self._names_of(self._active[task]))} still has it"
        own = [
            (owner, holds)
            for holds, by_task in (("an active", self._active), ("a standby", self._standby))
            for owner in by_task.get(task, ())
            if owner.process_id == member.process_id
        ]
        if not own:
            return ""
        holder, holds = own[0]
        subject = "it" if holder is member else f"{self._names[holder.member_id]}, of the same process,"
        return f"{subject} still has it as {holds} task"

    def _waiting_tasks(self) -> Iterator[str]:
        every = [(member, *blocked) for member in self._members for blocked in self._blocked(member)]
        for member, role, task, reason in islice(every, MAX_TASKS):
            yield f"task {task} waits, as {self._names[member.member_id]}'s {role} task: {reason}"
        if len(every) > MAX_TASKS:
            yield f"{len(every) - MAX_TASKS} more tasks wait"

    # Advice

    def _advice_for(self, member: TaskMember) -> str:
        group, text = self._group, f"has {member.tasks}"
        if group.shutdown_requested_by is not None:
            return f"{text}; should shut down, as {self._shutdown_requester()} has requested for all members"
        if group.topology is not None and member.topology_epoch < group.topology.epoch:
            text += f"; its topology is of epoch {member.topology_epoch}, the group's of {group.topology.epoch}"
        if member.pending:
            return f"{text}; should revoke {member.pending}, and confirm that in a heartbeat (all three lists of tasks)"
        if blocked := [task for _, task, _ in self._blocked(member)]:
            return f"{text}; waits for {' '.join(blocked[:MAX_TASKS])}"
        return f"{text}; should send heartbeats"

    def _shutdown_requester(self) -> str:
        member_id = str(self._group.shutdown_requested_by)
        return self._names.get(member_id, member_id)

    def _badly_set(self) -> Iterator[str]:
        replicas = int(dict(self._group.configs).get(NUM_STANDBY_REPLICAS, 0))
        processes = len({member.process_id for member in self._members})
        configured = self._group.configured
        if self._members and replicas >= processes and configured is not None and configured.stateful:
            yield (
                f"streams.num.standby.replicas is {replicas}, and there {'is' if processes == 1 else 'are'} only "
                f"{processes} process{'es' * (processes != 1)}: standby tasks need other processes"
            )

    def _names_of(self, members: Sequence[TaskMember]) -> list[str]:
        return [self._names[member.member_id] for member in members]


def _holders(members: Sequence[TaskMember], role: str) -> dict[str, list[TaskMember]]:
    holders: dict[str, list[TaskMember]] = {}
    for member in members:
        for task in (*getattr(member.tasks, role), *getattr(member.pending, role)):
            holders.setdefault(task, []).append(member)
    return holders


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
