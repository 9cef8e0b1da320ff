"""Completion of a consumer, share or streams group by a description, which covers what did not pass the proxy.

Members that send heartbeats through the proxy are known from those; a description adds what is missing.
"""

from __future__ import annotations

from typing import Any, Final

from kohort.coordinator.classic.states import State
from kohort.coordinator.events.event_emitter import US_PER_MS
from kohort.coordinator.groups.group import CLASSIC
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client
from kohort.proxy.observed.epoch_heartbeats import note_epoch
from kohort.proxy.observed.observed_epoch_group import ObservedEpochGroup
from kohort.proxy.observed.observed_events import DESCRIBED, NOT_SHOWN, UNKNOWN_CAUSE
from kohort.proxy.observed.observed_member import ObservedMember

_NO_LINE: Final = 0  # connections are counted from 1
_CLASSIC: Final = 0  # Kafka's number for a member with the classic protocol in a consumer group (KIP-1099)
_AT_REST: Final = (State.STABLE.value, State.EMPTY.value)


def apply_description(group: ObservedEpochGroup, description: Any) -> bool:
    """Apply a description unless its epoch is older than a response's."""
    if description.group_epoch < group.epoch:
        return False
    group.is_complete = False
    listed = {item.member_id for item in description.members}
    for item in description.members:
        old = group.find_static_member(getattr(item, "instance_id", None))
        if old is not None and item.member_id not in group.members and old.member_id not in listed:
            group.rename(old, item.member_id)
            old.is_unobserved = True
    group.evidence = f"{DESCRIBED}: it is missing; {NOT_SHOWN}"
    for member in [item for item in group.members.values() if item.member_id not in listed]:
        group.remove(member, UNKNOWN_CAUSE)
    for item in description.members:
        _apply_member(group, item)
    _apply_epoch(group, description.group_epoch)
    _apply_state(group, description.group_state)
    group.note_description()
    return True


# Members


def _apply_member(group: ObservedEpochGroup, description: Any) -> None:
    member = group.members.get(description.member_id) or _add_described_member(group, description)
    if member.is_unobserved:
        member.epoch = description.member_epoch
    if member.is_unobserved or not member.is_assignment_known:
        _complete_member(group, member, description)
    is_classic = getattr(description, "member_type", None) == _CLASSIC or getattr(description, "is_classic", False)
    member.speaks = CLASSIC if is_classic else ""


def _complete_member(group: ObservedEpochGroup, member: ObservedMember, description: Any) -> None:
    """Add to a member what its own requests have not shown."""
    topics = group.traffic.topics
    partitions = group.protocol.read_described(description.assignment, topics)
    member.is_assignment_known = True
    if group.protocol.revokes:  # a member's partitions include those that it must revoke
        member.revoking = partitions - group.protocol.read_described(description.target_assignment, topics)
        member.revoking_since_us = group.traffic.now_us
    member.assigned = partitions - member.revoking
    group.owners.synced(member.member_id, group.protocol.find_exclusive(partitions), group.traffic.now_us)
    member.instance_id = member.instance_id or getattr(description, "instance_id", None)
    if member.is_unobserved or not (member.topics or member.topic_regex):
        member.topics = tuple(sorted(getattr(description, "subscribed_topic_names", ())))
        member.topic_regex = getattr(description, "subscribed_topic_regex", None) or ""


def _add_described_member(group: ObservedEpochGroup, description: Any) -> ObservedMember:
    """Add a member without requests through the proxy."""
    client = Client(description.client_id, description.client_host)
    member = ObservedMember(description.member_id, client, _NO_LINE, group.traffic.now_us // US_PER_MS)
    member.is_unobserved, member.epoch = True, description.member_epoch
    member.instance_id = getattr(description, "instance_id", None)
    group.members[description.member_id] = member
    if group.was_complete:
        group.evidence = f"{DESCRIBED}; it joined without the proxy"
        group.report_member("member_added", member, cause=UNKNOWN_CAUSE, generation=None)
    return member


# Epoch and state


def _apply_epoch(group: ObservedEpochGroup, epoch: int) -> None:
    old_epoch, group.epoch = group.epoch, epoch
    if epoch > old_epoch > 0 and group.was_complete:
        note_epoch(group, old_epoch, DESCRIBED)
    group.event_state.member_ids |= {name for name, member in group.members.items() if member.is_unobserved}


def _apply_state(group: ObservedEpochGroup, state: str) -> None:
    was_complete, group.is_complete, group.was_complete = group.was_complete, True, True
    group.described_state, group.described_version = state, group.version
    if state in _AT_REST:
        group.free_partitions, group.next_cause = frozenset(), None
        if group.event_state.is_open and group.is_settled:
            group.event_state.is_open, group.event_state.stable_us = False, group.traffic.now_us
            group.evidence = DESCRIBED
            group.report_event("group_reconciled", NOBODY_KNOWN, state_to=group.protocol.settled_state and state)
    elif not was_complete and not group.event_state.is_open:  # active before the proxy listened
        group.event_state.is_open, group.event_state.started_us = True, group.traffic.now_us
