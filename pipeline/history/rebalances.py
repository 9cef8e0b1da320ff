"""Rebalances of a group: when, why, waiting for whom, and what it cost.

Times: s = start, j = end of the join barrier, e = assignment stored. prepare = j - s, complete = e - j. The log holds
j and e; s comes from events, and where there are none it is only known to lie between bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kohort.pipeline.history.causes import cause_without_events
from kohort.pipeline.history.commit_history import Around, CommitHistory
from kohort.pipeline.history.departures import Verdict
from kohort.pipeline.history.events_by_kind import GroupEvents
from kohort.pipeline.history.inputs import Generation, GroupInput, TopicPartition
from kohort.pipeline.history.laggards import Laggard, find_laggard
from kohort.pipeline.history.movement import Movement, eager_members, is_eager, movement

FOLLOW_UP_WITHIN_MS = 10_000


@dataclass(slots=True)
class Rebalance:
    """One rebalance; `before` has size 0 for an initial one. Times in milliseconds, None where nothing tells."""

    number: int
    before: Generation
    after: Generation
    start_ms: int | None = None
    start_source: str = "bound"
    barrier_ms: int = 0
    stable_ms: int = 0
    prepare_lo_ms: int = 0
    prepare_hi_ms: int | None = None
    prepare_est_ms: int | None = None
    """Without events: for how long nobody but the laggard had shown itself before the barrier ended."""
    prepare_us: int | None = None
    outcome: str = "completed"
    kind: str = "normal"
    cause: str = "unknown"
    cause_confidence: str = "possible"
    trigger_member: str | None = None
    trigger_client: str | None = None
    client_reason: str | None = None
    laggard: Laggard | None = None
    joined: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    evicted: list[str] = field(default_factory=list)
    eager: bool | None = None
    eager_members: set[str] = field(default_factory=set)
    movement: Movement | None = None
    lost: int | None = None
    rebalance_id: str | None = None
    storm_id: str | None = None
    complete: bool = True
    around: dict[TopicPartition, Around] = field(default_factory=dict)
    rejoin_us: dict[str, int] = field(default_factory=dict)
    sync_us: dict[str, int] = field(default_factory=dict)
    unavailable_member_s: tuple[float, float] = (0.0, 0.0)
    unavailable_partition_s: tuple[float, float] = (0.0, 0.0)
    """Lower and upper bound; equal where exact."""
    delayed_records: int = 0
    downtime: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    """New protocol: when each moved partition was nobody's."""
    grown: list[tuple[str, int, int]] = field(default_factory=list)
    """Topics with more partitions than were ever seen before: name, was, is."""
    changes: tuple[str, ...] = ()
    """What differs between the generations: members, subscriptions, partitions, protocol."""

    @property
    def begin_ms(self) -> int:
        """The start, or the latest moment it can have been."""
        if self.start_ms is not None:
            return self.start_ms
        return self.barrier_ms - max(self.prepare_lo_ms, self.prepare_est_ms or 0)

    @property
    def prepare_ms(self) -> int:
        """The best word on the prepare phase: exact, else estimated, else its lower bound."""
        return self.barrier_ms - self.begin_ms

    @property
    def is_epoch(self) -> bool:
        """A step of the new protocol, which has no join barrier."""
        return self.after.kind == "consumer"

    @property
    def counts(self) -> bool:
        return self.kind in ("initial", "normal", "epoch", "conversion") and self.outcome != "open"

    @property
    def reached_barrier(self) -> bool:
        return self.outcome in ("completed", "superseded") and self.after.size > 0


def classic_rebalances(group: GroupInput, generations: list[Generation], events: GroupEvents) -> list[Rebalance]:
    """One per generation of a classic group, empty ones included, with times, causes and members."""
    result: list[Rebalance] = []
    before = Generation(0, generations[0].barrier_ms or generations[0].stable_ms) if generations else None
    known: dict[str, int] = {}
    for after in generations:
        assert before is not None
        if after.number < before.number or (before.end_ms is not None and before.end_ms < after.stable_ms):
            before = Generation(0, before.end_ms or after.stable_ms)  # deleted and begun anew
        rebalance = Rebalance(len(result) + 1, before, after)
        _times(rebalance, events)
        rebalance.grown = _grown(after, known)
        _members(rebalance, events)
        _shape(rebalance)
        result.append(rebalance)
        before = after
    for rebalance in result:
        _overtaken(rebalance, events)
    _open(result, events)
    return result


