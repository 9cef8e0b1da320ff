"""A share group in words (KIP-932): who holds which records until when, and why a record does not come.

Looks and changes nothing, as `explain.py` does for classic groups. It says what brokers know, and nothing that clients
alone could know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kohort.control.explanation import Advice, Explanation, Wait, duration
from kohort.control.share_fates import ACCEPTED, ARCHIVED, REJECTED, last_fate
from kohort.control.share_records import NOT_LOADED, SharePartitionState, ShareRecords, delivered, offsets
from kohort.control.share_settings_advice import shares_badly_set

if TYPE_CHECKING:
    from kohort.control.group_members import GroupMember
    from kohort.control.share_records import InFlightRecords
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.coordinator.share.share_config import ShareConfig
    from kohort.coordinator.share.share_group import ShareGroup
    from kohort.storage.topic import Partition, Topic

MOST_WAITS = 100
"""Ranges that are held and listed one by one; of what is beyond, the count is told."""
READ_COMMITTED = "read_committed"


def explanation_of_none(group_id: str) -> Explanation:
    """Where there is no such group."""
    return Explanation(f"share group {group_id}: there is none; the first ShareGroupHeartbeat makes it", (), (), ())


def explain_shares(
    group: ShareGroup,
    records: ShareRecords,
    members: Sequence[GroupMember],
    events: Sequence[GroupEvent] = (),
    denied: tuple[str, ...] = (),
) -> Explanation:
    """`members`: the group's, as a test sees them. `events`: what has happened to the group, if recorded."""
    return _Story(group, records, members).tell(events, denied)


def explain_record(
    group: ShareGroup,
    records: ShareRecords,
    topic: Topic,
    partition: Partition,
    offset: int,
    events: Sequence[GroupEvent] = (),
) -> str:
    """Why a record does not come, or that it may be had. `events`: what has happened to the group, if recorded."""
    return _RecordStory(group, records, topic, partition, events).tell(offset)


class _Story:
    """What there is to say of a group at one moment."""

    def __init__(self, group: ShareGroup, records: ShareRecords, members: Sequence[GroupMember]) -> None:
        self._group = group
        self._records = records
        self._members = members
        self._config = _config_of(group)
        self._where = list(records.where())
        self._held = [each for where in self._where for each in records.in_flight(*where) if each.member_id]

    def tell(self, events: Sequence[GroupEvent], denied: tuple[str, ...]) -> Explanation:
        group, count = self._group, len(self._members)
        headline = f"share group {group.group_id}: {group.state.value}, epoch {group.epoch}"
        if group.target_epoch != group.epoch:
            headline += f", target assignment of epoch {group.target_epoch}"
        headline += f", {count} member{'s'[count == 1 :]}"
        names = {each.member_id: self._records.called(each.member_id) for each in self._members}
        clients = tuple(
            Advice(names[each.member_id], self._should(each), each.session_ends_in_ms, each.is_alive)
            for each in self._members
        )
        return Explanation(
            headline,
            tuple(self._waits()),
            clients,
            shares_badly_set(self._config, names, events),
            denied,
            tuple(_partition_in_words(group, self._records, *where) for where in self._where),
        )

    def _waits(self) -> Iterator[Wait]:
        for each in self._held[:MOST_WAITS]:
            yield _wait_for(each, self._config.delivery_count_limit)
        beyond = self._held[MOST_WAITS:]
        if beyond:
            soonest = min(each.ends_in_ms or 0 for each in beyond)
            what = f"what becomes of {sum(each.count for each in beyond)} records more"
            yield Wait((), what, soonest, "the first of their locks expires")

    def _should(self, member: GroupMember) -> str:
        listed = "; ".join(f"{topic} {', '.join(map(str, numbers))}" for topic, numbers in member.partitions.items())
        text = f"has {listed or 'nothing'}"
        if member.epoch < self._group.target_epoch:
            text += (
                f"; should send a heartbeat, with which it goes from epoch {member.epoch} to {self._group.target_epoch}"
            )
        else:
            text += "; should send heartbeats"
        count = sum(each.count for each in self._held if each.member_id == member.member_id)
        return text + (f", and say what becomes of the {_records_in_words(count)} it holds" if count else "")


def _wait_for(held: InFlightRecords, limit: int) -> Wait:
    where = f"{held.topic}-{held.partition} {offsets(held.first_offset, held.last_offset)}"
    if held.is_being_written:
        return Wait(
            (held.holder,), f"has said what becomes of {where}, and that is being written", None, "it counts then"
        )
    last = held.delivery_count >= limit
    then = f"archived, as {limit} deliveries are the limit" if last else "others may have them"
    return Wait((held.holder,), f"to acknowledge {where}, {delivered(held.delivery_count)}", held.ends_in_ms, then)


def _config_of(group: ShareGroup) -> ShareConfig:
    return group.coordinator.share_config(group.group_id)


def _records_in_words(count: int) -> str:
    return f"{count} record{'s'[count == 1 :]}"


# What a partition waits for


def _partition_in_words(group: ShareGroup, records: ShareRecords, topic: Topic, partition: Partition) -> str:
    state = records.state_of(topic, partition)
    name, why = f"{state.topic}-{state.partition}", "; ".join(_Obstacles(group, records, topic, partition, state))
    if state.start_offset is None:
        return f"{name}: {why}"
    lag = "" if state.lag is None else f", lag {state.lag}"
    return f"{name}: begins at {state.start_offset}, {state.acquired} held{lag}; {why}"


