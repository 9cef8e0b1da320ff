"""Source topics and internal topics that a topology needs (streams-groups §6).

Finds missing and unsuitable topics, and decides the partition counts of changelogs. Source: Kafka's
`InternalTopicManager`.
"""

from collections.abc import Collection, Generator, Iterable, Sequence

from kohort.coordinator.streams.streams_values import Status, StatusCode, Subtopology, TopicInfo
from kohort.coordinator.streams.topology.configured_topology import InvalidTopology, UnsuitableTopics
from kohort.coordinator.streams.topology.map_order import names_in_map_order
from kohort.coordinator.streams.topology.partition_counts import PartitionCounts, effort_of, sources_of

MAX_LISTED_TOPICS = 3  # topics listed in a status; the others are counted


def require_sources(subtopologies: Iterable[Subtopology], counts: PartitionCounts) -> Generator[int, None, None]:
    """Check that all source topics exist.

    Raises:
        UnsuitableTopics: A source topic does not exist.
    """
    missing: set[str] = set()
    for subtopology in subtopologies:
        missing.update(name for name in subtopology.source_topics if not counts.exists(name))
        yield effort_of(subtopology)
    if missing:
        detail = f"Source topics {summary(sorted(missing))} are missing."
        raise UnsuitableTopics(Status(StatusCode.MISSING_SOURCE_TOPICS, detail))


def decide_changelogs(subtopologies: Iterable[Subtopology], counts: PartitionCounts) -> Generator[int, None, None]:
    """Set the partition count of each changelog to that of the largest topic that its subtopology reads.

    Raises:
        InvalidTopology: A subtopology does not read any topic.
    """
    decided: dict[str, int] = {}
    for subtopology in subtopologies:
        largest = max(map(counts.of, sources_of(subtopology)), default=None)
        if largest is None:
            raise InvalidTopology(f"No source topics found for subtopology {subtopology.subtopology_id}")
        decided |= {topic.name: largest for topic in subtopology.state_changelog_topics}
        yield effort_of(subtopology)
    counts.decided |= decided


def missing_topics(
    subtopologies: Iterable[Subtopology], counts: PartitionCounts
) -> Generator[int, None, tuple[TopicInfo, ...]]:
    """Return the internal topics that do not exist, in the order of Kafka's hash maps.

    Args:
        subtopologies: Sorted by id, with partition counts.

    Raises:
        UnsuitableTopics: An internal topic has another partition count.
    """
    expected: dict[str, TopicInfo] = {}
    required: dict[str, None] = {}
    for subtopology in subtopologies:
        topics = (*subtopology.repartition_source_topics, *subtopology.state_changelog_topics)
        expected |= {topic.name: topic for topic in topics}
        required |= dict.fromkeys((*subtopology.source_topics, *(topic.name for topic in topics)))
        yield 4 * effort_of(subtopology)
    unfit = {name for name, topic in expected.items() if counts.exists(name) and counts.of(name) != topic.partitions}
    if unfit:
        first = next(name for name in (yield from names_in_map_order(required)) if name in unfit)
        detail = (
            f"Existing topic {first} has different number of partitions: "
            f"expected {expected[first].partitions}, found {counts.of(first)}"
        )
        raise UnsuitableTopics(Status(StatusCode.INCORRECTLY_PARTITIONED_TOPICS, detail))
    if all(map(counts.exists, expected)):
        return ()
    ordered = yield from names_in_map_order(expected)
    return tuple(expected[name] for name in ordered if not counts.exists(name))


def missing_status(topics: Collection[TopicInfo]) -> tuple[Status, ...]:
    if not topics:
        return ()
    detail = f"Internal topics are missing: {summary([topic.name for topic in topics])}"
    return (Status(StatusCode.MISSING_INTERNAL_TOPICS, detail),)


def summary(names: Sequence[str]) -> str:
    more = len(names) - MAX_LISTED_TOPICS
    named = ", ".join(names[:MAX_LISTED_TOPICS])
    return f"{named} and {more} additional topics" if more > 0 else named
