"""Groups that change their protocol while they live (consumer-groups §17.1, §17.2, §17.4)."""

from collections.abc import Iterable
from uuid import UUID

from kohort.coordinator.classic import sessions
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.persisting import group_entry
from kohort.coordinator.classic.rebalancing import prepare_rebalance
from kohort.coordinator.classic.replies import answer_join, answer_sync, join_refused, sync_refused
from kohort.coordinator.classic.states import CLASSIC, State
from kohort.coordinator.consumer.consumer_group import CONSUMER, ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.progress import keep_alive
from kohort.coordinator.consumer.refusing import not_a_consumer_group
from kohort.coordinator.consumer.request_changes import ChangeSet, Conversion
from kohort.coordinator.consumer.values import ClassicMetadata, CurrentAssignment, Kind, MemberMetadata
from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Cause
from kohort.coordinator.group_succession import give_back_unless_written, move_offsets, take_over
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_epochs import current_hash
from kohort.coordinator.modern.group_refusals import Refusal
from kohort.coordinator.modern.modern_values import GroupEpoch, Target, TargetEpoch
from kohort.coordinator.modern.timers import stop_all
from kohort.protocol.consumer_protocol import (
    Assignment,
    ImpossibleLengthError,
    Subscription,
    read_assignment,
    read_subscription,
    write_assignment,
)
from kohort.protocol.errors import ErrorCode

UPGRADES = ("bidirectional", "upgrade")
"""Policies that let a classic group with members become a consumer group."""
DOWNGRADES = ("bidirectional", "downgrade")
"""Policies that let a consumer group become classic when its last consumer member goes."""


class CustomAssignorError(Exception):
    """An assignment carries data of an assignor that the server does not have."""


# From classic to consumer


def replace_empty_classic_group(
    coordinator: GroupCoordinator, classic: ClassicGroup, now_ms: int
) -> tuple[ConsumerGroup, ChangeSet]:
    """A consumer group in place of a classic one without members, whatever the policy. Its offsets stay.

    Ids that were handed out are lost.
    """
    return _consumer_group_takes_over(coordinator, classic, now_ms)


def may_upgrade(coordinator: GroupCoordinator, classic: ClassicGroup) -> bool:
    """Whether policy, type and size let a classic group with members become a consumer group."""
    settings = coordinator.settings
    return (
        settings.group_consumer_migration_policy in UPGRADES
        and classic.protocol_type == CONSUMER
        and len(classic.members) <= settings.group_consumer_max_size
    )


def upgrade(
    coordinator: GroupCoordinator, classic: ClassicGroup, now_ms: int
) -> tuple[ConsumerGroup, ChangeSet] | Refusal:
    """A consumer group in place of a classic one with members, which keep what they have.

    GROUP_ID_NOT_FOUND if the policy, the type, the size or an assignor of their own is against it. Bytes that Kafka
    does not foresee are UNKNOWN_SERVER_ERROR, and joins that wait are sent away all the same.
    """
    if not may_upgrade(coordinator, classic):
        return not_a_consumer_group(classic.group_id)
    try:
        members = {each.member_id: _as_consumer(coordinator, each) for each in classic.members.values()}
    except CustomAssignorError:
        message = (
            f"Cannot upgrade classic group {classic.group_id} to consumer group because an unsupported custom assignor "
            "is in use. Please refer to the documentation or switch to a default assignor before re-attempting the "
            "upgrade."
        )
        return Refusal(ErrorCode.group_id_not_found, message)
    except ImpossibleLengthError:
        _send_away(classic)
        return Refusal(ErrorCode.unknown_server_error)
    if None in members.values():
        message = (
            f"Cannot upgrade classic group {classic.group_id} to consumer group because the embedded consumer "
            "protocol is malformed."
        )
        return Refusal(ErrorCode.group_id_not_found, message)
    group, changes = _consumer_group_takes_over(coordinator, classic, now_ms)
    _move_in(group, changes, {name: found for name, found in members.items() if found is not None}, classic, now_ms)
    return group, changes


