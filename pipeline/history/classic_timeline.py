"""Generations of classic groups, from records of type 2, or from events if the log is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from kohort.pipeline.history.events_by_kind import is_arrival
from kohort.pipeline.history.inputs import Generation, GroupInput, Member, Swap, TopicPartition, by_offset
from kohort.pipeline.silver.silver_rows import GroupMember, GroupRecord, MemberPartitions
from kohort.protocol.records.layouts import GROUP_EPOCH, GROUP_METADATA


@dataclass(slots=True)
class Timeline:
    """Generations and conversions of a group, in order. An empty group is a generation of size 0."""

    generations: list[Generation] = field(default_factory=list)
    swaps: list[Swap] = field(default_factory=list)
    gone_ms: list[int] = field(default_factory=list)
    conversions: list[tuple[int, str]] = field(default_factory=list)  # (time, new protocol)


def member_of(row: GroupMember, owned: frozenset[TopicPartition] | None, called: str | None = None) -> Member:
    topics = row.subscribed_topics
    return Member(
        row.member_id,
        row.instance_id,
        row.client_id or "",
        row.client_host or "",
        row.session_timeout_ms,
        row.rebalance_timeout_ms,
        None if topics is None else tuple(sorted(topics)),
        row.regex,
        owned,
        row.speaks or "classic",
        bool(row.is_leader),
        called=called,
    )


def classic_timeline(group: GroupInput) -> Timeline:
    """Return the generations with their members and owners from the log.

    The record that only creates a group is not a generation.
    """
    members, parts = by_offset(group.members), by_offset(group.parts)
    timeline = Timeline()
    now: Generation | None = None
    epoch_gone = -1  # the operation that took the last epoch of a new-protocol group away
    for record in group.records:
        if record.record_type == GROUP_EPOCH and record.is_tombstone:
            epoch_gone = record.op_id
        if record.record_type != GROUP_METADATA:
            continue
        if record.is_tombstone:
            timeline.gone_ms.append(record.ts_ms)
            if now is not None:
                now.end_ms = record.ts_ms
            now = None
            continue
        if not record.protocol_type and not record.n_members:
            continue
        fresh = _generation(record, members.get(record.offset, []), parts.get(record.offset, []), group)
        fresh.conversion = record.op_id == epoch_gone
        if now is not None and fresh.number == now.number and fresh.size:
            timeline.swaps += _swaps(now, fresh, record.ts_ms)
            now.members, now.owners, now.leader = fresh.members, fresh.owners, fresh.leader
            continue
        if now is not None:
            now.end_ms = fresh.stable_ms
        timeline.generations.append(fresh)
        now = fresh
    return timeline


def _generation(
    record: GroupRecord, members: list[GroupMember], parts: list[MemberPartitions], group: GroupInput
) -> Generation:
    owned: dict[str, set[TopicPartition]] = {}
    owners: dict[TopicPartition, str] = {}
    for some in parts:
        assert some.topic is not None, "a classic member names its topics"
        topic_partitions = {(some.topic, part) for part in some.parts}
        if some.role == "owned_before":
            owned.setdefault(some.member_id, set()).update(topic_partitions)
        elif some.role == "assigned":
            owners.update(dict.fromkeys(topic_partitions, some.member_id))
    members_by_id = {}
    for row in members:
        version = row.subscription_version
        says = version is not None and version >= 1
        held = frozenset(owned.get(row.member_id, ())) if says else None
        members_by_id[row.member_id] = member_of(row, held, group.names.get(row.member_id))
    assert record.generation is not None, "the record is not a tombstone"
    return Generation(
        record.generation,
        record.ts_ms,
        record.state_ts_ms,
        members_by_id,
        owners,
        "classic",
        record.protocol,
        record.leader,
        record.n_members or 0,
        record.offset,
        intact=record.offset >= group.intact_from,
    )


def _swaps(was: Generation, now: Generation, ts_ms: int) -> list[Swap]:
    old = {member.instance_id: member for member in was.members.values() if member.instance_id}
    return [
        Swap(ts_ms, old[member.instance_id], member, was)
        for member in now.members.values()
        if member.instance_id in old and old[member.instance_id].member_id != member.member_id
    ]


def timeline_from_events(group: GroupInput) -> Timeline:
    """Return generations built from events only: numbers, times and sizes, but no assignments."""
    timeline = Timeline()
    members: dict[str, Member] = {}
    now: Generation | None = None
    for event in group.events:
        kind, member_id = event.kind, event.member_id
        if is_arrival(event) and member_id:
            called = group.names.get(member_id)
            members[member_id] = Member(member_id, event.instance_id, event.client_id or "", called=called)
        elif kind == "member_removed" and member_id:
            members.pop(member_id, None)
        elif kind == "member_replaced":
            members.pop((event.detail or {}).get("old_member_id", ""), None)
        elif kind in ("barrier_evicted", "join_completed") and event.evicted:
            for evicted in event.evicted:
                members.pop(evicted, None)
        if kind == "join_completed":
            at_least = max(1, len(members)) if event.members is None else event.members  # Kafka 1.x doesn't count them
            fresh = Generation(
                event.generation or 0, event.ts, event.ts, dict(members), size=at_least,
                protocol=event.protocol, from_events=True,
            )  # fmt: skip
        elif kind == "rebalance_completed" and event.members == 0:
            fresh = Generation(event.generation or 0, event.ts, event.ts, from_events=True)
        elif kind in ("assignment_received", "assignment_stored", "rebalance_completed") and now is not None:
            if now.size and event.generation == now.number:
                now.stable_ms = max(now.stable_ms, event.ts)
                now.protocol = now.protocol or event.protocol
            continue
        elif kind == "group_converted" and now is not None:
            now.end_ms, now = event.ts, None
            continue
        else:
            continue
        timeline.generations.append(fresh)
        now = fresh
    for was, after in pairwise(timeline.generations):
        was.end_ms = after.stable_ms if was.end_ms is None else was.end_ms
    return timeline
