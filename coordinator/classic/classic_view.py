"""Conversion of a classic group to a `GroupView`."""

from kohort.coordinator.classic.classic_group import CONSUMER, ClassicGroup
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.rebalancing import InitialDelay
from kohort.coordinator.classic.states import State
from kohort.coordinator.groups.group import CLASSIC
from kohort.coordinator.groups.view_parts import IsAlive, remaining_ms
from kohort.groups.group_members import GroupMember
from kohort.groups.group_view import JOIN, SYNC, GroupView, RebalancePhase
from kohort.protocol.consumer_protocol import ImpossibleLengthError, assigned_partitions, subscribed_topics


def view_of(group: ClassicGroup, now_ms: int, is_alive: IsAlive) -> GroupView:
    return GroupView(
        group_id=group.group_id,
        type=CLASSIC,
        state=group.state.value,
        version=group.generation_id,
        target_epoch=group.generation_id,
        protocol=group.protocol_name or "",
        members=tuple(
            view_of_member(group, member, now_ms, is_alive(group, member)) for member in group.members.values()
        ),
        leader_id=group.leader_id,
        phase=_phase(group, now_ms),
        unused_ids=tuple(
            (member_id, remaining_ms(session, now_ms) or 0)
            for member_id, session in (group.pending_joins or {}).items()
        ),
    )


def view_of_member(group: ClassicGroup, member: Member, now_ms: int, is_alive: bool) -> GroupMember:
    partitions = assigned_partitions(member.assignment) or {}
    return GroupMember(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host.lstrip("/"),
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        is_leader=member.member_id == group.leader_id,
        is_alive=is_alive,
        waits_for=JOIN if member.join_ticket is not None else SYNC if member.sync_ticket is not None else "",
        partitions=partitions,
        speaks=CLASSIC,
        epoch=group.generation_id,
        target=partitions,
        topics=_topics(member) if group.protocol_type == CONSUMER else (),
        session_ends_in_ms=None if member.satisfies_heartbeat else remaining_ms(member.session, now_ms),
        listed_assignors=tuple(dict.fromkeys(name for name, _ in member.protocols)),
        heartbeat_gaps={} if member.stats is None else member.stats.gaps,
    )


def _topics(member: Member) -> tuple[str, ...]:
    try:
        topics = subscribed_topics(member.protocols[0][1]) if member.protocols else None
    except ImpossibleLengthError:
        return ()
    return tuple(sorted(topics or ()))


def _phase(group: ClassicGroup, now_ms: int) -> RebalancePhase | None:
    if group.state is State.PREPARING_REBALANCE:
        timer = group.join_phase
        is_initial = isinstance(timer, InitialDelay)
        return RebalancePhase(
            step=JOIN,
            awaited=tuple(member.member_id for member in group.members.values() if member.join_ticket is None),
            ends_in_ms=None if timer is None else max(0, timer.deadline_ms - now_ms),
            is_initial_delay=is_initial,
            next_round_ms=timer.remaining_ms if isinstance(timer, InitialDelay) and group.new_member_added else 0,
            is_stuck=timer is None,
        )
    if group.pending_sync_timer is not None:
        return RebalancePhase(
            step=SYNC,
            awaited=tuple(sorted(group.pending_sync or ())),
            ends_in_ms=max(0, group.pending_sync_timer.deadline_ms - now_ms),
            is_assigning=group.state is State.COMPLETING_REBALANCE,
        )
    return None
