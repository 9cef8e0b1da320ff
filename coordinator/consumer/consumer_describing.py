"""Entry of a group in the response to ConsumerGroupDescribe (consumer-groups §16.1)."""

from collections.abc import Collection, Mapping
from uuid import UUID

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.modern.modern_describing import entry_of, existing_topics
from kohort.protocol.messages.consumer_group_describe import Assignment, DescribedGroup, Member, TopicPartitions

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1


def described(group: ConsumerGroup) -> DescribedGroup:
    entry: DescribedGroup = entry_of(group, DescribedGroup, _member)
    return entry


def _member(group: ConsumerGroup, member: ConsumerMember) -> Member:
    metadata, current = member.metadata, member.current
    owned: dict[UUID, set[int]] = {topic_id: set(partitions) for topic_id, partitions in current.assigned.items()}
    for topic_id, partitions in current.revoking.items():
        owned.setdefault(topic_id, set()).update(partitions)
    return Member(
        member_id=member.member_id,
        instance_id=metadata.instance_id,
        rack_id=metadata.rack_id,
        member_epoch=current.epoch,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        subscribed_topic_names=metadata.topic_names,
        subscribed_topic_regex=metadata.topic_regex,
        assignment=_assignment(group, owned),
        target_assignment=_assignment(group, group.target_of(member.member_id)),
        member_type=CLASSIC_MEMBER if member.is_classic else CONSUMER_MEMBER,
    )


def _assignment(group: ConsumerGroup, partitions: Mapping[UUID, Collection[int]]) -> Assignment:
    return Assignment(topic_partitions=existing_topics(group.coordinator.topics, partitions, TopicPartitions))
