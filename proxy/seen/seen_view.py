"""Conversion of an observed group to a `GroupView`, in which unknown facts are missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kohort.coordinator.classic.classic_view import view_of_member
from kohort.coordinator.classic.states import State
from kohort.coordinator.events.event_emitter import US_PER_MS
from kohort.coordinator.events.task_names import RoleTask
from kohort.coordinator.streams.streams_owners import Role
from kohort.groups.group_members import Evidence, GroupMember, MemberTasks, TaskMember
from kohort.groups.group_view import JOIN, SYNC, GroupView, RebalancePhase
from kohort.proxy.seen.classic_known import NOT_KNOWN_MS
from kohort.proxy.seen.classic_sight import ClassicSight

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_member import Member
    from kohort.proxy.seen.epoch_member import EpochMember
    from kohort.proxy.seen.epoch_sight import EpochSight
    from kohort.proxy.seen.group_listener import AnySight


def view_of(sight: AnySight, now_us: int) -> GroupView:
    view = _classic(sight, now_us) if isinstance(sight, ClassicSight) else _with_epochs(sight, now_us)
    return replace(
        view,
        knows_timers=False,
        is_complete=sight.is_complete,
        not_described=sight.not_described,
        described_ms_ago=(now_us - sight.described_us) // US_PER_MS if sight.described_us else None,
    )


def _evidence(is_stranger: bool, silent_ms: int) -> dict[str, Any]:
    return (
        {"evidence": Evidence.DESCRIPTION} if is_stranger else {"evidence": Evidence.REQUESTS, "silent_ms": silent_ms}
    )


# Classic groups


def _classic(sight: ClassicSight, now_us: int) -> GroupView:
    group = sight.group
    version = group.generation_id if sight.has_generation else None
    return GroupView(
        group_id=sight.group_id,
        type=sight.group_type,
        state=group.state.value if sight.is_state_known else "",
        version=version,
        target_epoch=version,
        protocol=group.protocol_name or "",
        members=tuple(_classic_member(sight, member, now_us) for member in sight.members.values()),
        leader_id=group.leader_id,
        phase=_phase(sight, now_us),
    )


def _classic_member(sight: ClassicSight, member: Member, now_us: int) -> GroupMember:
    is_connected = sight.connected.get(member.member_id, True)
    view = view_of_member(sight.group, member, now_us // US_PER_MS, is_connected)
    evidence = _evidence(member.member_id in sight.strangers, sight.silent_ms(member, now_us))
    return replace(view, session_ends_in_ms=None, **evidence)


def _phase(sight: ClassicSight, now_us: int) -> RebalancePhase | None:
    members, state = sight.members.values(), sight.group.state
    if state is State.PREPARING_REBALANCE:
        return RebalancePhase(
            step=JOIN,
            awaited=tuple(member.member_id for member in members if member.join_ticket is None),
            since_ms=(now_us - sight.rebalancing_since_us) // US_PER_MS,
        )
    if state is State.COMPLETING_REBALANCE:
        awaited = tuple(member.member_id for member in members if member.member_id in sight.unsynced)
        return RebalancePhase(step=SYNC, awaited=awaited, is_assigning=True)
    return None


# Groups with epochs


def _with_epochs(sight: EpochSight, now_us: int) -> GroupView:
    epoch = sight.epoch or None
    return GroupView(
        group_id=sight.group_id,
        type=sight.group_type,
        state=sight.state_name,
        version=epoch,
        target_epoch=epoch,
        is_lower_bound=epoch is not None,
        members=tuple(_member(sight, member, now_us) for member in sight.members.values()),
    )


def _member(sight: EpochSight, member: EpochMember, now_us: int) -> GroupMember:
    partitions, revoking = sight.by_topic(member.has), sight.by_topic(member.revoking)
    behind = member.epoch != sight.epoch and not member.is_away
    facts: dict[str, Any] = {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client.client_id,
        "client_host": member.client.client_host.lstrip("/"),
        "session_timeout_ms": NOT_KNOWN_MS,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "is_alive": member.is_connected,
        "partitions": partitions,
        "speaks": member.speaks or sight.group_type,
        "epoch": member.epoch,
        "state": "UnrevokedPartitions" if revoking else "" if behind else "Stable",
        "target": partitions,
        "revoking": revoking,
        "topics": member.topics,
        "topic_regex": member.topic_regex,
        "assignor": member.assignor,
        **_evidence(member.is_stranger, now_us // US_PER_MS - member.stats.last_active_ms),
    }
    if not any(isinstance(item, RoleTask) for item in member.has | member.revoking):
        return GroupMember(**facts)
    tasks = _tasks(member.has)
    return TaskMember(**facts, topology_epoch=None, tasks=tasks, pending=_tasks(member.revoking), target_tasks=tasks)


def _tasks(tasks: frozenset[RoleTask]) -> MemberTasks:
    active, standby = (
        tuple(f"{task.subtopology_id}_{task.partition}" for task in sorted(tasks) if task.role is role)
        for role in (Role.ACTIVE, Role.STANDBY)
    )
    return MemberTasks(active, standby)
