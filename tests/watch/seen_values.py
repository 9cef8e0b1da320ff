"""Groups and members as `kohort watch` sees them, with short arguments."""

from __future__ import annotations

from typing import Any

from kohort.cli.watch.snapshot import SeenGroup
from kohort.groups.group_members import GroupMember, by_topic
from kohort.protocol.topic_partition import TopicPartition


def seen_member(
    member_id: str,
    client_id: str,
    client_host: str,
    instance_id: str | None = None,
    owned: tuple[TopicPartition, ...] = (),
    target: tuple[TopicPartition, ...] | None = None,
    *,
    speaks: str = "classic",
    epoch: int = -1,
    **facts: Any,
) -> GroupMember:
    """Return a member; without `target`, its target is what it owns."""
    target_set = set(owned if target is None else target)
    return GroupMember(
        member_id=member_id,
        instance_id=instance_id,
        client_id=client_id,
        client_host=client_host,
        session_timeout_ms=-1,
        rebalance_timeout_ms=-1,
        partitions=by_topic(set(owned) & target_set),
        revoking=by_topic(set(owned) - target_set),
        target=by_topic(target_set),
        speaks=speaks,
        epoch=epoch,
        **facts,
    )


def seen_group(
    group_id: str,
    state: str,
    coordinator: int,
    protocol: str = "",
    group_type: str = "classic",
    members: tuple[GroupMember, ...] = (),
    *,
    version: int | None = None,
    **facts: Any,
) -> SeenGroup:
    """Return a group; `version` is its epoch."""
    return SeenGroup(
        group_id=group_id,
        type=group_type,
        state=state,
        version=version,
        coordinator=coordinator,
        protocol=protocol,
        members=members,
        **{"knows_timers": False, **facts},
    )
