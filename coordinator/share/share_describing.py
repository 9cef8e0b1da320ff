"""Entry of a group in the response to ShareGroupDescribe (share-groups §16)."""

from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_member import ShareMember
from kohort.coordinator.share.simple_assignor import SIMPLE
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.share_group_describe import Assignment, DescribedGroup, Member, TopicPartitions


def described(group: ShareGroup) -> DescribedGroup:
    return DescribedGroup(
        error_code=ErrorCode.none,
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=SIMPLE,
        members=tuple(_member(group, member) for member in group.members_in_table_order()),
    )


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
