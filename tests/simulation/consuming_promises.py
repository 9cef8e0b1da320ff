"""What holds at every moment for groups that have members of the consumer protocol."""

from __future__ import annotations

from typing import Any, Protocol
from uuid import UUID

from kohort.broker.cluster.node import Node
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.context import Shard
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.groups.loading import Loading
from kohort.protocol.batches import read_batches
from kohort.protocol.consumer_protocol import assigned_partitions
from kohort.purgatory import Purgatory
from kohort.whatif.clients.group_member import Owned
from tests.simulation.consuming import STABLE_TOPICS, Consumers
from tests.simulation.member import Member, SimulatedClassic, SimulatedConsumer
from tests.support.consumer_groups import left_to_nobody, may_be_forgotten, one_owner_each, picture

OFFSETS = "__consumer_offsets"


def coordinators_know_one_owner_each(consumers: Consumers) -> None:
    """Check that coordinators have one owner per partition, ordered epochs and one type per group."""
    for node in consumers.cluster.nodes:
        one_owner_each(node.coordinator)


class Watched(Protocol):
    """Members, and what their groups are now."""

    @property
    def members(self) -> list[Member]:
        """Of all groups."""
        ...

    @property
    def was_consumer(self) -> dict[str, bool]:
        """The groups of the last moment, by id: whether they spoke the consumer protocol."""
        ...

    def consumer_group(self, group_id: str) -> ConsumerGroup | None: ...

    def classic_group(self, group_id: str) -> ClassicGroup | None: ...

    def topic_ids(self) -> dict[str, UUID]: ...


def nobody_consumes_what_another_one_does(consumers: Watched) -> None:
    """Check that current members do not consume the same partition.

    A fenced member that does not know it yet may be wrong. So may a classic member that is out of step with its
    group, for partitions that its group does not count as its own.
    """
    for group_id in {member.group_id for member in consumers.members}:
        _note_who_is_out_of_step(consumers, group_id)
        group = consumers.consumer_group(group_id)
        if group is None:
            continue
        owners: dict[Any, Member] = {}
        for member in consumers.members:
            known = group.members.get(member.member_id)
            if member.group_id != group_id or known is None or member.epoch <= 0:
                continue
            for at in member.owned:
                if isinstance(member, SimulatedClassic) and member.is_out_of_step and not _believes(known, at):
                    continue
                other = owners.setdefault(at, member)
                assert other is member, f"{other} and {member} both consume {at}"


def _believes(known: ConsumerMember, at: tuple[UUID, int]) -> bool:
    """Return whether a group counts a partition as the member's."""
    current = known.current
    return at[1] in current.assigned.get(at[0], ()) or at[1] in current.revoking.get(at[0], ())


def _note_who_is_out_of_step(consumers: Watched, group_id: str) -> None:
    """Record classic members that do not know of a change yet, as in Kafka.

    They learn of each with the next sync. A member was fenced, and joins under its old member id as a new one
    (consumer-groups §17.3 rule 6). Its group became classic and gave it its target (consumer-groups §17.4 rule 2).
    Its group became a consumer group when the member had not synced, or had not rejoined since the group became
    classic (consumer-groups §17.2 rule 6).
    """
    group, classic = consumers.consumer_group(group_id), consumers.classic_group(group_id)
    was_consumer = consumers.was_consumer.get(group_id)
    if group is not None or classic is not None:
        consumers.was_consumer[group_id] = group is not None
    for member in consumers.members:
        if member.group_id != group_id or not isinstance(member, SimulatedClassic):
            continue
        if group is not None and member.member_id not in group.members:
            member.is_out_of_step |= bool(member.owned)
        elif group is not None and was_consumer is False:
            epoch = group.members[member.member_id].current.epoch
            member.is_out_of_step |= member.phase != "synced" or member.epoch != epoch
        elif classic is not None and was_consumer is True and member.member_id in classic.members:
            member.is_out_of_step |= _given(consumers, classic, member) != member.owned


