"""JoinGroup in the observed traffic: waiting members, members of the next generation, and missing ones.

Also errors that show a rebalance or a removed member.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.joining import REVOKED
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_emitter import US_PER_MS
from kohort.coordinator.shared_values import shared_protocols
from kohort.protocol.errors import ErrorCode
from kohort.proxy.observed.observed_classic_group import (
    COORDINATOR_ERRORS,
    GENERATION_STATES,
    NONE,
    UNKNOWN_MS,
    Join,
    ObservedClassicGroup,
)
from kohort.proxy.observed.observed_events import ANSWER, NOT_SHOWN, REFUSAL, REQUEST, ROSTER, UNKNOWN_CAUSE

if TYPE_CHECKING:
    from kohort.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
    from kohort.proxy.tap import ObservedCall


def on_join_request(group: ObservedClassicGroup, observed: ObservedCall, request: JoinGroupRequest) -> None:
    """Note a JoinGroup request. Whether it waits is only known when no response follows at once."""
    group.joins[observed] = Join(request)
    group.has_joined = True


def settle(group: ObservedClassicGroup, before_us: int) -> None:
    """Note that JoinGroup requests from before `before_us` without a response wait: the group rebalances."""
    _settle_joins(group, before_us)
    if group.early_joins:
        answered_us = group.early_joins[0][0].answered_us
        if answered_us is not None and answered_us <= before_us:
            _complete_join(group, *group.early_joins[0])


def _settle_joins(group: ObservedClassicGroup, before_us: int) -> None:
    now_us = group.traffic.now_us
    for observed, join in list(group.joins.items()):
        if not join.waits and observed.requested_us <= before_us:
            group.set_event_time(observed.requested_us)
            _note_waiting(group, observed, join)
    group.traffic.now_us = now_us


def on_join_response(group: ObservedClassicGroup, observed: ObservedCall, answer: JoinGroupResponse | None) -> None:
    """Apply a response, or None if it was not copied."""
    join = group.joins.get(observed)
    if join is None:
        return
    if answer is not None and answer.error_code is NONE:
        _on_joined(group, observed, join, answer)
    del group.joins[observed]
    if answer is None or answer.error_code is NONE:
        return
    error = answer.error_code
    if error is ErrorCode.member_id_required:
        group.evidence = ANSWER
        group.issued_ids[answer.member_id] = group.unused_ids[answer.member_id] = None
        while len(group.issued_ids) > group.traffic.max_removed:
            del group.issued_ids[next(iter(group.issued_ids))]
        group.events.member_id_issued(group.classic, answer.member_id, observed)
    else:
        _on_join_error(group, join, error)


def _on_join_error(group: ObservedClassicGroup, join: Join, error: ErrorCode) -> None:
    on_member_error(group, join.member_id, join.request.group_instance_id, error)
    member = group.members.get(join.member_id)
    if member is not None:
        member.join_ticket = None
        if member.is_new and error not in COORDINATOR_ERRORS:
            group.remove(member, f"its JoinGroup was rejected: {error.name.upper()}")


def on_member_error(group: ObservedClassicGroup, member_id: str, instance_id: str | None, error: ErrorCode) -> None:
    """Apply an error in the response to any request of a member."""
    member = group.members.get(member_id)
    is_same_instance = member is not None and instance_id in (None, member.group_instance_id)
    if error is ErrorCode.unknown_member_id and member is not None and is_same_instance:
        group.remove(member, f"{REFUSAL}: {error.name.upper()}; {NOT_SHOWN}")
    elif error is ErrorCode.fenced_instance_id and instance_id:
        group.evidence = REFUSAL
        group.events.member_fenced(group.classic, member_id, instance_id)
    elif error is ErrorCode.rebalance_in_progress:
        on_rebalance_error(group)


def on_rebalance_error(group: ObservedClassicGroup) -> None:
    """Note that the cluster rebalances the group."""
    if group.classic.state is State.PREPARING_REBALANCE:
        return
    settle(group, group.traffic.now_us)
    if group.classic.state in GENERATION_STATES or not group.is_state_known:
        group.evidence = f"{REFUSAL}: members must join again; {NOT_SHOWN}{group.describe_silence()}"
        group.is_complete, group.needs_description = False, True  # a member may have left
        group.start_rebalance(Cause(UNKNOWN_CAUSE))


def _note_waiting(group: ObservedClassicGroup, observed: ObservedCall, join: Join) -> None:
    """Note that a JoinGroup waits, or has waited, for other members."""
    join.waits = True
    request, member = join.request, _find_member(group, join)
    group.evidence = REQUEST
    if member is None:
        _note_waiting_newcomer(group, observed, join)
        return
    if not join.member_id:
        _note_waiting_static_member(group, observed, join)
        return
    was_waiting = member.join_ticket in group.joins
    old_state, member.join_ticket = member.protocols, observed
    timeouts = _timeouts(observed, request)
    if member.client_id:
        changed = timeouts != (member.rebalance_timeout_ms, member.session_timeout_ms)
        group.events.metadata_changed(group.classic, member, join.protocols, changed)
    _update_member(group, member, observed, join)
    if group.classic.state is not State.PREPARING_REBALANCE:
        same = shared_protocols(join.protocols) == old_state
        group.start_rebalance(member.cause(_find_rejoin_cause(group, member, join, same), request.reason or ""))
    elif not member.is_new and not was_waiting:
        group.events.member_rejoined(group.classic, member, request.reason or "")


def _find_rejoin_cause(group: ObservedClassicGroup, member: Member, join: Join, same: bool) -> str:
    if not same:
        return "cooperative_followup" if REVOKED in (join.request.reason or "") else "metadata_changed"
    return "rejoin_leader" if member.member_id == group.classic.leader_id else UNKNOWN_CAUSE


def _note_waiting_static_member(group: ObservedClassicGroup, observed: ObservedCall, join: Join) -> None:
    """Note a returning static member, whose new id is in the response."""
    if group.classic.state is not State.PREPARING_REBALANCE:
        name = "static_protocol_changed" if group.classic.state is State.STABLE else "join_static"
        client = group.traffic.client_of(observed)
        group.start_rebalance(Cause(name, "", client.client_id, client.client_host, join.request.reason or ""))


def _note_waiting_newcomer(group: ObservedClassicGroup, observed: ObservedCall, join: Join) -> None:
    request, name = join.request, "join_new" if join.request.group_instance_id is None else "join_static"
    client = group.traffic.client_of(observed)
    cause = Cause(name, join.member_id, client.client_id, client.client_host, request.reason or "")
    if join.member_id:
        _add_member(group, observed, join, cause)
    if group.classic.state is not State.PREPARING_REBALANCE:
        group.start_rebalance(cause)


def _add_member(group: ObservedClassicGroup, observed: ObservedCall, join: Join, cause: Cause) -> Member:
    request, classic = join.request, group.classic
    member = Member(
        join.member_id,
        request.group_instance_id,
        cause.client_id,
        cause.client_host,
        *_timeouts(observed, request),
        join.protocols,
    )
    member.is_new, member.join_ticket = True, observed
    group.issued_ids.pop(join.member_id, None)
    group.unused_ids.pop(join.member_id, None)
    if not classic.members:
        classic.protocol_type = request.protocol_type
    classic.members[join.member_id] = member
    group.note_connection(member, observed)
    silent_since = group.removed_at_us.pop((cause.client_id, cause.client_host), None)
    if silent_since is not None:
        silent_ms = (group.traffic.now_us - silent_since) // US_PER_MS
        group.evidence = f"{REQUEST}; its client joined again after {silent_ms} ms of silence"
    group.events.member_added(classic, member, cause, observed)
    group.evidence = REQUEST
    return member


def _update_member(group: ObservedClassicGroup, member: Member, observed: ObservedCall, join: Join) -> None:
    """Take over the properties in a member's request."""
    group.note_connection(member, observed)
    if not member.client_id:
        member.client_id, member.client_host, _ = group.traffic.client_of(observed)
    member.rebalance_timeout_ms, member.session_timeout_ms = _timeouts(observed, join.request)
    member.protocols = shared_protocols(join.protocols)


