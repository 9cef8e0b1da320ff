"""Lives of members, and clients that come and go."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from kohort.pipeline.history.classic_timeline import Timeline
from kohort.pipeline.history.commit_history import CommitHistory
from kohort.pipeline.history.consumer_timeline import UNREVOKED, ConsumerTimeline
from kohort.pipeline.history.days import day_of
from kohort.pipeline.history.departures import departure
from kohort.pipeline.history.events_by_kind import GroupEvents
from kohort.pipeline.history.inputs import Generation, GroupInput, Member
from kohort.pipeline.history.rebalance import Rebalance

FLAPPING_WITHIN_MS = 30 * 60_000
FLAPPING_LIVES = 3

THROWN_OUT = ("barrier", "session_expired", "epoch_timeout")
"""How sessions end of members that the coordinator took out."""
_ENDS = {
    "leave_explicit": "left",
    "leave_admin": "left",
    "leave_poll_timeout": "poll_timeout",
    "session_expired": "session_expired",
    "barrier_timeout": "barrier",
    "epoch_timeout": "epoch_timeout",
    "sync_timeout": "barrier",
}


@dataclass(slots=True)
class Session:
    """One member id's life. end_kind: left / poll_timeout / session_expired / barrier / replaced / unknown / alive."""

    member: Member
    first_ms: int
    last_ms: int
    generations: int = 1
    end_kind: str = "alive"
    end_confidence: str = "certain"
    predecessor: str | None = None

    @property
    def life_ms(self) -> int:
        return self.last_ms - self.first_ms


def member_sessions(
    group: GroupInput,
    generations: list[Generation],
    timeline: Timeline,
    consumer: ConsumerTimeline | None,
    rebalances: list[Rebalance],
    events: GroupEvents,
    commits: CommitHistory,
) -> list[Session]:
    sessions: dict[str, Session] = {}
    for generation in generations:
        for member in generation.members.values():
            session = sessions.get(member.member_id)
            if session is None:
                sessions[member.member_id] = Session(member, generation.barrier_ms or generation.stable_ms, 0)
            else:
                session.generations += 1
                session.member = member
            sessions[member.member_id].last_ms = generation.end_ms or group.until_ms
    for swap in timeline.swaps:
        begun = swap.generation.barrier_ms or swap.generation.stable_ms
        sessions.setdefault(swap.old.member_id, Session(swap.old, begun, swap.ts_ms))
        sessions.setdefault(swap.new.member_id, Session(swap.new, swap.ts_ms, swap.ts_ms)).first_ms = swap.ts_ms
    if consumer is not None:
        _epoch_members(group, consumer, sessions)
    last = generations[-1] if generations else None
    gone = timeline.gone_ms and last is not None and last.end_ms is not None
    for session in sessions.values():
        _ending(session, last, bool(gone), timeline, consumer, rebalances, events, commits)
    _late_arrivals(group, sessions, events)
    _predecessors(list(sessions.values()))
    return sorted(sessions.values(), key=lambda s: (s.first_ms, s.member.member_id))


def _epoch_members(group: GroupInput, consumer: ConsumerTimeline, sessions: dict[str, Session]) -> None:
    """Members of new-protocol groups join and leave between settled epochs; their own records say when."""
    for epoch in consumer.epochs:
        for member_id in epoch.joined:
            member = epoch.trigger if epoch.trigger and epoch.trigger.member_id == member_id else None
            if member_id not in sessions and member is not None:
                sessions[member_id] = Session(member, epoch.start_ms, group.until_ms)
            elif member_id in sessions:
                sessions[member_id].first_ms = min(sessions[member_id].first_ms, epoch.start_ms)
    for member_id, (ts_ms, _, member) in consumer.removed.items():
        session = sessions.setdefault(member_id, Session(member, ts_ms, ts_ms))
        session.last_ms = ts_ms
    for ts_ms, _, member_id in consumer.returned:
        if member_id in sessions:
            sessions[member_id].first_ms = min(sessions[member_id].first_ms, ts_ms)