def _times(r: Rebalance, events: GroupEvents) -> None:
    r.barrier_ms = r.after.barrier_ms if r.after.barrier_ms is not None else r.after.stable_ms
    r.stable_ms = r.after.stable_ms
    earliest = r.before.stable_ms if r.before.size or r.before.number else None
    started = events.start_of(r.before.number, r.after.number, earliest or 0, r.barrier_ms)
    if started is not None:
        r.start_ms = min(started.ts, r.barrier_ms)
        r.start_source = "text_log" if started.origin == "text_log" else "event"
        r.prepare_us = 1000 * (r.barrier_ms - r.start_ms)
        done = next((e for e in events.completed if e.generation == r.after.number and e.duration_us), None)
        if done is not None and abs(done.ts - r.barrier_ms) < 1000:
            r.prepare_us = done.duration_us
        r.cause, r.cause_confidence = started.cause or "unknown", "certain"
        r.trigger_member, r.client_reason = started.member_id, started.client_reason
        r.rebalance_id = started.rebalance_id
        removal = events.removals.get(r.trigger_member or "")
        if r.cause == "leave_explicit" and removal is not None and removal.cause == "leave_poll_timeout":
            r.cause, r.client_reason = "leave_poll_timeout", removal.reason
    if earliest is not None:
        r.prepare_hi_ms = max(0, r.barrier_ms - earliest)
    r.lost = max(0, r.after.number - r.before.number - 1) if r.after.intact else None
    r.complete = r.after.intact


def _members(r: Rebalance, events: GroupEvents) -> None:
    before, after = r.before.members, r.after.members
    r.joined = sorted(set(after) - set(before))
    r.evicted = events.evicted_between(r.begin_ms, r.stable_ms)
    r.left = sorted(set(before) - set(after) - set(r.evicted))
    if r.start_ms is not None:
        r.rejoin_us = events.rejoin_delays(r.start_ms, r.barrier_ms)
        r.sync_us = events.sync_delays(r.barrier_ms, r.stable_ms)
    changes = []
    if set(before) != set(after):
        changes.append("members")
    stayed = before.keys() & after.keys()
    if any(before[m].topics != after[m].topics for m in stayed if before[m].topics is not None):
        changes.append("subscriptions")
    if r.before.protocol and r.after.protocol and r.before.protocol != r.after.protocol:
        changes.append("protocol")
    if r.grown:
        changes.append("partitions")
    r.changes = tuple(changes)


def _grown(generation: Generation, known: dict[str, int]) -> list[tuple[str, int, int]]:
    """By the highest number assigned so far: a cooperative round leaves partitions out without losing them."""
    now: dict[str, int] = {}
    for topic, part in generation.owners:
        now[topic] = max(now.get(topic, 0), part + 1)
    grown = [(topic, known[topic], size) for topic, size in sorted(now.items()) if size > known.get(topic, size)]
    for topic, size in now.items():
        known[topic] = max(known.get(topic, 0), size)
    return grown


def _shape(r: Rebalance) -> None:
    if r.after.size == 0:
        r.outcome = "empty"
    r.eager = is_eager(r.before, r.after) if r.after.size else None
    if r.after.conversion:  # its members are those of the epoch before, and its number is that epoch's
        r.kind, r.joined, r.lost = "conversion", [], 0
        r.cause, r.cause_confidence = "protocol_migration", "certain"
        return
    if r.before.size == 0:
        r.kind = "initial"
        return
    if _is_follow_up(r):
        r.kind = "followup"
    if r.before.owners and r.after.owners:
        r.movement = movement(r.before, r.after)
        r.eager_members = eager_members(r.before, r.after)


def _is_follow_up(r: Rebalance) -> bool:
    """The second round of a cooperative rebalance, in which freed partitions find their new owner."""
    if set(r.before.members) != set(r.after.members) or r.after.number != r.before.number + 1 or not r.after.members:
        return False
    if "subscriptions" in r.changes or r.after.protocol in ("range", "roundrobin", "sticky"):
        return False
    start = r.start_ms if r.start_ms is not None else r.barrier_ms
    if start - r.before.stable_ms > FOLLOW_UP_WITHIN_MS:
        return False
    return any(topic_partition not in r.before.owners for topic_partition in r.after.owners) or (
        bool(r.after.owners) and r.cause == "cooperative_followup"
    )


def _overtaken(r: Rebalance, events: GroupEvents) -> None:
    """With events only, a generation whose assignment never came was lost to the next one."""
    if r.after.from_events and r.after.size and r.after.stable_ms == r.after.barrier_ms and r.after.end_ms is not None:
        r.outcome = "superseded"


