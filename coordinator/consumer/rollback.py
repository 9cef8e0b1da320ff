"""Timers of members after changes were undone (consumer-groups §19)."""

from collections.abc import Mapping

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.progress import keep_alive, watch_revocation
from kohort.coordinator.modern.timers import resume_sessions


def resume_timers(group: ConsumerGroup, old_members: Mapping[str, ConsumerMember], now_ms: int) -> None:
    """Restore session and revocation timeouts after changes were undone.

    Args:
        old_members: Members before the changes were undone.
    """
    resume_sessions(group, old_members, keep_alive, now_ms)
    if group.is_there:
        for member in group.members.values():
            watch_revocation(group, member, now_ms)
