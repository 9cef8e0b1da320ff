"""R03: a session expired, and the client came back soon, later, or not at all."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.events_by_kind import tells_all_arrivals
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.member_sessions import Session
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.rules.evidence import Evidence
from kohort.pipeline.rules.finding import CRITICAL, LIKELY, POSSIBLE, WARNING, Finding, listed, seconds, times, weakest
from kohort.pipeline.rules.r05_crash_loop import crash_loops
from kohort.pipeline.rules.r16_coordinator_moved import lost_with_a_move
from kohort.pipeline.rules.r54_flapping_process import flapping_members
from kohort.pipeline.rules.replaced_pods import deploys
from kohort.pipeline.rules.session_settings import beat_setting, session_setting
from kohort.pipeline.rules.waits import Waits, dead_waits, waits_for_dead

ID = "R03"
BACK_WITHIN_SESSIONS = 2
BEFORE_MS = 500  # a client that joins this long before its old session expires was started again
_LOOK_AT_THE_START = "Check when the process started: if that was at this time, find out why the previous one ended. "


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    looping = crash_loops(analysis)
    without_coordinator = lost_with_a_move(analysis)
    deployed = {session for deploy in deploys(analysis) for session in deploy.old}
    flapping = flapping_members(analysis)
    expired = [
        session
        for session in analysis.sessions
        if session.end_kind == "session_expired"
        and session.member.name not in looping
        and session.member.member_id not in flapping
        and session not in without_coordinator
        and session not in deployed
        and not _with_the_group(analysis, session)
        and not _left_for_a_while(analysis, session)
        and not (session.member.instance_id and _successor(analysis, session))
    ]
    back: list[Session] = []
    restarted: dict[Session, int] = {}
    waits_by_member = dict(dead_waits(analysis))
    dead: list[Session] = []
    strangers: list[Session] = []
    for session in expired:
        if before_ms := _joined_before_expiry_ms(analysis, session, waits_by_member):
            restarted[session] = before_ms
        elif _came_back_ms(analysis, session) is not None:
            back.append(session)
        else:
            (dead if session.member.is_known else strangers).append(session)
    if restarted:
        yield _restarted(analysis, restarted)
    if back:
        yield _alive(analysis, back)
    if dead:
        yield _dead(analysis, dead)
    if strangers:
        yield _gone_strangers(strangers)


def _with_the_group(analysis: GroupAnalysis, session: Session) -> bool:
    """Return whether a static session expired with the group: static members don't leave when they stop."""
    if any(other.first_ms > session.last_ms or other.end_kind == "alive" for other in analysis.sessions):
        return False
    return all(
        other.end_kind == "session_expired" for other in analysis.sessions if other.last_ms >= session.last_ms
    ) and any(other.last_ms >= session.last_ms and other.member.instance_id for other in analysis.sessions)


def _left_for_a_while(analysis: GroupAnalysis, session: Session) -> bool:
    """Return whether a static member announced its return; R12 reports it."""
    absences = analysis.consumer.away if analysis.consumer else []
    return any(name == session.member.instance_id and ts <= session.last_ms for ts, name in absences)


def _successor(analysis: GroupAnalysis, session: Session) -> Session | None:
    """Return the next session of a dynamic client; R12 reports static members."""
    return next((other for other in analysis.sessions if other.predecessor is session), None)


def _came_back_ms(analysis: GroupAnalysis, session: Session) -> int | None:
    timeout = session.member.session_timeout_ms or 45_000
    if (other := _successor(analysis, session)) is None:
        return None
    absence_ms = other.first_ms - session.last_ms
    return max(0, absence_ms) if absence_ms <= BACK_WITHIN_SESSIONS * timeout else None


def _joined_before_expiry_ms(analysis: GroupAnalysis, session: Session, waits_by_member: dict[str, Rebalance]) -> int:
    """Return how long before the end of its old session a client joined as a new member; 0 if that is unknown."""
    if (other := _successor(analysis, session)) is None or other.member.member_id == session.member.member_id:
        return 0
    joined_ms = min(other.first_ms, analysis.events.arrived_ms.get(other.member.member_id, other.first_ms))
    wait = waits_by_member.get(session.member.member_id)
    # without events, a wait for the old session shows that the new member had joined: nothing else began the rebalance
    if wait is not None and wait.start_ms is None and wait.joined == [other.member.member_id]:
        joined_ms = min(joined_ms, wait.begin_ms)
    before_ms = session.last_ms - joined_ms
    return before_ms if before_ms > BEFORE_MS else 0


class _Expired:
    """Expired sessions of one finding: what all findings of the rule state about them."""

    def __init__(self, analysis: GroupAnalysis, sessions: list[Session]) -> None:
        self._sessions = sessions
        self.waits: Waits = waits_for_dead(analysis, {session.member.member_id for session in sessions})
        self.clients = list(dict.fromkeys(session.member.name for session in sessions))
        self.timeout_ms = max((s.member.session_timeout_ms or 0 for s in sessions), default=0)
        self.timeout_text = f" (session timeout {seconds(self.timeout_ms)})" if self.timeout_ms else ""
        self.severity = CRITICAL if self.waits.is_critical else WARNING
        self.confidence = weakest(session.end_confidence for session in sessions)

    def evidence(self) -> Evidence:
        return {
            "expiries": len(self._sessions),
            "session_timeout_ms": self.timeout_ms or None,
            "members": [session.member.member_id for session in self._sessions],
            **self.waits.evidence(),
            "rebalances": [r.number for r in self.waits.rebalances],
        }


