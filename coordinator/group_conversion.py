"""Conversion of groups with members between the classic and the consumer type (consumer-groups §17.1, §17.2, §17.4)."""

from collections.abc import Iterable
from uuid import UUID

from kohort.coordinator.classic import sessions
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.persisting import group_entry
from kohort.coordinator.classic.rebalancing import UNFORESEEN, prepare_rebalance
from kohort.coordinator.classic.replies import reject_waiting
from kohort.coordinator.classic.states import State
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.values import ClassicMetadata, CurrentAssignment, Kind, MemberMetadata
from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Cause, GroupWarning
from kohort.coordinator.group_succession import give_back_unless_written, move_offsets, take_over
from kohort.coordinator.groups.group import CLASSIC, CONSUMER
from kohort.coordinator.modern.group_changes import Conversion, GroupChanges
from kohort.coordinator.modern.group_refusals import Refusal, not_of_type
from kohort.coordinator.modern.membership import keep_alive, stop_all
from kohort.coordinator.modern.modern_values import GroupEpoch, Target, TargetEpoch
from kohort.protocol.consumer_protocol import (
    Assignment,
    ImpossibleLengthError,
    read_assignment,
    read_subscription,
    subscription_version,
    write_assignment,
)
from kohort.protocol.errors import ErrorCode

UPGRADES = ("bidirectional", "upgrade")  # policies that convert classic groups with members to consumer groups
# Policies that convert a consumer group to a classic one when its last consumer member leaves.
DOWNGRADES = ("bidirectional", "downgrade")

_Assignment = dict[UUID, frozenset[int]]
ReadMembers = dict[str, tuple[MemberMetadata, _Assignment]]  # by member id


class ConversionError(Exception):
    """A group cannot change its protocol, for which Kafka refuses the request."""

    def __init__(self, error: ErrorCode, message: str | None) -> None:
        super().__init__(message)
        self.refusal = Refusal(error, message)


# From classic to consumer


def replace_by_consumer_group(
    coordinator: GroupCoordinator, classic: ClassicGroup, now_ms: int
) -> tuple[ConsumerGroup, GroupChanges]:
    """Replace a classic group by a consumer group without members, whatever the policy. It gets the offsets.

    Issued member ids are lost.
    """
    group = ConsumerGroup(coordinator, classic.group_id, classic.partition)
    changes = GroupChanges(group)
    changes.converts = Conversion(classic, CLASSIC, CONSUMER, 0, 0)
    take_over(classic, group, changes, now_ms)
    return group, changes


def _may_upgrade(coordinator: GroupCoordinator, classic: ClassicGroup) -> bool:
    """Return whether policy, type and size permit the conversion of a classic group with members."""
    settings = coordinator.settings
    return (
        settings.group_consumer_migration_policy in UPGRADES
        and classic.protocol_type == CONSUMER
        and len(classic.members) <= settings.group_consumer_max_size
    )


def prepare_upgrade(coordinator: GroupCoordinator, classic: ClassicGroup) -> ReadMembers | Refusal:
    """Reject waiting joins and syncs, and return the metadata and assignments of the members for a consumer group.

    As in Kafka, they are rejected even if the group then turns out not to be convertible. The error is
    GROUP_ID_NOT_FOUND if the policy, the type, the size, malformed bytes or a custom assignor prevents the conversion,
    and UNKNOWN_SERVER_ERROR for what Kafka does not handle: a group or a member without the selected protocol, and, in
    Kafka 4.3, impossible lengths.
    """
    if not _may_upgrade(coordinator, classic):
        return not_of_type(CONSUMER, classic.group_id)
    reject_waiting(classic, ErrorCode.rebalance_in_progress)
    try:
        return {member.member_id: _as_consumer(coordinator, classic, member) for member in classic.members.values()}
    except ConversionError as problem:
        return problem.refusal
    except ImpossibleLengthError:
        reports = coordinator.settings.rules.reports_malformed_protocol
        return _malformed(classic).refusal if reports else Refusal(ErrorCode.unknown_server_error)


def upgrade(
    coordinator: GroupCoordinator, classic: ClassicGroup, members: ReadMembers, now_ms: int
) -> tuple[ConsumerGroup, GroupChanges]:
    """Convert a classic group with members, which keep their assignments."""
    group, changes = replace_by_consumer_group(coordinator, classic, now_ms)
    _move_in(group, changes, members, classic, now_ms)
    return group, changes