_Share = dict[UUID, frozenset[int]]


def _as_consumer(coordinator: GroupCoordinator, member: Member) -> tuple[MemberMetadata, _Share] | None:
    """A classic member as one of a consumer group, and what it has. None: its bytes end too early."""
    subscription = read_subscription(member.protocols[0][1])
    share = _share(coordinator, member.assignment)
    if subscription is None or share is None:
        return None
    metadata = MemberMetadata(
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=tuple(sorted(set(subscription.topics))),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicMetadata(member.session_timeout_ms, member.protocols),
    )
    return metadata, share


def _share(coordinator: GroupCoordinator, assignment: bytes) -> _Share | None:
    if not assignment:
        return {}
    read = read_assignment(assignment)
    if read is None:
        return None
    if read.user_data:
        raise CustomAssignorError
    topics = ((coordinator.topics.by_name(name), partitions) for name, partitions in read.partitions.items())
    return {topic.topic_id: frozenset(partitions) for topic, partitions in topics if topic is not None}


def _move_in(
    group: ConsumerGroup,
    changes: ChangeSet,
    members: dict[str, tuple[MemberMetadata, _Share]],
    classic: ClassicGroup,
    now_ms: int,
) -> None:
    """Everybody is where it was: the target is what they have, at the generation of the classic group."""
    epoch = classic.generation_id
    for member_id, (metadata, _) in members.items():
        changes.make(Kind.MEMBER, member_id, metadata)
    changes.make(Kind.GROUP_EPOCH, None, GroupEpoch(epoch, current_hash(group)))
    for member_id, (_, share) in members.items():
        changes.make(Kind.TARGET, member_id, share)
    changes.make(Kind.TARGET_EPOCH, None, TargetEpoch(epoch))
    for member_id, (_, share) in members.items():
        assigned = {topic_id: dict.fromkeys(partitions, epoch) for topic_id, partitions in share.items()}
        current = CurrentAssignment(epoch=epoch, previous_epoch=epoch, assigned=assigned)
        changes.make(Kind.CURRENT, member_id, current)
        keep_alive(group, group.members[member_id], now_ms)
    changes.converts = Conversion(classic, CLASSIC, CONSUMER, len(members), len(changes.made))


def _consumer_group_takes_over(
    coordinator: GroupCoordinator, classic: ClassicGroup, now_ms: int
) -> tuple[ConsumerGroup, ChangeSet]:
    """A consumer group without members that has the id and the offsets of a classic one."""
    group = ConsumerGroup(coordinator, classic.group_id, classic.partition)
    changes = ChangeSet(group)
    changes.converts = Conversion(classic, CLASSIC, CONSUMER, 0, 0)
    take_over(classic, group, changes, now_ms)
    return group, changes


def _send_away(classic: ClassicGroup) -> None:
    for member in classic.members.values():
        answer_join(classic, member, join_refused(ErrorCode.rebalance_in_progress, member.member_id))
        answer_sync(classic, member, sync_refused(ErrorCode.rebalance_in_progress))


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
    """Makes the group classic if only classic members would be left, and writes that. Returns whether it did.

    `leaving`: who goes.
    """
    gone = {each.member_id for each in leaving}
    left = [each for each in group.members.values() if each.member_id not in gone]
    if not left or not _may_downgrade(coordinator, left):
        return False
    assert isinstance(changes, ChangeSet), "what a consumer group changes"
    classic = _as_classic(coordinator, group, left, group.epoch, now_ms)
    if classic is None:
        return False
    changes.leaving = [each for each in group.members.values() if each.member_id in gone]
    _become(coordinator, group, classic, changes, now_ms)
    changes.write(now_ms, cause, on_written)
    prepare_rebalance(classic, cause, now_ms)
    return True


