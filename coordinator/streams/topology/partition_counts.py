"""Partition counts of topics that exist or will be created."""

from collections.abc import Callable, Iterator

from kohort.coordinator.streams.streams_values import Subtopology


class PartitionCounts:
    """Partition counts. For an existing topic its actual count takes precedence over the decided one."""

    __slots__ = ("_partitions_of", "decided")

    def __init__(self, partitions_of: Callable[[str], int | None], decided: dict[str, int]) -> None:
        self._partitions_of = partitions_of
        self.decided = decided  # partition counts of internal topics, existing or not

    def of(self, name: str) -> int:
        count = self._partitions_of(name)
        return self.decided[name] if count is None else count

    def exists(self, name: str) -> bool:
        return self._partitions_of(name) is not None


def sources_of(subtopology: Subtopology) -> Iterator[str]:
    yield from subtopology.source_topics
    yield from (topic.name for topic in subtopology.repartition_source_topics)


def effort_of(subtopology: Subtopology) -> int:
    """Return the time to visit all of its topics, in tenths of a microsecond."""
    return 10 * (
        1
        + len(subtopology.source_topics)
        + len(subtopology.repartition_sink_topics)
        + len(subtopology.repartition_source_topics)
        + len(subtopology.state_changelog_topics)
    )
