"""Interactive queries: the endpoint of each member and the partitions of its tasks (streams-groups §10)."""

from collections.abc import Iterable, Mapping

from kohort.coordinator.java_order import in_table_order
from kohort.coordinator.modern.modern_group import hash_of_member
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.coordinator.streams.topology import ConfiguredTopology
from kohort.protocol.messages.streams_group_heartbeat import Endpoint, EndpointToPartitions, TopicPartition


class NotConfigured(Exception):
    """Endpoints were requested while the topics of the subtopologies are unknown. Kafka does not expect that."""


def partitions_by_endpoint(
    group: StreamsGroup, member: StreamsMember, topology: ConfiguredTopology
) -> tuple[EndpointToPartitions, ...]:
    """Return one entry per member with an endpoint; that of `member` is the last one.

    Source: Kafka's `EndpointToPartitionsManager`, which looks for the topics of a topology that is not ready.

    Raises:
        NotConfigured: The topics of a subtopology are unknown.
    """
    other_members = (other for other in group.members.values() if other is not member)
    ordered = in_table_order(other_members, hash_of_member, group.most_members)
    with_endpoint = [other for other in (*ordered, member) if other.metadata.user_endpoint is not None]
    if with_endpoint and not topology.subtopologies and group.topology is not None and group.topology.subtopologies:
        raise NotConfigured
    return tuple(_cached_entry(group, other, topology) for other in with_endpoint)


def _cached_entry(group: StreamsGroup, member: StreamsMember, topology: ConfiguredTopology) -> EndpointToPartitions:
    if member.listed is None:
        member.listed = _entry(group, member, topology)
    return member.listed


def _entry(group: StreamsGroup, member: StreamsMember, topology: ConfiguredTopology) -> EndpointToPartitions:
    endpoint, assigned = member.metadata.user_endpoint, member.current.assigned
    assert endpoint is not None, "the caller filters"
    return EndpointToPartitions(
        user_endpoint=Endpoint(host=endpoint.host, port=endpoint.port),
        active_partitions=tuple(_partitions(group, assigned.active, topology)),
        standby_partitions=tuple(_partitions(group, assigned.standby, topology)),
    )


def _partitions(
    group: StreamsGroup, tasks: Mapping[str, Iterable[int]], topology: ConfiguredTopology
) -> Iterable[TopicPartition]:
    by_id = {part.subtopology_id: part for part in topology.subtopologies}
    lists_existing = group.coordinator.settings.rules.lists_existing_partitions
    for subtopology_id in sorted(tasks):
        partitions, subtopology = sorted(tasks[subtopology_id]), by_id[subtopology_id]
        repartitions = (topic.name for topic in subtopology.repartition_source_topics)
        for name in dict.fromkeys((*subtopology.source_topics, *repartitions)):
            topic = group.coordinator.topics.by_name(name)
            if topic is None:
                raise NotConfigured
            if not lists_existing:  # Kafka 4.3 takes the first partitions, which need not exist
                yield TopicPartition(topic=name, partitions=tuple(partitions[: topic.partitions]))
            elif existing := tuple(partition for partition in partitions if partition < topic.partitions):
                yield TopicPartition(topic=name, partitions=existing)