def may_downgrade_without(coordinator: GroupCoordinator, group: ConsumerGroup, replaced: ConsumerMember) -> bool:
    """Whether the group is to be classic once a classic member has taken the place of a static consumer member."""
    others = [each for each in group.members.values() if each is not replaced]
    return _may_downgrade(coordinator, others, len(group.members))


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
) -> bool:
    """Makes a group classic in which a classic member has taken the place of the last other one, and writes that.

    `generation_id`: the group's epoch before. `rebalance`: whether the target is not the one of the group's epoch.
    Returns whether it did: the bytes of a member may be no subscription.
    """
    classic = _as_classic(coordinator, group, list(group.members.values()), generation_id, now_ms)
    if classic is None:
        return False
    _become(coordinator, group, classic, changes, now_ms)
    changes.write(now_ms, cause, on_written)
    if rebalance:
        prepare_rebalance(classic, cause, now_ms)
    return True


def _may_downgrade(coordinator: GroupCoordinator, left: list[ConsumerMember], size: int | None = None) -> bool:
    settings = coordinator.settings
    return (
        all(each.is_classic for each in left)
        and settings.group_consumer_migration_policy in DOWNGRADES
        and (len(left) if size is None else size) <= settings.group_max_size
    )


def _become(
    coordinator: GroupCoordinator, group: ConsumerGroup, classic: ClassicGroup, changes: GroupChanges, now_ms: int
) -> None:
    assert isinstance(changes, ChangeSet), "what a consumer group changes"
    changes.write_last([(key, None) for key in group.record_keys()])
    changes.write_last([group_entry(classic)])
    changes.converts = Conversion(classic, CONSUMER, CLASSIC, len(classic.members), 0)
    _hand_over(coordinator, group, classic, changes, now_ms)


def _as_classic(
    coordinator: GroupCoordinator, group: ConsumerGroup, members: list[ConsumerMember], generation_id: int, now_ms: int
) -> ClassicGroup | None:
    """The classic group that is left; members have what they were to have. None: their bytes are no subscriptions."""
    classic = ClassicGroup(coordinator, group.group_id, group.partition, coordinator.wall_ms(now_ms))
    classic.protocol_type, classic.generation_id = CONSUMER, generation_id
    for each in members:
        metadata = each.metadata
        assert metadata.classic is not None, "only classic members are left"
        protocols = metadata.classic.protocols
        subscription = read_subscription(protocols[0][1])
        if subscription is None:
            return None
        member = Member(
            each.member_id,
            metadata.instance_id,
            metadata.client_id,
            metadata.client_host,
            metadata.rebalance_timeout_ms,
            metadata.classic.session_timeout_ms,
            protocols,
            _assignment(coordinator, group.target_of(each.member_id), subscription),
        )
        classic.add(member, None)
    classic.protocol_name = classic.choose_protocol()
    classic.subscribed_topics = classic.read_subscriptions()
    classic.state = State.STABLE
    return classic


def _assignment(coordinator: GroupCoordinator, target: Target, subscription: Subscription) -> bytes:
    partitions = {}
    for topic_id, numbers in target.items():
        topic = coordinator.topics.by_id(topic_id)
        if topic is not None:
            partitions[topic.name] = tuple(sorted(numbers))
    return write_assignment(Assignment(version=subscription.version, partitions=partitions))


def _hand_over(
    coordinator: GroupCoordinator, group: ConsumerGroup, classic: ClassicGroup, changes: ChangeSet, now_ms: int
) -> None:
    """The classic group has the id from now on; the consumer group is back if that cannot be written."""
    for member in group.members.values():
        stop_all(group, member)
    coordinator.forget_consumer_group(group)
    coordinator.groups[group.group_id] = classic
    move_offsets(group, classic)
    for each in classic.members.values():
        sessions.extend(classic, each, now_ms)

    give_back_unless_written(coordinator, group, classic, changes)
