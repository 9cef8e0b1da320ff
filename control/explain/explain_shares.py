"""Explanation of a share group (KIP-932): who holds which records until when, and why a record is not delivered.

It only reads, as `explain_classic.py` does for classic groups, and contains what the brokers know, not what only
clients know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kohort.control.explain.explanation import Advice, Explanation, Wait, duration
from kohort.control.explain.share_settings_advice import shares_badly_set
from kohort.control.groups.share_records import NOT_LOADED, SharePartitionState, ShareRecords, delivered, offsets
from kohort.control.history.share_fates import ACCEPTED, ARCHIVED, REJECTED, last_fate

if TYPE_CHECKING:
    from kohort.control.groups.group_members import GroupMember
    from kohort.control.groups.share_records import InFlightRecords
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.coordinator.share.share_config import ShareConfig
    from kohort.coordinator.share.share_group import ShareGroup
    from kohort.storage.topic import Partition, Topic

MAX_WAITS = 100  # held ranges that are listed one by one; the rest is counted
READ_COMMITTED = "read_committed"


def explanation_of_none(group_id: str) -> Explanation:
    return Explanation(f"share group {group_id}: does not exist; the first ShareGroupHeartbeat creates it", (), (), ())


def explain_shares(
    group: ShareGroup,
    records: ShareRecords,
    members: Sequence[GroupMember],
    events: Sequence[GroupEvent] = (),
    denied: tuple[str, ...] = (),
) -> Explanation:
    """Return the explanation of a group.

    Args:
        members: The group's members as tests see them.
        events: Recorded events of the group.
        denied: Sentences about missing rights.
    """
    return _GroupExplainer(group, records, members).explain(events, denied)


def explain_record(
    group: ShareGroup,
    records: ShareRecords,
    topic: Topic,
    partition: Partition,
    offset: int,
    events: Sequence[GroupEvent] = (),
) -> str:
    """Return why a record is not delivered, or that it is available.

    Args:
        events: Recorded events of the group.
    """
    return _RecordExplainer(group, records, topic, partition, events).explain(offset)


class _GroupExplainer:
    """Group, its members and its held records at one moment."""

    def __init__(self, group: ShareGroup, records: ShareRecords, members: Sequence[GroupMember]) -> None:
        self._group = group
        self._records = records
        self._members = members
        self._config = _config_of(group)
        self._partitions = list(records.where())
        self._held = [
            held for partition in self._partitions for held in records.in_flight(*partition) if held.member_id
        ]

    def explain(self, events: Sequence[GroupEvent], denied: tuple[str, ...]) -> Explanation:
        group, count = self._group, len(self._members)
        headline = f"share group {group.group_id}: {group.state.value}, epoch {group.epoch}"
        if group.target_epoch != group.epoch:
            headline += f", target assignment of epoch {group.target_epoch}"
        headline += f", {count} member{'s'[count == 1 :]}"
        names = {member.member_id: self._records.called(member.member_id) for member in self._members}
        clients = tuple(
            Advice(names[member.member_id], self._advice_for(member), member.session_ends_in_ms, member.is_alive)
            for member in self._members
        )
        return Explanation(
            headline,
            tuple(self._waits()),
            clients,
            shares_badly_set(self._config, names, events),
            denied,
            tuple(_partition_in_words(group, self._records, *partition) for partition in self._partitions),
        )

    def _waits(self) -> Iterator[Wait]:
        for held in self._held[:MAX_WAITS]:
            yield _wait_for(held, self._config.delivery_count_limit)
        beyond = self._held[MAX_WAITS:]
        if beyond:
            soonest = min(held.ends_in_ms or 0 for held in beyond)
            reason = f"the outcome of {sum(held.count for held in beyond)} more records"
            yield Wait((), reason, soonest, "the first of their locks expires")

    def _advice_for(self, member: GroupMember) -> str:
        listed = "; ".join(f"{topic} {', '.join(map(str, numbers))}" for topic, numbers in member.partitions.items())
        text = f"has {listed or 'nothing'}"
        if member.epoch < self._group.target_epoch:
            text += f"; should send a heartbeat, which moves it from epoch {member.epoch} to {self._group.target_epoch}"
        else:
            text += "; should send heartbeats"
        count = sum(held.count for held in self._held if held.member_id == member.member_id)
        return text + (f", and acknowledge the {_records_in_words(count)} it holds" if count else "")


def _wait_for(held: InFlightRecords, limit: int) -> Wait:
    records = f"{held.topic}-{held.partition} {offsets(held.first_offset, held.last_offset)}"
    if held.is_being_written:
        return Wait(
            (held.holder,),
            f"to complete its acknowledgement of {records}, which is being written",
            None,
            "it takes effect",
        )
    last = held.delivery_count >= limit
    consequence = f"archived, as {limit} deliveries are the limit" if last else "other members may acquire them"
    return Wait(
        (held.holder,), f"to acknowledge {records}, {delivered(held.delivery_count)}", held.ends_in_ms, consequence
    )


def _config_of(group: ShareGroup) -> ShareConfig:
    return group.coordinator.share_config(group.group_id)


def _records_in_words(count: int) -> str:
    return f"{count} record{'s'[count == 1 :]}"


# Partitions


def _partition_in_words(group: ShareGroup, records: ShareRecords, topic: Topic, partition: Partition) -> str:
    state = records.state_of(topic, partition)
    name, obstacles = f"{state.topic}-{state.partition}", "; ".join(_Obstacles(group, records, topic, partition, state))
    if state.start_offset is None:
        return f"{name}: {obstacles}"
    lag = "" if state.lag is None else f", lag {state.lag}"
    return f"{name}: begins at {state.start_offset}, {state.acquired} held{lag}; {obstacles}"


class _Obstacles:
    """Reasons why no records, or no further ones, are acquired from a partition."""

    def __init__(
        self, group: ShareGroup, records: ShareRecords, topic: Topic, partition: Partition, state: SharePartitionState
    ) -> None:
        self._group = group
        self._records = records
        self._topic = topic
        self._partition = partition
        self._state = state
        self._config = _config_of(group)

    def __iter__(self) -> Iterator[str]:
        blocked = list(self.before_fetching())
        yield from blocked
        yield from self.missing_fetches()
        if not blocked:
            yield self.next_record()

    def before_fetching(self) -> Iterator[str]:
        """Yield the reasons why no records can be acquired now."""
        state, states = self._state, self._group.states
        initializing = states.initializing.get(self._topic.topic_id)
        if state.leader is None:
            yield "it has no leader: its nodes are stopped"
        if initializing is not None and state.partition in initializing.partitions and not state.is_ready:
            yield "it is being initialized: the share coordinator has not responded"
        elif not state.is_ready:
            yield "no heartbeat has initialized it"
        if state.progress == NOT_LOADED:
            yield "not loaded at any leader yet: no member has fetched from it since " + (
                f"node {state.leader} leads it" if state.leader is not None else "its leader stopped"
            )
        elif state.progress == "initializing":
            yield "its leader is reading its stored state"

    def missing_fetches(self) -> Iterator[str]:
        """Yield whether no member is assigned the partition, or no member with an assignment fetches."""
        state = self._state
        assigned = [
            self._records.called(member.member_id)
            for member in self._group.members.values()
            if state.partition in member.current.assigned.get(self._topic.topic_id, ())
        ]
        if not assigned and not state.fetched_by:
            yield "it is assigned to no member"
        elif not state.fetched_by and state.leader is not None:
            yield f"{', '.join(assigned)} should fetch from node {state.leader}, and has no share session there"

    def next_record(self) -> str:
        """Return a sentence about the record that can be acquired next, or about what it waits for."""
        state = self._state
        loaded = self._records.loaded(self._topic, self._partition)
        assert loaded is not None, "a partition with a start offset is loaded"
        if not loaded.has_room:
            limit = self._config.partition_max_record_locks
            return (
                f"no new records are acquired: {_records_in_words(loaded.in_flight.count)} from {state.start_offset} "
                f"on are in flight, and the limit is {limit} (share.partition.max.record.locks){self._held_up()}"
            )
        following = loaded.next_fetch_offset
        end = self.end()
        if following < end:
            return f"{following} can be acquired next"
        if end < state.log_end_offset:
            return f"from {end} on records wait for an open transaction to end (share.isolation.level read_committed)"
        return "all records are acquired" if state.lag else "no records remain"

    def _held_up(self) -> str:
        first = next(iter(self._records.in_flight(self._topic, self._partition)), None)
        if first is None or not first.member_id:
            return ""
        return f"; {first.first_offset} is the first, which {first.holder} holds, {duration(first.ends_in_ms)}"

    def end(self) -> int:
        """Return the offset after the last record that the group may acquire."""
        committed = self._config.isolation_level == READ_COMMITTED
        return self._partition.last_stable_offset if committed else self._partition.log.high_watermark


# Records


class _RecordExplainer:
    """Record, its state and its obstacles at one moment."""

    def __init__(
        self,
        group: ShareGroup,
        records: ShareRecords,
        topic: Topic,
        partition: Partition,
        events: Sequence[GroupEvent],
    ) -> None:
        self._events = events
        self._records = records
        self._in_flight = list(records.in_flight(topic, partition))
        self._partition = partition
        self._state = state = records.state_of(topic, partition)
        self._obstacles = _Obstacles(group, records, topic, partition, state)
        self._limit = _config_of(group).delivery_count_limit
        self._name = f"{state.topic}-{state.partition}"

    def explain(self, offset: int) -> str:
        log, state = self._partition.log, self._state
        record = f"{self._name} {offset}"
        if offset >= log.high_watermark:
            return f"{record}: not written yet; the log ends at {log.high_watermark}"
        if offset < log.log_start_offset:
            return f"{record}: deleted from the log, which starts at {log.log_start_offset}"
        if state.start_offset is not None and offset < state.start_offset:
            below = f"complete: it is below the group's start offset, {state.start_offset}"
            return f"{record}: {self._fate_of(offset) or below}"
        held = next(
            (records for records in self._in_flight if records.first_offset <= offset <= records.last_offset), None
        )
        text = self._undelivered_text(offset) if held is None else self._in_flight_text(held, offset)
        return f"{record}: {text}"

    def _fate_of(self, offset: int) -> str:
        fate = last_fate(self._events, (ACCEPTED, REJECTED, ARCHIVED), self._state.topic, self._state.partition, offset)
        if fate is None:
            return ""
        if fate.kind == ARCHIVED and fate.cause == "below_start":
            return "archived: it is below the start offset"
        outcome = {ACCEPTED: "accepted", REJECTED: "rejected", ARCHIVED: "archived"}[fate.kind]
        member = f" by {self._records.called(fate.member_id)}" if fate.member_id and fate.kind != ARCHIVED else ""
        limit = f", the group's delivery limit ({self._limit})" if fate.cause == "delivery_limit" else ""
        return f"{outcome}{member}, {delivered(fate.delivery_count)}{limit}"

    def _in_flight_text(self, held: InFlightRecords, offset: int) -> str:
        times = delivered(held.delivery_count)
        if held.is_being_written:
            return f"{held.holder} has acknowledged it, which is being written; {times}"
        if held.member_id:
            last = held.delivery_count >= self._limit
            consequence = "archived" if last else "other members may acquire it"
            return f"{held.holder} holds it; {duration(held.ends_in_ms)}: {consequence}; {times} of {self._limit}"
        if held.state == "acknowledged":
            return self._fate_of(offset) or f"accepted, {times}"
        if held.state == "archived":
            return self._fate_of(offset) or f"archived, {times}: rejected, or the delivery limit is reached"
        availability = f"available again, {times} of {self._limit}" if held.delivery_count else f"available, {times}"
        return "; ".join([availability, *self._blockers()])

    def _undelivered_text(self, offset: int) -> str:
        blockers = list(self._blockers())
        state = self._state
        if state.start_offset is None:
            blockers.append("the group's start offset is not determined yet (share.auto.offset.reset)")
        elif offset >= self._obstacles.end():
            blockers.append("it waits for an open transaction to end (share.isolation.level read_committed)")
        elif not blockers:
            blockers.append(self._obstacles.next_record())
        return "; ".join(["never delivered", *blockers])

    def _blockers(self) -> Iterable[str]:
        return [*self._obstacles.before_fetching(), *self._obstacles.missing_fetches()]
