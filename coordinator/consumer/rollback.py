"""Members whose changes were taken back have the timers that they would have without them (consumer-groups §19)."""

from collections.abc import Mapping

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.consumer_states import MemberState
from kohort.coordinator.consumer.progress import keep_alive, watch_revocation
from kohort.coordinator.modern.timers import stop_all


def resume_timers(group: ConsumerGroup, before: Mapping[str, ConsumerMember], now_ms: int) -> None:
    """Members that are back have their timers again, and members that are gone have none.

    `before`: those there were before something was taken back.
    """
    for member_id, member in before.items():
        if group.members.get(member_id) is not member:
            stop_all(group, member)
    if group.coordinator.consumer_groups.get(group.group_id) is not group:
        for member in group.members.values():
            stop_all(group, member)
        return
    for member in group.members.values():
        if member.session is None or member.session.completed:
            keep_alive(group, member, now_ms)
        if member.revocation is not None or member.current.state is MemberState.UNREVOKED_PARTITIONS:
            watch_revocation(group, member, now_ms)
