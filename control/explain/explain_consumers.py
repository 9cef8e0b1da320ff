"""Explanation of a consumer group (KIP-848): which members it waits for, who owns which partition, until when.

It only reads, as `explain_classic.py` does for classic groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from kohort.control.explain.consumer_settings_advice import consumers_badly_set
from kohort.control.explain.explanation import Advice, Explanation, Wait
from kohort.control.groups.group_members import GroupMember, Partitions, consumer_member
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.consumer_states import GroupState
from kohort.coordinator.consumer.values import STEPPING_OUT_EPOCH
from kohort.coordinator.events.group_event import GroupEvent
from kohort.coordinator.groups.group import CONSUMER
from kohort.protocol.topic_partition import TopicPartition

Alive = Callable[[ConsumerGroup, ConsumerMember], bool]


def explain_consumers(
    group: ConsumerGroup, now_ms: int, is_alive: Alive | None = None, events: Iterable[GroupEvent] = ()
) -> Explanation:
    """Return the explanation of a group.

    Args:
        is_alive: Checks the connections of members; None without a laboratory.
        events: Recorded events of the group.
    """
    return _Explainer(group, now_ms, is_alive, events).explain()


class _Explainer:
    """Group and its members at one moment."""

    def __init__(self, group: ConsumerGroup, now_ms: int, is_alive: Alive | None, events: Iterable[GroupEvent]) -> None:
        self._group = group
        self._events = events
        self._now_ms = now_ms
        self._is_alive = is_alive
        self._members = [
            consumer_member(group, member, now_ms, is_alive(group, member) if is_alive is not None else True)
            for member in group.members.values()
        ]
        self._names = _names(self._members)
        self._owners = {
            (topic, number): member.member_id
            for member in self._members
            for partitions in (member.partitions, member.revoking)
            for topic, numbers in partitions.items()
            for number in numbers
        }

    def explain(self) -> Explanation:
        group, count = self._group, len(self._members)
        headline = f"group {group.group_id}: {group.state.value}, epoch {group.epoch}"
        if group.target_epoch != group.epoch:
            headline += f", target assignment of epoch {group.target_epoch}"
        headline += f", {count} member{'s'[count == 1 :]}"
        if group.classic_count:
            headline += f", {group.classic_count} of them classic"
        clients = tuple(
            Advice(
                self._names[member.member_id],
                self._advice_for(member),
                member.session_ends_in_ms,
                None if self._is_alive is None else member.is_alive,
            )
            for member in self._members
        )
        return Explanation(
            headline, tuple(self._waits()), clients, consumers_badly_set(group, self._names, self._events)
        )

    # Waits

    def _waits(self) -> Iterator[Wait]:
        group = self._group
        if group.state is GroupState.ASSIGNING:
            interval_ms = group.coordinator.consumer_config(group.group_id).assignment_interval_ms
            due_ms = group.target_timestamp_ms + interval_ms - group.coordinator.wall_ms(self._now_ms)
            reason = "the next target assignment (group.consumer.assignment.interval.ms)"
            yield Wait((), reason, max(0, due_ms), "the next heartbeat of any member computes it")
        for member in self._members:
            yield from self._wait_for(member)

    def _wait_for(self, member: GroupMember) -> Iterator[Wait]:
        name = self._names[member.member_id]
        if member.epoch == STEPPING_OUT_EPOCH:
            reason = f"to rejoin: it left temporarily with {_listed(member.partitions)}"
            yield Wait((name,), reason, member.session_ends_in_ms, "it is removed, and other members get them")
        elif member.revoking:
            reason = f"to revoke {_listed(member.revoking)}{self._wanted_by(member)}"
            consequence = "it is removed, and its partitions are free"
            yield Wait((name,), reason, member.revocation_ends_in_ms, consequence)
        elif self._is_behind(member):
            if member.speaks == CONSUMER:
                reason, until_ms = "to send a heartbeat", member.session_ends_in_ms
            else:
                reason, until_ms = "to rejoin (JoinGroup)", member.revocation_ends_in_ms
            if member.epoch < self._group.target_epoch:
                reason += f", which moves it from epoch {member.epoch} to {self._group.target_epoch}"
            else:
                reason += ", which assigns it what other members have revoked"
            yield Wait((name,), reason, member.session_ends_in_ms if until_ms is None else until_ms, "it is removed")

    def _is_behind(self, member: GroupMember) -> bool:
        if member.state == "UnreleasedPartitions":
            return not self._holders(member)
        return member.epoch < self._group.target_epoch

    def _wanted_by(self, member: GroupMember) -> str:
        """Return the members whose target assignment contains partitions that a member is revoking."""
        revoked = {(topic, number) for topic, numbers in member.revoking.items() for number in numbers}
        names = [
            self._names[other.member_id]
            for other in self._members
            if revoked & {(topic, number) for topic, numbers in other.target.items() for number in numbers}
        ]
        return f", which {_and(names)} {'is' if len(names) == 1 else 'are'} to get" if names else ""

    def _missing(self, member: GroupMember) -> dict[TopicPartition, str]:
        """Return the owners of the partitions that are in a member's target but belong to other members."""
        return {
            (topic, number): owner
            for topic, numbers in member.target.items()
            for number in numbers
            if (owner := self._owners.get((topic, number), member.member_id)) != member.member_id
        }

    def _holders(self, member: GroupMember) -> list[str]:
        return sorted({self._names[owner] for owner in self._missing(member).values()})

    # Advice

    def _advice_for(self, member: GroupMember) -> str:
        text = f"has {_listed(member.partitions)}"
        if member.epoch == STEPPING_OUT_EPOCH:
            return f"{text}; it left temporarily, and should rejoin with its group.instance.id"
        if member.revoking:
            action = (
                "rejoin without it" if member.speaks != CONSUMER else "confirm that in a heartbeat (TopicPartitions)"
            )
            return f"{text}; should revoke {_listed(member.revoking)}, and {action}"
        if member.waits_for and self._holders(member):
            missing: dict[str, list[int]] = {}
            for topic, number in sorted(self._missing(member)):
                missing.setdefault(topic, []).append(number)
            listed = _listed({topic: tuple(numbers) for topic, numbers in missing.items()})
            return f"{text}; waits for {listed}, which {_and(self._holders(member))} still has"
        if member.speaks != CONSUMER and self._is_behind(member):
            return f"{text}; should rejoin (JoinGroup); its heartbeats receive REBALANCE_IN_PROGRESS"
        return f"{text}; should send heartbeats"


def _names(members: list[GroupMember]) -> dict[str, str]:
    count = Counter(member.client_id for member in members)
    return {
        member.member_id: member.instance_id
        or (member.client_id if member.client_id and count[member.client_id] == 1 else member.member_id)
        for member in members
    }


def _listed(partitions: Partitions) -> str:
    return "; ".join(f"{topic} {', '.join(map(str, numbers))}" for topic, numbers in partitions.items()) or "nothing"


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
