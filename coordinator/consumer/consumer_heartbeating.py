"""ConsumerGroupHeartbeat: takes a member's subscription and partitions, returns its assignment (consumer-groups §5)."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.states import State
from kohort.coordinator.consumer.checks import check_epoch, check_request, invalid_regex
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.next_epoch import NextEpoch, steady_assignment
from kohort.coordinator.consumer.patterns import find_regex_error
from kohort.coordinator.consumer.reconciling import next_assignment
from kohort.coordinator.consumer.steady_assignment import SteadyAssignment
from kohort.coordinator.consumer.subscribing import resolve_if_due, subscribe
from kohort.coordinator.consumer.targets import changes_assignor, compute
from kohort.coordinator.consumer.values import CurrentAssignment, MemberMetadata, Owned
from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Reply
from kohort.coordinator.groups.group import CONSUMER
from kohort.coordinator.modern.epoch_heartbeat import Heartbeat, Sender
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_refusals import Refusal, group_full
from kohort.coordinator.modern.membership import cause_of, extend_session, find_or_replace
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
    in_epoch,
)

_NONE: Final = ErrorCode.none


def consumer_group_heartbeat(
    coordinator: GroupCoordinator, request: ConsumerGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> ConsumerGroupHeartbeatResponse | None:
    """Extend the session of a member and advance it. Return the response, or None if it follows the write.

    Errors, in this order: UNSUPPORTED_VERSION, INVALID_REQUEST, UNSUPPORTED_ASSIGNOR, NOT_COORDINATOR,
    COORDINATOR_LOAD_IN_PROGRESS, GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, UNRELEASED_INSTANCE_ID,
    FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH, INVALID_REGULAR_EXPRESSION.
    """
    refusal = check_request(coordinator.settings, request, sender.version)
    if refusal is not None:
        return refused(refusal)
    group = coordinator.groups.get(request.group_id) if request.member_epoch > 0 else None
    if isinstance(group, ConsumerGroup):
        member = _with_nothing_new(group, request, sender)
        if member is not None:
            if member.has_reached(group.epoch):
                response = _keep_unchanged(group, member, sender, now_ms)
                return _behind_unwritten(group, member, sender, response, now_ms)
            steady = steady_assignment(group, member)
            if steady is not None:
                _take_next_epoch(group, member, steady, sender, now_ms)
                return None
    answer: ConsumerGroupHeartbeatResponse | None = ConsumerHeartbeat(
        coordinator, request, request.instance_id, sender, now_ms
    ).handle()
    return answer


def nothing_new(
    coordinator: GroupCoordinator, request: ConsumerGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> ConsumerGroupHeartbeatResponse | None:
    """Extend the session of a member without changes in either direction; return None, without effect, otherwise.

    `request` has been validated (`checks.py`), except for its epoch.
    """
    group = coordinator.groups.get(request.group_id)
    if (
        not isinstance(group, ConsumerGroup)
        or request.member_epoch != group.epoch
        or group.group_id in coordinator.unwritten
    ):
        return None
    member = _with_nothing_new(group, request, sender)
    if member is None or not member.has_reached(group.epoch):
        return None
    return _keep_unchanged(group, member, sender, now_ms)


def refused(refusal: Refusal) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=refusal.error, error_message=refusal.message)


# Heartbeats without changes. Both paths return the response of `ConsumerHeartbeat` in a fraction of the time: the first
# one is the most frequent of all, and the second one serves nearly all members of a large group after each change.


def _with_nothing_new(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, sender: Sender
) -> ConsumerMember | None:
    """Return the member if this heartbeat changes nothing and no target is due."""
    member = group.members.get(request.member_id)
    if (
        member is None
        or request.member_epoch != member.current.epoch
        or group.target_epoch != group.epoch
        or request.rebalance_timeout_ms != -1
        or request.subscribed_topic_names is not None
        or request.subscribed_topic_regex is not None
        or request.server_assignor is not None
        or request.rack_id is not None
        or group.checked_version != group.coordinator.topics.version
        or (len(group.assignors) > 1 and changes_assignor(group, member.metadata.assignor))
    ):
        return None
    metadata, instance_id = member.metadata, request.instance_id
    if instance_id is not None and instance_id != metadata.instance_id:
        return None
    same = metadata.client_id == sender.client_id and metadata.client_host == sender.client_host
    return member if same and metadata.classic is None else None


def _keep_unchanged(
    group: ConsumerGroup, member: ConsumerMember, sender: Sender, now_ms: int
) -> ConsumerGroupHeartbeatResponse:
    if member.stats is not None:
        group.coordinator.observer.heartbeat_received(group, member, now_ms)
    config = group.coordinator.configs[CONSUMER](group.group_id)  # as in `group.config`, without a call
    extend_session(group, member, config.session_timeout_ms, now_ms)
    if group.regex_counts:
        resolve_if_due(group, now_ms, sender.sees_topic, new_regex=False)
    response, epoch, interval_ms = member.unchanged, member.current.epoch, config.heartbeat_interval_ms
    if response is None or response.member_epoch != epoch or response.heartbeat_interval_ms != interval_ms:
        response = _nothing_new_for(member, interval_ms)
    return response


def _behind_unwritten(
    group: ConsumerGroup, member: ConsumerMember, sender: Sender, response: ConsumerGroupHeartbeatResponse, now_ms: int
) -> ConsumerGroupHeartbeatResponse | None:
    """Return the response, or None if it follows the pending writes of the group."""
    if group.group_id not in group.coordinator.unwritten:
        return response
    GroupChanges(group).write(now_ms, cause_of(member, "sent_a_heartbeat"), _replying(group, sender, response))
    return None


def _nothing_new_for(member: ConsumerMember, interval_ms: int) -> ConsumerGroupHeartbeatResponse:
    last_response, epoch = member.unchanged, member.current.epoch
    if last_response is not None and last_response.heartbeat_interval_ms == interval_ms:
        response = member.unchanged = in_epoch(last_response, epoch)
    else:
        response = member.unchanged = ConsumerGroupHeartbeatResponse(
            error_code=_NONE,
            member_id=member.member_id,
            member_epoch=epoch,
            heartbeat_interval_ms=interval_ms,
        )
    return response


def _take_next_epoch(
    group: ConsumerGroup, member: ConsumerMember, steady: SteadyAssignment, sender: Sender, now_ms: int
) -> None:
    config = group.coordinator.configs[CONSUMER](group.group_id)  # as in `group.config`, without a call
    changes = NextEpoch(group, member, steady)
    extend_session(group, member, config.session_timeout_ms, now_ms)
    if member.stats is not None:
        group.coordinator.observer.heartbeat_received(group, member, now_ms)
    if group.regex_counts:
        resolve_if_due(group, now_ms, sender.sees_topic, new_regex=False)
    changes.ticket = sender.ticket
    response = _nothing_new_for(member, config.heartbeat_interval_ms)
    changes.write(now_ms, steady.cause, _replying(group, sender, response))


def _replying(group: ConsumerGroup, sender: Sender, response: ConsumerGroupHeartbeatResponse) -> OnWritten:
    effects = group.coordinator.effects

    def written(error: ErrorCode, now_ms: int) -> None:
        answer = response if error is _NONE else refused(Refusal(error))
        effects.append(Reply(sender.ticket, answer))

    return written


# All other heartbeats


class ConsumerHeartbeat(Heartbeat):
    """Heartbeat of a member of the consumer protocol."""

    __slots__ = ("is_homogeneous", "reported")

    group_type = CONSUMER
    response_class = ConsumerGroupHeartbeatResponse

    is_homogeneous: bool
    reported: Mapping[UUID, frozenset[int]] | None

    def replace_classic(self, classic: ClassicGroup) -> tuple[ModernGroup, GroupChanges] | Refusal:
        from kohort.coordinator import group_conversion  # only needed when a group changes its protocol

        coordinator = self.coordinator
        if classic.state is State.EMPTY:
            return group_conversion.replace_by_consumer_group(coordinator, classic, self.now_ms)
        members = group_conversion.prepare_upgrade(coordinator, classic)
        if isinstance(members, Refusal):
            return members
        refusal = self._check_in_classic(classic)
        return refusal or group_conversion.upgrade(coordinator, classic, members, self.now_ms)

    def _check_in_classic(self, classic: ClassicGroup) -> Refusal | None:
        """Return the error that the member would receive after a conversion, which makes the conversion unnecessary."""
        limit = self.coordinator.settings.group_consumer_max_size
        if len(classic.members) >= limit and self.member_id not in classic.members:
            return group_full(CONSUMER, limit)
        regex = self.request.subscribed_topic_regex
        return _check_regex(regex) if regex else None

    def find_sender(self) -> Any:
        group, request = self.group, self.request
        limit = group.max_size
        if len(group.members) >= limit and self.member_id not in group.members:
            is_static = self.instance_id in group.static_members
            if not (is_static and group.coordinator.settings.rules.admits_static_members_to_full_groups):
                return group_full(CONSUMER, limit)
        member = find_or_replace(group, self.changes, self.member_id, request.member_epoch, self.instance_id)
        self.reported = _reported(request)
        if member is None or isinstance(member, Refusal):
            return member
        return check_epoch(member, request.member_epoch, self.reported) or member

    def update_member(self) -> Refusal | None:
        group = self.group
        old_metadata = group.unknown if self.member is None else self.member.metadata
        metadata = _merged(old_metadata, self.request, self.sender)
        regex = metadata.topic_regex
        refusal = _check_regex(regex) if regex and regex not in group.regex_counts else None
        if refusal is not None:
            return refusal
        subscribed = subscribe(
            group, self.changes, self.member_id, old_metadata, metadata, self.now_ms, self.sender.sees_topic
        )
        self.has_changed, self.is_homogeneous = subscribed
        self.member = group.members[self.member_id]
        return None

    def update_target(self) -> Refusal | None:
        group = self.group
        if group.is_target_due(self.now_ms):
            vote = self.member.metadata.assignor
            compute(group, self.changes, self.now_ms, homogeneous=self.is_homogeneous, own_vote=vote)
        return None

    def next_assignment(self) -> CurrentAssignment | None:
        return next_assignment(self.group, self.member, self.reported, self.has_changed)

    def respond(self) -> ConsumerGroupHeartbeatResponse:
        """Build the response.

        It contains the assignment when a member joins, sends all fields, or gets a different assignment.
        """
        group, member, request = self.group, self.member, self.request
        if not self.is_new and member.stats is not None:
            self.coordinator.observer.heartbeat_received(group, member, self.now_ms)
        is_full_request = (
            request.rebalance_timeout_ms != -1
            and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
            and request.topic_partitions is not None
        )
        current = member.current
        with_assignment = request.member_epoch == 0 or is_full_request or current.assigned != self.old_assigned
        return ConsumerGroupHeartbeatResponse(
            error_code=_NONE,
            member_id=member.member_id,
            member_epoch=current.epoch,
            heartbeat_interval_ms=group.config.heartbeat_interval_ms,
            assignment=_assignment(current.assigned) if with_assignment else None,
        )


def _merged(old_metadata: MemberMetadata, request: ConsumerGroupHeartbeatRequest, sender: Sender) -> MemberMetadata:
    """Return the metadata with the fields that the request contains."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    if names is None and regex is None and _keeps_metadata(old_metadata, request, sender):
        return old_metadata
    return old_metadata._replace(
        instance_id=old_metadata.instance_id if request.instance_id is None else request.instance_id,
        rack_id=old_metadata.rack_id if request.rack_id is None else request.rack_id,
        client_id=sender.client_id,
        client_host=sender.client_host,
        topic_names=old_metadata.topic_names if names is None else tuple(sorted(set(names))),
        topic_regex=old_metadata.topic_regex if regex is None else regex,
        rebalance_timeout_ms=old_metadata.rebalance_timeout_ms
        if request.rebalance_timeout_ms == -1
        else request.rebalance_timeout_ms,
        assignor=old_metadata.assignor if request.server_assignor is None else request.server_assignor,
        classic=None,
    )


