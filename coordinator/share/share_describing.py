"""Entry of a group in the response to ShareGroupDescribe (share-groups §16)."""

from kohort.coordinator.modern.modern_describing import entry_of, existing_topics
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_member import ShareMember
from kohort.protocol.messages.share_group_describe import Assignment, DescribedGroup, Member, TopicPartitions


def described(group: ShareGroup) -> DescribedGroup:
    entry: DescribedGroup = entry_of(group, DescribedGroup, _member)
    return entry


def _member(group: ShareGroup, member: ShareMember) -> Member:
    metadata, current = member.metadata, member.current
    topics = existing_topics(group.coordinator.topics, current.assigned, TopicPartitions)
    return Member(
        member_id=member.member_id,
        rack_id=metadata.rack_id,
        member_epoch=current.epoch,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        subscribed_topic_names=metadata.topic_names,
        assignment=Assignment(topic_partitions=topics),
    )
