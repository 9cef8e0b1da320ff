"""Members of a consumer group that use the classic protocol (consumer-groups §17.3).

They use JoinGroup, SyncGroup, Heartbeat and LeaveGroup. The coordinator computes the assignment, not a leader, and a
member must rejoin whenever it has partitions to revoke or to receive.
"""

from collections.abc import Mapping
from uuid import UUID

from kohort.coordinator.classic.joining import Joiner
from kohort.coordinator.classic.replies import join_refused, sync_refused
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.consumer_states import MemberState
from kohort.coordinator.consumer.reconciling import next_assignment
from kohort.coordinator.consumer.subscribing import subscribe
from kohort.coordinator.consumer.targets import compute
from kohort.coordinator.consumer.values import ClassicMetadata, Kind, MemberMetadata
from kohort.coordinator.effects import Cause, Reply
from kohort.coordinator.groups.group import CONSUMER
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_refusals import Refusal
from kohort.coordinator.modern.membership import (
    cause_of,
    expire_member,
    find_or_replace,
    keep_alive,
    new_member_id,
    remove_members,
    start,
    stop,
    watch_revocation,
)
from kohort.protocol.consumer_protocol import (
    Assignment,
    ImpossibleLengthError,
    Subscription,
    read_subscription,
    write_assignment,
)
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kohort.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse
from kohort.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

# JoinGroup


def join(group: ConsumerGroup, request: JoinGroupRequest, joiner: Joiner, now_ms: int) -> JoinGroupResponse | None:
    """Add a classic member, or let one rejoin, and return a rejection, or None if the response follows the write.

    The response never depends on other members. Errors: GROUP_MAX_SIZE_REACHED, INCONSISTENT_GROUP_PROTOCOL,
    MEMBER_ID_REQUIRED (the only one with a member ID), UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID. The caller has validated
    the session timeout.
    """
    member_id, instance_id = request.member_id, request.group_instance_id
    protocols = tuple((protocol.name, protocol.metadata) for protocol in request.protocols)
    is_member = member_id in group.members or (instance_id is not None and instance_id in group.static_members)
    if not is_member and len(group.members) >= group.coordinator.settings.group_consumer_max_size:
        return join_refused(ErrorCode.group_max_size_reached, "")
    settings = group.coordinator.settings
    if settings.rules.applies_migration_policy_to_joins and settings.group_consumer_migration_policy == "disabled":
        return join_refused(ErrorCode.inconsistent_group_protocol, "")
    if request.protocol_type != CONSUMER or not _is_common(group, protocols):
        return join_refused(ErrorCode.inconsistent_group_protocol, "")
    if not member_id and instance_id is None and joiner.needs_member_id:
        return join_refused(ErrorCode.member_id_required, new_member_id(group.coordinator))
    changes = GroupChanges(group)
    changes.ticket = joiner.ticket
    downgrade = _would_be_classic(group, instance_id)
    epoch_before = group.epoch
    sender = _find(group, changes, member_id, instance_id)
    if isinstance(sender, Refusal):
        return join_refused(sender.error, "")
    subscription = _subscription(protocols)
    if subscription is None:
        changes.abandon(now_ms)
        is_reported = settings.rules.reports_malformed_protocol  # Kafka 4.3 does not handle this case
        error = ErrorCode.inconsistent_group_protocol if is_reported else ErrorCode.unknown_server_error
        return join_refused(error, "")
    old_metadata = group.unknown if sender is None else sender.metadata
    member_id = (member_id or new_member_id(group.coordinator)) if sender is None else sender.member_id
    metadata = _merged(old_metadata, request, joiner, subscription, protocols)
    subscribed = subscribe(group, changes, member_id, old_metadata, metadata, now_ms)
    member = group.members[member_id]
    owned = _owned(group, subscription)
    if downgrade:
        # A classic group whose target is due rebalances: until then no member receives partitions.
        rebalance = group.target_epoch < group.epoch
        if not rebalance:
            _advance(group, member, changes, owned, False, now_ms)
        _answer_as_classic(group, member, changes, request, joiner, now_ms, epoch_before, rebalance)
        return None
    if group.is_target_due(now_ms):
        compute(group, changes, now_ms, homogeneous=subscribed.homogeneous, own_vote=metadata.assignor)
    _advance(group, member, changes, owned, subscribed.changed, now_ms)
    _answer_when_written(group, member, changes, request, joiner, now_ms)
    return None


def _advance(
    group: ConsumerGroup,
    member: ConsumerMember,
    changes: GroupChanges,
    owned: Mapping[UUID, frozenset[int]],
    subscription_changed: bool,
    now_ms: int,
) -> None:
    assignment = next_assignment(group, member, owned, subscription_changed)
    if assignment is not None and assignment != member.current:
        changes.make(Kind.CURRENT, member.member_id, assignment)
        watch_revocation(group, member, now_ms)


def _would_be_classic(group: ConsumerGroup, instance_id: str | None) -> bool:
    holder = None if instance_id is None else group.member_of_instance(instance_id)
    return holder is not None and not holder.is_classic and group.coordinator.may_downgrade_without(group, holder)