def _as_consumer(
    coordinator: GroupCoordinator, classic: ClassicGroup, member: Member
) -> tuple[MemberMetadata, _Assignment]:
    """Return the metadata and the assignment of a classic member."""
    assignment = _decode_assignment(coordinator, classic, member.assignment)
    if not any(name == classic.protocol_name for name, _ in member.protocols):
        raise ConversionError(ErrorCode.unknown_server_error, None)
    subscription = read_subscription(member.metadata(classic.protocol_name))
    if subscription is None:
        raise _malformed(classic)
    metadata = MemberMetadata(
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=tuple(sorted(set(subscription.topics))),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicMetadata(member.session_timeout_ms, member.protocols),
    )
    return metadata, assignment


def _decode_assignment(coordinator: GroupCoordinator, classic: ClassicGroup, assignment: bytes) -> _Assignment:
    if not assignment:
        return {}
    decoded = read_assignment(assignment)
    if decoded is None:
        raise _malformed(classic)
    if decoded.user_data:
        message = (
            f"Cannot upgrade classic group {classic.group_id} to consumer group because an unsupported custom assignor "
            "is in use. Please refer to the documentation or switch to a default assignor before re-attempting the "
            "upgrade."
        )
        raise ConversionError(ErrorCode.group_id_not_found, message)
    topics = ((coordinator.topics.by_name(name), partitions) for name, partitions in decoded.partitions.items())
    return {topic.topic_id: frozenset(partitions) for topic, partitions in topics if topic is not None}


def _malformed(classic: ClassicGroup) -> ConversionError:
    message = (
        f"Cannot upgrade classic group {classic.group_id} to consumer group because the embedded consumer protocol is "
        "malformed."
    )
    return ConversionError(ErrorCode.group_id_not_found, message)


def _move_in(
    group: ConsumerGroup,
    changes: GroupChanges,
    members: ReadMembers,
    classic: ClassicGroup,
    now_ms: int,
) -> None:
    """Add the members with their assignments, which are the target, too, at the generation of the classic group."""
    epoch = classic.generation_id
    for member_id, (metadata, _) in members.items():
        changes.make(Kind.MEMBER, member_id, metadata)
    changes.make(Kind.GROUP_EPOCH, None, GroupEpoch(epoch, group.current_hash()))
    for member_id, (_, assignment) in members.items():
        changes.make(Kind.TARGET, member_id, assignment)
    changes.make(Kind.TARGET_EPOCH, None, TargetEpoch(epoch))
    for member_id, (_, assignment) in members.items():
        assigned = {topic_id: dict.fromkeys(partitions, epoch) for topic_id, partitions in assignment.items()}
        current = CurrentAssignment(epoch=epoch, previous_epoch=epoch, assigned=assigned)
        changes.make(Kind.CURRENT, member_id, current)
        keep_alive(group, group.members[member_id], now_ms)
    changes.converts = Conversion(classic, CLASSIC, CONSUMER, len(members), len(changes.applied))


# From consumer to classic


def downgrade_if_classic(
    coordinator: GroupCoordinator,
    group: ConsumerGroup,
    changes: GroupChanges,
    cause: Cause,
    now_ms: int,
    on_written: OnWritten,
    leaving: Iterable[ConsumerMember],
) -> bool:
    """Convert the group if only classic members remain, and write that.

    Return whether they remain. If the group cannot be converted, it keeps all members, and `on_written` gets the error.
    """
    leaving_ids = {member.member_id for member in leaving}
    remaining = [member for member in group.members.values() if member.member_id not in leaving_ids]
    if not remaining or not _may_downgrade(coordinator, remaining):
        return False
    try:
        classic = _as_classic(coordinator, group, remaining, group.epoch, now_ms)
    except ConversionError as problem:
        _report(group, problem)
        on_written(problem.refusal.error, now_ms)
        return True
    changes.leaving = [member for member in group.members.values() if member.member_id in leaving_ids]
    _become(coordinator, group, classic, changes, now_ms)
    changes.write(now_ms, cause, on_written)
    prepare_rebalance(classic, cause, now_ms)
    return True


def may_downgrade_without(coordinator: GroupCoordinator, group: ConsumerGroup, replaced: ConsumerMember) -> bool:
    remaining = [member for member in group.members.values() if member is not replaced]
    return _may_downgrade(coordinator, remaining, len(group.members))


