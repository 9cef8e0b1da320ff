"""JoinGroup (classic-groups §3)."""

from dataclasses import dataclass
from sys import intern
from typing import Any, Final

from kohort.coordinator.classic import sessions
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import ANSWERED, Member
from kohort.coordinator.classic.dissolving import dissolve_but_for_offsets
from kohort.coordinator.classic.persisting import append_group
from kohort.coordinator.classic.rebalancing import (
    UNFORESEEN,
    maybe_complete_join,
    prepare_rebalance,
    rebalance_or_complete,
    stuck,
)
from kohort.coordinator.classic.replies import (
    answer_join,
    answer_sync,
    join_refused,
    joined,
    members_for_leader,
    sync_refused,
)
from kohort.coordinator.classic.states import REJOIN, State
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.coordinator_settings import NEW_MEMBER_JOIN_TIMEOUT_MS, GroupSettings
from kohort.coordinator.effects import Cause, GroupWarning
from kohort.coordinator.groups.observer import UNOBSERVED
from kohort.coordinator.offsets.offsets_topic_records import is_storable
from kohort.coordinator.shared_values import Protocols
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse

_NONE: Final = ErrorCode.none
_PREPARING_REBALANCE: Final = State.PREPARING_REBALANCE
_COMPLETING_REBALANCE: Final = State.COMPLETING_REBALANCE
_STABLE: Final = State.STABLE

# The reason that Java's consumer sends when it joins again only because it revoked partitions (KIP-429).
REVOKED: Final = "revoke partitions"


@dataclass(slots=True, kw_only=True)
class Joiner:
    """The sender of a JoinGroup: details that the request does not contain, and the capabilities of its version."""

    ticket: Any
    client_id: str
    client_host: str  # in Java's format of an address: `/127.0.0.1`
    has_rebalance_timeout: bool = True  # otherwise the session timeout is used (KIP-62: from version 1 on)
    needs_member_id: bool = True  # a new dynamic member is first issued an id (KIP-394: from version 4 on)
    # supports the field with which a static leader keeps the assignment (KIP-814: version 9 on)
    can_skip_assignment: bool = True


@dataclass(slots=True)
class _Join:
    """A JoinGroup while it is handled."""

    request: JoinGroupRequest
    joiner: Joiner
    protocols: Protocols
    now_ms: int

    @property
    def rebalance_timeout_ms(self) -> int:
        request = self.request
        return request.rebalance_timeout_ms if self.joiner.has_rebalance_timeout else request.session_timeout_ms

    @property
    def reason(self) -> str:
        return self.request.reason or ""


def join_group(
    coordinator: GroupCoordinator, group: ClassicGroup | None, request: JoinGroupRequest, joiner: Joiner, now_ms: int
) -> JoinGroupResponse | None:
    """Add the member or let it rejoin. Return None if the request is answered when the join phase completes.

    Without a group, one is created.

    Errors, in the order of the checks (classic-groups §3.3): INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT,
    NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, UNKNOWN_MEMBER_ID, GROUP_MAX_SIZE_REACHED,
    INCONSISTENT_GROUP_PROTOCOL, FENCED_INSTANCE_ID, MEMBER_ID_REQUIRED; UNKNOWN_SERVER_ERROR where Kafka fails, too.
    """
    member_id = request.member_id
    refusal = check_request(coordinator.settings, request)
    if refusal is not None:
        return refusal
    if group is None:
        error = coordinator.availability(request.group_id) if member_id else coordinator.creatable(request.group_id)
        if error is not _NONE:
            return join_refused(error, "")
        if member_id:
            return join_refused(ErrorCode.unknown_member_id, member_id)
        group = create(coordinator, request.group_id, now_ms)
        coordinator.observer.group_created(group, "join_static" if request.group_instance_id else "join_new")
    protocols = tuple([(protocol.name, protocol.metadata) for protocol in request.protocols])
    join = _Join(request, joiner, protocols, now_ms)
    try:
        return _admit(group, join)
    except UNFORESEEN as error:
        coordinator.effects.append(GroupWarning(group.group_id, stuck(error)))
        return _answered_in_error(group, join)


def check_request(settings: GroupSettings, request: JoinGroupRequest) -> JoinGroupResponse | None:
    if not request.group_id:
        return join_refused(ErrorCode.invalid_group_id, request.member_id)
    min_ms, max_ms = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
    if not min_ms <= request.session_timeout_ms <= max_ms:
        return join_refused(ErrorCode.invalid_session_timeout, request.member_id)
    return None


