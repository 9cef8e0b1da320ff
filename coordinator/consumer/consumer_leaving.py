"""Departure of members: they leave, leave temporarily, or are fenced (consumer-groups §6, §7.2)."""

from collections.abc import Iterable

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.request_changes import ChangeSet
from kohort.coordinator.consumer.values import STEPPING_OUT_EPOCH, Kind
from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.group_epochs import bump_after_removal, remember_topic_changes
from kohort.coordinator.modern.timers import FENCE_RETRY_MS, start, stop, stop_all
from kohort.protocol.errors import ErrorCode


def step_out(group: ConsumerGroup, member: ConsumerMember, now_ms: int, on_written: OnWritten) -> None:
    """Let a static member leave temporarily: it keeps its partitions until it is back or its session expires."""
    current = member.current
    kept = {topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in current.assigned.items()}
    suspended = current._replace(epoch=STEPPING_OUT_EPOCH, assigned=kept, revoking={})
    changes = ChangeSet(group)
    changes.make(Kind.CURRENT, member.member_id, suspended)
    changes.write(now_ms, cause_of(member, "leave_explicit"), on_written)


def fence(
    group: ConsumerGroup, members: Iterable[ConsumerMember], cause: Cause, now_ms: int, on_written: OnWritten
) -> None:
    """Remove members. The next heartbeat of any member computes the new owners of their partitions.

    A group that only has classic members left is converted to the classic protocol, if the policy allows it.
    """
    members, changes = list(members), ChangeSet(group)
    if group.coordinator.downgrade_if_classic(group, changes, cause, now_ms, on_written, members):
        return
    take_out(group, members, changes)
    changes.write(now_ms, cause, on_written)


def take_out(group: ConsumerGroup, members: Iterable[ConsumerMember], changes: ChangeSet) -> None:
    """Add the records that remove members, and a new group epoch."""
    remember_topic_changes(group)
    for member in members:
        stop_all(group, member)
        forget(member.member_id, changes)
        regex = member.metadata.topic_regex
        if regex and not group.regex_counts[regex] and regex in group.regexes:
            changes.make(Kind.REGEX, regex, None)
    bump_after_removal(group, changes)


def forget(member_id: str, changes: ChangeSet) -> None:
    """Add the records that remove a member."""
    changes.make(Kind.CURRENT, member_id, None)
    changes.make(Kind.TARGET, member_id, None)
    changes.make(Kind.MEMBER, member_id, None)


def session_expired(group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
    expire(group, member, "session_expired", now_ms)


def expire(group: ConsumerGroup, member: ConsumerMember, cause: str, now_ms: int) -> None:
    """Fence a member after a timeout; retry later if that cannot be written."""

    def written(error: ErrorCode, now_ms: int) -> None:
        restored = group.members.get(member.member_id) if group.is_there else None
        if error is not ErrorCode.none and restored is not None:
            stop(group, restored.session)
            restored.session = start(group, restored, FENCE_RETRY_MS, now_ms, session_expired)

    fence(group, [member], cause_of(member, cause), now_ms, written)


def cause_of(member: ConsumerMember, name: str) -> Cause:
    return Cause(name, member.member_id, member.metadata.client_id, member.metadata.client_host)
