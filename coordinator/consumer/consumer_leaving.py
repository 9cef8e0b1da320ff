"""How members go: they leave, step out, or are fenced (consumer-groups §6, §7.2)."""

from collections.abc import Iterable

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.refusing import fenced_instance, unknown_instance
from kohort.coordinator.consumer.request_changes import ChangeSet
from kohort.coordinator.consumer.values import STEPPING_OUT_EPOCH, Kind
from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.group_epochs import bump, keep_in_mind_what_changed
from kohort.coordinator.modern.group_refusals import Refusal, unknown_member
from kohort.coordinator.modern.timers import FENCE_AGAIN_AFTER_MS, start, stop, stop_all
from kohort.protocol.errors import ErrorCode


def find_leaver(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember | Refusal:
    """Who leaves. Its epoch is not looked at."""
    if instance_id is None:
        return group.members.get(member_id) or unknown_member(member_id, group.group_id)
    member = group.member_of_instance(instance_id)
    if member is None:
        return unknown_instance(instance_id)
    return member if member.member_id == member_id else fenced_instance(member_id, instance_id, member.member_id)


def step_out(group: ConsumerGroup, member: ConsumerMember, now_ms: int, on_written: OnWritten) -> None:
    """A static member goes and keeps its partitions until its session ends, or until it is back."""
    current = member.current
    kept = {topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in current.assigned.items()}
    away = current._replace(epoch=STEPPING_OUT_EPOCH, assigned=kept, revoking={})
    changes = ChangeSet(group)
    changes.make(Kind.CURRENT, member.member_id, away)
    changes.write(now_ms, cause_of(member, "leave_explicit"), on_written)


def fence(
    group: ConsumerGroup, members: Iterable[ConsumerMember], cause: Cause, now_ms: int, on_written: OnWritten
) -> None:
    """Takes members out of the group. The next heartbeat of anybody computes who gets their partitions.

    A group that is left with classic members only is classic from then on, if the policy allows.
    """
    members, changes = list(members), ChangeSet(group)
    if group.coordinator.downgrade_if_classic(group, changes, cause, now_ms, on_written, members):
        return
    take_out(group, members, changes)
    changes.write(now_ms, cause, on_written)


def take_out(group: ConsumerGroup, members: Iterable[ConsumerMember], changes: ChangeSet) -> None:
    """Notes that members are gone, and that the group has another epoch for it."""
    keep_in_mind_what_changed(group)
    for member in members:
        stop_all(group, member)
        forget(member.member_id, changes)
        regex = member.metadata.topic_regex
        if regex and not group.regex_counts[regex] and regex in group.regexes:
            changes.make(Kind.REGEX, regex, None)
    bump(group, changes)


def forget(member_id: str, changes: ChangeSet) -> None:
    """Notes that a member is gone."""
    changes.make(Kind.CURRENT, member_id, None)
    changes.make(Kind.TARGET, member_id, None)
    changes.make(Kind.MEMBER, member_id, None)


def session_expired(group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
    """A member has been silent for its session timeout."""
    expire(group, member, "session_expired", now_ms)


def expire(group: ConsumerGroup, member: ConsumerMember, cause: str, now_ms: int) -> None:
    """Fences a member whose time is up; a little later again, if that cannot be written."""

    def written(error: ErrorCode, now_ms: int) -> None:
        is_there = group.coordinator.consumer_groups.get(group.group_id) is group
        back = group.members.get(member.member_id) if is_there else None
        if error is not ErrorCode.none and back is not None:
            stop(group, back.session)
            back.session = start(group, back, FENCE_AGAIN_AFTER_MS, now_ms, session_expired)

    fence(group, [member], cause_of(member, cause), now_ms, written)


def cause_of(member: ConsumerMember, name: str) -> Cause:
    """A cause that a member has brought about."""
    return Cause(name, member.member_id, member.metadata.client_id, member.metadata.client_host)
