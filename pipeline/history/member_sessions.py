"""Sessions of members, and clients that leave and rejoin."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field

from kohort.pipeline.history.classic_timeline import Timeline
from kohort.pipeline.history.commit_history import CommitHistory
from kohort.pipeline.history.consumer_timeline import REMOVAL_WITHIN_MS, ConsumerTimeline, Stay
from kohort.pipeline.history.days import day_of
from kohort.pipeline.history.departures import departure
from kohort.pipeline.history.events_by_kind import GroupEvents, is_arrival
from kohort.pipeline.history.inputs import Generation, GroupInput, Member
from kohort.pipeline.history.naming import strangers
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.history.streams_history import STREAMS, StreamsHistory
from kohort.pipeline.history.streams_processes import processes
from kohort.pipeline.sources.source_rows import GroupEvent

FLAPPING_WITHIN_MS = 30 * 60_000
FLAPPING_LIVES = 3
# default maximum of brokers in the consumer protocol, which has no record of the member's own timeout
LONGEST_SESSION_MS = 60_000

THROWN_OUT = ("barrier", "session_expired", "epoch_timeout")  # ends of sessions of members that the coordinator removed
_ENDS = {
    "leave_explicit": "left",
    "leave_admin": "left",
    "leave_poll_timeout": "poll_timeout",
    "session_expired": "session_expired",
    "barrier_timeout": "barrier",
    "epoch_timeout": "epoch_timeout",
    "sync_timeout": "barrier",
}


@dataclass(slots=True, eq=False)
class Session:
    """Stay of one member id in the group.

    Attributes:
        end_kind: left, poll_timeout, session_expired, barrier, epoch_timeout, replaced, unknown or alive.
        stay: Last of its stays under the consumer protocol.
        predecessor: Previous session of the same client.
    """

    member: Member
    first_ms: int
    last_ms: int
    generations: int = 1
    end_kind: str = "alive"
    end_confidence: str = "certain"
    predecessor: Session | None = field(default=None, repr=False)
    stay: Stay | None = None

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
    sessions = _classic_sessions(group, generations, timeline)
    if consumer is not None:
        sessions = _with_stays(group, generations, consumer, sessions)
    last = generations[-1] if generations else None
    group_ended = timeline.gone_ms and last is not None and last.end_ms is not None
    for session in sessions:
        if session.stay is None or session.stay.converted:
            _ending(session, last, bool(group_ended), timeline, rebalances, events, commits)
        elif session.stay.end_ms is not None and consumer is not None:
            _end_of_stay(session, session.stay.end_ms, consumer, rebalances, events)
    sessions += _late_arrivals(group, sessions, events)
    _predecessors(sessions)
    return sorted(sessions, key=lambda s: (s.first_ms, s.member.member_id))


def streams_sessions(streams: StreamsHistory, events: GroupEvents, sessions: list[Session]) -> list[Session]:
    """Replace the sessions of a streams group's members, which are threads, by those of their processes."""
    threads = {thread.member_id for thread in streams.threads}
    result = [session for session in sessions if session.member.member_id not in threads]
    for process in processes(streams):
        for stay in process.stays:
            end_ms = streams.until_ms if stay.end_ms is None else stay.end_ms
            member_id = min(stay.member_ids)
            member = Member(member_id, client_id=process.name, client_host=stay.threads[0].host, speaks=STREAMS)
            if process.name in stay.member_ids:  # a broker's log names neither process nor client
                member.client_id = ""
            session = Session(member, stay.start_ms, end_ms)
            removal = events.removal_of(member_id, end_ms)
            if stay.end_ms is not None:
                near = removal is not None and abs(removal.ts_ms - end_ms) < REMOVAL_WITHIN_MS
                session.end_kind = _ENDS.get(removal.cause, "unknown") if removal is not None and near else "unknown"
            result.append(session)
    _predecessors(result)
    return sorted(result, key=lambda s: (s.first_ms, s.member.member_id))


def _classic_sessions(group: GroupInput, generations: list[Generation], timeline: Timeline) -> list[Session]:
    """Return one session per classic member, because coordinators generate their ids."""
    sessions: dict[str, Session] = {}
    for generation in generations:
        if generation.kind != "classic":
            continue
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
    return list(sessions.values())


def _with_stays(
    group: GroupInput, generations: list[Generation], consumer: ConsumerTimeline, classic: list[Session]
) -> list[Session]:
    """Return a session for each stay under the consumer protocol. Both parts of a converted member are one session."""
    of_member = {session.member.member_id: session for session in classic}
    epochs = [generation for generation in generations if generation.kind == "consumer"]
    sessions = list(classic)
    for stay in consumer.stays:
        end_ms = group.until_ms if stay.end_ms is None else stay.end_ms
        lived = sum(stay.member.member_id in g.members and stay.start_ms <= g.stable_ms <= end_ms for g in epochs)
        session = of_member.get(stay.member.member_id)
        if session is None or not (session.stay is None or session.stay.converted):
            session = Session(stay.member, stay.start_ms, end_ms, 0)
            sessions.append(session)
            of_member[stay.member.member_id] = session
        session.first_ms = min(session.first_ms, stay.start_ms)
        if not stay.converted or end_ms > session.last_ms:
            session.last_ms = end_ms
        session.generations += lived
        session.member, session.stay = stay.member, stay
    return sessions


