"""Groups of the consumer protocol (KIP-848): epochs, and how each member reached them.

Every step is in the log: type 3 starts an epoch, type 8 shows each member's progress, and a partition is unowned
from the record that removes it from one member's assignment to the one that adds it to another's.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kohort.pipeline.history.inputs import Generation, GroupInput, Member, TopicPartition, by_offset
from kohort.pipeline.silver.silver_rows import GroupRecord
from kohort.protocol.records import layouts as kinds

STABLE, UNREVOKED, UNRELEASED = 0, 1, 2
LEFT_FOR_A_WHILE = -2
REMOVAL_WITHIN_MS = 2000  # maximum time between an event and the record of the same removal


@dataclass(slots=True)
class Wait:
    """A period in which a member still had to revoke partitions (state 1) or waited for other members (state 2)."""

    member_id: str
    client: str
    state: int
    start_ms: int
    end_ms: int | None = None
    ended: str = ""
    topic_partitions: set[TopicPartition] = field(default_factory=set)
    rebalance_timeout_ms: int | None = None

    def length_ms(self, until_ms: int) -> int:
        """Return the time to its end, or to `until_ms` if it has not ended."""
        return (until_ms if self.end_ms is None else self.end_ms) - self.start_ms


@dataclass(slots=True)
class Stay:
    """Time of a member id in the group. Clients choose their ids and may rejoin with the same one.

    Attributes:
        end_ms: Time of its departure, or None while the member is in the group.
        converted: Whether the stay ended with the group's conversion to the classic protocol; the member stays in the
            group.
    """

    member: Member
    start_ms: int
    end_ms: int | None = None
    converted: bool = False


@dataclass(slots=True)
class Epoch:
    """An epoch and what followed it."""

    number: int
    start_ms: int
    cause: str
    confidence: str
    trigger: Member | None
    before: Generation
    joined: list[str]
    left: list[str]
    # time at which each member was first stable in this epoch or a later one
    reconciled: dict[str, int] = field(default_factory=dict)
    stable_ms: int | None = None
    generation: Generation | None = None
    target_ms: int | None = None
    # partitions without an owner: (from, to)
    downtime: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    superseded: bool = False
    # Topics that existing members added to or removed from their subscriptions in this epoch.
    resubscribed: set[str] = field(default_factory=set)


@dataclass(slots=True)
class ConsumerTimeline:
    epochs: list[Epoch] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    # (time, partition, new owner or None), in order
    ownership: list[tuple[int, TopicPartition, str | None]] = field(default_factory=list)
    regex_writes: list[tuple[int, str, tuple[str, ...]]] = field(default_factory=list)
    away: list[tuple[int, str]] = field(default_factory=list)  # static members that left temporarily: (time, member)
    # static members that returned without a new epoch: (time, instance id, new member id)
    returned: list[tuple[int, str, str]] = field(default_factory=list)
    stays: list[Stay] = field(default_factory=list)  # ordered by start


def member_named_by(record: GroupRecord) -> str:
    """Return the member id in a record's key, for records that have one."""
    assert record.member_id is not None
    return record.member_id


