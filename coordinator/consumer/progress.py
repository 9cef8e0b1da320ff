"""One step of one member, and its timers (consumer-groups §8, §9)."""

from collections.abc import Collection, Mapping
from uuid import UUID

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_leaving import expire, session_expired
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.consumer_states import MemberState
from kohort.coordinator.consumer.reconciling import reconcile
from kohort.coordinator.consumer.request_changes import ChangeSet
from kohort.coordinator.consumer.targets import topic_ids
from kohort.coordinator.consumer.values import Kind
from kohort.coordinator.modern.timers import extend_session, start, stop


def advance_member(
    group: ConsumerGroup,
    member: ConsumerMember,
    changes: ChangeSet,
    reported: Mapping[UUID, Collection[int]] | None,
    subscription_changed: bool,
    now_ms: int,
) -> bool:
    """Move a member as far toward its target as possible. Return False if it must be fenced."""
    if not subscription_changed and member.has_reached(group.target_epoch):
        return True
    member_id = member.member_id

    def free_of(topic_id: UUID, partitions: list[int]) -> list[int]:
        owners = group.owners.get(topic_id)
        if not owners:
            return partitions
        return [partition for partition in partitions if owners.get(partition, member_id) == member_id]

    following = reconcile(
        member.current,
        group.target_of(member_id),
        group.target_epoch,
        reported=reported,
        subscription_changed=subscription_changed,
        subscribed=topic_ids(group, member.metadata),
        free_of=free_of,
    )
    if following is None:
        return False
    if following != member.current:
        changes.make(Kind.CURRENT, member_id, following)
        watch_revocation(group, member, now_ms)
    return True


def watch_revocation(group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
    """Start the rebalance timeout of a member that has partitions to revoke."""
    stop(group, member.revocation)
    member.revocation = None
    if member.current.state is not MemberState.UNREVOKED_PARTITIONS or member.is_classic:
        return
    epoch = member.current.epoch

    def too_late(group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
        if member.current.epoch == epoch:
            expire(group, member, "epoch_timeout", now_ms)

    member.revocation = start(group, member, member.metadata.rebalance_timeout_ms, now_ms, too_late)


def keep_alive(group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
    classic = member.metadata.classic
    if classic is not None:
        timeout_ms = classic.session_timeout_ms
    else:
        timeout_ms = group.coordinator.consumer_config(group.group_id).session_timeout_ms
    extend_session(group, member, timeout_ms, now_ms, session_expired)


def begin_sessions(group: ConsumerGroup, now_ms: int) -> None:
    """Start the session and the revocation timeout of each member of a loaded group."""
    timeout_ms = group.coordinator.consumer_config(group.group_id).session_timeout_ms
    for member in group.members.values():
        extend_session(group, member, timeout_ms, now_ms, session_expired)
        watch_revocation(group, member, now_ms)
