"""Members of a group as tests see them, for every protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from kohort.coordinator.classic.classic_group import CONSUMER, ClassicGroup
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.consumer_states import MemberState
from kohort.coordinator.groups.group import CLASSIC, SHARE
from kohort.protocol.consumer_protocol import ImpossibleLengthError, assigned_partitions, subscribed_topics

if TYPE_CHECKING:
    from kohort.coordinator.modern.modern_group import ModernGroup
    from kohort.coordinator.share.share_group import ShareGroup
    from kohort.coordinator.share.share_member import ShareMember
    from kohort.purgatory import DelayedOperation


Partitions = Mapping[str, tuple[int, ...]]  # partition numbers by topic


@dataclass(frozen=True)
class GroupMember:
    """Snapshot of a member."""

    member_id: str
    instance_id: str | None  # the `group.instance.id` of a static member
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    is_leader: bool
    is_alive: bool  # whether its connection is open and no fault silences it
    # `join`: for other members to join; `sync`: for its assignment; `partitions` or `tasks`: for some that other
    # members still own (KIP-848, KIP-1071); empty: for nothing
    waits_for: str
    partitions: Partitions  # also empty if the group's protocol type is not `consumer`
    speaks: str  # the protocol: `classic`, `consumer`, `share` or `streams`; a consumer group may mix the first two
    epoch: int  # the member epoch, -2 after a static member left temporarily; in a classic group the generation
    state: str  # in a consumer group `Stable`, `UnrevokedPartitions` (must revoke some) or `UnreleasedPartitions`
    target: Partitions  # the target assignment; in a classic group the current one
    revoking: Partitions  # partitions that it must still revoke
    topics: tuple[str, ...]  # subscribed topic names, sorted
    topic_regex: str  # the subscribed pattern, or empty
    assignor: str  # the server-side assignor that it votes for, or empty
    # time on the brokers' clock until a silent member is removed; None while its request waits
    session_ends_in_ms: int | None
    revocation_ends_in_ms: int | None  # time until it is removed if it doesn't revoke; None if nothing is to be revoked

    def __str__(self) -> str:
        return self.instance_id or self.client_id or self.member_id


def classic_member(group: ClassicGroup, member: Member, now_ms: int, is_alive: bool) -> GroupMember:
    waits_for = "join" if member.join_ticket is not None else "sync" if member.sync_ticket is not None else ""
    partitions = assigned_partitions(member.assignment) or {}
    return GroupMember(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host.lstrip("/"),
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        is_leader=member.member_id == group.leader_id,
        is_alive=is_alive,
        waits_for=waits_for,
        partitions=partitions,
        speaks=CLASSIC,
        epoch=group.generation_id,
        state="",
        target=partitions,
        revoking={},
        topics=_topics(member) if group.protocol_type == CONSUMER else (),
        topic_regex="",
        assignor="",
        session_ends_in_ms=None if member.satisfies_heartbeat else remaining_ms(member.session, now_ms),
        revocation_ends_in_ms=None,
    )


def _topics(member: Member) -> tuple[str, ...]:
    try:
        topics = subscribed_topics(member.protocols[0][1]) if member.protocols else None
    except ImpossibleLengthError:
        return ()
    return tuple(sorted(topics or ()))


def consumer_member(group: ConsumerGroup, member: ConsumerMember, now_ms: int, is_alive: bool) -> GroupMember:
    metadata, current = member.metadata, member.current
    classic = metadata.classic
    config = group.coordinator.consumer_config(group.group_id)
    return GroupMember(
        member_id=member.member_id,
        instance_id=metadata.instance_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host.lstrip("/"),
        session_timeout_ms=config.session_timeout_ms if classic is None else classic.session_timeout_ms,
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
        is_leader=False,
        is_alive=is_alive,
        waits_for="partitions" if current.state is MemberState.UNRELEASED_PARTITIONS else "",
        partitions=by_name(group, current.assigned),
        speaks=CONSUMER if classic is None else CLASSIC,
        epoch=current.epoch,
        state=current.state.name.title().replace("_", ""),
        target=by_name(group, group.target_of(member.member_id)),
        revoking=by_name(group, current.revoking),
        topics=metadata.topic_names,
        topic_regex=metadata.topic_regex,
        assignor=metadata.assignor or "",
        session_ends_in_ms=remaining_ms(member.session, now_ms),
        revocation_ends_in_ms=remaining_ms(member.join_timer if member.is_classic else member.revocation, now_ms),
    )


def share_member(group: ShareGroup, member: ShareMember, now_ms: int, is_alive: bool) -> GroupMember:
    """Return a member of a share group. Members may share partitions, and never have to revoke any."""
    metadata, current = member.metadata, member.current
    return GroupMember(
        member_id=member.member_id,
        instance_id=None,
        client_id=metadata.client_id,
        client_host=metadata.client_host.lstrip("/"),
        session_timeout_ms=group.coordinator.share_config(group.group_id).session_timeout_ms,
        rebalance_timeout_ms=0,
        is_leader=False,
        is_alive=is_alive,
        waits_for="",
        partitions=by_name(group, current.assigned),
        speaks=SHARE,
        epoch=current.epoch,
        state="",
        target=by_name(group, group.target_of(member.member_id)),
        revoking={},
        topics=metadata.topic_names,
        topic_regex="",
        assignor="",
        session_ends_in_ms=remaining_ms(member.session, now_ms),
        revocation_ends_in_ms=None,
    )


def by_name(group: ModernGroup, partitions: Mapping[UUID, Iterable[int]]) -> dict[str, tuple[int, ...]]:
    """Return partitions by topic name, or by topic id if the topic was deleted."""
    by_topic = {}
    for topic_id, numbers in partitions.items():
        topic = group.coordinator.topics.by_id(topic_id)
        if numbers:
            by_topic[str(topic_id) if topic is None else topic.name] = tuple(sorted(numbers))
    return dict(sorted(by_topic.items()))


def remaining_ms(timer: DelayedOperation | None, now_ms: int) -> int | None:
    """Return the remaining time of a timer, or None if it doesn't run."""
    return None if timer is None or timer.completed else max(0, timer.deadline_ms - now_ms)
