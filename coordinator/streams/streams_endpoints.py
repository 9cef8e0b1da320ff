"""Which partitions can be asked for where: the tasks of the members that have an endpoint (streams-groups §10)."""

from collections.abc import Iterable, Mapping

from kohort.coordinator.java_order import in_table_order
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.coordinator.streams.topology import ConfiguredTopology
from kohort.protocol.messages.streams_group_heartbeat import Endpoint, EndpointToPartitions, TopicPartition


class NotConfigured(Exception):
    """A member has an endpoint, and nobody can say which topics the subtopologies read. Kafka does not foresee it."""


def partitions_by_endpoint(
    group: StreamsGroup, member: StreamsMember, topology: ConfiguredTopology
) -> tuple[EndpointToPartitions, ...]:
    """One entry for each member that can be asked; that of `member` itself comes last. Raises NotConfigured.

    Source: Kafka's `EndpointToPartitionsManager`, which looks for the topics of a topology that is not ready.
    """
    others = (each for each in group.members.values() if each is not member)
    ordered = in_table_order(others, _hash_of, group.most_members)
    asked = [each for each in (*ordered, member) if each.metadata.user_endpoint is not None]
    if asked and not topology.subtopologies and group.topology is not None and group.topology.subtopologies:
        raise NotConfigured
    return tuple(_listed(group, each, topology) for each in asked)


def _hash_of(member: StreamsMember) -> int:
    return member.java_hash


def _listed(group: StreamsGroup, member: StreamsMember, topology: ConfiguredTopology) -> EndpointToPartitions:
    if member.listed is None:
        member.listed = _entry(group, member, topology)
    return member.listed


def _entry(group: StreamsGroup, member: StreamsMember, topology: ConfiguredTopology) -> EndpointToPartitions:
    endpoint, assigned = member.metadata.user_endpoint, member.current.assigned
    assert endpoint is not None, "others are left out"
    return EndpointToPartitions(
        user_endpoint=Endpoint(host=endpoint.host, port=endpoint.port),
        active_partitions=tuple(_partitions(group, assigned.active, topology)),
        standby_partitions=tuple(_partitions(group, assigned.standby, topology)),
    )


def _partitions(
    group: StreamsGroup, tasks: Mapping[str, Iterable[int]], topology: ConfiguredTopology
) -> Iterable[TopicPartition]:
    """For each topic that a subtopology reads, its tasks. A topic with fewer partitions is told of as many only."""
    by_id = {each.subtopology_id: each for each in topology.subtopologies}
    for subtopology_id in sorted(tasks):
        partitions, subtopology = sorted(tasks[subtopology_id]), by_id[subtopology_id]
        repartitions = (topic.name for topic in subtopology.repartition_source_topics)
        for name in dict.fromkeys((*subtopology.source_topics, *repartitions)):
            topic = group.coordinator.topics.by_name(name)
            if topic is None:
                raise NotConfigured
            yield TopicPartition(topic=name, partitions=tuple(partitions[: topic.partitions]))