def _keeps_metadata(old_metadata: MemberMetadata, request: ConsumerGroupHeartbeatRequest, sender: Sender) -> bool:
    return (
        old_metadata.classic is None
        and (request.instance_id is None or request.instance_id == old_metadata.instance_id)
        and request.rack_id is None
        and request.server_assignor is None
        and request.rebalance_timeout_ms == -1
        and old_metadata.client_id == sender.client_id
        and old_metadata.client_host == sender.client_host
    )


def _check_regex(regex: str) -> Refusal | None:
    reason = find_regex_error(regex)
    return None if reason is None else invalid_regex(regex, reason)


def _reported(request: ConsumerGroupHeartbeatRequest) -> Mapping[UUID, frozenset[int]] | None:
    """Return the partitions that the member reports, with duplicate topics merged."""
    if request.topic_partitions is None:
        return None
    owned: dict[UUID, frozenset[int]] = {}
    for entry in request.topic_partitions:
        topic_id = entry.topic_id or UUID(int=0)
        owned[topic_id] = owned.get(topic_id, frozenset()).union(entry.partitions)
    return owned


def _assignment(assigned: Owned) -> Assignment:
    return Assignment(
        topic_partitions=tuple(
            TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(partitions)))
            for topic_id, partitions in assigned.items()
        )
    )