class _Obstacles:
    """Why nothing, or nothing more, comes from a partition."""

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
        yield from self.nobody_fetches()
        if not blocked:
            yield self.next_record()

    def before_fetching(self) -> Iterator[str]:
        """Why records can't be had at all now."""
        state, states = self._state, self._group.states
        initializing = states.initializing.get(self._topic.topic_id)
        if state.leader is None:
            yield "nobody leads it: its nodes are stopped"
        if initializing is not None and state.partition in initializing.partitions and not state.is_ready:
            yield "it is being made ready: the share coordinator has not answered"
        elif not state.is_ready:
            yield "no heartbeat has made it ready"
        if state.progress == NOT_LOADED:
            yield "not loaded at any leader yet: nobody has fetched from it since node " + (
                f"{state.leader} leads it" if state.leader is not None else "it lost led it"
            )
        elif state.progress == "initializing":
            yield "its leader reads what was written down of it"

    def nobody_fetches(self) -> Iterator[str]:
        """Whether somebody is told to fetch, and has begun to."""
        state = self._state
        assigned = [
            self._records.called(each.member_id)
            for each in self._group.members.values()
            if state.partition in each.current.assigned.get(self._topic.topic_id, ())
        ]
        if not assigned and not state.fetched_by:
            yield "nobody is assigned it"
        elif not state.fetched_by and state.leader is not None:
            yield f"{', '.join(assigned)} should fetch from node {state.leader}, and has no share session there"

    def next_record(self) -> str:
        """Which record may be had next, or what it waits for."""
        state = self._state
        loaded = self._records.loaded(self._topic, self._partition)
        assert loaded is not None, "it has begun"
        if not loaded.has_room:
            limit = self._config.partition_max_record_locks
            return (
                f"nothing new comes: {_records_in_words(loaded.in_flight.count)} from {state.start_offset} on are in "
                f"flight, and {limit} may be (share.partition.max.record.locks){self._held_up()}"
            )
        following = loaded.next_fetch_offset
        end = self.end()
        if following < end:
            return f"{following} may be had next"
        if end < state.log_end_offset:
            return f"from {end} on records wait for an open transaction to end (share.isolation.level read_committed)"
        return "all records are given out" if state.lag else "no record is left"

    def _held_up(self) -> str:
        first = next(iter(self._records.in_flight(self._topic, self._partition)), None)
        if first is None or not first.member_id:
            return ""
        return f"; {first.first_offset} comes first, which {first.holder} holds, {duration(first.ends_in_ms)}"

    def end(self) -> int:
        """Where records end that the group may have."""
        committed = self._config.isolation_level == READ_COMMITTED
        return self._partition.last_stable_offset if committed else self._partition.log.high_watermark


# What a record waits for


class _RecordStory:
    """What there is to say of one record."""

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

    def tell(self, offset: int) -> str:
        """In a sentence."""
        log, state = self._partition.log, self._state
        where = f"{self._name} {offset}"
        if offset >= log.high_watermark:
            return f"{where}: there is no such record yet; the log ends at {log.high_watermark}"
        if offset < log.log_start_offset:
            return f"{where}: the log has lost it, and begins at {log.log_start_offset}"
        if state.start_offset is not None and offset < state.start_offset:
            below = f"the group is done with what lies below its start, {state.start_offset}"
            return f"{where}: {self._done(offset) or below}"
        found = next((each for each in self._in_flight if each.first_offset <= offset <= each.last_offset), None)
        told = self._never_given_out(offset) if found is None else self._given_out(found, offset)
        return f"{where}: {told}"

    def _done(self, offset: int) -> str:
        fate = last_fate(self._events, (ACCEPTED, REJECTED, ARCHIVED), self._state.topic, self._state.partition, offset)
        if fate is None:
            return ""
        if fate.kind == ARCHIVED and fate.cause == "below_start":
            return "archived: it lies below the start"
        what = {ACCEPTED: "accepted", REJECTED: "rejected", ARCHIVED: "archived"}[fate.kind]
        who = f" by {self._records.called(fate.member_id)}" if fate.member_id and fate.kind != ARCHIVED else ""
        limit = f", as often as the group allows ({self._limit})" if fate.cause == "delivery_limit" else ""
        return f"{what}{who}, {delivered(fate.delivery_count)}{limit}"

    def _given_out(self, found: InFlightRecords, offset: int) -> str:
        times = delivered(found.delivery_count)
        if found.is_being_written:
            return f"{found.holder} has said what becomes of it, and that is being written; {times}"
        if found.member_id:
            last = found.delivery_count >= self._limit
            then = "archived" if last else "others may have it"
            return f"{found.holder} holds it; {duration(found.ends_in_ms)}: {then}; {times} of {self._limit}"
        if found.state == "acknowledged":
            return self._done(offset) or f"accepted, {times}"
        if found.state == "archived":
            return self._done(offset) or f"archived, {times}: rejected, or delivered as often as allowed"
        again = f"it may be had again, {times} of {self._limit}" if found.delivery_count else f"it may be had, {times}"
        return "; ".join([again, *self._hindered()])

    def _never_given_out(self, offset: int) -> str:
        hindered = list(self._hindered())
        state = self._state
        if state.start_offset is None:
            hindered.append("where the group begins is not decided yet (share.auto.offset.reset)")
        elif offset >= self._obstacles.end():
            hindered.append("it waits for an open transaction to end (share.isolation.level read_committed)")
        elif not hindered:
            hindered.append(self._obstacles.next_record())
        return "; ".join(["never delivered", *hindered])

    def _hindered(self) -> Iterable[str]:
        return [*self._obstacles.before_fetching(), *self._obstacles.nobody_fetches()]
