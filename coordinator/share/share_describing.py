"""ShareGroupDescribe requests (share-groups §16)."""

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.groups.group import SHARE
from kohort.coordinator.java_order import in_table_order
from kohort.coordinator.modern.missing_groups import describe_refusal
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_member import ShareMember
from kohort.coordinator.share.simple_assignor import SIMPLE
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.share_group_describe import Assignment, DescribedGroup, Member, TopicPartitions


def describe_share_group(coordinator: GroupCoordinator, group_id: str) -> DescribedGroup:
    """Return the description of a group.

    Returns:
        An error for other names: INVALID_GROUP_ID for "", GROUP_ID_NOT_FOUND if it is not a share group, or an error
        that makes the client look for the group's coordinator.
    """
    group = coordinator.share_group(group_id)
    if group is not None:
        return _described(group)
    refusal = describe_refusal(coordinator, SHARE, group_id)
    return DescribedGroup(error_code=refusal.error, error_message=refusal.message, group_id=group_id)


def _described(group: ShareGroup) -> DescribedGroup:
    members = in_table_order(group.members.values(), _hash_of, group.most_members)
    return DescribedGroup(
        error_code=ErrorCode.none,
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=SIMPLE,
        members=tuple(_member(group, member) for member in members),
    )


def _hash_of(member: ShareMember) -> int:
    return member.java_hash


def _member(group: ShareGroup, member: ShareMember) -> Member:
    metadata = member.metadata
    return Member(
        member_id=member.member_id,
        rack_id=metadata.rack_id,
        member_epoch=member.current.epoch,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        subscribed_topic_names=metadata.topic_names,
        assignment=_assignment(group, member),
    )


def _assignment(group: ShareGroup, member: ShareMember) -> Assignment:
    topics = []
    for topic_id, partitions in member.current.assigned.items():
        topic = group.coordinator.topics.by_id(topic_id)
        if topic is not None:
            numbers = tuple(sorted(partitions))
            topics.append(TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=numbers))
    return Assignment(topic_partitions=tuple(topics))
