"""Sessions, revocation timeouts and removal of a streams group's members (streams-groups §9, §11)."""

from collections.abc import Mapping

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_epochs import close_if_empty
from kohort.coordinator.modern.modern_member import ModernMember
from kohort.coordinator.modern.timers import (
    FENCE_RETRY_MS,
    extend_session,
    resume_sessions,
    start,
    stop,
    stop_all,
)
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import StreamsEpoch, StreamsKind
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.coordinator.streams.streams_states import StreamsMemberState
from kohort.protocol.errors import ErrorCode


def keep_alive(group: StreamsGroup, member: StreamsMember, now_ms: int) -> None:
    timeout_ms = group.coordinator.streams_config(group.group_id).session_timeout_ms
    extend_session(group, member, timeout_ms, now_ms, session_expired)


def session_expired(group: StreamsGroup, member: StreamsMember, now_ms: int) -> None:
    expire(group, member, "session_expired", now_ms)


def watch_revocation(group: StreamsGroup, member: StreamsMember, now_ms: int) -> None:
    """Start the revocation timeout, which is the rebalance timeout, of a member that must revoke tasks."""
    stop(group, member.revocation)
    member.revocation = None
    if member.current.state is not StreamsMemberState.UNREVOKED_TASKS:
        return
    epoch = member.current.epoch

    def too_late(group: StreamsGroup, member: StreamsMember, now_ms: int) -> None:
        if member.current.epoch == epoch:
            expire(group, member, "epoch_timeout", now_ms)

    member.revocation = start(group, member, member.metadata.rebalance_timeout_ms, now_ms, too_late)


def expire(group: StreamsGroup, member: StreamsMember, cause: str, now_ms: int) -> None:
    """Remove a member after a timeout. If the write fails, try again later."""

    def written(error: ErrorCode, now_ms: int) -> None:
        current_member = group.members.get(member.member_id) if group.is_there else None
        if error is not ErrorCode.none and current_member is not None:
            stop(group, current_member.session)
            current_member.session = start(group, current_member, FENCE_RETRY_MS, now_ms, session_expired)

    remove_member(group, member, cause_of(member, cause), now_ms, written)


def remove_member(group: StreamsGroup, member: StreamsMember, cause: Cause, now_ms: int, on_written: OnWritten) -> None:
    """Remove a member from the group. The next heartbeat of any member computes the new target."""
    changes = GroupChanges(group)
    stop_all(group, member)
    forget(member.member_id, changes)
    changes.make(StreamsKind.GROUP_EPOCH, None, next_epoch_of(group))
    close_if_empty(group, changes)
    changes.write(now_ms, cause, on_written)


def next_epoch_of(group: StreamsGroup) -> StreamsEpoch:
    return group.epoch_values._replace(epoch=group.epoch + 1)


def forget(member_id: str, changes: GroupChanges) -> None:
    """Add the records that remove a member."""
    for kind in (StreamsKind.CURRENT, StreamsKind.TARGET, StreamsKind.MEMBER):
        changes.make(kind, member_id, None)


def begin_timers(group: StreamsGroup, now_ms: int) -> None:
    for member in group.members.values():
        keep_alive(group, member, now_ms)
        watch_revocation(group, member, now_ms)


def resume_timers(group: StreamsGroup, previous_members: Mapping[str, ModernMember], now_ms: int) -> None:
    resume_sessions(group, previous_members, keep_alive, now_ms)
    if group.is_there:
        for member in group.members.values():
            watch_revocation(group, member, now_ms)


def cause_of(member: StreamsMember, name: str) -> Cause:
    return Cause(name, member.member_id, member.metadata.client_id, member.metadata.client_host)
