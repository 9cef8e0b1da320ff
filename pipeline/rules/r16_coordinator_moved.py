"""R16: the group's coordinator moved to another broker, or its broker restarted."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis, once
from kohort.pipeline.history.member_sessions import LONGEST_SESSION_MS, Session
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.rules.finding import CERTAIN, INFO, LIKELY, POSSIBLE, WARNING, Finding, listed, seconds, several

ID = "R16"
AFTERWARDS_MS, AROUND_MS = 60_000, 5_000
LONG_SILENCE_MS = 30_000
LATE_MS = 1_500  # an expiry may be this much later than the timeout
# causes that a source names, and that a move does not bring about
_OWN_CAUSES = (
    "join_new", "join_static", "leave_explicit", "leave_admin", "leave_poll_timeout", "session_expired", "epoch_timeout",
    "barrier_timeout", "topic_metadata_changed", "metadata_changed", "regex_changed", "protocol_migration",
    "cooperative_followup",
)  # fmt: skip


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    moves = _moves(analysis)
    if not moves:
        return
    first, last = moves[0][0], moves[-1][0]
    after = [
        r
        for r in analysis.rebalances
        if any(ts <= r.begin_ms <= ts + AFTERWARDS_MS for ts, _ in moves) and r.after.size
    ]
    lost = list(dict.fromkeys(session.member.name for session in lost_with_a_move(analysis)))
    caused: list[Rebalance] = []
    unrelated: list[Rebalance] = []
    for r in after:
        (caused if _may_follow(r, lost) else unrelated).append(r)
    longest = max((_silence_ms(analysis, ts, unrelated) for ts, _ in moves), default=0)
    text = "the group's coordinator moved to another broker, or its broker restarted"
    text += f"; around that time no partition advanced for up to {seconds(longest)}" if longest else ""
    text += f"; {several(len(caused), 'rebalance')} within a minute" if caused else ""
    text += f"; {several(len(unrelated), 'rebalance')} in that minute had another cause" if unrelated else ""
    text += "" if after else "; no rebalance followed"
    text += f"; the sessions of {listed(lost)} expired, because they did not reach it in time" if lost else ""
    yield Finding(
        ID,
        "The coordinator moved or restarted",
        WARNING if longest >= LONG_SILENCE_MS or len(caused) > 1 else INFO,
        CERTAIN,
        text,
        "Check the load time, size and compaction of the offsets partition if this move was slow: a planned one takes a "
        "group almost no time. A broker that is killed during an open rebalance loses it."
        if longest or caused
        else "Ignore this: a planned move takes a group almost no time.",
        first,
        max(last, min(last + AFTERWARDS_MS, analysis.group.until_ms)),
        [],
        {
            "moves": sorted({epoch for _, epoch in moves}),
            "moments_ms": [ts for ts, _ in moves],
            "longest_silence_ms": longest,
            "sessions_lost": len(lost),
            "open": False,
            "rebalances": [r.number for r in caused],
        },
        cause_confidence=LIKELY if longest or caused else "",
    )


def _may_follow(r: Rebalance, lost: list[str]) -> bool:
    """Return whether a rebalance after a move may be its consequence, because no source shows another cause.

    Members whose sessions were lost expire and join again; `lost` are their names.
    """
    if r.why.cause not in _OWN_CAUSES or r.why.confidence == POSSIBLE:
        return True
    return r.why.cause in ("session_expired", "join_new", "join_static") and r.why.trigger_client in lost


def _silence_ms(analysis: GroupAnalysis, moved_ms: int, unrelated: list[Rebalance]) -> int:
    """Return the length of the group's silence at a move; 0 if a rebalance with another cause was in it."""
    silence = analysis.commits.silence_over(moved_ms - AROUND_MS, min(moved_ms + AROUND_MS, analysis.group.until_ms))
    if silence is None or any(r.begin_ms < silence[1] and silence[0] < r.barrier_ms for r in unrelated):
        return 0
    return silence[1] - silence[0]


def _moves(analysis: GroupAnalysis) -> list[tuple[int, int]]:
    """Return the time and the new epoch of the offsets partition for each move while the group had members.

    The time is that of the first record after the move. A group whose first record is that record began after the move.
    """
    if not analysis.group.coordinator_moves:
        return []
    began_ms = analysis.span_ms[0]
    return [
        (ts, epoch)
        for ts, epoch in analysis.group.coordinator_moves
        if ts > began_ms and (generation := analysis.ownership.generation_at(ts)) is not None and generation.size
    ]


@once
def lost_with_a_move(analysis: GroupAnalysis) -> list[Session]:
    """Return sessions that expired although only the coordinator had moved and their clients had joined again.

    A coordinator that takes over gives every member a new session. The client of such a member was back as another
    member before that session ended; or soon after, without a commit since the move.
    """
    moments = [ts for ts, _ in _moves(analysis)]
    return [
        session
        for session in analysis.sessions
        if _may_have_expired(session) and any(_lost_with(analysis, session, ts) for ts in moments)
    ]


def _may_have_expired(session: Session) -> bool:
    """Return whether a session may have expired; in a consumer group an expiry looks like a leave."""
    return session.end_kind == "session_expired" or (session.end_kind == "left" and session.end_confidence == POSSIBLE)


def _lost_with(analysis: GroupAnalysis, session: Session, moved_ms: int) -> bool:
    whole_ms = (session.member.session_timeout_ms or LONGEST_SESSION_MS) + LATE_MS
    if not session.first_ms <= moved_ms <= session.last_ms <= moved_ms + whole_ms:
        return False
    generation = analysis.ownership.generation_at(moved_ms)
    mine = generation.parts_of(session.member.member_id) if generation is not None else set()
    last = analysis.commits.last_of(mine, session.last_ms)
    silent = last is None or last <= moved_ms
    return any(
        other is not session and other.member.logical == session.member.logical
        and moved_ms <= other.first_ms <= session.last_ms + (whole_ms if silent else 0)
        for other in analysis.sessions
    )  # fmt: skip