def create(coordinator: GroupCoordinator, group_id: str, now_ms: int) -> ClassicGroup:
    """Create a group and write its record, even if the request that creates it is rejected (classic-groups §1.4 a)."""
    group = coordinator.create_group(group_id, now_ms)

    def written(error: ErrorCode, now_ms: int) -> None:
        # A group that has reached its first generation since then does not need this record.
        if error is not _NONE and group.generation_id == 0 and group.state is not State.DEAD:
            for member in group.members.values():
                answer_join(group, member, join_refused(error, ""))
            dissolve_but_for_offsets(group, error, Cause("group_store_failed"), now_ms)

    append_group(group, now_ms, written)
    return group


def _admit(group: ClassicGroup, join: _Join) -> JoinGroupResponse | None:
    member_id = join.request.member_id
    if not group.accepts(member_id, group.coordinator.settings.group_max_size):
        # Don't check whether this ends the phase: as in Kafka, the phase then ends by its timer (classic-groups §3.8).
        removed_member = group.members.get(member_id)
        group.remove(member_id)
        if removed_member is not None:
            group.coordinator.observer.member_removed(group, removed_member, "over_capacity")
        return join_refused(ErrorCode.group_max_size_reached, "")
    if not group.supports_protocols(join.request.protocol_type, join.protocols):
        return join_refused(ErrorCode.inconsistent_group_protocol, member_id)
    if not member_id:
        return _newcomer(group, join)
    if group.is_pending(member_id):
        if join.request.group_instance_id is not None:
            return join_refused(ErrorCode.unknown_server_error, "")
        return _add(group, member_id, join)
    error = group.check_member(member_id, join.request.group_instance_id)
    if error is not _NONE:
        return join_refused(error, member_id)
    return _rejoin(group, group.members[member_id], join)


def _newcomer(group: ClassicGroup, join: _Join) -> JoinGroupResponse | None:
    instance_id = join.request.group_instance_id
    prefix = join.joiner.client_id if instance_id is None else instance_id
    member_id = f"{prefix}-{group.coordinator.new_uuid()}"
    if not all(map(is_storable, (member_id, join.request.protocol_type, *(name for name, _ in join.protocols)))):
        return join_refused(ErrorCode.unknown_server_error, "")  # Kafka fails later, at the group's record
    old_member_id = group.static_member_id(instance_id)
    if old_member_id is not None:
        return _replace(group, group.members[old_member_id], member_id, join)
    if instance_id is None and join.joiner.needs_member_id:
        sessions.hand_out(group, member_id, join.request.session_timeout_ms, join.now_ms)
        group.coordinator.observer.member_id_issued(group, member_id, join.joiner.ticket)
        return join_refused(ErrorCode.member_id_required, member_id)
    return _add(group, member_id, join)


def _add(group: ClassicGroup, member_id: str, join: _Join) -> JoinGroupResponse | None:
    request, now_ms = join.request, join.now_ms
    member = Member(
        member_id,
        request.group_instance_id,
        join.joiner.client_id,
        join.joiner.client_host,
        join.rebalance_timeout_ms,
        request.session_timeout_ms,
        join.protocols,
    )
    member.is_new = True
    if group.state is _PREPARING_REBALANCE and group.previous_state is State.EMPTY:
        group.new_member_added = True
    member.session = group.take_pending(member_id)  # extended below
    if not group.members:
        group.protocol_type = intern(request.protocol_type)
    group.add(member, join.joiner.ticket)
    sessions.extend(group, member, now_ms, NEW_MEMBER_JOIN_TIMEOUT_MS)
    cause = member.cause("join_new" if request.group_instance_id is None else "join_static", join.reason)
    group.coordinator.observer.member_added(group, member, cause, join.joiner.ticket)
    rebalance_or_complete(group, cause, now_ms)
    return None


def _rejoin(group: ClassicGroup, member: Member, join: _Join) -> JoinGroupResponse | None:
    """Update a member of the group (classic-groups §3.5). Nothing is updated if the request is answered at once."""
    state = group.state
    error = REJOIN[state]
    if error is not None:
        return join_refused(error, member.member_id)
    if state is _PREPARING_REBALANCE:
        _update(group, member, join)
        maybe_complete_join(group, join.now_ms)
        return None
    leads, same = member.member_id == group.leader_id, member.protocols == join.protocols
    if state is _COMPLETING_REBALANCE and same:
        return joined(group, member.member_id, members_for_leader(group) if leads else ())
    if state is _STABLE and same and not leads:
        return joined(group, member.member_id)
    _update(group, member, join)
    name = "rejoin_leader" if same else "cooperative_followup" if REVOKED in join.reason else "metadata_changed"
    prepare_rebalance(group, member.cause(name, join.reason), join.now_ms)
    return None


