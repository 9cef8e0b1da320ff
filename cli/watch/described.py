"""Conversion of ListGroups and Describe… responses to observed groups."""

from __future__ import annotations

from kohort.cli.watch.snapshot import CLASSIC, CONSUMER, SHARE, STREAMS, SeenGroup, SeenMember, SeenShare
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

_SPOKEN = {0: CLASSIC, 1: CONSUMER}  # protocols by member type (KIP-1099), which brokers before Kafka 4.1 do not send


def type_of(listed: ListedGroup) -> str:
    """Return the type of a group; brokers that send none only have classic groups."""
    return listed.group_type.lower() or CLASSIC


def seen_listed(listed: ListedGroup, node_id: int) -> SeenGroup:
    """Return a group that is only listed; `node_id` is its coordinator, here and below."""
    return SeenGroup(listed.group_id, listed.group_state, node_id, "", type_of(listed), None)


def seen_classic(described: DescribedGroup, node_id: int) -> SeenGroup:
    """Return a classic group, with owned partitions if its members are consumers."""
    of_consumers = described.protocol_type == CONSUMER
    members = tuple(_classic_member(member, of_consumers) for member in described.members)
    return SeenGroup(described.group_id, described.group_state, node_id, described.protocol_data, CLASSIC, members)


def _classic_member(described: DescribedGroupMember, of_consumers: bool) -> SeenMember:
    owned = (assigned_partitions(described.member_assignment) or {}) if of_consumers else {}
    return SeenMember(
        described.member_id,
        described.client_id,
        described.client_host.lstrip("/"),
        described.group_instance_id,
        tuple((topic, partition) for topic, parts in owned.items() for partition in parts),
    )


def seen_consumer(described: DescribedConsumerGroup, node_id: int) -> SeenGroup:
    """Return a consumer group, with members of both protocols."""
    return SeenGroup(
        described.group_id,
        described.group_state,
        node_id,
        described.assignor_name,
        CONSUMER,
        tuple(_member(member) for member in described.members),
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
    """Return a share group, in which several members may have the same partition."""
    return SeenGroup(
        described.group_id,
        described.group_state,
        node_id,
        described.assignor_name if described.members else "",
        SHARE,
        tuple(
            SeenMember(
                member.member_id,
                member.client_id,
                member.client_host.lstrip("/"),
                owns=tuple(
                    (topic.topic_name, p) for topic in member.assignment.topic_partitions for p in topic.partitions
                ),
                epoch=member.member_epoch,
            )
            for member in described.members
        ),
        epoch=described.group_epoch,
        target_epoch=described.assignment_epoch,
    )


def seen_streams(described: DescribedStreamsGroup, node_id: int) -> SeenGroup:
    """Return a streams group, whose members have tasks, each a partition of a subtopology."""
    return SeenGroup(
        described.group_id,
        described.group_state,
        node_id,
        "",
        STREAMS,
        tuple(_thread(member) for member in described.members),
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
    """Return tasks as partitions: `("active 0", 3)` is the active task 0_3."""
    by_role = {
        "active": assignment.active_tasks,
        "standby": assignment.standby_tasks,
        "warm-up": assignment.warmup_tasks,
    }
    return tuple(
        (f"{role} {ids.subtopology_id}", partition)
        for role, tasks in by_role.items()
        for ids in tasks
        for partition in ids.partitions
    )


def seen_shares(described: DescribeShareGroupOffsetsResponseGroup) -> tuple[SeenShare, ...]:
    """Return the state of a share group's partitions, without unknown ones."""
    return tuple(
        SeenShare((topic.topic_name, part.partition_index), part.start_offset, part.lag if part.lag >= 0 else None)
        for topic in described.topics
        for part in topic.partitions
        if part.error_code is ErrorCode.none and part.start_offset >= 0
    )


def _partitions(assignment: Assignment) -> tuple[TopicPartition, ...]:
    return tuple((topic.topic_name, number) for topic in assignment.topic_partitions for number in topic.partitions)
