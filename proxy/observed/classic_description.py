"""Completion of a classic group by DescribeGroups, which covers what did not pass through the proxy.

The response has the members, their assignments and the group's state, but no generation. Requests that wait here, such
as a JoinGroup, show more of the state than the response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.classic_event_emitter import partitions_of
from kohort.proxy.observed.observed_classic_group import GENERATION_STATES, UNKNOWN_MS, ObservedClassicGroup
from kohort.proxy.observed.observed_events import DESCRIBED, NOT_SHOWN, UNKNOWN_CAUSE

if TYPE_CHECKING:
    from kohort.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
    from kohort.protocol.topic_partition import TopicPartition

_STATES: Final = {state.value: state for state in State if state is not State.DEAD}
_AT_REST: Final = (State.STABLE, State.EMPTY)


def apply_description(group: ObservedClassicGroup, description: DescribedGroup) -> bool:
    """Apply a description, unless the joining members are unknown."""
    if group.is_unsettled or any(not member.member_id for member in group.joins.values()):
        return False
    state = _STATES.get(description.group_state)
    if state is not None:
        _apply(group, description, state)
    group.note_description()
    return True


def _apply(group: ObservedClassicGroup, description: DescribedGroup, state: State) -> None:
    was_complete, old_ids = group.is_complete, set(group.members)
    rested_before, group.rested_at = group.rested_at, None
    group.is_complete = False
    group.classic.protocol_type = description.protocol_type or group.classic.protocol_type
    _apply_members(group, description)
    if not group.joins and not group.syncs:
        _apply_state(group, state)
    is_at_rest = group.classic.state is state and state in _AT_REST
    group.is_complete = is_at_rest or (was_complete and old_ids == set(group.members))
    group.was_complete |= is_at_rest
    if state is State.STABLE and group.classic.state is state:
        has_moved = _apply_assignments(group, description)
        if rested_before == group.classic.generation_id and (has_moved or old_ids != set(group.members)):
            group.has_generation = False  # the group has another, unknown one
        group.rested_at = group.classic.generation_id if group.has_generation else None


# Members


def _apply_members(group: ObservedClassicGroup, description: DescribedGroup) -> None:
    listed = {item.member_id: item for item in description.members}
    is_joining = description.group_state == State.PREPARING_REBALANCE.value
    for item in listed.values():
        old = group.find_static_member(item.group_instance_id)
        if old is not None and item.member_id not in group.members and old.member_id not in listed:
            old_id = group.rename(old, item.member_id)
            group.events.of(group.classic).renamed(old_id, item.member_id)
            group.unobserved_ids.add(item.member_id)
    for member in [item for item in group.members.values() if item.member_id not in listed]:
        if member.join_ticket is None:
            group.remove(member, f"{DESCRIBED}: it is missing; {NOT_SHOWN}")
    for item in listed.values():
        member = group.members.get(item.member_id) or _add_described_member(group, item, is_joining)
        _complete_member(group, member, item, description.protocol_data)


def _add_described_member(group: ObservedClassicGroup, description: DescribedGroupMember, is_joining: bool) -> Member:
    """Add a member without own requests through the proxy.

    Args:
        is_joining: The member may be new in this generation.
    """
    member = group.add_unobserved(
        description.member_id, description.group_instance_id, description.client_id, description.client_host
    )
    group.unobserved_ids.add(description.member_id)
    if group.was_complete:
        group.report_unobserved_join(member, DESCRIBED)
    elif not is_joining:
        group.events.of(group.classic).member_ids.add(description.member_id)
    return member


def _complete_member(
    group: ObservedClassicGroup, member: Member, description: DescribedGroupMember, protocol: str
) -> None:
    is_unobserved = member.member_id in group.unobserved_ids
    if not member.client_id or is_unobserved:
        member.client_id, member.client_host = description.client_id, description.client_host
    member.group_instance_id = member.group_instance_id or description.group_instance_id
    if description.member_metadata and (is_unobserved or not member.protocols):
        member.protocols = ((protocol, description.member_metadata),)


def _apply_assignments(group: ObservedClassicGroup, description: DescribedGroup) -> bool:
    """Take over the assignments of a stable group, from which the next changes are counted.

    Members that joined this generation through the proxy and have not synced are left out. Return whether any
    assignment differs from the known one.
    """
    classic, owners = group.classic, group.events.of(group.classic).owners
    classic.protocol_name = description.protocol_data or classic.protocol_name
    if classic.subscribed_topics is None:
        classic.subscribed_topics = classic.read_subscriptions(tolerant=True)
    has_moved = False
    assigned_by_id: dict[str, frozenset[TopicPartition]] = {}
    for item in description.members:
        member = group.members[item.member_id]
        if member.session_timeout_ms == UNKNOWN_MS:
            group.unsynced.discard(item.member_id)
        if item.member_id not in group.unsynced:
            has_moved |= bool(member.assignment) and member.assignment != item.member_assignment
            member.assignment = item.member_assignment
            assigned = partitions_of(classic, member.assignment)
            if assigned is not None:
                assigned_by_id[item.member_id] = assigned
                owners.synced(item.member_id, assigned, group.traffic.now_us)
    owners.assigned(assigned_by_id, None)
    return has_moved


# State


def _apply_state(group: ObservedClassicGroup, state: State) -> None:
    """Take over the state. A rebalance without observed joins is reported without a cause."""
    old_state, is_change = group.classic.state, group.is_state_known
    if old_state is state and is_change:
        return
    if is_change and old_state in GENERATION_STATES and state is State.PREPARING_REBALANCE:
        group.evidence = f"{DESCRIBED}: it rebalances; {NOT_SHOWN}{group.describe_silence()}"
        group.start_rebalance(Cause(UNKNOWN_CAUSE))
        return
    group.set_state(state)
    if state is State.PREPARING_REBALANCE:
        group.events.of(group.classic).started_us = group.traffic.now_us
    elif state is State.STABLE:
        _on_stable(group, old_state, is_change)


def _on_stable(group: ObservedClassicGroup, old_state: State, is_change: bool) -> None:
    if old_state is State.PREPARING_REBALANCE:  # into an unknown generation
        group.has_generation = False
    if is_change and old_state in (State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE):
        group.evidence = DESCRIBED
        group.events.rebalance_completed(group.classic)