def _ending(
    session: Session,
    last: Generation | None,
    gone: bool,
    timeline: Timeline,
    consumer: ConsumerTimeline | None,
    rebalances: list[Rebalance],
    events: GroupEvents,
    commits: CommitHistory,
) -> None:
    member_id = session.member.member_id
    removal = events.removals.get(member_id)
    if removal is not None:
        session.end_kind, session.last_ms = _ENDS.get(removal.cause, "unknown"), removal.ts_ms
        return
    swap = next((swap for swap in timeline.swaps if swap.old.member_id == member_id), None)
    if swap is not None:
        session.end_kind, session.last_ms = "replaced", swap.ts_ms
        return
    if consumer is not None and member_id in consumer.removed:
        ts_ms, state, member = consumer.removed[member_id]
        returned = any(instance == member.instance_id for _, instance, _ in consumer.returned if member.instance_id)
        session.end_kind = "replaced" if returned else ("epoch_timeout" if state == UNREVOKED else "left")
        session.end_confidence, session.last_ms = "possible", ts_ms
        return
    if last is not None and member_id in last.members and not gone:
        return
    for r in rebalances:
        if member_id in r.evicted:
            session.end_kind, session.last_ms = "barrier", r.barrier_ms
            return
        if member_id in r.left:
            cause, sure = r.why.cause, r.why.confidence
            if r.why.trigger_member not in (member_id, None):
                verdict = (
                    departure(r, r.why.laggard, member_id, commits) if r.start_ms is None and not r.is_epoch else None
                )
                cause, sure = (verdict.cause, verdict.confidence) if verdict else ("unknown", sure)
            kind = _ENDS.get(cause, "unknown")
            session.end_kind = "left" if kind == "unknown" and r.outcome == "empty" else kind
            session.end_confidence, session.last_ms = sure, r.barrier_ms
            return
    session.end_kind, session.end_confidence = "unknown", "possible"


def _late_arrivals(group: GroupInput, sessions: dict[str, Session], events: GroupEvents) -> None:
    """Members that came and went inside one rebalance never stand in a generation; events know them."""
    for event in group.events:
        member_id = event.member_id
        if event.kind != "member_added" or not member_id or member_id in sessions:
            continue
        removal = events.removals.get(member_id)
        member = Member(member_id, event.instance_id, event.client_id or "", event.client_host or "")
        session = Session(member, event.ts, removal.ts_ms if removal else group.until_ms, 0)
        if removal is not None:
            session.end_kind = _ENDS.get(removal.cause, "unknown")
        sessions[member_id] = session


def _predecessors(sessions: list[Session]) -> None:
    """The earlier life of the same client: ended before, or was replaced by, this one."""
    by_client: dict[str, list[Session]] = {}
    for session in sorted(sessions, key=lambda s: s.first_ms):
        name = session.member.instance_id or session.member.client_id
        earlier = [s for s in by_client.get(name, []) if s.last_ms <= session.first_ms + 1000 and s.end_kind != "alive"]
        if earlier:
            session.predecessor = earlier[-1].member.member_id
        by_client.setdefault(name, []).append(session)


def lives(sessions: list[Session]) -> dict[str, list[Session]]:
    """Sessions by client: its instance id, else client id (addresses change when pods restart)."""
    result: dict[str, list[Session]] = {}
    for session in sessions:
        result.setdefault(
            session.member.instance_id or session.member.client_id or session.member.member_id, []
        ).append(session)
    return result


def is_flapping(lives_of_one: list[Session]) -> bool:
    """Three or more member ids of one client within half an hour."""
    starts = sorted(session.first_ms for session in lives_of_one)
    return any(
        starts[n + FLAPPING_LIVES - 1] - starts[n] <= FLAPPING_WITHIN_MS
        for n in range(len(starts) - FLAPPING_LIVES + 1)
    )


@dataclass(frozen=True, slots=True)
class ClientFlaps:
    """A client with several member ids on one day. evictions: those that the coordinator took out."""

    client: str
    day: str
    sessions: int
    median_life_ms: float
    evictions: int
    flapping: bool


def flaps_by_day(sessions: list[Session]) -> Iterator[ClientFlaps]:
    for client, of_client in lives(sessions).items():
        by_day: dict[str, list[Session]] = {}
        for session in of_client:
            by_day.setdefault(day_of(session.first_ms), []).append(session)
        for day, of_day in by_day.items():
            if len(of_day) > 1:
                median = statistics.median(session.life_ms for session in of_day)
                evictions = sum(session.end_kind in THROWN_OUT for session in of_day)
                yield ClientFlaps(client, day, len(of_day), median, evictions, is_flapping(of_day))
