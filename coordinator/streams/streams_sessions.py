"""Sessions of a streams group's members, time to give up tasks, and how they go (streams-groups §9, §11)."""

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
    """The session of a member begins anew."""
    timeout_ms = group.coordinator.streams_config(group.group_id).session_timeout_ms
    extend_session(group, member, timeout_ms, now_ms, session_expired)


def session_expired(group: StreamsGroup, member: StreamsMember, now_ms: int) -> None:
    """A member has been silent for its session timeout."""
    expire(group, member, "session_expired", now_ms)


def watch_revocation(group: StreamsGroup, member: StreamsMember, now_ms: int) -> None:
    """A member that is to give up tasks has its rebalance timeout for it."""
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
    """Puts out a member whose time is up; a little later again, if that cannot be written."""

    def written(error: ErrorCode, now_ms: int) -> None:
        back = group.members.get(member.member_id) if group.is_there else None
        if error is not ErrorCode.none and back is not None:
            stop(group, back.session)
            back.session = start(group, back, FENCE_RETRY_MS, now_ms, session_expired)

    put_out(group, member, cause_of(member, cause), now_ms, written)


def put_out(group: StreamsGroup, member: StreamsMember, cause: Cause, now_ms: int, on_written: OnWritten) -> None:
    """Takes a member out of the group. The next heartbeat of anybody computes who gets its tasks."""
    changes = GroupChanges(group)
    stop_all(group, member)
    for kind in (StreamsKind.CURRENT, StreamsKind.TARGET, StreamsKind.MEMBER):
        changes.make(kind, member.member_id, None)
    epoch = StreamsEpoch(group.epoch + 1, group.metadata_hash, group.validated_topology_epoch, group.configs)
    changes.make(StreamsKind.GROUP_EPOCH, None, epoch)
    close_if_empty(group, changes)
    changes.write(now_ms, cause, on_written)


def begin_timers(group: StreamsGroup, now_ms: int) -> None:
    """Every member of a group that was loaded has a whole session, and time to give up what it must."""
    for member in group.members.values():
        keep_alive(group, member, now_ms)
        watch_revocation(group, member, now_ms)


def resume_timers(group: StreamsGroup, before: Mapping[str, ModernMember], now_ms: int) -> None:
    """Also time to give up what a member must. `before`: those there were before something was taken back."""
    resume_sessions(group, before, keep_alive, now_ms)
    if group.is_there:
        for member in group.members.values():
            watch_revocation(group, member, now_ms)


def cause_of(member: StreamsMember, name: str) -> Cause:
    """A cause that a member has brought about."""
    return Cause(name, member.member_id, member.metadata.client_id, member.metadata.client_host)
