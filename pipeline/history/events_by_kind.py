"""Facts about a rebalance from events: when it started, by which member and why, and which members were late."""

from __future__ import annotations

from dataclasses import dataclass, field

from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.sources.source_rows import GroupEvent

UNRELEASED_INSTANCE_ID = "UNRELEASED_INSTANCE_ID"
_SLACK_MS = 100  # maximum time between lines and records of the same moment on a busy machine


def is_arrival(event: GroupEvent) -> bool:
    """Return whether the event adds a member. Kafka before 4 logs few arrivals; its rebalance lines show the others."""
    joins = event.kind == "rebalance_started" and event.cause in ("join_new", "join_static")
    return (event.kind == "member_added" or joins) and bool(event.member_id)


def tells_all_arrivals(events: list[GroupEvent]) -> bool:
    """Return whether each new member has its own line or event, unlike in Kafka before 4."""
    return any(event.kind in ("member_added", "member_id_issued") for event in events)


@dataclass(slots=True)
class Removal:
    ts_ms: int
    member_id: str
    cause: str
    reason: str | None
    timeout_ms: int | None = None  # rebalance timeout that it exceeded, if the event contains it


@dataclass(slots=True)
class GroupEvents:
    """Events of one group by type."""

    started: list[GroupEvent] = field(default_factory=list)
    completed: list[GroupEvent] = field(default_factory=list)
    rejoined: list[GroupEvent] = field(default_factory=list)
    synced: list[GroupEvent] = field(default_factory=list)
    evictions: list[tuple[int, list[str]]] = field(default_factory=list)
    # by member id; a consumer-protocol client keeps its id when it rejoins
    removals: dict[str, list[Removal]] = field(default_factory=dict)
    arrived_ms: dict[str, int] = field(default_factory=dict)  # member id -> time of its first arrival
    fenced: list[GroupEvent] = field(default_factory=list)
    unreleased: list[GroupEvent] = field(default_factory=list)  # joins with the instance id of a live member
    replaced: list[GroupEvent] = field(default_factory=list)
    taken_over: dict[str, int] = field(default_factory=dict)  # by replaced member id: when another process joined
    rejected: list[GroupEvent] = field(default_factory=list)
    denied: list[GroupEvent] = field(default_factory=list)
    heartbeat_gaps: list[GroupEvent] = field(default_factory=list)
    never_synced: list[GroupEvent] = field(default_factory=list)
    absent_leaders: list[GroupEvent] = field(default_factory=list)  # static leaders that missed the barrier
    restarts: list[GroupEvent] = field(default_factory=list)
    origin: str = "event"
    any: bool = False
    names: dict[str, str] = field(default_factory=dict)  # member id -> name, if records or events contain one

    @classmethod
    def of(cls, group: GroupInput) -> GroupEvents:
        result = cls(any=bool(group.events), names=dict(group.names))
        lists = {
            "rebalance_started": result.started,
            "join_completed": result.completed,
            "member_rejoined": result.rejoined,
            "member_synced": result.synced,
            "member_fenced": result.fenced,
            "member_replaced": result.replaced,
            "commit_rejected": result.rejected,
            "access_denied": result.denied,
            "heartbeat_gap": result.heartbeat_gaps,
            "sync_timeout": result.never_synced,
            "leader_absent": result.absent_leaders,
        }
        for event in group.events:
            kind = event.kind
            if kind == "member_fenced" and event.error == UNRELEASED_INSTANCE_ID:
                result.unreleased.append(event)
            elif kind in lists:
                lists[kind].append(event)
            if kind == "member_replaced" and (old_id := (event.detail or {}).get("old_member_id")):
                result.taken_over.setdefault(old_id, event.ts)
            if kind in ("barrier_evicted", "join_completed", "rebalance_completed") and event.evicted:
                result.evictions.append((event.ts, list(event.evicted)))
            if kind == "member_removed" and event.member_id:
                result.removals.setdefault(event.member_id, []).append(
                    Removal(
                        event.ts,
                        event.member_id,
                        event.cause or "unknown",
                        event.client_reason,
                        event.rebalance_timeout_ms,
                    )
                )
            if is_arrival(event) and event.member_id:
                result.arrived_ms.setdefault(event.member_id, event.ts)
            if event.member_id and event.client_id:
                result.names.setdefault(event.member_id, event.client_id)
        if any(event.origin == "text_log" for event in group.events):
            result.origin = "text_log"
        for ts, members in result.evictions:
            for member_id in members:
                result.removals.setdefault(member_id, [Removal(ts, member_id, "barrier_timeout", None)])
        for event in result.never_synced:
            for member_id in event.waited_for or ():
                result.removals.setdefault(member_id, [Removal(event.ts, member_id, "sync_timeout", None)])
        return result

    def start_of(self, gen_from: int, gen_to: int, after_ms: int, barrier_ms: int) -> GroupEvent | None:
        inside = [
            event
            for event in self.started
            if event.generation is not None
            and gen_from <= event.generation < gen_to
            and after_ms - _SLACK_MS <= event.ts <= barrier_ms + _SLACK_MS
        ]
        direct = [event for event in inside if event.generation == gen_to - 1]
        return direct[-1] if direct else (inside[0] if inside else None)

    def absent_leader_between(self, start_ms: int, end_ms: int) -> str | None:
        leaders = (event.member_id for event in self.absent_leaders if start_ms <= event.ts <= end_ms + _SLACK_MS)
        return next(leaders, None)

    def evicted_between(self, start_ms: int, end_ms: int) -> list[str]:
        evicted: list[str] = []
        for ts, members in self.evictions:
            if start_ms <= ts <= end_ms + _SLACK_MS:
                evicted += [member for member in members if member not in evicted]
        return evicted

    def removed_between(self, start_ms: int, end_ms: int) -> list[Removal]:
        """Return members removed while a rebalance was in progress, including its first and last moment."""
        every = (removal for of_member in self.removals.values() for removal in of_member)
        return [r for r in every if start_ms - _SLACK_MS <= r.ts_ms <= end_ms + _SLACK_MS]

    def removal_of(self, member_id: str | None, near_ms: int) -> Removal | None:
        """Return the removal of a member that is closest to a time, or None."""
        return min(self.removals.get(member_id or "", ()), key=lambda r: abs(r.ts_ms - near_ms), default=None)

    def removal_after(self, member_id: str, after_ms: int) -> Removal | None:
        """Return the first removal of a member later than a time, or None."""
        return next((removal for removal in self.removals.get(member_id, ()) if removal.ts_ms > after_ms), None)

    def rejoin_delays(self, start_ms: int, barrier_ms: int) -> dict[str, int]:
        """Return microseconds from the start of the rebalance to the join, by member id."""
        return {
            event.member_id: event.duration_us
            for event in self.rejoined
            if event.member_id
            and event.duration_us is not None
            and start_ms - _SLACK_MS <= event.ts <= barrier_ms + _SLACK_MS
        }

    def sync_delays(self, barrier_ms: int, stable_ms: int) -> dict[str, int]:
        return {
            event.member_id: event.duration_us
            for event in self.synced
            if event.member_id
            and event.duration_us is not None
            and barrier_ms - _SLACK_MS <= event.ts <= stable_ms + 10_000
        }
