"""Static members of streams groups: they leave temporarily and return under another member id (newer-release §5)."""

from kohort.coordinator.context import OnWritten
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_refusals import Refusal, unreleased_instance
from kohort.coordinator.modern.instances import find_member
from kohort.coordinator.modern.timers import stop_all
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import (
    NO_OWNED_TASKS,
    STATIC_LEAVING_EPOCH,
    OwnedTasks,
    StreamsAssignment,
    StreamsKind,
    StreamsMetadata,
)
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.coordinator.streams.streams_sessions import cause_of, forget, watch_revocation
from kohort.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest


def find_or_take_over(
    group: StreamsGroup, changes: GroupChanges, request: StreamsGroupHeartbeatRequest
) -> StreamsMember | Refusal | None:
    """Return the member, None if it joins, or an error. A static member that returns takes over its former state."""
    member_id, instance_id = request.member_id, request.instance_id
    if request.member_epoch:
        return find_member(group, member_id, instance_id)
    if instance_id is None:
        return group.members.get(member_id)
    return _take_over_instance(group, changes, member_id, instance_id)


def _take_over_instance(
    group: StreamsGroup, changes: GroupChanges, member_id: str, instance_id: str
) -> StreamsMember | Refusal | None:
    """Give a joining member the state of the static member with its instance id, or return None if it is new.

    The state is transferred only from a member that has left temporarily.
    """
    holder = group.member_of_instance(instance_id)
    if holder is None:
        return group.members.get(member_id)
    if holder.current.epoch != STATIC_LEAVING_EPOCH:
        return unreleased_instance(member_id, instance_id, holder.member_id)
    metadata, target, current = holder.metadata, group.target_of(holder.member_id), holder.current
    stop_all(group, holder)
    forget(holder.member_id, changes)
    changes.make(StreamsKind.MEMBER, member_id, metadata)
    changes.make(StreamsKind.TARGET, member_id, target)
    changes.make(StreamsKind.CURRENT, member_id, StreamsAssignment(state=current.state, assigned=current.assigned))
    return group.members[member_id]


def leave_temporarily(group: StreamsGroup, member: StreamsMember, now_ms: int, on_written: OnWritten) -> None:
    """Keep the tasks of a static member until it returns or its session expires."""
    assigned = member.current.assigned
    active = {subtopology_id: dict.fromkeys(partitions, 0) for subtopology_id, partitions in assigned.active.items()}
    kept = OwnedTasks(active, assigned.standby, assigned.warmup)
    changes = GroupChanges(group)
    suspended = member.current._replace(epoch=STATIC_LEAVING_EPOCH, assigned=kept, revoking=NO_OWNED_TASKS)
    changes.make(StreamsKind.CURRENT, member.member_id, suspended)
    watch_revocation(group, member, now_ms)
    changes.write(now_ms, cause_of(member, "leave_explicit"), on_written)


def differs_in_more_than_client(previous: StreamsMetadata, metadata: StreamsMetadata) -> bool:
    """Return whether a static member that returns differs in more than its client."""
    same_client = previous._replace(
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
    )
    return same_client != metadata