def downgrade_after_replacing(
    coordinator: GroupCoordinator,
    group: ConsumerGroup,
    changes: GroupChanges,
    cause: Cause,
    now_ms: int,
    on_written: OnWritten,
    *,
    generation_id: int,
    rebalance: bool,
) -> None:
    """Convert a group whose last consumer member was replaced by a classic one, and write that.

    If the group cannot be converted, the changes are undone, and `on_written` gets the error.

    Args:
        generation_id: The group's previous epoch.
        rebalance: Whether the target is older than the group's epoch.
    """
    try:
        classic = _as_classic(coordinator, group, list(group.members.values()), generation_id, now_ms)
    except ConversionError as problem:
        _report(group, problem)
        changes.abandon(now_ms)
        on_written(problem.refusal.error, now_ms)
        return
    _become(coordinator, group, classic, changes, now_ms)
    changes.write(now_ms, cause, on_written)
    if rebalance:
        prepare_rebalance(classic, cause, now_ms)


def _report(group: ConsumerGroup, problem: ConversionError) -> None:
    warning = GroupWarning(group.group_id, f"the group cannot be converted to a classic group: {problem}")
    group.coordinator.effects.append(warning)


def _may_downgrade(coordinator: GroupCoordinator, members: list[ConsumerMember], size: int | None = None) -> bool:
    settings = coordinator.settings
    return (
        all(member.is_classic for member in members)
        and settings.group_consumer_migration_policy in DOWNGRADES
        and (len(members) if size is None else size) <= settings.group_max_size
    )


def _become(
    coordinator: GroupCoordinator, group: ConsumerGroup, classic: ClassicGroup, changes: GroupChanges, now_ms: int
) -> None:
    changes.write_last([(key, None) for key in group.record_keys()])
    changes.write_last([group_entry(classic)])
    changes.converts = Conversion(classic, CONSUMER, CLASSIC, len(classic.members), 0)
    _hand_over(coordinator, group, classic, changes, now_ms)


def _as_classic(
    coordinator: GroupCoordinator, group: ConsumerGroup, members: list[ConsumerMember], generation_id: int, now_ms: int
) -> ClassicGroup:
    """Return the classic group with the target assignments.

    Raises:
        ConversionError: Members have no protocol in common, or their subscriptions for it cannot be read.
    """
    classic = ClassicGroup(coordinator, group.group_id, group.partition, coordinator.wall_ms(now_ms))
    classic.protocol_type, classic.generation_id = CONSUMER, generation_id
    for consumer in members:
        metadata = consumer.metadata
        assert metadata.classic is not None, "only classic members are left"
        member = Member(
            consumer.member_id,
            metadata.instance_id,
            metadata.client_id,
            metadata.client_host,
            metadata.rebalance_timeout_ms,
            metadata.classic.session_timeout_ms,
            metadata.classic.protocols,
        )
        classic.add(member, None)
    try:
        classic.protocol_name = classic.choose_protocol()
        classic.subscribed_topics = classic.read_subscriptions()
    except UNFORESEEN as problem:
        raise ConversionError(ErrorCode.unknown_server_error, str(problem)) from problem
    for member in classic.members.values():
        version = subscription_version(member.metadata(classic.protocol_name))
        if version is None:
            reason = f"the subscription of {member.member_id} for {classic.protocol_name} has no version"
            raise ConversionError(ErrorCode.group_id_not_found, reason)
        member.assignment = _assignment(coordinator, group.target_of(member.member_id), version)
    classic.state = State.STABLE
    return classic


def _assignment(coordinator: GroupCoordinator, target: Target, version: int) -> bytes:
    partitions = {}
    for topic_id, numbers in target.items():
        topic = coordinator.topics.by_id(topic_id)
        if topic is not None:
            partitions[topic.name] = tuple(sorted(numbers))
    return write_assignment(Assignment(version=version, partitions=partitions))


def _hand_over(
    coordinator: GroupCoordinator, group: ConsumerGroup, classic: ClassicGroup, changes: GroupChanges, now_ms: int
) -> None:
    """Replace the consumer group by the classic one; undone if that cannot be written."""
    for member in group.members.values():
        stop_all(group, member)
    coordinator.groups[group.group_id] = classic
    move_offsets(group, classic)
    for classic_member in classic.members.values():
        sessions.extend(classic, classic_member, now_ms)

    give_back_unless_written(group, classic, changes)