def _open(result: list[Rebalance], events: GroupEvents) -> None:
    """A rebalance that was opened and of which nothing more was seen."""
    if not events.started:
        return
    last = events.started[-1]
    newest = result[-1] if result else None
    generation = last.generation or 0
    if newest is not None and (last.ts <= newest.barrier_ms or generation < newest.after.number):
        return
    before = newest.after if newest is not None else Generation(generation, last.ts)
    if before.end_ms is not None:
        return
    r = Rebalance(len(result) + 1, before, Generation(generation + 1, last.ts), start_ms=last.ts)
    r.start_source = "text_log" if last.origin == "text_log" else "event"
    r.barrier_ms = r.stable_ms = last.ts
    r.outcome, r.cause, r.cause_confidence = "open", last.cause or "unknown", "certain"
    r.trigger_member = last.member_id
    result.append(r)


def explain(rebalances: list[Rebalance], commits: CommitHistory, events: GroupEvents) -> None:
    """Fills in what needs commits: who was late, causes that no event gives, and what it all cost."""
    for r in rebalances:
        if r.outcome == "open":
            continue
        for topic_partition in r.before.owners.keys() | r.after.owners.keys():
            if topic_partition in commits.partitions:
                r.around[topic_partition] = commits.around(topic_partition, r.barrier_ms, r.stable_ms)
        if not r.is_epoch:
            r.laggard = find_laggard(r, commits, events)
            if r.laggard is not None and r.start_ms is None:
                r.prepare_est_ms = r.laggard.alone_ms
            _settle_cause(r, cause_without_events(r, commits) if r.start_ms is None else None)
            _bounds(r)
        _cost(r, commits)
        _name(r, events)


def _settle_cause(r: Rebalance, verdict: Verdict | None) -> None:
    if r.kind == "conversion":
        return
    if verdict is not None:
        r.cause, r.cause_confidence, r.trigger_member = verdict.cause, verdict.confidence, verdict.member
    if r.kind == "followup":
        r.cause = "cooperative_followup"
    elif r.cause == "rejoin_leader" and "partitions" in r.changes and "members" not in r.changes:
        r.cause = "topic_metadata_changed" if "subscriptions" not in r.changes else "metadata_changed"


def _bounds(r: Rebalance) -> None:
    if r.start_ms is not None:
        r.prepare_lo_ms = r.prepare_hi_ms = r.barrier_ms - r.start_ms
    elif r.evicted or r.cause == "barrier_timeout":
        r.prepare_lo_ms = min(r.before.rebalance_timeout_ms or 0, r.prepare_hi_ms or 0)


def _cost(r: Rebalance, commits: CommitHistory) -> None:
    if not r.after.size or not r.before.size:
        return
    if r.is_epoch:
        down = {topic_partition: (b - a) / 1000 for topic_partition, (a, b) in r.downtime.items()}
        r.unavailable_partition_s = (sum(down.values()),) * 2
        r.delayed_records = round(sum(s * commits.throughput(p, r.begin_ms) for p, s in down.items()))
        return
    complete_s = (r.stable_ms - r.barrier_ms) / 1000
    total_s = (
        (r.stable_ms - r.begin_ms) / 1000 if r.start_ms is not None else complete_s + (r.prepare_est_ms or 0) / 1000
    )
    stayed = [m for m in r.after.members if m in r.before.members]
    if r.eager is False:
        stayed = [m for m in stayed if m in r.eager_members]
    exact = r.rejoin_us.keys() >= set(stayed) and r.sync_us.keys() >= set(stayed) and bool(stayed)
    if exact:
        total = sum((r.barrier_ms - (r.start_ms or 0)) * 1000 - r.rejoin_us[m] + r.sync_us[m] for m in stayed) / 1e6
        r.unavailable_member_s = (total, total)
    else:
        r.unavailable_member_s = (len(stayed) * complete_s, len(stayed) * total_s)
    affected = [
        topic_partition
        for topic_partition, owner in r.before.owners.items()
        if topic_partition in r.after.owners
        and (r.eager is not False or owner in r.eager_members or owner not in r.after.members)
    ]
    low = high = 0.0
    for topic_partition in affected:
        owner, fresh = r.before.owners[topic_partition], r.after.owners[topic_partition]
        if owner in r.evicted:
            stop = r.barrier_ms
        elif owner in r.rejoin_us and r.start_ms is not None:
            stop = r.start_ms + r.rejoin_us[owner] // 1000
        else:
            stop = -1
        start = r.barrier_ms + r.sync_us[fresh] // 1000 if fresh in r.sync_us else r.stable_ms
        down_s = (start - stop) / 1000
        low += down_s if stop >= 0 else complete_s
        high += down_s if stop >= 0 else total_s
        r.delayed_records += round((down_s if stop >= 0 else total_s) * commits.throughput(topic_partition, r.begin_ms))
    r.unavailable_partition_s = (low, high)


def _name(r: Rebalance, events: GroupEvents) -> None:
    if r.trigger_member:
        member = r.after.members.get(r.trigger_member) or r.before.members.get(r.trigger_member)
        r.trigger_client = member.name if member else events.names.get(r.trigger_member)