def _restarted(analysis: GroupAnalysis, joined_before_ms: dict[Session, int]) -> Finding:
    """Return a finding about processes that ended without leaving, and whose successors joined before that was noticed."""
    sessions = list(joined_before_ms)
    expired = _Expired(analysis, sessions)
    waits, clients = expired.waits, expired.clients
    setting = session_setting(sessions[0].member)
    often, up_to = (f" {times(len(sessions))}", "up to ") if len(sessions) > 1 else ("", "")
    return Finding(
        ID,
        "A process ended without leaving the group",
        expired.severity,
        expired.confidence,
        f"{listed(clients)} ended without leaving the group{often}, and joined again as a new member "
        f"{up_to}{seconds(max(joined_before_ms.values()))} before the old session expired"
        + expired.timeout_text
        + f": the process was killed or crashed, and was started again{waits.text}",
        "Find out why the process ended without closing its consumer (killed, out of memory, too little time to close). With "
        "group.instance.id the new process takes the place of the old one at once; otherwise everything waits for the rest "
        f"of the old session: a shorter {setting} makes that shorter.",
        sessions[0].last_ms - (waits.longest_ms if waits.rebalances else 0),
        sessions[-1].last_ms,
        clients,
        {
            **expired.evidence(),
            "came_back": True,
            "back_after_ms": [-ms for ms in joined_before_ms.values()],
        },
        cause_confidence=LIKELY,
    )


def _alive(analysis: GroupAnalysis, sessions: list[Session]) -> Finding:
    expired = _Expired(analysis, sessions)
    waits, clients = expired.waits, expired.clients
    # only a client of the consumer protocol keeps its member id, and only as long as its process lives
    lived = all((new := _successor(analysis, s)) and new.member.member_id == s.member.member_id for s in sessions)
    back_after = max(_came_back_ms(analysis, session) or 0 for session in sessions)
    came_back = f"came back within {seconds(back_after)}" if back_after else "was back in the next generation"
    meaning = "the process was paused or disconnected, but alive"
    if not lived:
        meaning = "the process was paused or disconnected, or it crashed and was restarted"
    return Finding(
        ID,
        "A session expired although the process was alive" if lived else "A session expired, and the client came back",
        expired.severity,
        expired.confidence,
        f"the session of {listed(clients)} expired {times(len(sessions))}"
        + expired.timeout_text
        + f", but it {came_back} and had to rejoin: {meaning}{waits.text}",
        f"{_LOOK_AT_THE_START if not lived else ''}Check for pauses: garbage collection, CPU throttling, a suspended host, the network. Then set "
        f"{session_setting(sessions[0].member)} to twice the longest pause, and {beat_setting(sessions[0].member)} to at "
        "most a third of it.",
        sessions[0].last_ms,
        sessions[-1].last_ms,
        clients,
        {
            **expired.evidence(),
            "came_back": True,
            "back_after_ms": [_came_back_ms(analysis, session) for session in sessions],
        },
        cause_confidence=LIKELY if lived else POSSIBLE,
    )


def _dead(analysis: GroupAnalysis, sessions: list[Session]) -> Finding:
    expired = _Expired(analysis, sessions)
    waits, clients, timeout = expired.waits, expired.clients, expired.timeout_ms
    unserved = [_unserved_ms(analysis, session) for session in sessions]
    later = {s.member.name: new.first_ms - s.last_ms for s in sessions if (new := _successor(analysis, s)) is not None}
    ended = "did not come back"
    watched_ms = analysis.group.until_ms - max(session.last_ms for session in sessions)
    soon = watched_ms < BACK_WITHIN_SESSIONS * (timeout or 45_000)
    if soon:
        ended = f"had not come back {seconds(max(0, watched_ms))} later, at the end of the data"
    unknown = not analysis.group.records and not tells_all_arrivals(analysis.group.events)
    if unknown and not later:
        ended = "this release does not log whether it came back"
    if later:
        back = " and ".join(f"{name} came back {seconds(ms)} later" for name, ms in list(later.items())[:3])
        ended = back if len(later) == len(clients) else f"{back}, the others {ended}"
    return Finding(
        ID,
        "A member's session expired" + ("" if later or soon or unknown else ", and it did not come back"),
        expired.severity,
        expired.confidence,
        f"{listed(clients)} stopped sending heartbeats without leaving the group, and {ended}; the partitions had "
        "no consumer until the session timeout"
        + (f" ({seconds(timeout)})" if timeout else "")
        + " had ended"
        + (f", up to {seconds(max(unserved))}" if max(unserved, default=0) else "")
        + waits.text,
        "Find out why the process ended (killed, out of memory, host lost), or what prevented it from closing its consumer in "
        f"time. A shorter {session_setting(sessions[0].member)} detects a crashed member sooner, but causes more false "
        "alarms.",
        sessions[0].last_ms,
        sessions[-1].last_ms,
        clients,
        {
            **expired.evidence(),
            "came_back": None if unknown and not later else False,
            "unserved_ms": unserved,
        },
    )


def _gone_strangers(sessions: list[Session]) -> Finding:
    """Return a finding about members whose client is unknown, so that a return can't be detected."""
    members = [session.member.member_id for session in sessions]
    return Finding(
        ID,
        "A member's session expired",
        WARNING,
        POSSIBLE,
        f"{listed(members)} stopped sending heartbeats without leaving the group; its client id is not in the data, so "
        "it is unknown whether the client came back",
        "Analyze the offsets topic from before these members joined: it contains their client ids.",
        sessions[0].last_ms,
        sessions[-1].last_ms,
        [],
        {"expiries": len(sessions), "came_back": None, "members": members},
    )


def _unserved_ms(analysis: GroupAnalysis, session: Session) -> int:
    generation = analysis.ownership.generation_at(session.last_ms - 1)
    if generation is None:
        return 0
    last = analysis.commits.last_of(generation.parts_of(session.member.member_id), session.last_ms)
    return session.last_ms - last if last is not None else 0
