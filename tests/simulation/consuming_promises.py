"""What holds at every moment for groups that have members of the consumer protocol."""

from __future__ import annotations

from typing import Any

from kohort.broker.cluster.node import Node
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.context import Shard
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.loading import Loading
from kohort.protocol.batches import read_batches
from kohort.purgatory import Purgatory
from tests.simulation.classic_member import ClassicMember
from tests.simulation.consuming import STABLE_TOPICS, Consumers
from tests.simulation.member import Member
from tests.simulation.modern_member import ModernMember
from tests.support.consumer_groups import one_owner_each, picture

OFFSETS = "__consumer_offsets"


def coordinators_know_one_owner_each(consumers: Consumers) -> None:
    """By their own account; epochs are in order, and a group is of one kind."""
    for node in consumers.cluster.nodes:
        one_owner_each(node.coordinator)


def nobody_consumes_what_another_one_does(consumers: Consumers) -> None:
    """By what members do, as long as their group has them as members. Who was fenced, and has not heard of it, may be
    wrong. So may a classic member that is out of step with its group (see below).
    """
    for group_id in {member.group for member in consumers.members}:
        group = consumers.consumer_group(group_id)
        if group is None:
            continue
        _note_who_is_out_of_step(consumers, group)
        owners: dict[Any, Member] = {}
        for member in consumers.members:
            if member.group != group_id or member.member_id not in group.members or member.epoch <= 0:
                continue
            if isinstance(member, ClassicMember) and member.is_out_of_step:
                continue
            for at in member.owned:
                other = owners.setdefault(at, member)
                assert other is member, f"{other} and {member} both consume {at}"


def _note_who_is_out_of_step(consumers: Consumers, group: ConsumerGroup) -> None:
    """A group that becomes a consumer group believes that its members have what they were given last.

    That is wrong for a cooperative member in the middle of a rebalance, and for one that has not joined again since the
    group became classic: it was given its target then, unseen (consumer-groups §17.2, §17.4).
    """
    if consumers.seen.get(group.group_id) is group:
        return
    consumers.seen[group.group_id] = group
    for member in consumers.members:
        known = group.members.get(member.member_id)
        if isinstance(member, ClassicMember) and member.group == group.group_id and known is not None:
            member.is_out_of_step |= member.phase != "synced" or member.epoch != known.current.epoch


def an_epoch_is_known_to_its_group(consumers: Consumers) -> None:
    """No member has been told an epoch beyond its group's."""
    for member in consumers.members:
        group = consumers.consumer_group(member.group)
        if isinstance(member, ModernMember) and group is not None and member.member_id in group.members:
            assert member.epoch <= group.epoch, f"{member} is beyond {group.epoch}"


PROMISES = (coordinators_know_one_owner_each, nobody_consumes_what_another_one_does, an_epoch_is_known_to_its_group)


def the_log_tells_the_same(consumers: Consumers) -> None:
    """When nothing is being written: who loads a partition knows what its coordinator knows."""
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
    other.topics, other.consumer_config = live.topics, live.consumer_config
    loading = Loading(other, index)
    for data in batches:
        for batch in read_batches(data):
            loading.apply_batch(data, batch)
    loading.finish(consumers.now_ms())
    told, known = picture(other), picture(live)
    for group_id in {each.group_id for each in live.all_groups() if each.partition == index} | told.keys():
        if group_id in live.groups and (consumers.writes.fails or known[group_id] is None):
            continue  # what a classic group shows while writes fail: tests/coordinator/test_appends.py
        assert told.get(group_id) == known.get(group_id), f"{group_id} is not in the log as it is"


def everything_is_consumed(consumers: Consumers) -> None:
    """At the end each partition has exactly one owner, and no commit is lost."""
    for group_id in {member.group for member in consumers.members}:
        members = [member for member in consumers.members if member.group == group_id]
        owned = [at for member in members for at in member.owned]
        assert len(owned) == len(set(owned)), f"{group_id}: two owners"
        names = {consumers.name_of(topic_id) for topic_id, _ in owned}
        for topic in consumers.cluster.topics:
            wanted = any(topic.name in member.names for member in members)
            if wanted and (topic.name in STABLE_TOPICS or topic.name in names):
                there = {(topic.topic_id, each.index) for each in topic.partitions}
                assert there <= set(owned), f"{group_id}: {topic.name} is not consumed as a whole"
    for (group_id, name, index), offset in consumers.accepted.items():
        node = consumers.cluster.offsets_topic.coordinator_of(group_id)
        group = None if node is None else node.coordinator.group(group_id)
        kept = None if group is None or group.offsets is None else group.offsets.get(name, index)
        assert kept is not None, f"{group_id} has forgotten {name}-{index}"
        assert offset <= kept.offset, f"{group_id}: {name}-{index} is {kept.offset}, acknowledged was {offset}"