class _Walk:
    def __init__(self, group: GroupInput) -> None:
        self.group = group
        self.timeline = ConsumerTimeline()
        self.members: dict[str, Member] = {}
        self.assigned: dict[str, set[TopicPartition]] = {}
        self.owner: dict[TopicPartition, str] = {}
        self.unowned: dict[TopicPartition, int] = {}
        self.waits: dict[str, Wait] = {}
        self.stays: dict[str, Stay] = {}
        self.hash: int | None = None
        self.number = 0
        self.begun = False  # an operation was seen before this one
        self.rows, self.parts = by_offset(group.members), by_offset(group.parts)
        self.older = _older_members(group)

    def topic_partitions(self, offset: int, role: str) -> set[TopicPartition]:
        result: set[TopicPartition] = set()
        for row in self.parts.get(offset, []):
            if row.role == role:
                topic = row.topic or self.topic_of(row.topic_id)
                result.update((topic, part) for part in row.parts)
        return result

    def topic_of(self, topic_id: str | None) -> str:
        assert topic_id is not None, "a row has a name or an id"
        return self.group.topic_names.get(topic_id, topic_id)

    def snapshot(self, number: int, ts_ms: int) -> Generation:
        members = {member_id: replace(member) for member_id, member in self.members.items()}
        return Generation(number, ts_ms, None, members, dict(self.owner), "consumer", "consumer", size=len(members))

    # --- one record each

    def member(self, record: GroupRecord) -> None:
        member_id = member_named_by(record)
        if record.is_tombstone:
            self.members.pop(member_id, None)
            if stay := self.stays.pop(member_id, None):
                stay.end_ms = record.ts_ms
            return
        row = self.rows[record.offset][0]
        was = self.members.get(member_id)
        fresh = Member(
            member_id,
            row.instance_id,
            row.client_id or "",
            row.client_host or "",
            row.session_timeout_ms,
            row.rebalance_timeout_ms,
            tuple(sorted(row.subscribed_topics or ())),
            row.regex,
            speaks=row.speaks or "consumer",
            called=self.group.names.get(member_id),
        )
        if was is not None:
            fresh.epoch, fresh.state = was.epoch, was.state
        self.members[member_id] = fresh
        self.stay_of(fresh, record.ts_ms).member = fresh

    def stay_of(self, member: Member, now: int) -> Stay:
        stay = self.stays.get(member.member_id)
        if stay is None:
            self.stays[member.member_id] = stay = Stay(member, now)
            self.timeline.stays.append(stay)
        return stay

    def current(self, record: GroupRecord) -> None:
        member_id, now = member_named_by(record), record.ts_ms
        if record.is_tombstone:
            self.end_wait(member_id, now, "gone")
            self.assign(member_id, set(), now)
            self.assigned.pop(member_id, None)
            return
        row = self.rows[record.offset][0]
        member = self.members.get(member_id)
        epoch, state = row.member_epoch, row.member_state
        assert epoch is not None
        assert state is not None
        if epoch == LEFT_FOR_A_WHILE:
            self.timeline.away.append((now, member.instance_id or member_id if member else member_id))
            return
        if member is not None:
            member.epoch, member.state = epoch, state
        wait = self.waits.get(member_id)
        if wait is not None and wait.state != state:
            self.end_wait(member_id, now, "done")
            wait = None
        if wait is None and state in (UNREVOKED, UNRELEASED):
            self.waits[member_id] = Wait(
                member_id, member.name if member else member_id, state, now,
                topic_partitions=self.topic_partitions(record.offset, "pending_revocation"),
                rebalance_timeout_ms=member.rebalance_timeout_ms if member else None,
            )  # fmt: skip
        self.assign(member_id, self.topic_partitions(record.offset, "assigned"), now)
        if state == STABLE:
            self.reconciled(member_id, epoch, now)

    def end_wait(self, member_id: str, now: int, how: str) -> None:
        if wait := self.waits.pop(member_id, None):
            wait.end_ms, wait.ended = now, how
            self.timeline.waits.append(wait)

    def assign(self, member_id: str, topic_partitions: set[TopicPartition], now: int) -> None:
        previous = self.assigned.get(member_id, set())
        self.assigned[member_id] = topic_partitions
        for topic_partition in previous - topic_partitions:
            if self.owner.get(topic_partition) == member_id:
                del self.owner[topic_partition]
                self.unowned[topic_partition] = now
                self.timeline.ownership.append((now, topic_partition, None))
        for topic_partition in topic_partitions - previous:
            self.owner[topic_partition] = member_id
            self.timeline.ownership.append((now, topic_partition, member_id))
            since = self.unowned.pop(topic_partition, None)
            if since is not None and self.timeline.epochs:
                self.epoch_at(since).downtime[topic_partition] = (since, now)

    def epoch_at(self, ts_ms: int) -> Epoch:
        return next((e for e in reversed(self.timeline.epochs) if e.start_ms <= ts_ms), self.timeline.epochs[-1])

    def reconciled(self, member_id: str, epoch: int, now: int) -> None:
        for bump in reversed(self.timeline.epochs):
            if bump.stable_ms is not None:
                break
            if bump.number <= epoch:
                bump.reconciled.setdefault(member_id, now)
        self.settle(now)

    def settle(self, now: int) -> None:
        for bump in self.timeline.epochs:
            if not self.members and bump is not self.timeline.epochs[-1]:
                continue  # no member remained to reach it
            if bump.stable_ms is None and all(
                member.epoch >= bump.number and member.state == STABLE for member in self.members.values()
            ):
                bump.stable_ms = now
                bump.generation = self.snapshot(bump.number, now)

    # --- one operation each

    def operation(self, records: list[GroupRecord]) -> None:
        if self.older and records[-1].offset >= self.group.intact_from:
            for member in self.older:
                self.members.setdefault(member.member_id, member)
                self.stay_of(member, records[0].ts_ms)
            self.older = []
        previous = self.snapshot(self.number, records[0].ts_ms)
        kinds_written = [(record.record_type, record.is_tombstone) for record in records]
        ids_before = set(self.members)
        old_members = dict(self.members)
        for record in records:
            if record.record_type == kinds.MEMBER and not record.is_tombstone:
                self.member(record)
        bump = next((r for r in records if r.record_type == kinds.GROUP_EPOCH and not r.is_tombstone), None)
        removed = {member_named_by(r) for r in records if r.record_type == kinds.MEMBER and r.is_tombstone}
        joined = sorted(set(self.members) - ids_before)
        if bump is not None:
            self.open_epoch(records, bump, previous, old_members, joined, sorted(removed), kinds_written)
        for record in records:
            kind = record.record_type
            if kind == kinds.MEMBER and record.is_tombstone:
                self.member(record)
            elif kind == kinds.CURRENT_MEMBER:
                self.current(record)
            elif kind == kinds.TARGET_EPOCH and not record.is_tombstone:
                for epoch in self.timeline.epochs:
                    if epoch.target_ms is None and epoch.number <= (record.epoch or 0):
                        epoch.target_ms = record.assignment_ts_ms or record.ts_ms
            elif kind == kinds.REGULAR_EXPRESSION and not record.is_tombstone:
                topics = tuple(sorted(record.topics or ()))
                self.timeline.regex_writes.append((record.ts_ms, record.regex or "", topics))
        if bump is None and removed and joined:
            self.taken_back(joined, removed, old_members, records[0].ts_ms)
        if removed:
            self.settle(records[0].ts_ms)
        self.begun = True

    def taken_back(self, joined: list[str], removed: set[str], old: dict[str, Member], now: int) -> None:
        instances = {old[member_id].instance_id for member_id in removed if member_id in old}
        for member_id in joined:
            instance = self.members[member_id].instance_id
            if instance and instance in instances:
                self.timeline.returned.append((now, instance, member_id))

    def open_epoch(
        self,
        records: list[GroupRecord],
        bump: GroupRecord,
        previous: Generation,
        old: dict[str, Member],
        joined: list[str],
        removed: list[str],
        written: list[tuple[int, bool]],
    ) -> None:
        for epoch in self.timeline.epochs:
            if epoch.stable_ms is None:
                epoch.superseded = True
        changed = [
            member_id
            for member_id in {member_named_by(r) for r in records if r.record_type == kinds.MEMBER}
            if member_id in old
            and member_id in self.members
            and (old[member_id].topics, old[member_id].regex)
            != (self.members[member_id].topics, self.members[member_id].regex)
        ]
        new_hash = bump.metadata_hash
        cause, confidence, trigger = "unknown", "possible", None
        # Where the log does not begin with the group, its first operation may be seen in part, and a member that is new
        # to us may have been there before.
        whole = bump.offset >= self.group.intact_from and (self.begun or not self.group.intact_from)
        if (kinds.GROUP_METADATA, True) in written:
            cause, confidence = "protocol_migration", "certain"
            trigger = self.members[joined[0]] if joined else None
        elif joined:
            trigger = self.members[joined[0]]
            cause = "join_static" if trigger.instance_id else "join_new"
            is_new = not self.group.intact_from or self.comes_from_nowhere(records, trigger.member_id)
            confidence = "certain" if is_new else "likely"
        elif removed:
            trigger = next((old[member_id] for member_id in removed if member_id in old), None)
            cause, confidence = self.why_gone(trigger.member_id if trigger else removed[0], bump.ts_ms)
        elif any(kind == kinds.REGULAR_EXPRESSION for kind, _ in written):
            cause, confidence = "regex_changed", "certain"
        elif changed:
            cause, confidence, trigger = "metadata_changed", "certain", self.members[changed[0]]
        elif whole and ((kinds.PARTITION_METADATA, False) in written or self.hash not in (None, new_hash)):
            cause, confidence = "topic_metadata_changed", "certain"
        self.hash = new_hash
        assert bump.epoch is not None
        self.number = bump.epoch
        epoch = Epoch(
            self.number, bump.ts_ms, cause, confidence, trigger, previous, joined, [m for m in removed if m in old]
        )
        for member_id in changed:
            epoch.resubscribed |= set(old[member_id].topics or ()) ^ set(self.members[member_id].topics or ())
        self.timeline.epochs.append(epoch)
        if not set(self.members) - set(removed):
            epoch.stable_ms = bump.ts_ms
            epoch.generation = Generation(self.number, bump.ts_ms, None, {}, {}, "consumer", "consumer")

    def comes_from_nowhere(self, records: list[GroupRecord], member_id: str) -> bool:
        """Return whether the member's first state has no previous epoch: it joined rather than changed."""
        states = (r for r in records if r.record_type == kinds.CURRENT_MEMBER and r.member_id == member_id)
        return any(self.rows[r.offset][0].previous_epoch == 0 for r in states if not r.is_tombstone)

    def why_gone(self, member_id: str, now: int) -> tuple[str, str]:
        removals = [
            event
            for event in self.group.events
            if event.kind == "member_removed" and event.member_id == member_id and event.cause
        ]
        nearest = min(removals, key=lambda event: abs(event.ts - now), default=None)
        if nearest is not None and nearest.cause and abs(nearest.ts - now) < REMOVAL_WITHIN_MS:
            return nearest.cause, "certain"
        wait = self.waits.get(member_id)
        timeout = wait.rebalance_timeout_ms if wait is not None and wait.state == UNREVOKED else None
        if wait is not None and timeout and abs(now - wait.start_ms - timeout) <= 1000:
            return "epoch_timeout", "likely"
        return "leave_explicit", "possible"