def _is_common(group: ConsumerGroup, protocols: tuple[tuple[str, bytes], ...]) -> bool:
    """Return whether all classic members, including an earlier state of this one, support one of the protocols.

    As in Kafka, each entry counts: a protocol that one member lists twice counts twice.
    """
    supported = [name for member in group.members.values() for name in _names(member.metadata.classic)]
    classic = sum(member.is_classic for member in group.members.values())
    return any(not classic or supported.count(name) == classic for name, _ in protocols)


def _names(classic: ClassicMetadata | None) -> list[str]:
    return [] if classic is None else [name for name, _ in classic.protocols]


def _subscription(protocols: tuple[tuple[str, bytes], ...]) -> Subscription | None:
    try:
        return read_subscription(protocols[0][1])
    except ImpossibleLengthError:
        return None


def _find(
    group: ConsumerGroup, changes: GroupChanges, member_id: str, instance_id: str | None
) -> ConsumerMember | Refusal | None:
    if instance_id is None or not member_id:
        sender: ConsumerMember | Refusal | None = find_or_replace(
            group, changes, member_id, 0, instance_id, is_classic=True
        )
        return sender
    error = _check_member(group, member_id, instance_id)
    return Refusal(error) if error is not ErrorCode.none else group.members[member_id]


def _merged(
    old_metadata: MemberMetadata,
    request: JoinGroupRequest,
    joiner: Joiner,
    subscription: Subscription,
    protocols: tuple[tuple[str, bytes], ...],
) -> MemberMetadata:
    return old_metadata._replace(
        instance_id=old_metadata.instance_id if request.group_instance_id is None else request.group_instance_id,
        rack_id=subscription.rack_id or old_metadata.rack_id,
        client_id=joiner.client_id,
        client_host=joiner.client_host,
        topic_names=tuple(sorted(set(subscription.topics))),
        topic_regex="",
        rebalance_timeout_ms=_rebalance_timeout_ms(request, joiner),
        classic=ClassicMetadata(request.session_timeout_ms, protocols),
    )


def _rebalance_timeout_ms(request: JoinGroupRequest, joiner: Joiner) -> int:
    return request.rebalance_timeout_ms if joiner.has_rebalance_timeout else request.session_timeout_ms


def _owned(group: ConsumerGroup, subscription: Subscription) -> Mapping[UUID, frozenset[int]]:
    owned = {}
    for name, partitions in subscription.owned_partitions.items():
        topic = group.coordinator.topics.by_name(name)
        if topic is not None:
            owned[topic.topic_id] = frozenset(partitions)
    return owned


def _answer_when_written(
    group: ConsumerGroup,
    member: ConsumerMember,
    changes: GroupChanges,
    request: JoinGroupRequest,
    joiner: Joiner,
    now_ms: int,
) -> None:
    response = _admitted(member, request)

    def written(error: ErrorCode, now_ms: int) -> None:
        if error is not ErrorCode.none:
            group.coordinator.effects.append(Reply(joiner.ticket, join_refused(error, "")))
            return
        group.coordinator.effects.append(Reply(joiner.ticket, response))
        if group.is_there and group.members.get(member.member_id) is member:
            stop(group, member.join_timer)
            stop(group, member.sync_timer)
            member.join_timer = None
            keep_alive(group, member, now_ms)
            timeout_ms = member.metadata.rebalance_timeout_ms
            member.sync_timer = start(group, member, timeout_ms, now_ms, _did_not_sync)

    cause = cause_of(member, "join_static" if member.metadata.instance_id is not None else "join_new")
    changes.write(now_ms, cause, written)


def _answer_as_classic(
    group: ConsumerGroup,
    member: ConsumerMember,
    changes: GroupChanges,
    request: JoinGroupRequest,
    joiner: Joiner,
    now_ms: int,
    epoch_before: int,
    rebalance: bool,
) -> None:
    """Write the conversion to a classic group.

    The response contains the member's epoch as generation, not the group's.
    """
    response = _admitted(member, request)
    effects = group.coordinator.effects

    def written(error: ErrorCode, now_ms: int) -> None:
        effects.append(Reply(joiner.ticket, response if error is ErrorCode.none else join_refused(error, "")))

    cause = cause_of(member, "join_static")
    group.coordinator.downgrade_after_replacing(
        group, changes, cause, now_ms, written, generation_id=epoch_before, rebalance=rebalance
    )


def _admitted(member: ConsumerMember, request: JoinGroupRequest) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=ErrorCode.none,
        generation_id=member.current.epoch,
        protocol_type=CONSUMER,
        protocol_name=request.protocols[0].name or None,  # an empty one is answered as null, as in `replies.joined`
        leader="",
        member_id=member.member_id,
        members=(),
    )


