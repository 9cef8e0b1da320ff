"""From a topology and the topics that there are to numbers of partitions and tasks (streams-groups §6).

Source: Kafka's `InternalTopicManager.configureTopics`.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace

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

Configuring = Generator[int, None, ConfiguredTopology]
"""A topology that is being looked at. It yields how much was done since, in tenths of a microsecond."""


def configuring(topology: Topology, partitions_of: Callable[[str], int | None]) -> Configuring:
    """What a group can do with a topology.

    partitions_of: the partitions of a topic, None where there is none. Raises InvalidTopology and BrokenTopology.
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
    except UnsuitableTopics as problem:
        return ConfiguredTopology(ready=False, status=(problem.status,))


def _configured(subtopologies: Iterable[Subtopology], counts: PartitionCounts) -> Configuring:
    """All numbers are decided: whether the topics that exist have them, and which do not exist."""
    decided: list[Subtopology] = []
    tasks: dict[str, int] = {}
    for each in sorted(subtopologies, key=_id_of):
        tasks[each.subtopology_id] = max(map(counts.of, sources_of(each)))
        decided.append(_with_counts(each, counts))
        yield 4 * effort_of(each)
    missing = yield from missing_topics(decided, counts)
    return ConfiguredTopology(
        subtopologies=tuple(decided),
        tasks=tasks,
        stateful=frozenset(each.subtopology_id for each in decided if each.state_changelog_topics),
        ready=not missing,
        status=missing_status(missing),
        missing_internal=missing,
    )


def _id_of(subtopology: Subtopology) -> str:
    return subtopology.subtopology_id


def _with_counts(subtopology: Subtopology, counts: PartitionCounts) -> Subtopology:
    return replace(
        subtopology,
        repartition_source_topics=_decided(subtopology.repartition_source_topics, counts),
        state_changelog_topics=_decided(subtopology.state_changelog_topics, counts),
    )


def _decided(topics: Sequence[TopicInfo], counts: PartitionCounts) -> tuple[TopicInfo, ...]:
    """What is fixed stays, whatever else was decided. Raises BrokenTopology if a name or a setting is there twice."""
    if len({topic.name for topic in topics}) < len(topics):
        raise BrokenTopology("a subtopology names an internal topic twice")
    if any(len(dict(topic.topic_configs)) < len(topic.topic_configs) for topic in topics):
        raise BrokenTopology("a setting of an internal topic is there twice")
    return tuple(
        topic if topic.partitions else replace(topic, partitions=counts.decided[topic.name]) for topic in topics
    )