def _older_members(group: GroupInput) -> list[Member]:
    """Return members that joined before the complete part of the log; their first record is not that of a new member.

    Only their ids are available. Without them a group would look smaller than it is, and end with members that came
    later.
    """
    first: dict[str, GroupRecord] = {}
    types = (kinds.MEMBER, kinds.CURRENT_MEMBER)
    for record in group.records:
        if record.record_type in types and (record.offset >= group.intact_from or record.record_type == kinds.MEMBER):
            first.setdefault(member_named_by(record), record)
    return [
        Member(member_id, speaks="consumer", called=group.names.get(member_id))
        for member_id, record in first.items()
        if record.is_tombstone or record.record_type != kinds.MEMBER
        if record.offset >= group.intact_from > 0
    ]


def consumer_timeline(group: GroupInput) -> ConsumerTimeline | None:
    """Return the timeline of a consumer group, or None for a group that never was one."""
    relevant = (3, 4, 5, 6, 7, 8, 16)
    if not any(record.group_type == "consumer" and not record.is_tombstone for record in group.records):
        return None
    walk = _Walk(group)
    operation: list[GroupRecord] = []
    for record in group.records:
        if record.record_type not in (*relevant, kinds.GROUP_METADATA):
            continue
        if record.record_type == kinds.GROUP_METADATA and not record.is_tombstone:
            if operation and record.op_id == operation[0].op_id:  # converted back: the remaining members have not left
                walk.operation(operation)
                operation = []
                stayed = {row.member_id for row in walk.rows.get(record.offset, ())}
                for stay in walk.timeline.stays:
                    if stay.end_ms == record.ts_ms and stay.member.member_id in stayed:
                        stay.converted = True
            continue
        # One millisecond can hold a conversion and the joiner's own operation, or two removals. What follows an epoch
        # and is about a member, or another epoch, begins a new operation.
        begins = (kinds.CURRENT_MEMBER,) if record.is_tombstone else (kinds.GROUP_EPOCH, kinds.MEMBER)
        begins_again = record.record_type in begins and any(
            r.record_type == kinds.GROUP_EPOCH and not r.is_tombstone for r in operation
        )
        if operation and (record.op_id != operation[0].op_id or begins_again):
            walk.operation(operation)
            operation = []
        operation.append(record)
    if operation:
        walk.operation(operation)
    walk.timeline.waits += walk.waits.values()
    return walk.timeline
