"""Conversion of a share group (KIP-932) to a `GroupView`, without the records, which the partitions' leaders know."""

from kohort.coordinator.groups.group import SHARE
from kohort.coordinator.groups.view_parts import IsAlive, partitions_by_name, remaining_ms, view_of_modern_group
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_member import ShareMember
from kohort.groups.group_members import GroupMember
from kohort.groups.group_view import GroupView, ShareView


def view_of(group: ShareGroup, now_ms: int, is_alive: IsAlive) -> GroupView:
    config = group.config
    share = ShareView(
        partitions=(),
        in_flight=(),
        delivery_count_limit=config.delivery_count_limit,
        max_record_locks=config.partition_max_record_locks,
        record_lock_ms=config.record_lock_duration_ms,
    )
    members = (_member(group, member, now_ms, is_alive) for member in group.members.values())
    return view_of_modern_group(group, members, now_ms, share=share)


def _member(group: ShareGroup, member: ShareMember, now_ms: int, is_alive: IsAlive) -> GroupMember:
    """Return a member, which may share its partitions with others and never has to revoke any."""
    metadata, current = member.metadata, member.current
    return GroupMember(
        member_id=member.member_id,
        instance_id=None,
        client_id=metadata.client_id,
        client_host=metadata.client_host.lstrip("/"),
        session_timeout_ms=group.session_timeout_of(member),
        rebalance_timeout_ms=0,
        is_alive=is_alive(group, member),
        partitions=partitions_by_name(group, current.assigned),
        speaks=SHARE,
        epoch=current.epoch,
        target=partitions_by_name(group, group.target_of(member.member_id)),
        topics=metadata.topic_names,
        session_ends_in_ms=remaining_ms(member.session, now_ms),
    )
