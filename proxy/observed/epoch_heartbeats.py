"""Heartbeats in the observed traffic of a consumer, share or streams group.

A response contains the member's own epoch and its assignment. The group epoch is at least the highest of these. All
members have their assignments if none must revoke anything, nothing revoked is unassigned, or all have received a
response without changes since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_emitter import US_PER_MS
from kohort.coordinator.events.event_state import FENCED
from kohort.coordinator.events.group_event import NO_PARTITION
from kohort.coordinator.modern.modern_values import LEAVING_EPOCH, STATIC_LEAVING_EPOCH
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client
from kohort.protocol.errors import ErrorCode
from kohort.proxy.observed.observed_epoch_group import ObservedEpochGroup
from kohort.proxy.observed.observed_events import ANSWER, NOT_SHOWN, REFUSAL, REQUEST, UNKNOWN_CAUSE
from kohort.proxy.observed.observed_member import ObservedMember

if TYPE_CHECKING:
    from kohort.proxy.tap import ObservedCall

JOINS: Final = 0

FIRST_SUBSCRIBED: Final = 2
"""Epoch of a new group once its first member has subscribed."""

_FENCING: Final = (
    ErrorCode.fenced_member_epoch, ErrorCode.fenced_instance_id, ErrorCode.unreleased_instance_id
)  # fmt: skip


# Heartbeats


def on_heartbeat_response(group: ObservedEpochGroup, observed: ObservedCall, request: Any, answer: Any) -> bool:
    """Apply a heartbeat and its response. Return whether anything changed."""
    name = answer.member_id or request.member_id
    if answer.error_code is not ErrorCode.none:
        _on_error(group, name, request, answer.error_code, observed)
        return True
    member = group.members.get(name)
    if request.member_epoch in (LEAVING_EPOCH, STATIC_LEAVING_EPOCH):
        _on_leave(group, member, request.member_epoch)
        return True
    epoch_before, group.epoch = group.epoch, max(group.epoch, answer.member_epoch)
    is_changed = member is None or request.member_epoch == JOINS
    if member is None or member.is_away:
        member = _add_member(group, name, observed, request, answer.member_epoch, epoch_before)
    group.note_heartbeat(member.member_id)
    is_changed |= _apply_heartbeat(group, member, observed, request, answer, epoch_before)
    if not is_changed:
        member.settled_us = group.traffic.now_us
    group.check_settled(member)
    return is_changed


def _add_member(
    group: ObservedEpochGroup, name: str, observed: ObservedCall, request: Any, epoch: int, epoch_before: int
) -> ObservedMember:
    """Add a member that joins, or that was active before the proxy listened."""
    client = group.traffic.client_of(observed)
    member = ObservedMember(name, client, observed.line.number, group.traffic.now_us // US_PER_MS)
    member.instance_id = getattr(request, "instance_id", None)
    member.rebalance_timeout_ms = getattr(request, "rebalance_timeout_ms", -1)
    member.epoch = epoch
    group.protocol.update_member(member, request)
    old = group.find_static_member(member.instance_id)
    if request.member_epoch != JOINS:
        group.members[name] = member
        group.event_state.member_ids.add(name)
        member.is_assignment_known, group.needs_description = False, True
    elif old is not None:
        _replace_static_member(group, member, old)
    else:
        _add_new_member(group, member, epoch_before)
    return member


def _add_new_member(group: ObservedEpochGroup, member: ObservedMember, epoch_before: int) -> None:
    group.members[member.member_id] = member
    group.evidence = REQUEST
    cause = "join_new" if member.instance_id is None else "join_static"
    if member.topics or member.topic_regex or group.protocol.has_tasks:
        group.next_cause = member.cause(cause)
    generation = group.epoch if group.epoch > epoch_before else None
    group.report_member("member_added", member, cause=cause, generation=generation)


def _replace_static_member(group: ObservedEpochGroup, member: ObservedMember, old: ObservedMember) -> None:
    """Replace a static member that returns, perhaps with a new id."""
    old_id = group.rename(old, member.member_id)
    group.members[member.member_id] = member
    member.assigned = old.assigned
    group.evidence = REQUEST
    group.report_member("member_replaced", member, detail={"old_member_id": old_id})


def _apply_heartbeat(
    group: ObservedEpochGroup,
    member: ObservedMember,
    observed: ObservedCall,
    request: Any,
    answer: Any,
    epoch_before: int,
) -> bool:
    """Apply a member's request and its response. Return whether anything changed."""
    member.line, member.is_connected = observed.line.number, True
    if member.is_unobserved:
        member.is_unobserved, member.client = False, group.traffic.client_of(observed)
    if getattr(request, "rebalance_timeout_ms", -1) > 0:
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
    has_new_epoch, member.epoch = answer.member_epoch != member.epoch, answer.member_epoch
    changed_property = group.protocol.update_member(member, request)
    if changed_property is not None:
        group.next_cause = member.cause("metadata_changed")
        group.evidence = REQUEST
        generation = group.epoch if group.epoch > epoch_before else None
        group.report_member("member_metadata_changed", member, detail={"what": changed_property}, generation=generation)
    if group.epoch > epoch_before:
        note_epoch(group, epoch_before)
    owned, assigned = group.protocol.read_owned(request), group.protocol.read_assignment(answer)
    _note_revoked(group, member, owned)
    if assigned is not None:
        _apply_assignment(group, member, assigned, owned)
    return changed_property is not None or has_new_epoch or assigned is not None


