"""Explanation of a classic group: what it waits for and until when, advice for each client, and unsuitable settings.

It only reads, so it may be called at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kohort.control.explain.explanation import Advice, Explanation, Wait
from kohort.control.explain.settings_advice import badly_set
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.rebalancing import InitialDelay
from kohort.coordinator.classic.states import State
from kohort.coordinator.events.group_event import GroupEvent
from kohort.purgatory import DelayedOperation

Alive = Callable[[ClassicGroup, Member], bool]


def explain(
    group: ClassicGroup | None,
    group_id: str,
    now_ms: int,
    is_alive: Alive | None = None,
    events: Iterable[GroupEvent] = (),
) -> Explanation:
    """Return the explanation of a group.

    Args:
        group: None if no group has that id.
        is_alive: Checks the connections of members; None without a laboratory.
        events: Recorded events of the group.
    """
    if group is None or group.state is State.DEAD:
        return Explanation(f"group {group_id}: does not exist; the first JoinGroup or commit creates it", (), (), ())
    names = names_of(group)
    count = len(group.members)
    headline = (
        f"group {group_id}: {group.state.value}, generation {group.generation_id}, {count} member{'s'[count == 1 :]}"
    )
    clients = tuple(
        Advice(
            names[member.member_id],
            _advice_for(group, member),
            _session_ends_in_ms(member, now_ms),
            None if is_alive is None else is_alive(group, member),
        )
        for member in group.members.values()
    )
    return Explanation(
        headline, (*_waits(group, names, now_ms), *_unused(group, now_ms)), clients, badly_set(group, names, events)
    )


def names_of(group: ClassicGroup) -> dict[str, str]:
    """Return display names by member id: the instance id, the client id if it is unique, or the member id."""
    client_ids = [member.client_id for member in group.members.values()]
    return {
        member_id: member.group_instance_id
        or (member.client_id if member.client_id and client_ids.count(member.client_id) == 1 else member_id)
        for member_id, member in group.members.items()
    }


# Waits


def _waits(group: ClassicGroup, names: dict[str, str], now_ms: int) -> tuple[Wait, ...]:
    if group.state is State.PREPARING_REBALANCE:
        return (_for_joins(group, names, now_ms),)
    if group.pending_sync_timer is not None:
        return (_for_syncs(group, names, now_ms),)
    return ()


def _for_joins(group: ClassicGroup, names: dict[str, str], now_ms: int) -> Wait:
    phase = group.join_phase
    missing = [member for member in group.members.values() if member.join_ticket is None]
    missing_names = tuple(names[member.member_id] for member in missing)
    if phase is None:
        reason = "intervention: its last join phase failed, and as in Kafka the group does not recover"
        return Wait((), reason, None, "restart all members, or delete the group")
    ends_in_ms = _remaining_ms(phase, now_ms)
    if isinstance(phase, InitialDelay):
        return Wait(missing_names, "more members (group.initial.rebalance.delay.ms)", ends_in_ms, _after_delay(phase))
    static = [names[member.member_id] for member in missing if member.group_instance_id is not None]
    if not missing:
        consequence = "the phase ends without the clients that have not used their ids"
    elif len(static) == len(missing):
        consequence = "the phase ends without them; they are static and stay members until their sessions end"
    else:
        consequence = "members that have not joined by then are removed"
        consequence += f", except the static {', '.join(static)}" if static else ""
    return Wait(
        missing_names,
        "to join (JoinGroup)" if missing_names else "clients to join with the ids they received",
        ends_in_ms,
        consequence,
    )


def _after_delay(phase: InitialDelay) -> str:
    if phase.group.new_member_added and phase.remaining_ms:
        return f"another round, since a member joined in this one; {phase.remaining_ms / 1_000:g} s of rounds remain"
    return "the first generation starts with the current members"


def _for_syncs(group: ClassicGroup, names: dict[str, str], now_ms: int) -> Wait:
    assert group.pending_sync_timer is not None, "the caller has checked it"
    pending_names = tuple(names.get(member_id, member_id) for member_id in sorted(group.pending_sync or ()))
    text = "to sync (SyncGroup)"
    leader = group.members.get(group.leader_id or "")
    if group.state is State.COMPLETING_REBALANCE and leader is not None:
        name = names[leader.member_id]
        if leader.sync_ticket is None:
            text += f", above all for the leader {name}, which assigns the partitions"
        else:
            text += f"; the assignment by the leader {name} is being written"
    return Wait(
        pending_names,
        text,
        _remaining_ms(group.pending_sync_timer, now_ms),
        "members that have not synced by then are removed",
    )


def _unused(group: ClassicGroup, now_ms: int) -> list[Wait]:
    return [
        Wait((member_id,), "to join with the id it received", _remaining_ms(session, now_ms), "the id expires")
        for member_id, session in (group.pending_joins or {}).items()
    ]


# Advice


def _advice_for(group: ClassicGroup, member: Member) -> str:
    if member.join_ticket is not None:
        return "has joined, and waits for the other members"
    if group.state is State.PREPARING_REBALANCE:
        return "should rejoin (JoinGroup); its heartbeats receive REBALANCE_IN_PROGRESS"
    if member.sync_ticket is not None:
        return "has synced, and waits for its assignment"
    if group.pending_sync is not None and member.member_id in group.pending_sync:
        leads = group.state is State.COMPLETING_REBALANCE and member.member_id == group.leader_id
        return (
            "should assign the partitions (SyncGroup), as the leader"
            if leads
            else "should request its assignment (SyncGroup)"
        )
    return "should send heartbeats"


def _session_ends_in_ms(member: Member, now_ms: int) -> int | None:
    if member.session is None or member.satisfies_heartbeat:
        return None
    return _remaining_ms(member.session, now_ms)


def _remaining_ms(operation: DelayedOperation, now_ms: int) -> int:
    return max(0, operation.deadline_ms - now_ms)
