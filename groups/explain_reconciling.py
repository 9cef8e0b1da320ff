"""Waits and advice in groups with epochs: their members revoke partitions or tasks that others get.

A member owns what it is assigned, and what it must revoke until it confirms that.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from kohort.groups.explanation import Wait
from kohort.groups.group_members import GroupMember, Role, by_topic, list_partitions
from kohort.groups.group_view import GroupView
from kohort.groups.type_words import CLASSIC

MAX_TASKS = 100  # waiting tasks that are listed one by one
OF_ALL = ("", "active")  # roles in which only one member at a time may have a partition or task


class _Blocked(NamedTuple):
    """A partition or task of a member's target that the member can't have yet."""

    role: str
    item: Any
    owners: list[str]  # names of the members that still have it
    reason: str


class Reconciling:
    """A group and its members at one moment."""

    def __init__(self, view: GroupView) -> None:
        self._view = view
        self._words = view.about_type
        self._names = view.names
        self._owners: dict[tuple[str, Any], list[GroupMember]] = {}
        for member in view.members if self._words.revokes else ():
            for role in member.roles:
                for item in role.assigned | role.revoking:
                    self._owners.setdefault((role.name, item), []).append(member)

    # Waits

    def waits(self) -> Iterator[Wait]:
        view, words = self._view, self._words
        if not view.members or not words.revokes:
            return
        delay_ms = None if view.streams is None else view.streams.initial_delay_in_ms
        if delay_ms is not None:
            reason = "more members (group.streams.initial.rebalance.delay.ms)"
            yield Wait((), reason, delay_ms, "the target assignment is computed")
        elif view.next_target_in_ms is not None:
            reason = f"the next target assignment ({words.interval_setting})"
            yield Wait((), reason, view.next_target_in_ms, "the next heartbeat of any member computes it")
        for member in view.members:
            yield from self._wait_for(member)

    def _wait_for(self, member: GroupMember) -> Iterator[Wait]:
        name, things = (self._names[member.member_id],), self._words.revokes
        knows_timers, session_ms = self._view.knows_timers, member.session_ends_in_ms
        if member.is_away:
            reason = f"to rejoin: it left temporarily with {member.assignment_text}"
            yield Wait(name, reason, session_ms, "it is removed, and other members get them", knows_timers)
        elif member.revoking_text:
            reason = f"to revoke {member.revoking_text}{self._wanted_by(member)}"
            consequence = f"it is removed, and its {things} are free"
            yield Wait(name, reason, member.revocation_ends_in_ms, consequence, knows_timers)
        elif self._is_behind(member):
            reason, ends_in_ms = "to send a heartbeat", session_ms
            if member.speaks == CLASSIC:
                reason = "to rejoin (JoinGroup)"
                ends_in_ms = session_ms if member.revocation_ends_in_ms is None else member.revocation_ends_in_ms
            if member.epoch < self._target_epoch:
                reason += f", which moves it from epoch {member.epoch} to {self._target_epoch}"
            else:
                reason += ", which assigns it what other members have revoked"
            yield Wait(name, reason, ends_in_ms, "it is removed", knows_timers)

    @property
    def _target_epoch(self) -> int:
        return self._view.target_epoch or 0

    def _is_behind(self, member: GroupMember) -> bool:
        """Return whether the member's next heartbeat changes its epoch or its assignment."""
        if self._view.streams is not None and self._view.streams.initial_delay_in_ms is not None:
            return False
        if member.waits_for:
            return not any(self._blocked(member))
        return member.epoch < self._target_epoch

    def _wanted_by(self, member: GroupMember) -> str:
        """Return a text that names the members whose targets contain what a member is revoking."""
        revoked = {item for role in member.roles for item in role.revoking}
        names = [
            self._names[other.member_id]
            for other in self._view.members
            if any(not revoked.isdisjoint(role.target) for role in other.roles)
        ]
        return f", which {_and(names)} {'is' if len(names) == 1 else 'are'} to get" if names else ""

    # What members can't have yet

    def _blocked(self, member: GroupMember) -> Iterator[_Blocked]:
        for role in member.roles:
            for item in role.target:
                blocked = None if item in role.assigned else self._find_owners(member, role, item)
                if blocked is not None:
                    yield blocked

    def _find_owners(self, member: GroupMember, role: Role, item: Any) -> _Blocked | None:
        """Return the members that a partition or task waits for, or None if the member can have it.

        An active task and a partition wait for the member that still has them. Any task waits until the member's own
        process revokes it in another role.
        """
        owners = self._owners.get((role.name, item), []) if role.name in OF_ALL else []
        current_owners = [owner for owner in owners if role.name or owner is not member]
        if current_owners:
            names = [self._names[owner.member_id] for owner in current_owners]
            return _Blocked(role.name, item, names, f"{_and(names)} still has it")
        for name, article in (("active", "an"), ("standby", "a")) if role.name else ():
            for owner in self._owners.get((name, item), ()):
                if owner.process_id == member.process_id:
                    subject = f"{self._names[owner.member_id]}, of the same process,"
                    subject = "it" if owner is member else subject
                    reason = f"{subject} still has it as {article} {name} task"
                    return _Blocked(role.name, item, [self._names[owner.member_id]], reason)
        return None

    def waiting_tasks(self) -> Iterator[str]:
        """Yield a sentence for each task that waits, at most MAX_TASKS."""
        if self._view.streams is None:
            return
        every = [(member, blocked) for member in self._view.members for blocked in self._blocked(member)]
        for member, blocked in islice(every, MAX_TASKS):
            name = self._names[member.member_id]
            yield f"task {blocked.item} waits, as {name}'s {blocked.role} task: {blocked.reason}"
        if len(every) > MAX_TASKS:
            yield f"{len(every) - MAX_TASKS} more tasks wait"

    # Advice

    def advise(self, member: GroupMember) -> str:
        """Return what a member has, and what its client should do now."""
        text = f"has {member.assignment_text}"
        if member.is_away:
            return f"{text}; it left temporarily, and should rejoin with its group.instance.id"
        streams = self._view.streams
        if streams is not None and streams.shutdown_requested_by is not None:
            requester = self._names.get(streams.shutdown_requested_by, streams.shutdown_requested_by)
            return f"{text}; should shut down, as {requester} has requested for all members"
        text += self._outdated_topology(member)
        if member.revoking_text:
            action = f"confirm that in a heartbeat ({self._words.confirmed_by})"
            action = "rejoin without it" if member.speaks == CLASSIC else action
            return f"{text}; should revoke {member.revoking_text}, and {action}"
        blocked = list(self._blocked(member)) if member.waits_for or streams is not None else []
        if blocked and streams is not None:
            return f"{text}; waits for {' '.join(entry.item for entry in blocked[:MAX_TASKS])}"
        if blocked:
            owners = sorted({name for entry in blocked for name in entry.owners})
            missing = list_partitions(by_topic(entry.item for entry in blocked))
            return f"{text}; waits for {missing}, which {_and(owners)} still has"
        if member.speaks == CLASSIC and self._is_behind(member):
            return f"{text}; should rejoin (JoinGroup); its heartbeats receive REBALANCE_IN_PROGRESS"
        if not self._words.revokes and member.epoch < self._target_epoch:
            return f"{text}; should send a heartbeat, which moves it from epoch {member.epoch} to {self._target_epoch}"
        return f"{text}; should send heartbeats"

    def _outdated_topology(self, member: GroupMember) -> str:
        topology = None if self._view.streams is None else self._view.streams.topology
        epoch = getattr(member, "topology_epoch", None)
        if topology is None or epoch is None or epoch >= topology.epoch:
            return ""
        return f"; its topology is of epoch {epoch}, the group's of {topology.epoch}"


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