def _ending(
    session: Session,
    last: Generation | None,
    group_ended: bool,
    timeline: Timeline,
    rebalances: list[Rebalance],
    events: GroupEvents,
    commits: CommitHistory,
) -> None:
    member_id = session.member.member_id
    removal = events.removal_of(member_id, session.last_ms)
    if removal is not None:
        session.end_kind, session.last_ms = _ENDS.get(removal.cause, "unknown"), removal.ts_ms
        return
    swap = next((swap for swap in timeline.swaps if swap.old.member_id == member_id), None)
    taken_ms = swap.ts_ms if swap is not None else events.taken_over.get(member_id)
    if taken_ms is not None:
        session.end_kind, session.last_ms = "replaced", taken_ms
        return
    if last is not None and member_id in last.members and not group_ended:
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


def _end_of_stay(
    session: Session, end_ms: int, consumer: ConsumerTimeline, rebalances: list[Rebalance], events: GroupEvents
) -> None:
    member = session.member
    removal = events.removal_of(member.member_id, end_ms)
    if removal is not None and abs(removal.ts_ms - end_ms) < REMOVAL_WITHIN_MS:
        session.end_kind = _ENDS.get(removal.cause, "unknown")
        return
    taken_over = member.instance_id and any(
        ts == end_ms and instance == member.instance_id for ts, instance, _ in consumer.returned
    )
    if taken_over:
        session.end_kind = "replaced"
        return
    for r in rebalances:
        if r.is_epoch and member.member_id in r.left and r.begin_ms == end_ms:
            alone = r.why.trigger_member == member.member_id
            session.end_kind = _ENDS.get(r.why.cause, "left") if alone else "left"
            session.end_confidence = r.why.confidence if alone else "possible"
            return
    session.end_kind, session.end_confidence = "left", "possible"


def _late_arrivals(group: GroupInput, sessions: list[Session], events: GroupEvents) -> list[Session]:
    """Return sessions that no generation contains, but events do.

    Examples are members that joined and left during one rebalance. A member id of the newer protocols has several
    sessions if the client rejoined after the coordinator removed it.
    """
    in_generations = {session.member.member_id for session in sessions}
    latest: dict[str, Session] = {}
    arrivals = []
    for event in group.events:
        member_id = event.member_id
        arrived = is_arrival(event) or event.kind == "member_replaced"
        if not arrived or not member_id or member_id in in_generations:
            continue
        previous = latest.get(member_id)
        if previous is not None and (previous.end_kind == "alive" or event.ts < previous.last_ms):
            continue  # another line about the same join
        removal = events.removal_after(
            member_id, event.ts - 1 if previous is None else max(previous.last_ms, event.ts - 1)
        )
        session = Session(_member_of(event, group), event.ts, removal.ts_ms if removal else group.until_ms, 0)
        taken_ms = events.taken_over.get(member_id)
        if removal is not None:
            session.end_kind = _ENDS.get(removal.cause, "unknown")
        elif taken_ms is not None:
            session.end_kind, session.last_ms = "replaced", taken_ms
        latest[member_id] = session
        arrivals.append(session)
    for presence in strangers(group):
        if presence.member_id not in in_generations | latest.keys():
            called = group.names.get(presence.member_id)
            member = Member(presence.member_id, presence.instance_id, presence.client_id, called=called)
            arrivals.append(Session(member, presence.start_ms, presence.end_ms or group.until_ms, 0, "session_expired"))
    return arrivals


def _member_of(event: GroupEvent, group: GroupInput) -> Member:
    return Member(
        event.member_id or "",
        event.instance_id,
        event.client_id or "",
        event.client_host or "",
        event.session_timeout_ms,
        event.rebalance_timeout_ms,
        speaks=(event.detail or {}).get("speaks", "classic"),
        called=group.names.get(event.member_id or ""),
    )


def _predecessors(sessions: list[Session]) -> None:
    """Link each session to the previous one of the same client, which ended before it or was replaced by it.

    A process that is started again joins next to its own dead member, whose session expires later.
    """
    by_client: dict[str, list[Session]] = {}
    by_member: dict[str, Session] = {}
    for session in sorted(sessions, key=lambda s: s.first_ms):
        name = session.member.identity
        session.predecessor = by_member.get(session.member.member_id) or next(
            (s for s in reversed(by_client.get(name, ())) if s.end_kind != "alive" and _ended_before(s, session)), None
        )
        by_client.setdefault(name, []).append(session)
        by_member[session.member.member_id] = session


def _ended_before(old: Session, new: Session) -> bool:
    if old.last_ms <= new.first_ms + 1000:
        return True
    timeout_ms = old.member.session_timeout_ms or LONGEST_SESSION_MS
    return old.end_kind == "session_expired" and old.last_ms <= new.first_ms + timeout_ms


def lives(sessions: list[Session]) -> dict[str, list[Session]]:
    """Group sessions by client: its instance id, else its name, because addresses change when pods restart."""
    result: dict[str, list[Session]] = {}
    for session in sessions:
        result.setdefault(session.member.identity, []).append(session)
    return result


def is_flapping(lives_of_one: list[Session]) -> bool:
    """Return whether a client had three or more member ids within half an hour."""
    starts = sorted(session.first_ms for session in lives_of_one)
    return any(
        starts[n + FLAPPING_LIVES - 1] - starts[n] <= FLAPPING_WITHIN_MS
        for n in range(len(starts) - FLAPPING_LIVES + 1)
    )


@dataclass(frozen=True, slots=True)
class ClientFlaps:
    """A client with several member ids on one day. `evictions` counts those that the coordinator removed."""

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
