"""Reconciliation of a member's assignment with its target, step by step (consumer-groups §8).

Partitions are revoked before any is assigned. Partitions of other members are assigned when these have released them.
Source: Kafka's `CurrentAssignmentBuilder`.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final
from uuid import UUID

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.consumer_states import MemberState
from kohort.coordinator.consumer.values import CurrentAssignment, Owned
from kohort.coordinator.modern.modern_values import Target

Reported = Mapping[UUID, Collection[int]]  # partitions that a member reports as its own

FreeOf = Callable[[UUID, list[int]], list[int]]  # selects the partitions of a topic that no other member owns

_STABLE: Final = MemberState.STABLE
_UNREVOKED: Final = MemberState.UNREVOKED_PARTITIONS
_UNRELEASED: Final = MemberState.UNRELEASED_PARTITIONS
_UNKNOWN: Final = MemberState.UNKNOWN


def next_assignment(
    group: ConsumerGroup, member: ConsumerMember, reported: Reported | None, subscription_changed: bool
) -> CurrentAssignment | None:
    """Return the next assignment of a member, the current one, or None if the member must be fenced."""
    if not subscription_changed and member.has_reached(group.target_epoch):
        return member.current
    member_id = member.member_id

    def free_of(topic_id: UUID, partitions: list[int]) -> list[int]:
        owners = group.owners.get(topic_id)
        if not owners:
            return partitions
        return [partition for partition in partitions if owners.get(partition, member_id) == member_id]

    return reconcile(
        member.current,
        group.target_of(member_id),
        group.target_epoch,
        reported=reported,
        subscription_changed=subscription_changed,
        subscribed=group.topic_ids(member.metadata),
        free_of=free_of,
    )


def reconcile(
    current: CurrentAssignment,
    target: Target,
    target_epoch: int,
    *,
    reported: Reported | None,
    subscription_changed: bool,
    subscribed: Collection[UUID],
    free_of: FreeOf,
) -> CurrentAssignment | None:
    """Return the next assignment, `current` itself if nothing changes, or None if the member must be fenced.

    Args:
        reported: None if the request contains no partitions.
        subscribed: IDs of the topics that the member subscribes to.
    """
    state = current.state
    if state is _STABLE and current.epoch == target_epoch:
        return _trim(current, reported, subscribed) if subscription_changed else current
    if state is _UNREVOKED and _owns_any(reported, current.revoking):
        return _trim(current, reported, subscribed) if subscription_changed else current
    if state is _UNKNOWN:
        # A newer broker wrote this state: the member must start without partitions.
        if reported is None or reported:
            return None
        current = CurrentAssignment(epoch=target_epoch, previous_epoch=current.epoch, assigned=current.assigned)
    return _advance(current, target, target_epoch, reported, subscribed, free_of)


def _advance(
    current: CurrentAssignment,
    target: Target,
    target_epoch: int,
    reported: Reported | None,
    subscribed: Collection[UUID],
    free_of: FreeOf,
) -> CurrentAssignment:
    kept: dict[UUID, dict[int, int]] = {}
    revoked: dict[UUID, dict[int, int]] = {}
    added: dict[UUID, list[int]] = {}
    waiting = False
    for topic_id in {**current.assigned, **target}:
        aim = target.get(topic_id, frozenset()) if topic_id in subscribed else frozenset()
        assigned = current.assigned.get(topic_id, {})
        keep = {partition: epoch for partition, epoch in assigned.items() if partition in aim}
        if keep:
            kept[topic_id] = keep
        if len(keep) < len(assigned):
            revoked[topic_id] = {partition: epoch for partition, epoch in assigned.items() if partition not in aim}
        if len(keep) < len(aim):
            missing = [partition for partition in aim if partition not in keep] if keep else list(aim)
            free = free_of(topic_id, missing)
            waiting |= len(free) < len(missing)
            if free:
                added[topic_id] = free
    if revoked and _owns_any(reported, revoked):
        return CurrentAssignment(
            epoch=current.epoch,
            previous_epoch=current.epoch,
            state=_UNREVOKED,
            assigned=kept,
            revoking=revoked,
        )
    for topic_id, partitions in added.items():
        kept[topic_id] = {**kept.get(topic_id, {}), **dict.fromkeys(partitions, target_epoch)}
    return CurrentAssignment(
        epoch=target_epoch,
        previous_epoch=current.epoch,
        state=_UNRELEASED if waiting else _STABLE,
        assigned=kept,
    )


def _trim(current: CurrentAssignment, reported: Reported | None, subscribed: Collection[UUID]) -> CurrentAssignment:
    """Revoke partitions of unsubscribed topics at once, without waiting for the next target."""
    unsubscribed = {
        topic_id: partitions for topic_id, partitions in current.assigned.items() if topic_id not in subscribed
    }
    if not unsubscribed:
        return current
    kept = {topic_id: partitions for topic_id, partitions in current.assigned.items() if topic_id in subscribed}
    revoking = {**current.revoking}
    for topic_id, partitions in unsubscribed.items():
        revoking[topic_id] = {**revoking.get(topic_id, {}), **partitions}
    if _owns_any(reported, revoking):
        return CurrentAssignment(
            epoch=current.epoch,
            previous_epoch=current.epoch,
            state=_UNREVOKED,
            assigned=kept,
            revoking=revoking,
        )
    return CurrentAssignment(
        epoch=current.epoch,
        previous_epoch=current.epoch,
        state=current.state,
        assigned=kept,
        revoking=current.revoking,
    )


def _owns_any(reported: Reported | None, partitions: Owned) -> bool:
    if reported is None:
        return True
    return any(
        not partitions[topic_id].keys().isdisjoint(numbers)
        for topic_id, numbers in reported.items()
        if topic_id in partitions
    )
