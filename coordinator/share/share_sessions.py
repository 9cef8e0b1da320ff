"""Sessions of a share group's members, and their removal (share-groups §3.3).

Records of a removed member stay locked: the share sessions belong to the partition leaders.
"""

from collections.abc import Iterable

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_epochs import bump_after_removal, remember_topic_changes
from kohort.coordinator.modern.timers import FENCE_RETRY_MS, extend_session, start, stop, stop_all
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_member import ShareMember
from kohort.coordinator.share.share_values import ShareKind
from kohort.protocol.errors import ErrorCode


def keep_alive(group: ShareGroup, member: ShareMember, now_ms: int) -> None:
    timeout_ms = group.coordinator.share_config(group.group_id).session_timeout_ms
    extend_session(group, member, timeout_ms, now_ms, session_expired)


def session_expired(group: ShareGroup, member: ShareMember, now_ms: int) -> None:
    """Remove a member after its session timeout. If the write fails, try again later."""

    def written(error: ErrorCode, now_ms: int) -> None:
        current_member = group.members.get(member.member_id) if group.is_there else None
        if error is not ErrorCode.none and current_member is not None:
            stop(group, current_member.session)
            current_member.session = start(group, current_member, FENCE_RETRY_MS, now_ms, session_expired)

    remove_members(group, [member], cause_of(member, "session_expired"), now_ms, written)


def remove_members(
    group: ShareGroup, members: Iterable[ShareMember], cause: Cause, now_ms: int, on_written: OnWritten
) -> None:
    """Remove members from the group. The next heartbeat of any member computes the new target."""
    changes = GroupChanges(group)
    remember_topic_changes(group)
    for member in members:
        stop_all(group, member)
        for kind in (ShareKind.CURRENT, ShareKind.TARGET, ShareKind.MEMBER):
            changes.make(kind, member.member_id, None)
    bump_after_removal(group, changes)
    changes.write(now_ms, cause, on_written)


def cause_of(member: ShareMember, name: str) -> Cause:
    return Cause(name, member.member_id, member.metadata.client_id, member.metadata.client_host)
