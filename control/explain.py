"""A group in words: whom it waits for and until when, what each client should do now, and what is badly set.

Looks and changes nothing, so it may be asked at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kohort.control.explanation import Advice, Explanation, Wait
from kohort.control.settings_advice import badly_set
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
    """`group`: None where there is none of that id. `is_alive`: the laboratory's, where there is one.

    `events`: what has happened to it, as far as that was recorded.
    """
    if group is None or group.state is State.DEAD:
        return Explanation(f"group {group_id}: there is none; the first JoinGroup or commit makes it", (), (), ())
    names = names_of(group)
    count = len(group.members)
    headline = (
        f"group {group_id}: {group.state.value}, generation {group.generation_id}, {count} member{'s'[count == 1 :]}"
    )
    clients = tuple(
        Advice(
            names[member.member_id],
            _should(group, member),
            _session_ends_in_ms(member, now_ms),
            None if is_alive is None else is_alive(group, member),
        )
        for member in group.members.values()
    )
    return Explanation(
        headline, (*_waits(group, names, now_ms), *_unused(group, now_ms)), clients, badly_set(group, names, events)
    )


def names_of(group: ClassicGroup) -> dict[str, str]:
    """Member ids to what a person calls them: instance id, client id if no other has it too, or the id itself."""
    client_ids = [member.client_id for member in group.members.values()]
    return {
        member_id: member.group_instance_id
        or (member.client_id if member.client_id and client_ids.count(member.client_id) == 1 else member_id)
        for member_id, member in group.members.items()
    }


# What it waits for


def _waits(group: ClassicGroup, names: dict[str, str], now_ms: int) -> tuple[Wait, ...]:
    if group.state is State.PREPARING_REBALANCE:
        return (_for_joins(group, names, now_ms),)
    if group.pending_sync_timer is not None:
        return (_for_syncs(group, names, now_ms),)
    return ()


def _for_joins(group: ClassicGroup, names: dict[str, str], now_ms: int) -> Wait:
    phase = group.join_phase
    missing = [member for member in group.members.values() if member.join_ticket is None]
    whom = tuple(names[member.member_id] for member in missing)
    if phase is None:
        what = "a way on: its last join phase failed, and as in Kafka it stays as it is"
        return Wait((), what, None, "restart all members, or delete the group")
    ends_in_ms = _left(phase, now_ms)
    if isinstance(phase, InitialDelay):
        return Wait(whom, "more members (group.initial.rebalance.delay.ms)", ends_in_ms, _after_delay(phase))
    static = [names[member.member_id] for member in missing if member.group_instance_id is not None]
    if not missing:
        then = "the phase ends without those who hold an id and have not used it"
    elif len(static) == len(missing):
        then = "the phase ends without them; they are static and stay members until their sessions end"
    else:
        then = "whoever has not joined by then is removed"
        then += f", but for the static {', '.join(static)}" if static else ""
    return Wait(whom, "to join (JoinGroup)" if whom else "the use of ids that were handed out", ends_in_ms, then)


def _after_delay(phase: InitialDelay) -> str:
    if phase.group.new_member_added and phase.remaining_ms:
        return f"another round, since somebody came in this one; {phase.remaining_ms / 1_000:g} s of rounds are left"
    return "the first generation begins with those who are there"


def _for_syncs(group: ClassicGroup, names: dict[str, str], now_ms: int) -> Wait:
    assert group.pending_sync_timer is not None, "asked by whoever looked"
    late = tuple(names.get(member_id, member_id) for member_id in sorted(group.pending_sync or ()))
    what = "to sync (SyncGroup)"
    leader = group.members.get(group.leader_id or "")
    if group.state is State.COMPLETING_REBALANCE and leader is not None:
        name = names[leader.member_id]
        if leader.sync_ticket is None:
            what += f", above all for the leader {name}, who hands out the partitions"
        else:
            what += f"; the leader {name} has handed out the partitions, which are being written"
    return Wait(late, what, _left(group.pending_sync_timer, now_ms), "whoever has not synced by then is removed")


def _unused(group: ClassicGroup, now_ms: int) -> list[Wait]:
    return [
        Wait((member_id,), "to join with the id it was given", _left(session, now_ms), "the id is forgotten")
        for member_id, session in (group.pending_joins or {}).items()
    ]


# What each client should do


def _should(group: ClassicGroup, member: Member) -> str:
    if member.join_ticket is not None:
        return "has joined, and waits for the others"
    if group.state is State.PREPARING_REBALANCE:
        return "should join again (JoinGroup); its heartbeats are answered REBALANCE_IN_PROGRESS"
    if member.sync_ticket is not None:
        return "has synced, and waits for its share"
    if group.pending_sync is not None and member.member_id in group.pending_sync:
        leads = group.state is State.COMPLETING_REBALANCE and member.member_id == group.leader_id
        return (
            "should hand out the partitions (SyncGroup): it leads" if leads else "should ask for its share (SyncGroup)"
        )
    return "should send heartbeats"


def _session_ends_in_ms(member: Member, now_ms: int) -> int | None:
    if member.session is None or member.satisfies_heartbeat:
        return None
    return _left(member.session, now_ms)


def _left(operation: DelayedOperation, now_ms: int) -> int:
    return max(0, operation.deadline_ms - now_ms)