def _note_revoked(group: ObservedEpochGroup, member: ObservedMember, owned: frozenset[Any] | None) -> None:
    if owned is None or not member.revoking or member.revoking & owned:
        return
    lost, member.revoking = member.revoking, frozenset()
    group.owners.synced(member.member_id, group.protocol.find_exclusive(member.assigned), group.traffic.now_us)
    group.free(lost)
    group.evidence = REQUEST
    took_us = group.traffic.now_us - member.revoking_since_us
    group.report_partitions("member_revoked", member, lost, duration_us=took_us)


def _apply_assignment(
    group: ObservedEpochGroup, member: ObservedMember, assigned: frozenset[Any], owned: frozenset[Any] | None
) -> None:
    """Apply the assignment in a response."""
    lost, gained = member.assigned - assigned, assigned - member.assigned
    member.assigned, member.is_assignment_known = assigned, True
    unowned_us = group.owners.synced(
        member.member_id, group.protocol.find_exclusive(assigned | lost), group.traffic.now_us
    )
    group.free_partitions -= gained
    group.evidence = ANSWER
    since_bump_us = group.traffic.now_us - group.event_state.started_us
    if lost and group.protocol.revokes and owned is not None and not lost & owned:  # revoked before the response
        group.free(lost)
        group.report_partitions("member_revoked", member, lost)
    elif lost and group.protocol.revokes:
        member.revoking |= lost
        member.revoking_since_us = group.traffic.now_us
        # It must revoke something for another epoch than its own, which may not have been in a response yet.
        epoch = group.epoch if group.epoch > member.epoch else None
        group.report_partitions("member_revoking", member, member.revoking, duration_us=since_bump_us, generation=epoch)
    if gained:
        notified = gained if group.protocol.revokes else assigned
        group.report_partitions("member_assigned", member, notified, unowned_us, duration_us=since_bump_us)


# Epochs


def note_epoch(group: ObservedEpochGroup, old_epoch: int, shown_by: str = ANSWER) -> None:
    """Note a new group epoch, shown by a response or by `shown_by`."""
    state, now_us = group.event_state, group.traffic.now_us
    cause, group.next_cause = group.next_cause or Cause(UNKNOWN_CAUSE), None
    is_known = cause.name != UNKNOWN_CAUSE
    if old_epoch == 0:  # the first observed one; a new group has 1, and 2 after a subscription
        group.is_complete = group.was_complete = is_known and group.epoch <= FIRST_SUBSCRIBED and group.is_new
        group.needs_description |= not group.is_complete
        if group.epoch != FIRST_SUBSCRIBED or not is_known:
            return
    else:
        group.is_complete = group.is_complete and is_known and group.epoch == old_epoch + 1
        group.needs_description |= not group.is_complete
    stable_us = None if state.is_open or old_epoch == 0 else now_us - state.stable_us
    state.rebalances += 1
    state.rebalance_id = f"{group.group_id}/{NO_PARTITION}/{state.rebalances}"
    state.started_us, state.is_open = now_us, True
    group.evidence = shown_by if is_known else f"{shown_by}: the epoch is new; {NOT_SHOWN}"
    member_changes = state.who_changed(set(group.members))
    group.report_event(
        "epoch_bumped",
        Client(cause.client_id, cause.client_host),
        cause=cause.name,
        member_id=cause.member_id or None,
        duration_us=stable_us,
        **(member_changes if group.is_complete else {}),
    )


# Removed members


def _on_leave(group: ObservedEpochGroup, member: ObservedMember | None, epoch: int) -> None:
    if member is None:
        return
    group.evidence = REQUEST
    if epoch == STATIC_LEAVING_EPOCH:
        member.epoch, member.revoking = STATIC_LEAVING_EPOCH, frozenset()
        group.report_partitions("member_stepped_out", member, member.assigned)
        return
    group.remove(member, "leave_explicit")


def _on_error(group: ObservedEpochGroup, name: str, request: Any, error: ErrorCode, observed: ObservedCall) -> None:
    member = group.members.get(name)
    if error is ErrorCode.unknown_member_id and member is not None:
        group.evidence = f"{REFUSAL}: {error.name.upper()}; {NOT_SHOWN}"
        group.is_complete, group.needs_description = False, True
        group.remove(member, UNKNOWN_CAUSE)
    elif error in _FENCING and group.event_state.refusals.is_first(name, FENCED, NOBODY_KNOWN, request.member_epoch):
        group.evidence = REFUSAL
        group.report_event(
            "member_fenced",
            group.traffic.client_of(observed),
            member_id=name,
            instance_id=getattr(request, "instance_id", None),
            member_epoch=request.member_epoch,
            error=error.name.upper(),
        )
