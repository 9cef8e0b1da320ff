"""Lookup of the group of a heartbeat. A member that joins a missing group creates it (consumer-groups §5.1)."""

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.states import State
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.patterns import find_regex_error
from kohort.coordinator.consumer.refusing import consumer_group_missing, invalid_regex, not_a_consumer_group
from kohort.coordinator.consumer.request_changes import ChangeSet
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.groups.group import CONSUMER
from kohort.coordinator.modern.group_refusals import Refusal, group_full
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


def find_or_create(
    coordinator: GroupCoordinator, request: ConsumerGroupHeartbeatRequest, now_ms: int
) -> tuple[ConsumerGroup, ChangeSet] | Refusal:
    """Return the group and an empty change set, GROUP_ID_NOT_FOUND, or the error of an unavailable partition."""
    group_id = request.group_id
    group = coordinator.consumer_group(group_id)
    if group is not None:
        return group, ChangeSet(group)
    classic = coordinator.classic_group(group_id)
    if coordinator.modern_group(group_id) is not None:
        return not_a_consumer_group(group_id)
    if classic is None:
        error = coordinator.availability(group_id) if request.member_epoch else coordinator.creatable(group_id)
        if error is not ErrorCode.none:
            return Refusal(error)
        if request.member_epoch:
            return consumer_group_missing(group_id)
        return _created(coordinator, group_id)
    if request.member_epoch:
        return not_a_consumer_group(group_id)
    if classic.state is not State.EMPTY:
        from kohort.coordinator.group_conversion import (
            may_upgrade,
            upgrade,
        )  # only needed when a group changes its protocol

        refusal = _would_be_refused(coordinator, classic, request) if may_upgrade(coordinator, classic) else None
        return refusal or upgrade(coordinator, classic, now_ms)
    from kohort.coordinator.group_conversion import replace_empty_classic_group

    return replace_empty_classic_group(coordinator, classic, now_ms)


def _would_be_refused(
    coordinator: GroupCoordinator, classic: ClassicGroup, request: ConsumerGroupHeartbeatRequest
) -> Refusal | None:
    """Return the error that the new member would receive after a conversion, which makes the conversion unnecessary."""
    limit = coordinator.settings.group_consumer_max_size
    if len(classic.members) >= limit and request.member_id not in classic.members:
        return group_full(CONSUMER, limit)
    reason = find_regex_error(request.subscribed_topic_regex) if request.subscribed_topic_regex else None
    return None if reason is None else invalid_regex(request.subscribed_topic_regex or "", reason)


def _created(coordinator: GroupCoordinator, group_id: str) -> tuple[ConsumerGroup, ChangeSet]:
    group = coordinator.new_consumer_group(group_id)
    changes = ChangeSet(group)
    changes.create()
    return group, changes
