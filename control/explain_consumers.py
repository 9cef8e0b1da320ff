"""A consumer group in words (KIP-848): whom reconciliation waits for, who has which partition, until when.

Looks and changes nothing, as `explain.py` does for classic groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from kohort.control.consumer_settings_advice import consumers_badly_set
from kohort.control.explanation import Advice, Explanation, Wait
from kohort.control.group_members import GroupMember, Partitions, consumer_member
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.consumer_states import GroupState
from kohort.coordinator.consumer.values import STEPPING_OUT_EPOCH
from kohort.coordinator.events.group_event import GroupEvent
from kohort.coordinator.group import CONSUMER
from kohort.protocol.topic_partition import TopicPartition

Alive = Callable[[ConsumerGroup, ConsumerMember], bool]


def explain_consumers(
    group: ConsumerGroup, now_ms: int, is_alive: Alive | None = None, events: Iterable[GroupEvent] = ()
) -> Explanation:
    """`is_alive`: the laboratory's, where there is one. `events`: what has happened to the group, if recorded."""
    return _Story(group, now_ms, is_alive, events).tell()


class _Story:
    """What there is to say of a group at one moment."""

    def __init__(self, group: ConsumerGroup, now_ms: int, is_alive: Alive | None, events: Iterable[GroupEvent]) -> None:
        self._group = group
        self._events = events
        self._now_ms = now_ms
        self._is_alive = is_alive
        self._members = [
            consumer_member(group, each, now_ms, is_alive(group, each) if is_alive is not None else True)
            for each in group.members.values()
        ]
        self._names = _names(self._members)
        self._owners = {
            (topic, number): each.member_id
            for each in self._members
            for partitions in (each.partitions, each.revoking)
            for topic, numbers in partitions.items()
            for number in numbers
        }

    def tell(self) -> Explanation:
        group, count = self._group, len(self._members)
        headline = f"group {group.group_id}: {group.state.value}, epoch {group.epoch}"
        if group.target_epoch != group.epoch:
            headline += f", target assignment of epoch {group.target_epoch}"
        headline += f", {count} member{'s'[count == 1 :]}"
        if group.classic_count:
            headline += f", {group.classic_count} of them classic"
        clients = tuple(
            Advice(
                self._names[each.member_id],
                self._should(each),
                each.session_ends_in_ms,
                None if self._is_alive is None else each.is_alive,
            )
            for each in self._members
        )
        return Explanation(
            headline, tuple(self._waits()), clients, consumers_badly_set(group, self._names, self._events)
        )

    # What it waits for

    def _waits(self) -> Iterator[Wait]:
        group = self._group
        if group.state is GroupState.ASSIGNING:
            interval_ms = group.coordinator.consumer_config(group.group_id).assignment_interval_ms
            due_ms = group.target_timestamp_ms + interval_ms - group.coordinator.wall_ms(self._now_ms)
            what = "the next target assignment (group.consumer.assignment.interval.ms)"
            yield Wait((), what, max(0, due_ms), "the next heartbeat of anybody computes it")
        for each in self._members:
            yield from self._wait_for(each)

    def _wait_for(self, member: GroupMember) -> Iterator[Wait]:
        name = self._names[member.member_id]
        if member.epoch == STEPPING_OUT_EPOCH:
            what = f"to come back: it stepped out with {_listed(member.partitions)}"
            yield Wait((name,), what, member.session_ends_in_ms, "it is removed, and others get that")
        elif member.revoking:
            what = f"to give up {_listed(member.revoking)}{self._wanted_by(member)}"
            then = "it is removed, and its partitions are free"
            yield Wait((name,), what, member.revocation_ends_in_ms, then)
        elif self._is_behind(member):
            if member.speaks == CONSUMER:
                what, until_ms = "to send a heartbeat", member.session_ends_in_ms
            else:
                what, until_ms = "to join again (JoinGroup)", member.revocation_ends_in_ms
            if member.epoch < self._group.target_epoch:
                what += f", with which it goes from epoch {member.epoch} to {self._group.target_epoch}"
            else:
                what += ", with which it takes what others have given up"
            yield Wait((name,), what, member.session_ends_in_ms if until_ms is None else until_ms, "it is removed")

    def _is_behind(self, member: GroupMember) -> bool:
        """Whether its next heartbeat takes it further; what others have does not count."""
        if member.state == "UnreleasedPartitions":
            return not self._holders(member)
        return member.epoch < self._group.target_epoch

    def _wanted_by(self, member: GroupMember) -> str:
        """Whose target the partitions are in that a member is giving up."""
        given_up = {(topic, number) for topic, numbers in member.revoking.items() for number in numbers}
        names = [
            self._names[each.member_id]
            for each in self._members
            if given_up & {(topic, number) for topic, numbers in each.target.items() for number in numbers}
        ]
        return f", which {_and(names)} {'is' if len(names) == 1 else 'are'} to get" if names else ""

    def _missing(self, member: GroupMember) -> dict[TopicPartition, str]:
        """What the target gives a member and somebody else has, and who."""
        return {
            (topic, number): owner
            for topic, numbers in member.target.items()
            for number in numbers
            if (owner := self._owners.get((topic, number), member.member_id)) != member.member_id
        }

    def _holders(self, member: GroupMember) -> list[str]:
        return sorted({self._names[owner] for owner in self._missing(member).values()})

    # What each client should do

    def _should(self, member: GroupMember) -> str:
        has = f"has {_listed(member.partitions)}"
        if member.epoch == STEPPING_OUT_EPOCH:
            return f"{has}; it stepped out, and should come back under its group.instance.id"
        if member.revoking:
            said = "join again without it" if member.speaks != CONSUMER else "say so in a heartbeat (TopicPartitions)"
            return f"{has}; should give up {_listed(member.revoking)}, and {said}"
        if member.waits_for and self._holders(member):
            wanted: dict[str, list[int]] = {}
            for topic, number in sorted(self._missing(member)):
                wanted.setdefault(topic, []).append(number)
            listed = _listed({topic: tuple(numbers) for topic, numbers in wanted.items()})
            return f"{has}; waits for {listed}, which {_and(self._holders(member))} still has"
        if member.speaks != CONSUMER and self._is_behind(member):
            return f"{has}; should join again (JoinGroup); its heartbeats are answered REBALANCE_IN_PROGRESS"
        return f"{has}; should send heartbeats"


def _names(members: list[GroupMember]) -> dict[str, str]:
    """Instance id, client id if no other has it too, or the member id."""
    count = Counter(each.client_id for each in members)
    return {
        each.member_id: each.instance_id
        or (each.client_id if each.client_id and count[each.client_id] == 1 else each.member_id)
        for each in members
    }


def _listed(partitions: Partitions) -> str:
    """`orders 0, 1; bills 3`, or `nothing`."""
    return "; ".join(f"{topic} {', '.join(map(str, numbers))}" for topic, numbers in partitions.items()) or "nothing"


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