def _update(group: ClassicGroup, member: Member, join: _Join) -> None:
    observer = group.coordinator.observer
    rebalance_timeout_ms, session_timeout_ms = join.rebalance_timeout_ms, join.request.session_timeout_ms
    comes_back = member.join_ticket is None and not member.is_new
    if observer is not UNOBSERVED:
        changed = (member.rebalance_timeout_ms, member.session_timeout_ms) != (rebalance_timeout_ms, session_timeout_ms)
        observer.metadata_changed(group, member, join.protocols, changed)
    group.update_member(member, join.protocols, rebalance_timeout_ms, session_timeout_ms)
    group.await_join(member, join.joiner.ticket)
    if comes_back and observer is not UNOBSERVED and group.state is _PREPARING_REBALANCE:
        observer.member_rejoined(group, member, join.reason)


def _replace(group: ClassicGroup, member: Member, member_id: str, join: _Join) -> JoinGroupResponse | None:
    """Replace a static member that joins without its id by one with a new id (classic-groups §3.6; KIP-345)."""
    old_id, old_leader, observer = member.member_id, group.leader_id, group.coordinator.observer
    old_values = member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms
    if member.join_ticket is not None or member.sync_ticket is not None:
        observer.member_fenced(group, old_id, member.group_instance_id or "")
    answer_join(group, member, join_refused(ErrorCode.fenced_instance_id, old_id))
    answer_sync(group, member, sync_refused(ErrorCode.fenced_instance_id))
    group.rename_member(member, member_id)
    member.is_new = False
    _renew_session(group, member, join.now_ms)
    if group.state is not _STABLE:
        observer.member_replaced(group, member, old_id, True, join.joiner.ticket, join.reason)
    _update(group, member, join)
    if group.state is _PREPARING_REBALANCE:
        maybe_complete_join(group, join.now_ms)
        return None
    if group.state is _COMPLETING_REBALANCE:
        prepare_rebalance(group, member.cause("join_static", join.reason), join.now_ms)
        return None
    if group.choose_protocol() != group.protocol_name:
        observer.member_replaced(group, member, old_id, True, join.joiner.ticket, join.reason)
        prepare_rebalance(group, member.cause("static_protocol_changed", join.reason), join.now_ms)
        return None

    def written(error: ErrorCode, now_ms: int) -> None:
        if group.members.get(member_id) is not member or group.state is State.DEAD:
            return  # it has left or was replaced again, and this join was answered
        if member.session is None:
            _renew_session(group, member, now_ms)  # it expired during the write
        if error is not _NONE:
            refusal = join_refused(error, "")
            refusal.generation_id = group.generation_id
            refusal.protocol_type, refusal.protocol_name = group.protocol_type, group.protocol_name
            refusal.leader = old_leader or ""
            answer_join(group, member, refusal)
            group.update_member(member, *old_values)
            group.rename_member(member, old_id)
            _renew_session(group, member, now_ms)
            return
        observer.member_replaced(group, member, old_id, False, join.joiner.ticket, join.reason)
        if join.joiner.can_skip_assignment:
            leads = member.member_id == group.leader_id
            members = members_for_leader(group) if leads else ()
            answer_join(group, member, joined(group, member.member_id, members, skip_assignment=leads))
        else:
            # Name the old leader: otherwise the client believes that it leads, and assigns partitions again (KIP-345).
            answer_join(group, member, joined(group, member.member_id, leader_id=old_leader))

    append_group(group, join.now_ms, written)
    return None


def _renew_session(group: ClassicGroup, member: Member, now_ms: int) -> None:
    if member.session is not None:
        group.coordinator.purgatory.cancel(member.session)
        member.session = None
    sessions.extend(group, member, now_ms)


def _answered_in_error(group: ClassicGroup, join: _Join) -> JoinGroupResponse:
    """Reject the join that would have ended the phase. Its member still counts as waiting (classic-groups §2.4)."""
    for member in group.members.values():
        if member.join_ticket is join.joiner.ticket:
            member.join_ticket = ANSWERED
    return join_refused(ErrorCode.unknown_server_error, "")
