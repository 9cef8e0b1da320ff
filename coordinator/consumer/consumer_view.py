"""Conversion of a consumer group (KIP-848) to a `GroupView`."""

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.consumer_states import MemberState
from kohort.coordinator.groups.group import CLASSIC, CONSUMER
from kohort.coordinator.groups.view_parts import IsAlive, partitions_by_name, remaining_ms, view_of_modern_group
from kohort.groups.group_members import GroupMember
from kohort.groups.group_view import GroupView


def view_of(group: ConsumerGroup, now_ms: int, is_alive: IsAlive) -> GroupView:
    members = (_member(group, member, now_ms, is_alive) for member in group.members.values())
    return view_of_modern_group(group, members, now_ms)


def _member(group: ConsumerGroup, member: ConsumerMember, now_ms: int, is_alive: IsAlive) -> GroupMember:
    metadata, current = member.metadata, member.current
    return GroupMember(
        member_id=member.member_id,
        instance_id=metadata.instance_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host.lstrip("/"),
        session_timeout_ms=group.session_timeout_of(member),
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
        is_alive=is_alive(group, member),
        waits_for="partitions" if current.state is MemberState.UNRELEASED_PARTITIONS else "",
        partitions=partitions_by_name(group, current.assigned),
        speaks=CLASSIC if member.is_classic else CONSUMER,
        epoch=current.epoch,
        state=current.state.name.title().replace("_", ""),
        target=partitions_by_name(group, group.target_of(member.member_id)),
        revoking=partitions_by_name(group, current.revoking),
        topics=metadata.topic_names,
        topic_regex=metadata.topic_regex,
        assignor=metadata.assignor or "",
        session_ends_in_ms=remaining_ms(member.session, now_ms),
        revocation_ends_in_ms=remaining_ms(member.join_timer if member.is_classic else member.revocation, now_ms),
        heartbeat_gaps={} if member.stats is None else member.stats.gaps,
    )