def _find_member(group: ObservedClassicGroup, join: Join) -> Member | None:
    """Return the member with the request's member id or instance id, or None if it is new."""
    if join.member_id:
        return group.members.get(join.member_id)
    return group.find_static_member(join.request.group_instance_id)


def _on_joined(group: ObservedClassicGroup, observed: ObservedCall, join: Join, answer: JoinGroupResponse) -> None:
    if group.has_generation and answer.generation_id == group.classic.generation_id:
        _join_current_generation(group, observed, join, answer)
        return
    _apply_member_id(group, observed, join, answer)
    _settle_joins(group, group.traffic.now_us)
    leads = answer.leader == answer.member_id
    leader = group.members.get(answer.leader)
    if not leads and leader is not None and leader.join_ticket in group.joins and leader.join_ticket is not observed:
        group.early_joins.append((observed, join, answer))
    else:
        _complete_join(group, observed, join, answer)


def _apply_member_id(
    group: ObservedClassicGroup, observed: ObservedCall, join: Join, answer: JoinGroupResponse
) -> None:
    """Apply the member id in a response."""
    old = None if join.member_id else group.find_static_member(join.request.group_instance_id)
    was_named, join.member_id = bool(join.member_id), answer.member_id
    if old is not None and old.member_id != answer.member_id:
        if not join.waits:
            _note_waiting_static_member(group, observed, join)
        _replace_static_member(group, observed, old, answer.member_id, join.request.reason or "", rebalance=True)
        _update_member(group, old, observed, join)
        join.waits, old.join_ticket = True, observed
    elif join.waits and (not was_named or answer.member_id not in group.members):
        _note_waiting(group, observed, join)