def _given(consumers: Watched, classic: ClassicGroup, member: SimulatedClassic) -> Owned:
    """Return a member's assignment in its classic group."""
    ids = consumers.topic_ids()
    share = assigned_partitions(classic.members[member.member_id].assignment) or {}
    return {(ids[name], number) for name, numbers in share.items() if name in ids for number in numbers}


def an_epoch_is_known_to_its_group(consumers: Consumers) -> None:
    """Check that no member has an epoch beyond its group's."""
    for member in consumers.members:
        group = consumers.consumer_group(member.group_id)
        if isinstance(member, SimulatedConsumer) and group is not None and member.member_id in group.members:
            assert member.epoch <= group.epoch, f"{member} is beyond {group.epoch}"


PROMISES = (coordinators_know_one_owner_each, nobody_consumes_what_another_one_does, an_epoch_is_known_to_its_group)


def the_log_tells_the_same(consumers: Consumers) -> None:
    """Check, when nothing is being written, that a loaded log equals the coordinator's state."""
    if consumers.writes.waiting:
        return
    topic = consumers.cluster.topics.by_name(OFFSETS)
    for node in consumers.cluster.nodes:
        for index in [index for index, shard in node.coordinator.shards.items() if shard is Shard.ACTIVE]:
            assert topic is not None
            _compare(consumers, node, index, topic.partitions[index].log.batches())


def _compare(consumers: Consumers, node: Node, index: int, batches: Any) -> None:
    live = node.coordinator
    assert not live.unwritten
    other = GroupCoordinator(live.settings, Purgatory(), str, partitions=live.partitions, epoch_ms=live.epoch_ms)
    other.topics, other.configs = live.topics, live.configs
    loading = Loading(other, index)
    for data in batches:
        for batch in read_batches(data):
            loading.apply_batch(data, batch)
    loading.finish(consumers.now_ms())
    told, known = picture(other), picture(live)
    for group_id in {group.group_id for group in live.groups.values() if group.partition == index} | told.keys():
        if live.classic_group(group_id) is not None and (consumers.writes.fails or known[group_id] is None):
            continue  # what a classic group shows while writes fail: tests/coordinator/test_appends.py
        if group_id not in known and may_be_forgotten(live, told[group_id]):
            continue
        assert told.get(group_id) == known.get(group_id), f"{group_id} is not in the log as it is"


def everything_is_consumed(consumers: Consumers) -> None:
    """Check at the end that partitions have one owner, as in Kafka, and no commit is lost."""
    for group_id in {member.group_id for member in consumers.members}:
        members = [member for member in consumers.members if member.group_id == group_id]
        owned = [at for member in members for at in member.owned]
        assert len(owned) == len(set(owned)), f"{group_id}: two owners"
        names = {consumers.name_of(topic_id) for topic_id, _ in owned}
        for topic in consumers.cluster.topics:
            wanted = any(topic.name in member.names for member in members)
            if wanted and (topic.name in STABLE_TOPICS or topic.name in names):
                missing = {(topic.topic_id, partition.index) for partition in topic.partitions} - set(owned)
                missing -= _rightly_missing(consumers, group_id, missing)
                assert not missing, f"{group_id}: {topic.name} is not consumed as a whole"
    consumers.no_commit_is_lost()


def _rightly_missing(consumers: Consumers, group_id: str, partitions: Owned) -> Owned:
    """Return partitions without owner in Kafka, too: see `left_to_nobody` and consumer-groups §17.4 rule 4."""
    group, classic = consumers.consumer_group(group_id), consumers.classic_group(group_id)
    if group is not None:
        return left_to_nobody(group, partitions)
    if classic is None:
        return set()
    unheard: Owned = set()
    for member in consumers.members:
        is_known = member.member_id in classic.members and member.epoch == classic.generation_id
        if is_known and isinstance(member, SimulatedClassic) and member.is_out_of_step:
            unheard |= _given(consumers, classic, member)
    return partitions & unheard
