"""Computation of partition and task counts from a topology and the existing topics (streams-groups §6).

Source: Kafka's `InternalTopicManager.configureTopics`.
"""

from collections.abc import Callable, Generator, Iterable, Sequence

from kohort.coordinator.streams.streams_values import Subtopology, TopicInfo, Topology
from kohort.coordinator.streams.topology.configured_topology import (
    BrokenTopology,
    ConfiguredTopology,
    UnsuitableTopics,
)
from kohort.coordinator.streams.topology.copartitioning import copartitioned_topics, enforce_copartitioning
from kohort.coordinator.streams.topology.internal_topics import (
    decide_changelogs,
    missing_status,
    missing_topics,
    require_sources,
)
from kohort.coordinator.streams.topology.map_order import subtopologies_in_map_order
from kohort.coordinator.streams.topology.partition_counts import PartitionCounts, effort_of, sources_of
from kohort.coordinator.streams.topology.repartition_counts import decide_repartitions

# Computation in progress. It yields its effort since the last yield, in tenths of a microsecond.
Configuring = Generator[int, None, ConfiguredTopology]


def configuring(topology: Topology, partitions_of: Callable[[str], int | None]) -> Configuring:
    """Compute the partition and task counts of a topology.

    Args:
        partitions_of: Returns the partition count of a topic, or None if it does not exist.

    Raises:
        InvalidTopology: Every group rejects the topology.
        BrokenTopology: The topology is contradictory.
    """
    subtopologies = yield from subtopologies_in_map_order(topology.subtopologies)
    together = yield from copartitioned_topics(subtopologies)
    try:
        counts = PartitionCounts(partitions_of, {})
        yield from require_sources(subtopologies, counts)
        counts.decided = yield from decide_repartitions(subtopologies, partitions_of)
        yield from enforce_copartitioning(together, subtopologies, counts)
        yield from decide_changelogs(subtopologies, counts)
        return (yield from _configured(subtopologies, counts))
    except UnsuitableTopics as error:
        return ConfiguredTopology(ready=False, status=(error.status,))


def _configured(subtopologies: Iterable[Subtopology], counts: PartitionCounts) -> Configuring:
    decided: list[Subtopology] = []
    tasks: dict[str, int] = {}
    for subtopology in sorted(subtopologies, key=_id_of):
        tasks[subtopology.subtopology_id] = max(map(counts.of, sources_of(subtopology)))
        decided.append(_with_counts(subtopology, counts))
        yield 4 * effort_of(subtopology)
    missing = yield from missing_topics(decided, counts)
    return ConfiguredTopology(
        subtopologies=tuple(decided),
        tasks=tasks,
        stateful=frozenset(subtopology.subtopology_id for subtopology in decided if subtopology.state_changelog_topics),
        ready=not missing,
        status=missing_status(missing),
        missing_internal=missing,
    )


def _id_of(subtopology: Subtopology) -> str:
    return subtopology.subtopology_id


def _with_counts(subtopology: Subtopology, counts: PartitionCounts) -> Subtopology:
    """Return a subtopology with partition counts, and with each topic once (Kafka: `ConfiguredSubtopology`)."""
    return subtopology._replace(
        source_topics=tuple(dict.fromkeys(subtopology.source_topics)),
        repartition_sink_topics=tuple(dict.fromkeys(subtopology.repartition_sink_topics)),
        repartition_source_topics=_decided(subtopology.repartition_source_topics, counts),
        state_changelog_topics=_decided(subtopology.state_changelog_topics, counts),
    )


def _decided(topics: Sequence[TopicInfo], counts: PartitionCounts) -> tuple[TopicInfo, ...]:
    """Set the partition counts that the topology does not fix.

    Raises:
        BrokenTopology: A name or a setting occurs twice.
    """
    if len({topic.name for topic in topics}) < len(topics):
        raise BrokenTopology("a subtopology names an internal topic twice")
    if any(len(dict(topic.topic_configs)) < len(topic.topic_configs) for topic in topics):
        raise BrokenTopology("an internal topic has a setting twice")
    return tuple(
        topic if topic.partitions else topic._replace(partitions=counts.decided[topic.name]) for topic in topics
    )