def _did_not_sync(group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
    expire_member(group, member, "sync_timeout", now_ms)


def _did_not_rejoin(group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
    expire_member(group, member, "barrier_timeout", now_ms)


# SyncGroup, Heartbeat


def sync(group: ConsumerGroup, request: SyncGroupRequest, now_ms: int) -> SyncGroupResponse:
    """Return the current assignment of a classic member.

    Errors: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL,
    REBALANCE_IN_PROGRESS.
    """
    error = _check_member(group, request.member_id, request.group_instance_id)
    if error is not ErrorCode.none:
        return sync_refused(error)
    member = group.members[request.member_id]
    classic = member.metadata.classic
    if classic is None:
        return sync_refused(ErrorCode.unknown_member_id)
    if request.generation_id != member.current.epoch:
        return sync_refused(ErrorCode.illegal_generation)
    protocol = classic.protocols[0][0]
    if request.protocol_type not in (None, CONSUMER) or request.protocol_name not in (None, protocol):
        return sync_refused(ErrorCode.inconsistent_group_protocol)
    if group.target_epoch > member.current.epoch and member.current.state is not MemberState.UNREVOKED_PARTITIONS:
        return sync_refused(ErrorCode.rebalance_in_progress)
    stop(group, member.sync_timer)
    member.sync_timer = None
    keep_alive(group, member, now_ms)
    return SyncGroupResponse(
        error_code=ErrorCode.none,
        protocol_type=CONSUMER,
        protocol_name=protocol,
        assignment=_assignment(group, member, classic),
    )


def _assignment(group: ConsumerGroup, member: ConsumerMember, classic: ClassicMetadata) -> bytes:
    partitions = {}
    for topic_id, numbers in member.current.assigned.items():
        topic = group.coordinator.topics.by_id(topic_id)
        if topic is not None:
            partitions[topic.name] = tuple(sorted(numbers))
    subscription = _subscription(classic.protocols)
    version = 0 if subscription is None else subscription.version
    return write_assignment(Assignment(version=version, partitions=partitions))


def heartbeat(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int, now_ms: int
) -> ErrorCode:
    """Extend the session of a classic member; REBALANCE_IN_PROGRESS makes it rejoin."""
    error = _check_member(group, member_id, instance_id)
    if error is not ErrorCode.none:
        return error
    member = group.members[member_id]
    if not member.is_classic:
        return ErrorCode.unknown_member_id
    if generation_id != member.current.epoch:
        return ErrorCode.illegal_generation
    keep_alive(group, member, now_ms)
    if member.stats is not None:
        group.coordinator.observer.heartbeat_received(group, member, now_ms)
    if not _should_rejoin(group, member):
        return ErrorCode.none
    if member.join_timer is None or member.join_timer.completed:
        timeout_ms = member.metadata.rebalance_timeout_ms
        member.join_timer = start(group, member, timeout_ms, now_ms, _did_not_rejoin)
    return ErrorCode.rebalance_in_progress


def _should_rejoin(group: ConsumerGroup, member: ConsumerMember) -> bool:
    current = member.current
    if current.epoch < group.target_epoch or current.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    if current.state is not MemberState.UNRELEASED_PARTITIONS:
        return False
    return all(
        group.owners.get(topic_id, {}).get(partition, member.member_id) == member.member_id
        for topic_id, partitions in group.target_of(member.member_id).items()
        for partition in partitions
    )


def _check_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ErrorCode:
    if instance_id is not None:
        holder = group.static_members.get(instance_id)
        if holder is None:
            return ErrorCode.unknown_member_id
        if holder != member_id:
            return ErrorCode.fenced_instance_id
    return ErrorCode.none if member_id in group.members else ErrorCode.unknown_member_id


# LeaveGroup


def leave(group: ConsumerGroup, request: LeaveGroupRequest, ticket: object, now_ms: int) -> LeaveGroupResponse | None:
    """Remove members of both protocols and return the response, or None if it follows the write."""
    leavers: dict[str, ConsumerMember] = {}
    entries = []
    for identity in request.members:
        member = _leaver(group, identity)
        if isinstance(member, ErrorCode):
            entries.append(_entry(identity, member))
        else:
            leavers[member.member_id] = member
            entries.append(_entry(identity, ErrorCode.none))
    response = LeaveGroupResponse(error_code=ErrorCode.none, members=tuple(entries))
    if not leavers:
        return response

    def written(error: ErrorCode, now_ms: int) -> None:
        answer = response if error is ErrorCode.none else LeaveGroupResponse(error_code=error, members=())
        group.coordinator.effects.append(Reply(ticket, answer))

    remove_members(group, leavers.values(), Cause("leave_explicit", *_last_identity(leavers)), now_ms, written)
    return None


def _last_identity(leavers: Mapping[str, ConsumerMember]) -> tuple[str, str, str]:
    last = list(leavers.values())[-1]
    return last.member_id, last.metadata.client_id, last.metadata.client_host


def _leaver(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember | ErrorCode:
    if not identity.member_id and identity.group_instance_id is not None:
        return group.member_of_instance(identity.group_instance_id) or ErrorCode.unknown_member_id
    error = _check_member(group, identity.member_id, identity.group_instance_id)
    return group.members[identity.member_id] if error is ErrorCode.none else error


def _entry(identity: MemberIdentity, error: ErrorCode) -> MemberResponse:
    return MemberResponse(member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=error)
