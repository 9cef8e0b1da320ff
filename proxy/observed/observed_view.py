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
from kohort.proxy.observed.observed_classic_group import UNKNOWN_MS, ObservedClassicGroup

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_member import Member
    from kohort.proxy.observed.group_listener import AnyObserved
    from kohort.proxy.observed.observed_epoch_group import ObservedEpochGroup
    from kohort.proxy.observed.observed_member import ObservedMember


def view_of(group: AnyObserved, now_us: int) -> GroupView:
    view = _classic(group, now_us) if isinstance(group, ObservedClassicGroup) else _with_epochs(group, now_us)
    return replace(
        view,
        knows_timers=False,
        is_complete=group.is_complete,
        not_described=group.not_described,
        described_ms_ago=(now_us - group.described_us) // US_PER_MS if group.described_us else None,
    )


def _evidence(is_unobserved: bool, silent_ms: int) -> dict[str, Any]:
    return (
        {"evidence": Evidence.DESCRIPTION} if is_unobserved else {"evidence": Evidence.REQUESTS, "silent_ms": silent_ms}
    )


# Classic groups


def _classic(group: ObservedClassicGroup, now_us: int) -> GroupView:
    classic = group.classic
    version = classic.generation_id if group.has_generation else None
    return GroupView(
        group_id=group.group_id,
        type=group.group_type,
        state=classic.state.value if group.is_state_known else "",
        version=version,
        target_epoch=version,
        protocol=classic.protocol_name or "",
        members=tuple(_classic_member(group, member, now_us) for member in group.members.values()),
        leader_id=classic.leader_id,
        phase=_phase(group, now_us),
    )


def _classic_member(group: ObservedClassicGroup, member: Member, now_us: int) -> GroupMember:
    is_connected = group.connected.get(member.member_id, True)
    view = view_of_member(group.classic, member, now_us // US_PER_MS, is_connected)
    evidence = _evidence(member.member_id in group.unobserved_ids, group.silent_ms(member, now_us))
    return replace(view, session_ends_in_ms=None, **evidence)


def _phase(group: ObservedClassicGroup, now_us: int) -> RebalancePhase | None:
    members, state = group.members.values(), group.classic.state
    if state is State.PREPARING_REBALANCE:
        return RebalancePhase(
            step=JOIN,
            awaited=tuple(member.member_id for member in members if member.join_ticket is None),
            since_ms=(now_us - group.rebalancing_since_us) // US_PER_MS,
        )
    if state is State.COMPLETING_REBALANCE:
        awaited = tuple(member.member_id for member in members if member.member_id in group.unsynced)
        return RebalancePhase(step=SYNC, awaited=awaited, is_assigning=True)
    return None


# Groups with epochs


def _with_epochs(group: ObservedEpochGroup, now_us: int) -> GroupView:
    epoch = group.epoch or None
    return GroupView(
        group_id=group.group_id,
        type=group.group_type,
        state=group.state_name,
        version=epoch,
        target_epoch=epoch,
        is_lower_bound=epoch is not None,
        members=tuple(_member(group, member, now_us) for member in group.members.values()),
    )


def _member(group: ObservedEpochGroup, member: ObservedMember, now_us: int) -> GroupMember:
    partitions, revoking = group.by_topic(member.assigned), group.by_topic(member.revoking)
    behind = member.epoch != group.epoch and not member.is_away
    facts: dict[str, Any] = {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client.client_id,
        "client_host": member.client.client_host.lstrip("/"),
        "session_timeout_ms": UNKNOWN_MS,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "is_alive": member.is_connected,
        "partitions": partitions,
        "speaks": member.speaks or group.group_type,
        "epoch": member.epoch,
        "state": "UnrevokedPartitions" if revoking else "" if behind else "Stable",
        "target": partitions,
        "revoking": revoking,
        "topics": member.topics,
        "topic_regex": member.topic_regex,
        "assignor": member.assignor,
        **_evidence(member.is_unobserved, now_us // US_PER_MS - member.stats.last_active_ms),
    }
    if not any(isinstance(item, RoleTask) for item in member.assigned | member.revoking):
        return GroupMember(**facts)
    tasks = _tasks(member.assigned)
    return TaskMember(**facts, topology_epoch=None, tasks=tasks, pending=_tasks(member.revoking), target_tasks=tasks)


def _tasks(tasks: frozenset[RoleTask]) -> MemberTasks:
    active, standby = (
        tuple(f"{task.subtopology_id}_{task.partition}" for task in sorted(tasks) if task.role is role)
        for role in (Role.ACTIVE, Role.STANDBY)
    )
    return MemberTasks(active, standby)
