"""Conversion of ListGroups and Describe… responses to views of groups."""

from __future__ import annotations

from typing import Any, Final

from kohort.cli.watch.snapshot import SeenGroup, SeenShare
from kohort.groups.group_members import GroupMember, by_topic, pairs
from kohort.groups.type_words import CLASSIC, CONSUMER
from kohort.protocol.consumer_protocol import assigned_partitions
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from kohort.protocol.messages.describe_share_group_offsets import DescribeShareGroupOffsetsResponseGroup
from kohort.protocol.messages.list_groups import ListedGroup
from kohort.protocol.topic_partition import TopicPartition

# protocols by member type in a consumer group (KIP-1099), which brokers before Kafka 4.1 do not send
_SPOKEN: Final = {0: CLASSIC, 1: CONSUMER}
_ROLES: Final = {"active": "active_tasks", "standby": "standby_tasks", "warm-up": "warmup_tasks"}
_UNKNOWN_MS: Final = -1  # in place of timeouts, which no response contains


def type_of(listed: ListedGroup) -> str:
    """Return the type of a group; brokers that send none only have classic groups."""
    return listed.group_type.lower() or CLASSIC


def view_of_listed(listed: ListedGroup, node_id: int) -> SeenGroup:
    """Return a group that is only listed; `node_id` is its coordinator, here and below."""
    return SeenGroup(
        group_id=listed.group_id,
        type=type_of(listed),
        state=listed.group_state,
        version=None,
        coordinator=node_id,
        is_complete=False,
        knows_timers=False,
    )


def view_of_described(described: Any, group_type: str, node_id: int) -> SeenGroup:
    """Return a group from an element of the Describe… response for its type."""
    if group_type == CLASSIC:
        return _view_of_classic(described, node_id)
    return SeenGroup(
        group_id=described.group_id,
        type=group_type,
        state=described.group_state,
        version=described.group_epoch,
        target_epoch=described.assignment_epoch,
        protocol=getattr(described, "assignor_name", "") if described.members else "",
        members=tuple(_member(member, group_type) for member in described.members),
        coordinator=node_id,
        knows_timers=False,
    )


def _member(described: Any, group_type: str) -> GroupMember:
    owned = _items(described.assignment)
    target = _items(described.target_assignment) if hasattr(described, "target_assignment") else owned
    return GroupMember(
        member_id=described.member_id,
        instance_id=getattr(described, "instance_id", None),
        client_id=described.client_id,
        client_host=described.client_host.lstrip("/"),
        session_timeout_ms=_UNKNOWN_MS,
        rebalance_timeout_ms=_UNKNOWN_MS,
        partitions=by_topic(owned & target),
        revoking=by_topic(owned - target),
        target=by_topic(target),
        speaks=_SPOKEN.get(getattr(described, "member_type", _UNKNOWN_MS), group_type),
        epoch=described.member_epoch,
    )


def _items(assignment: Any) -> frozenset[TopicPartition]:
    """Return partitions, or tasks as partitions."""
    if hasattr(assignment, "topic_partitions"):
        return frozenset(
            (topic.topic_name, number) for topic in assignment.topic_partitions for number in topic.partitions
        )
    return frozenset(
        (f"{role} {ids.subtopology_id}", number)
        for role, field in _ROLES.items()
        for ids in getattr(assignment, field)
        for number in ids.partitions
    )


def _view_of_classic(described: DescribedGroup, node_id: int) -> SeenGroup:
    """Return a classic group, with owned partitions if its members are consumers."""
    of_consumers = described.protocol_type == CONSUMER
    return SeenGroup(
        group_id=described.group_id,
        type=CLASSIC,
        state=described.group_state,
        version=None,
        protocol=described.protocol_data,
        members=tuple(_classic_member(member, of_consumers) for member in described.members),
        coordinator=node_id,
        knows_timers=False,
    )


def _classic_member(described: DescribedGroupMember, of_consumers: bool) -> GroupMember:
    owned = (assigned_partitions(described.member_assignment) or {}) if of_consumers else {}
    partitions = by_topic(pairs(owned))
    return GroupMember(
        member_id=described.member_id,
        instance_id=described.group_instance_id,
        client_id=described.client_id,
        client_host=described.client_host.lstrip("/"),
        session_timeout_ms=_UNKNOWN_MS,
        rebalance_timeout_ms=_UNKNOWN_MS,
        partitions=partitions,
        target=partitions,
        speaks=CLASSIC,
        epoch=_UNKNOWN_MS,
    )


def view_of_shares(described: DescribeShareGroupOffsetsResponseGroup) -> tuple[SeenShare, ...]:
    """Return the state of a share group's partitions, without unknown ones."""
    return tuple(
        SeenShare((topic.topic_name, part.partition_index), part.start_offset, part.lag if part.lag >= 0 else None)
        for topic in described.topics
        for part in topic.partitions
        if part.error_code is ErrorCode.none and part.start_offset >= 0
    )
