"""Waits and advice in the phases of a classic group's rebalance: its members join, then they synchronize."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kohort.groups.explanation import Wait
from kohort.groups.group_members import GroupMember
from kohort.groups.group_view import JOIN, SYNC, GroupView, RebalancePhase


def wait_of_phase(view: GroupView, phase: RebalancePhase) -> Iterator[Wait]:
    if not view.knows_timers:
        yield from _observed_waits(view, phase)
    elif phase.step == JOIN:
        yield _wait_for_joins(view, phase)
    else:
        yield Wait(
            _names(view, phase.awaited),
            "to sync (SyncGroup)" + _leader_text(view, phase),
            phase.ends_in_ms,
            "members that have not synced by then are removed",
        )


def unused_id_waits(view: GroupView) -> Iterator[Wait]:
    for member_id, ends_in_ms in view.unused_ids:
        yield Wait((member_id,), "to join with the id it received", ends_in_ms, "the id expires")


def _wait_for_joins(view: GroupView, phase: RebalancePhase) -> Wait:
    missing = _names(view, phase.awaited)
    if phase.is_stuck:
        reason = "intervention: its last join phase failed, and as in Kafka the group does not recover"
        return Wait((), reason, None, "restart all members, or delete the group")
    if phase.is_initial_delay:
        consequence = "the first generation starts with the current members"
        if phase.next_round_ms:
            consequence = (
                f"another round, since a member joined in this one; {phase.next_round_ms / 1_000:g} s of rounds remain"
            )
        return Wait(missing, "more members (group.initial.rebalance.delay.ms)", phase.ends_in_ms, consequence)
    static = _names(
        view, (member.member_id for member in view.members if member.instance_id and member.member_id in phase.awaited)
    )
    if not missing:
        consequence = "the phase ends without the clients that have not used their ids"
    elif len(static) == len(missing):
        consequence = "the phase ends without them; they are static and stay members until their sessions end"
    else:
        consequence = "members that have not joined by then are removed"
        consequence += f", except the static {', '.join(static)}" if static else ""
    action = "to join (JoinGroup)" if missing else "clients to join with the ids they received"
    return Wait(missing, action, phase.ends_in_ms, consequence)


def _leader_text(view: GroupView, phase: RebalancePhase) -> str:
    leader = next((member for member in view.members if member.member_id == view.leader_id), None)
    if leader is None or not phase.is_assigning:
        return ""
    name = view.names[leader.member_id]
    if leader.waits_for == SYNC:
        return f"; the assignment by the leader {name} is being written"
    return f", above all for the leader {name}, which assigns the partitions"


def _observed_waits(view: GroupView, phase: RebalancePhase) -> Iterator[Wait]:
    """Yield waits without ends: the timers of a cluster are not observable."""
    if phase.step == JOIN:
        since = f", since {(phase.since_ms or 0) / 1_000:.1f} s"
        action, outcome = f"to join (JoinGroup){since}", "joined"
        longest_ms = max((member.rebalance_timeout_ms for member in view.members), default=0)
        limit = f"; members allow {longest_ms / 1_000:g} s for it" if longest_ms > 0 else ""
        consequence = f"unobserved timers of the cluster decide when it continues without them{limit}"
        remaining = f"an unobserved event{since}"
    else:
        action = remaining = "to sync (SyncGroup)" + _leader_text(view, phase)
        outcome, consequence = "synced", "the other members wait for their assignments"
    observed = [member for member in view.members if member.is_observed and member.member_id in phase.awaited]
    waits = []
    if observed:
        waits.append((_names(view, (member.member_id for member in observed)), action))
    stranger_ids = [member.member_id for member in view.members if not member.is_observed]
    if stranger_ids:
        reason = f"unless they have {outcome} without the proxy ({view.evidence_text})"
        waits.append((_names(view, stranger_ids), reason))
    for names, reason in waits or [((), remaining)]:
        yield Wait(names, reason, None, consequence, knows_timers=False)


def _names(view: GroupView, member_ids: Iterable[str]) -> tuple[str, ...]:
    names = view.names
    return tuple(names.get(member_id, member_id) for member_id in member_ids)


def advise_in_phase(view: GroupView, member: GroupMember) -> str:
    """Return what a member of a classic group should do now."""
    phase = view.phase
    if member.waits_for == JOIN:
        return "has joined, and waits for the other members"
    if phase is not None and phase.step == JOIN:
        return "should rejoin (JoinGroup); its heartbeats receive REBALANCE_IN_PROGRESS"
    if member.waits_for == SYNC:
        return "has synced, and waits for its assignment"
    if phase is not None and member.member_id in phase.awaited:
        if phase.is_assigning and member.member_id == view.leader_id:
            return "should assign the partitions (SyncGroup), as the leader"
        return "should request its assignment (SyncGroup)"
    return "should send heartbeats"
