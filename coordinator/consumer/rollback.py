"""Members whose changes were taken back have the timers that they would have without them (consumer-groups §19)."""

from collections.abc import Mapping

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.progress import keep_alive, watch_revocation
from kohort.coordinator.modern.timers import resume_sessions


def resume_timers(group: ConsumerGroup, before: Mapping[str, ConsumerMember], now_ms: int) -> None:
    """Also time to give up what a member must. `before`: those there were before something was taken back."""
    resume_sessions(group, before, keep_alive, now_ms)
    if group.is_there:
        for member in group.members.values():
            watch_revocation(group, member, now_ms)