def _join_current_generation(
    group: ObservedClassicGroup, observed: ObservedCall, join: Join, answer: JoinGroupResponse
) -> None:
    """Apply a response in the known generation: one of several, or one that required no rebalance."""
    group.evidence = ANSWER
    old = None if join.member_id else group.find_static_member(join.request.group_instance_id)
    member = group.members.get(answer.member_id)
    if old is not None and old.member_id != answer.member_id:
        member = _replace_static_member(
            group, observed, old, answer.member_id, join.request.reason or "", rebalance=False
        )
    if member is None:
        join.member_id = answer.member_id
        cause = Cause(UNKNOWN_CAUSE, answer.member_id, *group.traffic.client_of(observed)[:2])
        member = _add_member(group, observed, join, cause)
    if member.session_timeout_ms == UNKNOWN_MS:
        _update_member(group, member, observed, join)
    member.join_ticket, member.is_new = None, False
    group.note_request(member)
    if answer.leader == answer.member_id and answer.members:
        _apply_member_list(group, observed, answer)


def _replace_static_member(
    group: ObservedClassicGroup, observed: ObservedCall, old: Member, new_id: str, reason: str, *, rebalance: bool
) -> Member:
    """Replace a static member that returns with a new id."""
    old_id = group.rename(old, new_id)
    group.note_connection(old, observed)
    group.events.member_replaced(group.classic, old, old_id, rebalance, observed, reason)
    return old


def _complete_join(group: ObservedClassicGroup, observed: ObservedCall, join: Join, answer: JoinGroupResponse) -> None:
    """End the join phase at the first response of a new generation, or at that of its leader."""
    early, group.early_joins = group.early_joins, []
    classic = group.classic
    if answer.leader == answer.member_id:
        _apply_member_list(group, observed, answer)
    else:
        group.is_complete, group.needs_description = False, True
    classic.generation_id, classic.leader_id = answer.generation_id, answer.leader
    classic.protocol_type, classic.protocol_name = answer.protocol_type or classic.protocol_type, answer.protocol_name
    classic.subscribed_topics = classic.read_subscriptions(tolerant=True)
    group.has_generation, group.unreported_assignment, group.unsynced = True, None, set(group.members)
    group.set_state(State.COMPLETING_REBALANCE)
    absent = [member for member in group.members.values() if member.join_ticket is None]
    group.has_absent_members = bool(absent)
    # The coordinator waited for these, because a phase does not end before every member of the last generation and
    # every new id has joined, expired or left. Only the leader receives which absent ones are still members.
    events = group.events.of(classic)
    joining = [_find_member(group, waiting) for waiting in group.joins.values()]  # static members may join without id
    absent = [member for member in absent if member.member_id in events.member_ids and member not in joining]
    if absent:
        events.last_awaited = absent[0] if group.is_complete else None
    elif group.unused_ids:
        events.last_awaited = list(group.unused_ids)[-1]
    group.unused_ids.clear()
    group.evidence = f"{ANSWER}{group.describe_missing()}"
    group.events.join_completed(classic, (), classic.rebalance_timeout_ms)
    group.missing_ids = []
    for member in group.members.values():
        if member.join_ticket not in group.joins or member.join_ticket is observed:
            member.join_ticket = None
        member.is_new = False
    for response in early:
        if response[0] is not observed:
            _join_current_generation(group, *response)


def _apply_member_list(group: ObservedClassicGroup, observed: ObservedCall, answer: JoinGroupResponse) -> None:
    """Apply the leader's list of members: remove those that are missing in it, and add unknown ones."""
    listed = {entry.member_id: entry for entry in answer.members}
    for name, entry in listed.items():
        old = group.find_static_member(entry.group_instance_id)
        if name not in group.members and old is not None:
            waiting = [one for one, join in group.joins.items() if _find_member(group, join) is old]
            group.evidence = ROSTER
            _replace_static_member(group, waiting[-1] if waiting else observed, old, name, "", rebalance=True)
    for member in [other for other in group.members.values() if other.member_id not in listed]:
        group.remove(member, f"{ROSTER}: it is missing; {NOT_SHOWN}")
    for name, entry in listed.items():
        if name not in group.members:
            protocols = ((answer.protocol_name or "", entry.metadata),)
            group.report_unobserved_join(
                group.add_unobserved(name, entry.group_instance_id, protocols=protocols), ROSTER
            )
            group.unobserved_ids.add(name)
            group.needs_description = True
    group.is_complete = group.was_complete = True


def _timeouts(observed: ObservedCall, request: JoinGroupRequest) -> tuple[int, int]:
    """Return the rebalance timeout, which the oldest version does not have, and the session timeout in milliseconds."""
    session_ms = request.session_timeout_ms
    return (request.rebalance_timeout_ms if observed.header.api_version >= 1 else session_ms), session_ms
