"""What ListGroups, DescribeGroups and ConsumerGroupDescribe say of a group, as what was seen."""

from __future__ import annotations

from kohort.protocol.consumer_protocol import assigned_partitions
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.consumer_group_describe import Assignment, Member
from kohort.protocol.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from kohort.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from kohort.protocol.messages.describe_share_group_offsets import DescribeShareGroupOffsetsResponseGroup
from kohort.protocol.messages.list_groups import ListedGroup
from kohort.protocol.messages.share_group_describe import DescribedGroup as DescribedShareGroup
from kohort.protocol.messages.streams_group_describe import Assignment as StreamsAssignment
from kohort.protocol.messages.streams_group_describe import DescribedGroup as DescribedStreamsGroup
from kohort.protocol.messages.streams_group_describe import Member as StreamsMember
from kohort.protocol.topic_partition import TopicPartition
from kohort.watch.snapshot import CLASSIC, CONSUMER, SHARE, STREAMS, SeenGroup, SeenMember, SeenShare

_SPOKEN = {0: CLASSIC, 1: CONSUMER}
"""By member type (KIP-1099); brokers before Kafka 4.1 do not say it."""


def type_of(listed: ListedGroup) -> str:
    """The type of a group. Brokers that name none have classic groups only."""
    return listed.group_type.lower() or CLASSIC


def seen_listed(listed: ListedGroup, node_id: int) -> SeenGroup:
    """A group of which no more is known. `node_id`: of its coordinator, here and below."""
    return SeenGroup(listed.group_id, listed.group_state, node_id, "", type_of(listed), None)


def seen_classic(described: DescribedGroup, node_id: int) -> SeenGroup:
    """A classic group, with who owns what where the members are consumers."""
    of_consumers = described.protocol_type == CONSUMER
    members = tuple(_classic_member(each, of_consumers) for each in described.members)
    return SeenGroup(described.group_id, described.group_state, node_id, described.protocol_data, CLASSIC, members)


def _classic_member(described: DescribedGroupMember, of_consumers: bool) -> SeenMember:
    owned = (assigned_partitions(described.member_assignment) or {}) if of_consumers else {}
    return SeenMember(
        described.member_id,
        described.client_id,
        described.client_host.lstrip("/"),
        described.group_instance_id,
        tuple((topic, each) for topic, parts in owned.items() for each in parts),
    )


def seen_consumer(described: DescribedConsumerGroup, node_id: int) -> SeenGroup:
    """A consumer group, with members of both protocols."""
    return SeenGroup(
        described.group_id,
        described.group_state,
        node_id,
        described.assignor_name,
        CONSUMER,
        tuple(_member(each) for each in described.members),
        epoch=described.group_epoch,
        target_epoch=described.assignment_epoch,
    )


def _member(described: Member) -> SeenMember:
    return SeenMember(
        described.member_id,
        described.client_id,
        described.client_host.lstrip("/"),
        described.instance_id,
        _partitions(described.assignment),
        target=_partitions(described.target_assignment),
        epoch=described.member_epoch,
        speaks=_SPOKEN.get(described.member_type, ""),
    )


def seen_share(described: DescribedShareGroup, node_id: int) -> SeenGroup:
    """A share group, in which several members may have the same partition."""
    return SeenGroup(
        described.group_id,
        described.group_state,
        node_id,
        described.assignor_name if described.members else "",
        SHARE,
        tuple(
            SeenMember(
                each.member_id,
                each.client_id,
                each.client_host.lstrip("/"),
                owns=tuple(
                    (topic.topic_name, p) for topic in each.assignment.topic_partitions for p in topic.partitions
                ),
                epoch=each.member_epoch,
            )
            for each in described.members
        ),
        epoch=described.group_epoch,
        target_epoch=described.assignment_epoch,
    )


def seen_streams(described: DescribedStreamsGroup, node_id: int) -> SeenGroup:
    """A streams group: its members have tasks, each a partition of a subtopology, instead of partitions of topics."""
    return SeenGroup(
        described.group_id,
        described.group_state,
        node_id,
        "",
        STREAMS,
        tuple(_thread(each) for each in described.members),
        epoch=described.group_epoch,
        target_epoch=described.assignment_epoch,
    )


def _thread(described: StreamsMember) -> SeenMember:
    return SeenMember(
        described.member_id,
        described.client_id,
        described.client_host.lstrip("/"),
        described.instance_id,
        _tasks(described.assignment),
        target=_tasks(described.target_assignment),
        epoch=described.member_epoch,
    )


def _tasks(assignment: StreamsAssignment) -> tuple[TopicPartition, ...]:
    """`("active 0", 3)` is the active task 0_3."""
    by_role = {
        "active": assignment.active_tasks,
        "standby": assignment.standby_tasks,
        "warm-up": assignment.warmup_tasks,
    }
    return tuple(
        (f"{role} {each.subtopology_id}", partition)
        for role, tasks in by_role.items()
        for each in tasks
        for partition in each.partitions
    )


def seen_shares(described: DescribeShareGroupOffsetsResponseGroup) -> tuple[SeenShare, ...]:
    """How far a share group is with each partition; what is not known is left out."""
    return tuple(
        SeenShare((topic.topic_name, part.partition_index), part.start_offset, part.lag if part.lag >= 0 else None)
        for topic in described.topics
        for part in topic.partitions
        if part.error_code is ErrorCode.none and part.start_offset >= 0
    )


def _partitions(assignment: Assignment) -> tuple[TopicPartition, ...]:
    return tuple((each.topic_name, number) for each in assignment.topic_partitions for number in each.partitions)
